//! The laws of the fuzz target `transparency_log`, over changed notes, keys, proofs and random bytes, for
//! seconds and with a fixed seed.

#![expect(unreachable_pub, reason = "the laws are shared with the fuzz target")]

#[path = "../../../fuzz/laws/transparency_log.rs"]
mod transparency_log;

use transparency_log::transparency_log;
use varve_tlog::{NoteSigner, SignedNote, TreeCheckpoint, hash_leaf, request_timestamp};

/// Pseudorandom numbers (xorshift), the same in each run.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 16).unwrap_or(0)
}

#[test]
fn the_laws_hold_for_changed_input() {
    let signer = NoteSigner::from_seed("example.org/log", [5; 32]).unwrap();
    let checkpoint = TreeCheckpoint {
        origin: "example.org/log".to_owned(),
        size: 9,
        root: hash_leaf(b"9"),
        extensions: Vec::new(),
    };
    let note = SignedNote::sign(&checkpoint.to_string(), std::slice::from_ref(&signer)).unwrap().to_string();
    let key = signer.verifier().to_string();
    let seeds = [note.into_bytes(), key.into_bytes(), request_timestamp(b"checkpoint"), vec![0; 16 + 32 * 5]];
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=next(&mut state) % 4 {
            let at = next(&mut state) % bytes.len();
            match next(&mut state) % 3 {
                0 => bytes[at] = next(&mut state) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, next(&mut state) as u8),
            }
        }
        transparency_log(&bytes);
    }
}
