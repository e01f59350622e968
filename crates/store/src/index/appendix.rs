//! The appendix on disk: entries in the order of writing, in checksummed batches.
//!
//! An entry of sixteen bytes has no room for a checksum. So entries are written in batches of up to
//! 255, each after a header of sixteen bytes with a magic number, a count and a CRC. Everything is
//! aligned to sixteen bytes, so the next valid batch after damage is found by trying the following
//! slots. Small batches keep that search linear, and one flipped bit costs at most 255 entries. A
//! checksum per file or per call was declined for that reason.
//!
//! This module encodes and decodes entries. It does not know files, locks or lookups.

use std::ops::Range;

use super::entry::{ENTRY_SIZE, IndexEntry};

const BATCH_MAGIC: [u8; 4] = *b"VVAB";
const BATCH_FORMAT: u16 = 1;
const BATCH_HEADER_BYTES: usize = ENTRY_SIZE;
/// Maximum number of entries in one batch.
pub(super) const MAX_BATCH_ENTRIES: usize = 255;

/// Encodes entries as one or more batches.
pub(super) fn encode(entries: &[IndexEntry]) -> Vec<u8> {
    let batches = entries.len().div_ceil(MAX_BATCH_ENTRIES);
    let mut bytes = Vec::with_capacity((entries.len() + batches) * ENTRY_SIZE);
    for batch in entries.chunks(MAX_BATCH_ENTRIES) {
        let start = bytes.len();
        bytes.extend_from_slice(&BATCH_MAGIC);
        bytes.extend_from_slice(&BATCH_FORMAT.to_be_bytes());
        bytes.extend_from_slice(&(batch.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; 8]);
        for entry in batch {
            bytes.extend_from_slice(&entry.to_bytes());
        }
        let crc = checksum(&bytes[start..]).to_be_bytes();
        bytes[start + 12..start + BATCH_HEADER_BYTES].copy_from_slice(&crc);
    }
    bytes
}

/// The decoded bytes of an appendix.
#[derive(Debug, Default)]
pub(super) struct DecodedAppendix {
    /// The entries of all valid batches, in the order of writing.
    pub(super) entries: Vec<IndexEntry>,
    /// The byte ranges that belong to no valid batch, in order.
    pub(super) gaps: Vec<Range<u64>>,
    /// The number of entries before the first gap.
    pub(super) before_gap: usize,
}

impl DecodedAppendix {
    /// The length of the valid batches before the first gap.
    pub(super) fn good_length(&self, length: u64) -> u64 {
        self.gaps.first().map_or(length, |gap| gap.start)
    }

    fn skip(&mut self, range: Range<usize>) {
        let range = range.start as u64..range.end as u64;
        match self.gaps.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            Some(_) => self.gaps.push(range),
            None => {
                self.before_gap = self.entries.len();
                self.gaps.push(range);
            }
        }
    }
}

/// The format of a valid batch that this version does not know.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownFormat(pub(super) u32);

/// Decodes all valid batches. Any bytes decode to entries and gaps.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedAppendix, UnknownFormat> {
    let mut decoded = DecodedAppendix::default();
    let mut at = 0;
    while at < bytes.len() {
        match batch(&bytes[at..])? {
            Some(entries) => {
                decoded.entries.extend(entries.iter().map(IndexEntry::from_bytes));
                at += BATCH_HEADER_BYTES + entries.len() * ENTRY_SIZE;
            }
            None => {
                let next = (at + ENTRY_SIZE).min(bytes.len());
                decoded.skip(at..next);
                at = next;
            }
        }
    }
    if decoded.gaps.is_empty() {
        decoded.before_gap = decoded.entries.len();
    }
    Ok(decoded)
}

