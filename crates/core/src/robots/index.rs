//! Which of many patterns could match a path at all.
//!
//! A file of half a megabyte has room for twenty thousand patterns, and trying each for each URL would cost more
//! than fetching some of them. So each pattern is filed under four bytes that every path it matches must contain,
//! the four that the fewest other patterns have; a path then asks only for the patterns filed under its own bytes.

use std::collections::HashMap;

/// Four bytes in a row.
type Gram = [u8; 4];

/// Patterns by what they must contain.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// Grams with the numbers of patterns, sorted.
    filed: Vec<(Gram, u32)>,
    /// The patterns that are too short to be filed.
    short: Vec<u32>,
}

impl Index {
    /// Files patterns, given what each must contain.
    pub(super) fn new<'p, S>(patterns: impl Iterator<Item = S> + Clone) -> Self
    where
        S: Iterator<Item = &'p [u8]>,
    {
        let mut frequency: HashMap<Gram, u32> = HashMap::new();
        for gram in patterns.clone().flatten().flat_map(grams) {
            *frequency.entry(gram).or_default() += 1;
        }
        let mut index = Self::default();
        for (number, segments) in (0..).zip(patterns) {
            match segments.flat_map(grams).min_by_key(|gram| (frequency[gram], *gram)) {
                Some(gram) => index.filed.push((gram, number)),
                None => index.short.push(number),
            }
        }
        index.filed.sort_unstable();
        index
    }

    /// The patterns that could match the path, each once.
    pub(super) fn candidates(&self, path: &[u8]) -> impl Iterator<Item = u32> {
        let mut found: Vec<Gram> = grams(path).collect();
        found.sort_unstable();
        found.dedup();
        let filed = found.into_iter().flat_map(|gram| {
            let start = self.filed.partition_point(|(filed, _)| *filed < gram);
            self.filed[start..].iter().take_while(move |(filed, _)| *filed == gram).map(|(_, number)| *number)
        });
        self.short.iter().copied().chain(filed)
    }
}

fn grams(text: &[u8]) -> impl Iterator<Item = Gram> {
    text.windows(4).map(|window| [window[0], window[1], window[2], window[3]])
}
