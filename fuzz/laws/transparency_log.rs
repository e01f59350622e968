//! Laws of notes, checkpoints, proofs and timestamps.

use varve_tlog::{
    NoteVerifier, SignedNote, TreeCheckpoint, TreeHash, verify_consistency, verify_inclusion,
    verify_timestamp,
};

/// Parsing returns; what parses is written as it was; no proof of arbitrary hashes holds.
pub fn transparency_log(bytes: &[u8]) {
    let _ = verify_timestamp(bytes, b"checkpoint");
    if let Ok(note) = SignedNote::parse(bytes) {
        let written = note.to_string();
        assert_eq!(SignedNote::parse(written.as_bytes()).as_ref().ok(), Some(&note));
        if let Ok(checkpoint) = TreeCheckpoint::parse(note.text()) {
            assert_eq!(checkpoint.to_string(), note.text());
        }
    }
    if let Ok(key) =
        str::from_utf8(bytes).map_err(drop).and_then(|text| NoteVerifier::parse(text).map_err(drop))
    {
        assert_eq!(NoteVerifier::parse(&key.to_string()).ok(), Some(key));
    }
    let Some((numbers, hashes)) = bytes.split_first_chunk::<16>() else { return };
    let [index, size] =
        [0, 8].map(|at| u64::from_be_bytes(numbers[at..at + 8].try_into().unwrap_or_default()));
    let path: Vec<TreeHash> =
        hashes.chunks_exact(32).map(|hash| TreeHash(hash.try_into().unwrap_or_default())).collect();
    let root = TreeHash([0xff; 32]);
    if !path.contains(&root) {
        assert!(verify_inclusion(TreeHash([1; 32]), index, (size, root), &path).is_err());
        assert!(
            index == size || verify_consistency((index, TreeHash([1; 32])), (size, root), &path).is_err()
        );
    }
}
