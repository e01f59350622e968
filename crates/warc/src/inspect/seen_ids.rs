//! Record ids that occur twice, found in bounded memory.
//!
//! Ids are kept as hashes of eight bytes, up to a number in all, and up to a number for each range
//! of the file: a part of some megabytes may decompress to millions of records, and several parts
//! wait at a time. The ranges are those of the file, not of the parts, so the number of threads
//! does not change which ids are compared. The report gives the number of ids that were not
//! compared.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::{InspectOptions, InspectReport};
use crate::rules::{Rule, WarcFinding};

/// Maximum number of ids that are compared. Their table has 2^20 slots of nine bytes.
const MAX_COMPARED_IDS: usize = (1 << 20) / 8 * 7;
/// Bytes of a range, as a power of two.
const ID_RANGE_BITS: u32 = 20;
/// Maximum number of ids of one range that are compared: about as many as uncompressed records of
/// 200 bytes.
const MAX_IDS_PER_RANGE: usize = 5000;

/// The ids of a part.
#[derive(Default)]
pub(super) struct PartIds {
    /// Hashes and offsets.
    ids: Vec<(u64, u64)>,
    stretch: IdRange,
    beyond: OverflowIds,
}

/// Counts the ids of the current range.
#[derive(Default)]
struct IdRange {
    number: u64,
    count: usize,
}

impl IdRange {
    /// Whether one more id at this offset is kept.
    fn has_room(&mut self, offset: u64) -> bool {
        if offset >> ID_RANGE_BITS != self.number {
            *self = Self { number: offset >> ID_RANGE_BITS, count: 0 };
        }
        self.count += 1;
        self.count <= MAX_IDS_PER_RANGE
    }
}

/// Ids that were not compared: their number, and the offset of the first.
#[derive(Default)]
struct OverflowIds {
    count: u64,
    first: u64,
}

impl OverflowIds {
    fn add(&mut self, count: u64, first: u64) {
        if count > 0 {
            self.first = if self.count == 0 { first } else { self.first.min(first) };
            self.count += count;
        }
    }
}

impl PartIds {
    pub(super) fn push(&mut self, id: &[u8], offset: u64) {
        if self.stretch.has_room(offset) {
            self.ids.push((hash(id), offset));
        } else {
            self.beyond.add(1, offset);
        }
    }
}

fn hash(id: &[u8]) -> u64 {
    // One key for the process: hashes from different threads must agree and must not be
    // predictable.
    static KEY: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    KEY.get_or_init(RandomState::new).hash_one(id)
}

/// The ids of the whole file.
#[derive(Default)]
pub(super) struct RecordIds {
    seen: HashSet<u64>,
    stretch: IdRange,
    beyond: OverflowIds,
    repeated: Vec<u64>,
    count: u64,
}

impl RecordIds {
    /// Adds the ids of the next part.
    pub(super) fn add(&mut self, part: PartIds, options: InspectOptions) {
        for (hash, offset) in part.ids {
            if !self.stretch.has_room(offset) {
                self.beyond.add(1, offset);
            } else if self.seen.contains(&hash) {
                self.count += 1;
                if self.repeated.len() < options.findings {
                    self.repeated.push(offset);
                }
            } else if self.seen.len() < MAX_COMPARED_IDS {
                self.seen.insert(hash);
            } else {
                self.beyond.add(1, offset);
            }
        }
        self.beyond.add(part.beyond.count, part.beyond.first);
    }

    pub(super) fn report(self, report: &mut InspectReport, options: InspectOptions) {
        let beyond = self.count - self.repeated.len() as u64;
        for offset in self.repeated {
            let message = "an earlier record has the same WARC-Record-ID";
            report.keep(WarcFinding::new(Rule::RecordIdRepeated, offset, message), options);
        }
        if beyond > 0 {
            *report.by_rule.entry(Rule::RecordIdRepeated).or_default() += beyond;
        }
        if self.beyond.count > 0 {
            let message = format!(
                "{} of the record ids, from here on, were not compared with others: there are too many",
                self.beyond.count
            );
            report.keep(WarcFinding::new(Rule::RecordIdsUnchecked, self.beyond.first, message), options);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same ids are compared for any parts, and no part holds many of one range.
    #[test]
    fn ids_are_bounded_for_any_parts() {
        let places: Vec<u64> = (0..20_000).map(|number| number * 150).collect();
        let outcome = |part: usize| {
            let mut all = RecordIds::default();
            for places in places.chunks(part) {
                let mut ids = PartIds::default();
                places.iter().for_each(|place| ids.push(&(place / 150 % 9000).to_le_bytes(), *place));
                assert!(ids.ids.len() <= 3 * MAX_IDS_PER_RANGE);
                all.add(ids, InspectOptions::default());
            }
            (all.seen.len(), all.count, all.beyond.count, all.beyond.first)
        };
        let alone = outcome(places.len());
        assert_eq!(alone.0 as u64 + alone.1 + alone.2, 20_000);
        assert!(alone.1 > 1000 && alone.2 > 1000, "{alone:?}");
        for part in [1, 77, 7000] {
            assert_eq!(outcome(part), alone);
        }
    }
}
