//! Batched lookups.
//!
//! A lookup computes little and waits for memory, and single lookups wait one after another. Here a
//! group of lookups runs together: first all guesses are computed and their entries prefetched,
//! then each search finishes while the others load. A single lookup walks from its guess entry by
//! entry; a batched one searches a window of four cache lines around the guess without
//! mispredictable branches. The window misses once in a few hundred lookups.
//!
//! Measured and declined: plain loads instead of prefetches are a third slower, and prefetching the
//! bias table gains nothing, because it is already cached.

use super::entry::{ENTRY_SIZE, IndexEntry, IndexPrefix, SiloPlace};
use super::error::IndexError;
use super::places::SiloPlaces;
use super::shard::{Shard, SortedEntries, end_of};
use super::view::IndexView;

/// Lookups that run together.
const LOOKUPS_PER_GROUP: usize = 32;
/// Groups between two checks of the length of the files, which are system calls.
const GROUPS_PER_LENGTH_CHECK: usize = 256;
/// Entries in a cache line. The mapping and the start of the entries are aligned to lines.
const ENTRIES_PER_CACHE_LINE: usize = 4;
/// Entries in the search window.
const WINDOW_ENTRIES: usize = 4 * ENTRIES_PER_CACHE_LINE;

impl IndexView {
    /// Finds all places of many prefixes. Calls `found` with the position of the prefix and a
    /// place, in order of positions.
    pub(super) fn find_many(
        &self,
        prefixes: &[IndexPrefix],
        mut found: impl FnMut(usize, SiloPlace),
    ) -> Result<(), IndexError> {
        for (number, group) in prefixes.chunks(LOOKUPS_PER_GROUP).enumerate() {
            if number.is_multiple_of(GROUPS_PER_LENGTH_CHECK) {
                let ahead = &prefixes[number * LOOKUPS_PER_GROUP..];
                self.check_lengths(&ahead[..ahead.len().min(GROUPS_PER_LENGTH_CHECK * LOOKUPS_PER_GROUP)])?;
            }
            let found = |member, place| found(number * LOOKUPS_PER_GROUP + member, place);
            match self.shards.cover() {
                [only] => {
                    let target = PrefixWindow::of(only);
                    self.find_group(group, |_| target, found)?;
                }
                _ => self.find_group(group, |prefix| PrefixWindow::of(self.shards.of(prefix)), found)?,
            }
        }
        Ok(())
    }

    /// Checks that the shards of these prefixes were not truncated.
    fn check_lengths(&self, prefixes: &[IndexPrefix]) -> Result<(), IndexError> {
        if let [only] = self.shards.cover() {
            return only.check_length();
        }
        let mut shards: Vec<&Shard> = prefixes.iter().map(|prefix| self.shards.of(*prefix)).collect();
        shards.sort_unstable_by_key(|shard| shard.name().range().first);
        shards.dedup_by_key(|shard| shard.name().range().first);
        shards.into_iter().try_for_each(Shard::check_length)
    }

    #[inline]
    fn find_group<'a>(
        &'a self,
        prefixes: &[IndexPrefix],
        target: impl Fn(IndexPrefix) -> PrefixWindow<'a>,
        mut found: impl FnMut(usize, SiloPlace),
    ) -> Result<(), IndexError> {
        let mut windows = [0; LOOKUPS_PER_GROUP];
        for (window, prefix) in windows.iter_mut().zip(prefixes) {
            *window = target(*prefix).announce_window(*prefix);
        }
        let elsewhere = self.has_more_than_cover();
        for (member, (window, prefix)) in windows.iter().zip(prefixes).enumerate() {
            let hits = target(*prefix).find_in_window(*prefix, *window)?;
            let hits = hits.iter().map(|entry| IndexEntry::from_bytes(entry).place);
            if elsewhere && self.may_hold_elsewhere(*prefix) {
                let mut places: SiloPlaces = hits.collect();
                self.find_elsewhere(*prefix, &mut places)?;
                places.iter().for_each(|place| found(member, place));
            } else {
                hits.for_each(|place| found(member, place));
            }
        }
        Ok(())
    }
}

/// The shard in which a prefix is searched.
#[derive(Clone, Copy)]
struct PrefixWindow<'a> {
    shard: &'a Shard,
    sorted: SortedEntries<'a>,
}

impl<'a> PrefixWindow<'a> {
    #[inline]
    fn of(shard: &'a Shard) -> Self {
        Self { shard, sorted: shard.sorted() }
    }

    /// Prefetches the window of a prefix and returns its start.
    #[inline]
    fn announce_window(self, prefix: IndexPrefix) -> usize {
        let entries = self.sorted.entries;
        let Some(last) = entries.len().checked_sub(WINDOW_ENTRIES) else { return 0 };
        let middle = self.sorted.guess(prefix) + ENTRIES_PER_CACHE_LINE / 2;
        let window = (middle.saturating_sub(WINDOW_ENTRIES / 2) / ENTRIES_PER_CACHE_LINE
            * ENTRIES_PER_CACHE_LINE)
            .min(last);
        if let Some(lines) = entries[window..].first_chunk::<WINDOW_ENTRIES>() {
            lines.iter().step_by(ENTRIES_PER_CACHE_LINE).for_each(prefetch);
        }
        window
    }

    /// All entries with this prefix, usually found in the window.
    #[inline]
    fn find_in_window(
        self,
        prefix: IndexPrefix,
        window: usize,
    ) -> Result<&'a [[u8; ENTRY_SIZE]], IndexError> {
        let entries = self.sorted.entries;
        let Some(near) = entries[window..].first_chunk::<WINDOW_ENTRIES>() else {
            return self.shard.find(prefix);
        };
        let smaller = near.partition_point(|entry| IndexEntry::from_bytes(entry).prefix < prefix);
        if smaller == 0 || smaller == WINDOW_ENTRIES {
            let middle = window + WINDOW_ENTRIES / 2;
            return Ok(&entries[self.shard.positions_near(entries, prefix, middle)?]);
        }
        let start = window + smaller;
        let end = end_of(entries, prefix, start);
        // The whole window is verified, because its entries decide where the result is.
        self.shard.check(window..(end + 1).max(window + WINDOW_ENTRIES).min(entries.len()))?;
        Ok(&entries[start..end])
    }
}

/// Prefetches an entry.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(entry: &[u8; ENTRY_SIZE]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch changes nothing that a program can see and never faults at any address,
    // and this is the address of bytes that are borrowed here. The instruction is part of every
    // x86-64 processor.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(entry.as_ptr().cast()) }
}

/// Other processors read the entry; consecutive loads overlap nearly as well.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(entry: &[u8; ENTRY_SIZE]) {
    std::hint::black_box(entry[0]);
}
