//! Record ids that occur twice, found in bounded memory.
//!
//! Ids are kept as hashes of eight bytes, up to a number in all, and up to a number for each stretch of the file: a part
//! of some megabytes may unpack to millions of records, and several parts wait at a time. The stretches are those of the
//! file, not those of the parts, so which ids are compared does not depend on how many threads read. How many were not
//! compared is said.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::{Options, Report};
use crate::rule::{Finding, Rule};

/// Ids that are compared at most. The table for so many is 2^20 slots of nine bytes.
const MOST: usize = (1 << 20) / 8 * 7;
/// Bytes of a stretch, as a power of two.
const STRETCH: u32 = 20;
/// Ids of one stretch that are compared at most; records of 200 bytes, not packed, are about as many.
const MOST_OF_STRETCH: usize = 5000;

/// The ids of a part.
#[derive(Default)]
pub(super) struct PartIds {
    /// Hashes and places.
    ids: Vec<(u64, u64)>,
    stretch: Stretch,
    beyond: Beyond,
}

/// Counts the ids of the stretch that was come to.
#[derive(Default)]
struct Stretch {
    number: u64,
    count: usize,
}

impl Stretch {
    /// Whether one more id of this place is to be kept.
    fn has_room(&mut self, offset: u64) -> bool {
        if offset >> STRETCH != self.number {
            *self = Self { number: offset >> STRETCH, count: 0 };
        }
        self.count += 1;
        self.count <= MOST_OF_STRETCH
    }
}

/// Ids that were not compared: how many, and the place of the first.
#[derive(Default)]
struct Beyond {
    count: u64,
    first: u64,
}

impl Beyond {
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
    // One key for the process: hashes from different threads must agree, and must not be foreseeable.
    static KEY: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    KEY.get_or_init(RandomState::new).hash_one(id)
}

/// The ids of the whole file.
#[derive(Default)]
pub(super) struct RecordIds {
    seen: HashSet<u64>,
    stretch: Stretch,
    beyond: Beyond,
    repeated: Vec<u64>,
    count: u64,
}

impl RecordIds {
    /// Adds those of the next part.
    pub(super) fn add(&mut self, part: PartIds, options: Options) {
        for (hash, offset) in part.ids {
            if !self.stretch.has_room(offset) {
                self.beyond.add(1, offset);
            } else if self.seen.contains(&hash) {
                self.count += 1;
                if self.repeated.len() < options.findings {
                    self.repeated.push(offset);
                }
            } else if self.seen.len() < MOST {
                self.seen.insert(hash);
            } else {
                self.beyond.add(1, offset);
            }
        }
        self.beyond.add(part.beyond.count, part.beyond.first);
    }

    pub(super) fn report(self, report: &mut Report, options: Options) {
        let beyond = self.count - self.repeated.len() as u64;
        for offset in self.repeated {
            let message = "an earlier record has the same WARC-Record-ID";
            report.keep(Finding::new(Rule::RecordIdRepeated, offset, message), options);
        }
        if beyond > 0 {
            *report.by_rule.entry(Rule::RecordIdRepeated).or_default() += beyond;
        }
        if self.beyond.count > 0 {
            let message = format!(
                "{} of the record ids, from here on, were not compared with others: there are too many",
                self.beyond.count
            );
            report.keep(Finding::new(Rule::RecordIdsUnchecked, self.beyond.first, message), options);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the parts, the same ids are compared, and no part holds many of one stretch.
    #[test]
    fn ids_are_bounded_and_parts_do_not_show() {
        let places: Vec<u64> = (0..20_000).map(|number| number * 150).collect();
        let outcome = |part: usize| {
            let mut all = RecordIds::default();
            for places in places.chunks(part) {
                let mut ids = PartIds::default();
                places.iter().for_each(|place| ids.push(&(place / 150 % 9000).to_le_bytes(), *place));
                assert!(ids.ids.len() <= 3 * MOST_OF_STRETCH);
                all.add(ids, Options::default());
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
