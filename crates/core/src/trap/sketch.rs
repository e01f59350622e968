//! Counts items in memory of fixed size.
//!
//! A count-min sketch: each item has one counter in each of four rows, which it may share with
//! others, and its count is the smallest of the four. So a count is never too small, and rarely too
//! large while there are fewer items than counters in a row.
//!
//! The approximation allows the fixed size: a map would grow with every page of a crawl, and
//! fastest in the traps that it should find.

use std::hash::{DefaultHasher, Hash, Hasher};

const SKETCH_ROWS: usize = 4;

/// Saturating counters.
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    counters: Vec<u16>,
    /// The number of counters in a row minus one; a power of two minus one.
    mask: u64,
}

impl Sketch {
    /// A sketch with `1 << bits` counters in each row.
    pub(super) fn new(bits: u32) -> Self {
        let width = 1_usize << bits;
        Self { counters: vec![0; width * SKETCH_ROWS], mask: width as u64 - 1 }
    }

    /// Counts an item and returns its count, this time included.
    pub(super) fn add(&mut self, thing: impl Hash) -> u16 {
        let places = self.places(thing);
        let count = places.map(|place| self.counters[place]).into_iter().min().unwrap_or(0).saturating_add(1);
        // Only the smallest counters are raised, so that shared counters do not grow twice.
        for place in places {
            self.counters[place] = self.counters[place].max(count);
        }
        count
    }

    /// The positions of an item's counters. They are the same in every run, so that a resumed crawl
    /// counts the same.
    fn places(&self, thing: impl Hash) -> [usize; SKETCH_ROWS] {
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        let hash = hasher.finish();
        let step = hash.rotate_left(32) | 1;
        let width = self.mask as usize + 1;
        std::array::from_fn(|row| {
            let mixed = hash.wrapping_add(step.wrapping_mul(row as u64));
            row * width + ((mixed ^ (mixed >> 29)) & self.mask) as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn counts_saturate() {
        let mut sketch = Sketch::new(4);
        let last = (0..70_000).map(|_| sketch.add("x")).last();
        assert_eq!(last, Some(u16::MAX));
    }

    #[test]
    fn counts_are_right_while_there_is_room() {
        let mut sketch = Sketch::new(14);
        let wrong = (0..4000).filter(|thing| sketch.add(thing) != 1).count();
        assert!(wrong < 40, "{wrong} of 4000 seen twice at first sight");
    }

    proptest! {
        #[test]
        fn never_too_small(things in prop::collection::vec(0_u8..40, 0..300)) {
            let mut sketch = Sketch::new(4);
            let mut exact: HashMap<u8, u16> = HashMap::new();
            for thing in things {
                let count = exact.entry(thing).or_default();
                *count += 1;
                prop_assert!(sketch.add(thing) >= *count);
            }
        }
    }
}