/// The entries of the batch that these bytes begin with, if it is valid.
fn batch(bytes: &[u8]) -> Result<Option<&[[u8; ENTRY_SIZE]]>, UnknownFormat> {
    let Some((head, rest)) = bytes.split_first_chunk::<BATCH_HEADER_BYTES>() else { return Ok(None) };
    if head[..4] != BATCH_MAGIC {
        return Ok(None);
    }
    let count = usize::from(u16::from_be_bytes([head[6], head[7]]));
    if !(1..=MAX_BATCH_ENTRIES).contains(&count) || rest.len() < count * ENTRY_SIZE {
        return Ok(None);
    }
    let length = BATCH_HEADER_BYTES + count * ENTRY_SIZE;
    if checksum(&bytes[..length]).to_be_bytes() != head[12..] || head[8..12] != [0; 4] {
        return Ok(None);
    }
    match u16::from_be_bytes([head[4], head[5]]) {
        BATCH_FORMAT => Ok(Some(bytes[BATCH_HEADER_BYTES..length].as_chunks().0)),
        other => Err(UnknownFormat(other.into())),
    }
}

/// The CRC of a batch: of its header without the CRC, then of its entries.
fn checksum(batch: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&batch[..12]);
    hasher.update(&batch[BATCH_HEADER_BYTES..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::super::entry::{IndexPrefix, SiloPlace};
    use super::*;
    use proptest::prelude::*;

    fn entries(count: u64) -> Vec<IndexEntry> {
        (0..count)
            .map(|n| IndexEntry { prefix: IndexPrefix(n << 40), place: SiloPlace::from_number(n) })
            .collect()
    }

    #[test]
    fn the_bytes_of_a_batch_are_as_documented() {
        let bytes = encode(&entries(1));
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[..12], *b"VVAB\x00\x01\x00\x01\x00\x00\x00\x00");
        let crc = crc32fast::hash(&[&bytes[..12], &bytes[16..]].concat());
        assert_eq!(bytes[12..16], crc.to_be_bytes());
    }

    #[test]
    fn many_entries_become_several_batches() {
        let all = entries(600);
        let bytes = encode(&all);
        assert_eq!(bytes.len(), (600 + 3) * ENTRY_SIZE);
        let decoded = decode(&bytes).unwrap();
        assert_eq!(decoded.entries, all);
        assert_eq!((decoded.gaps.len(), decoded.before_gap), (0, 600));
        assert!(encode(&[]).is_empty());
    }

    #[test]
    fn a_later_format_is_named_and_not_taken_for_damage() {
        let mut bytes = encode(&entries(1));
        bytes[5] = 9;
        let crc = checksum(&bytes).to_be_bytes();
        bytes[12..16].copy_from_slice(&crc);
        assert_eq!(decode(&bytes).unwrap_err(), UnknownFormat(9));
    }

    #[test]
    fn a_tail_cut_anywhere_costs_only_the_last_batch() {
        let bytes = [encode(&entries(3)), encode(&entries(2))].concat();
        let first = 4 * ENTRY_SIZE;
        for length in 0..bytes.len() {
            let decoded = decode(&bytes[..length]).unwrap();
            let whole = if length < first { 0 } else { 3 };
            assert_eq!(decoded.entries.len(), whole, "{length}");
            assert_eq!(decoded.good_length(length as u64), if whole == 0 { 0 } else { first as u64 });
        }
    }

    #[test]
    fn a_flipped_bit_costs_its_batch_and_is_inside_the_gap() {
        let one = encode(&entries(3));
        let bytes = [one.clone(), one.clone(), one.clone()].concat();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let decoded = decode(&damaged).unwrap();
            assert_eq!(decoded.entries.len(), 6, "{bit}");
            assert_eq!(decoded.gaps.len(), 1);
            assert!(decoded.gaps[0].contains(&(bit as u64 / 8)));
            assert_eq!(decoded.before_gap, bit / 8 / one.len() * 3);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let decoded = decode(&bytes).unwrap();
            prop_assert!(decoded.good_length(bytes.len() as u64) <= bytes.len() as u64);
        }

        #[test]
        fn whole_batches_are_found_behind_any_rubbish(rubbish in prop::collection::vec(any::<[u8; 16]>(), 0..8)) {
            let tail = encode(&entries(5));
            let bytes = [rubbish.concat(), tail].concat();
            prop_assert!(decode(&bytes).unwrap().entries.ends_with(&entries(5)));
        }
    }
}
