//! The result of a lookup: the places of all entries with one prefix.
//!
//! There is nearly always at most one, so the first needs no allocation.

use super::entry::SiloPlace;

/// Places in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiloPlaces {
    first: Option<SiloPlace>,
    more: Vec<SiloPlace>,
}

impl SiloPlaces {
    /// The number of places.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Whether there are none: no id with this prefix was stored.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The places, in order.
    pub fn iter(&self) -> impl Iterator<Item = SiloPlace> + '_ {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    #[inline]
    pub(super) fn push(&mut self, place: SiloPlace) {
        match self.first {
            None => self.first = Some(place),
            Some(first) => self.push_more(first, place),
        }
    }

    #[cold]
    fn push_more(&mut self, first: SiloPlace, place: SiloPlace) {
        let greatest = self.more.last().copied().unwrap_or(first);
        if place > greatest {
            return self.more.push(place);
        }
        if place < first {
            self.first = Some(place);
            self.more.insert(0, first);
        } else if place > first
            && let Err(position) = self.more.binary_search(&place)
        {
            self.more.insert(position, place);
        }
    }
}

impl FromIterator<SiloPlace> for SiloPlaces {
    fn from_iter<I: IntoIterator<Item = SiloPlace>>(places: I) -> Self {
        let mut all = Self::default();
        places.into_iter().for_each(|place| all.push(place));
        all
    }
}

impl IntoIterator for SiloPlaces {
    type Item = SiloPlace;
    type IntoIter = std::iter::Chain<std::option::IntoIter<SiloPlace>, std::vec::IntoIter<SiloPlace>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_are_in_order_and_each_once(bits in prop::collection::vec(0_u64..20, 0..30)) {
            let mut places = SiloPlaces::default();
            bits.iter().for_each(|bits| places.push(SiloPlace::from_number(*bits)));
            let expected: BTreeSet<_> = bits.into_iter().map(SiloPlace::from_number).collect();
            prop_assert_eq!(places.len(), expected.len());
            prop_assert_eq!(places.is_empty(), expected.is_empty());
            prop_assert!(places.iter().eq(expected.iter().copied()));
            prop_assert!(places.into_iter().eq(expected));
        }
    }
}
