//! The floor: interpolation over a sorted array of sixteen-byte entries in a map, and nothing else.
//!
//! No shards, no appendix, no checksum, no errors, and it stops at the first hit. It is written to be fast: as ids are
//! spread evenly, one slope serves the first guess and all corrections, so there is no division.

/// The place of one entry with this prefix.
pub fn find(entries: &[[u8; 16]], key: u64) -> Option<u64> {
    let count = entries.len();
    let mut at = scale(key, count);
    // Corrections shrink to the square root of the one before; a fourth large one means the walk is no longer than it.
    for _ in 0..4 {
        let here = prefix(&entries[at]);
        let step = scale(here.abs_diff(key), count);
        if step < 4 {
            break;
        }
        at = if here < key { (at + step).min(count - 1) } else { at.saturating_sub(step) };
    }
    walk(entries, key, at)
}

fn walk(entries: &[[u8; 16]], key: u64, mut at: usize) -> Option<u64> {
    while at > 0 && prefix(&entries[at]) > key {
        at -= 1;
    }
    while at + 1 < entries.len() && prefix(&entries[at]) < key {
        at += 1;
    }
    (prefix(&entries[at]) == key).then(|| place(&entries[at]))
}

fn scale(part: u64, count: usize) -> usize {
    ((u128::from(part) * count as u128) >> 64) as usize
}

fn prefix(entry: &[u8; 16]) -> u64 {
    u64::from_be_bytes(*entry.first_chunk().expect("16 bytes begin with 8"))
}

fn place(entry: &[u8; 16]) -> u64 {
    u64::from_be_bytes(*entry.last_chunk().expect("16 bytes end with 8"))
}
