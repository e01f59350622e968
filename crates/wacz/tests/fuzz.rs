//! The laws of the fuzz target `wacz`, over changed packages, for seconds and with a fixed seed.

#![expect(unreachable_pub, reason = "the laws are shared with the fuzz target")]

#[expect(dead_code, reason = "the laws need no offsets of headers")]
mod support;
#[path = "../../../fuzz/laws/wacz.rs"]
mod wacz;

use support::{deflated, stored, zip};

/// Pseudorandom numbers (xorshift), the same in each run.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 16).unwrap_or(0)
}

#[test]
fn the_laws_hold_for_changed_packages() {
    let mut members = vec![
        stored("archive/a.warc", b"WARC/1.1\r\n".repeat(20)),
        deflated("archive/b.warc", b"WARC/1.1\r\n".repeat(200)),
        deflated("datapackage.json", br#"{"profile":"data-package","resources":[]}"#.to_vec()),
        deflated("pages/pages.jsonl", b"{\"format\":\"json-pages-1.0\"}\n{\"url\":\"u:a\"}\n".to_vec()),
    ];
    let plain = zip(&members, false).bytes;
    let large = zip(&members, true).bytes;
    members.iter_mut().for_each(|member| member.sizes_follow = true);
    let streamed = zip(&members, false);
    let seeds = [plain, large, streamed.bytes[..streamed.directory].to_vec(), streamed.bytes];
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..8_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=next(&mut state) % 4 {
            let length = bytes.len();
            // Half of the changes are in the directory, where the numbers are.
            let at = if next(&mut state) & 1 == 0 {
                length - 1 - next(&mut state) % length.min(400)
            } else {
                next(&mut state) % length
            };
            match next(&mut state) % 4 {
                0 => bytes[at] = next(&mut state) as u8,
                1 => bytes[at] = [0, 0xff][next(&mut state) % 2],
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, next(&mut state) as u8),
            }
        }
        wacz::wacz(&bytes);
    }
}
