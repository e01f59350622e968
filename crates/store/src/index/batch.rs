//! Many lookups at once.
//!
//! A lookup computes almost nothing and waits for its entries to arrive from memory; asked one by one, each wait begins
//! when the one before is over. Here a group of ids goes through the steps together: all guesses are made and the
//! processor is told of all the entries it will need, and only then is each search finished, by which time they have
//! arrived. Where a lone lookup walks from its guess entry by entry, here a window of four cache lines around the guess
//! is searched without a branch that could be mispredicted; it holds the answer all but once in a few hundred times.
//!
//! Plain loads in place of prefetches were measured and are a third slower; announcing the slots of the bias table gained
//! nothing, because the table is small enough to be there already.

use super::entry::{ENTRY_SIZE, Entry, Place, Prefix};
use super::error::IndexError;
use super::places::Places;
use super::shard::{Shard, Sorted, end_of};
use super::view::View;

/// Lookups that are under way together.
const GROUP: usize = 32;
/// Entries in a cache line, when entries start on one. They do: the map and the start of the entries are aligned.
const LINE: usize = 4;
/// Entries that are searched together.
const WINDOW: usize = 4 * LINE;

impl View {
    /// All places of many prefixes: `found` hears the number of the prefix and a place, in order of the numbers.
    pub(super) fn find_many(
        &self,
        prefixes: &[Prefix],
        mut found: impl FnMut(usize, Place),
    ) -> Result<(), IndexError> {
        for (number, group) in prefixes.chunks(GROUP).enumerate() {
            let found = |member, place| found(number * GROUP + member, place);
            match self.shards.cover() {
                [only] => {
                    let target = Target::of(only);
                    self.find_group(group, |_| target, found)?;
                }
                _ => self.find_group(group, |prefix| Target::of(self.shards.of(prefix)), found)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn find_group<'a>(
        &'a self,
        prefixes: &[Prefix],
        target: impl Fn(Prefix) -> Target<'a>,
        mut found: impl FnMut(usize, Place),
    ) -> Result<(), IndexError> {
        let mut windows = [0; GROUP];
        for (window, prefix) in windows.iter_mut().zip(prefixes) {
            *window = target(*prefix).announce_window(*prefix);
        }
        let elsewhere = self.has_more_than_cover();
        for (member, (window, prefix)) in windows.iter().zip(prefixes).enumerate() {
            let hits = target(*prefix).find_in_window(*prefix, *window)?;
            let hits = hits.iter().map(|entry| Entry::from_bytes(entry).place);
            if elsewhere && self.may_hold_elsewhere(*prefix) {
                let mut places: Places = hits.collect();
                self.find_elsewhere(*prefix, &mut places)?;
                places.iter().for_each(|place| found(member, place));
            } else {
                hits.for_each(|place| found(member, place));
            }
        }
        Ok(())
    }
}

/// The shard that a prefix is looked up in.
#[derive(Clone, Copy)]
struct Target<'a> {
    shard: &'a Shard,
    sorted: Sorted<'a>,
}

impl<'a> Target<'a> {
    #[inline]
    fn of(shard: &'a Shard) -> Self {
        Self { shard, sorted: shard.sorted() }
    }

    /// Where the window of a prefix starts, on its way into the cache.
    #[inline]
    fn announce_window(self, prefix: Prefix) -> usize {
        let entries = self.sorted.entries;
        let Some(last) = entries.len().checked_sub(WINDOW) else { return 0 };
        let middle = self.sorted.guess(prefix) + LINE / 2;
        let window = (middle.saturating_sub(WINDOW / 2) / LINE * LINE).min(last);
        if let Some(lines) = entries[window..].first_chunk::<WINDOW>() {
            lines.iter().step_by(LINE).for_each(prefetch);
        }
        window
    }

    /// All entries with this prefix, which are probably in the window.
    #[inline]
    fn find_in_window(self, prefix: Prefix, window: usize) -> Result<&'a [[u8; ENTRY_SIZE]], IndexError> {
        let entries = self.sorted.entries;
        let Some(near) = entries[window..].first_chunk::<WINDOW>() else { return self.shard.find(prefix) };
        let smaller = near.partition_point(|entry| Entry::from_bytes(entry).prefix < prefix);
        if smaller == 0 || smaller == WINDOW {
            let middle = window + WINDOW / 2;
            return Ok(&entries[self.shard.positions_near(entries, prefix, middle)?]);
        }
        let start = window + smaller;
        let end = end_of(entries, prefix, start);
        // The whole window must be right, because what is in it decides where the answer is.
        self.shard.check(window..(end + 1).max(window + WINDOW).min(entries.len()))?;
        Ok(&entries[start..end])
    }
}

/// Tells the processor that an entry will be needed soon.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(entry: &[u8; ENTRY_SIZE]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch changes nothing that a program can see and never faults, whatever the address, and this is the
    // address of bytes that are borrowed here. The instruction is part of every x86-64 processor.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(entry.as_ptr().cast()) }
}

/// Elsewhere the entry is read, which several loads in a row do at the same time nearly as well.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(entry: &[u8; ENTRY_SIZE]) {
    std::hint::black_box(entry[0]);
}
