//! Finds those of many patterns that could match a path.
//!
//! A file of half a megabyte can hold twenty thousand patterns, and trying each for each URL would
//! cost more than some fetches. So each pattern is indexed under four bytes that every matching
//! path contains. These are the four that the fewest other patterns have. A lookup considers only
//! the patterns indexed under the bytes of the path.

use std::collections::HashMap;

/// Four bytes in a row.
type Gram = [u8; 4];

/// An index of patterns by four bytes that they require.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// Grams with the numbers of patterns, sorted.
    filed: Vec<(Gram, u32)>,
    /// The patterns that are too short to be indexed.
    short: Vec<u32>,
}

impl Index {
    /// Builds the index from the required texts of each pattern.
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
