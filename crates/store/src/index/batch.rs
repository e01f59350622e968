//! Many lookups at once.
//!
//! A lookup waits for memory, once for the bias table and once for the entries, and computes almost nothing. Asked one by
//! one, each wait begins when the one before is over. Here a group of ids goes through the steps together: the
//! processor is told of all the table slots it will need, then of all the entries, and only then is each search
//! finished, by which time what it needs has arrived. Where a lone lookup walks from its guess entry by entry, here a
//! window of three cache lines around the guess is simply counted through: no branch to mispredict, and it holds the
//! answer nearly always.
//!
//! Plain loads in place of prefetches were measured and are a third slower; sorting the ids first gained nothing.

use std::ops::Range;

use super::entry::{ENTRY_SIZE, Entry, Place, Prefix};
use super::error::IndexError;
use super::layout::HEADER;
use super::places::Places;
use super::shard::Shard;
use super::view::View;

/// Lookups that are under way together.
const GROUP: usize = 32;
/// Entries in a cache line, when entries start on one. They do: the map and the start of the entries are aligned.
const LINE: usize = 4;
/// Entries that are counted through.
const WINDOW: usize = 3 * LINE;

impl View {
    /// All places of many prefixes: `found` hears the number of the prefix and a place, in order of the numbers.
    pub(super) fn find_many(
        &self,
        prefixes: &[Prefix],
        mut found: impl FnMut(usize, Place),
    ) -> Result<(), IndexError> {
        for (number, group) in prefixes.chunks(GROUP).enumerate() {
            self.find_group(group, |member, place| found(number * GROUP + member, place))?;
        }
        Ok(())
    }

    fn find_group(&self, prefixes: &[Prefix], mut found: impl FnMut(usize, Place)) -> Result<(), IndexError> {
        let mut windows = [0; GROUP];
        for prefix in prefixes {
            self.shards.of(*prefix).announce_bucket(*prefix);
        }
        for (window, prefix) in windows.iter_mut().zip(prefixes) {
            *window = self.shards.of(*prefix).announce_window(*prefix);
        }
        for (member, (window, prefix)) in windows.iter().zip(prefixes).enumerate() {
            let shard = self.shards.of(*prefix);
            let positions = shard.find_in_window(*prefix, *window)?;
            if self.may_hold_elsewhere(*prefix) {
                let mut places: Places = positions.map(|position| shard.place(position)).collect();
                self.find_elsewhere(*prefix, &mut places)?;
                places.iter().for_each(|place| found(member, place));
            } else {
                positions.for_each(|position| found(member, shard.place(position)));
            }
        }
        Ok(())
    }
}

impl Shard {
    #[inline]
    fn announce_bucket(&self, prefix: Prefix) {
        let (bucket, _) = self.header().geometry.bucket(self.name(), prefix);
        prefetch(self.bytes(), HEADER + 4 * bucket);
    }

    /// Where the window of a prefix starts, on its way into the cache.
    #[inline]
    fn announce_window(&self, prefix: Prefix) -> usize {
        let entries = self.entries();
        if entries.len() < WINDOW {
            return 0;
        }
        let guess = self.guess(prefix);
        let window =
            ((guess + LINE / 2).saturating_sub(WINDOW / 2) / LINE * LINE).min(entries.len() - WINDOW);
        for line in 0..WINDOW / LINE {
            prefetch(entries.as_flattened(), (window + line * LINE) * ENTRY_SIZE);
        }
        window
    }

    /// The positions of all entries with this prefix, which are probably in the window.
    #[inline]
    fn find_in_window(&self, prefix: Prefix, window: usize) -> Result<Range<usize>, IndexError> {
        let entries = self.entries();
        let Some(counted) = entries[window..].first_chunk::<WINDOW>() else { return self.find(prefix) };
        let smaller: usize =
            counted.iter().map(|entry| usize::from(Entry::from_bytes(entry).prefix < prefix)).sum();
        if smaller == 0 || smaller == WINDOW {
            return self.find_from(prefix, window + WINDOW / 2);
        }
        // The whole window must be right: what was counted decides where the answer is.
        self.check(window..window + WINDOW)?;
        let start = window + smaller;
        let end = self.end_of(prefix, start)?;
        Ok(start..end)
    }
}

/// Tells the processor that a byte will be needed soon.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(bytes: &[u8], offset: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    if let Some(byte) = bytes.get(offset) {
        // SAFETY: a prefetch reads nothing the program can see and never faults, whatever the address; and this one is
        // the address of a byte that the slice holds.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
}

/// Elsewhere the byte is read, which several loads in a row do at the same time just as well.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(bytes: &[u8], offset: usize) {
    std::hint::black_box(bytes.get(offset).copied());
}
