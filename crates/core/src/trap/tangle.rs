//! Relative links that grow: names that come under each other in every order.
//!
//! A page that answers under every path and links to `a/`, `b/` and `../c/` makes paths of few names without end, and none of them
//! has to repeat itself often to be one of millions. Folders that people make have an order: what lies under `docs/api` does not lie
//! under `api/docs/api` and `api/api/docs` as well. So the names of a site are *loose* once they were met in so many orders that nobody made
//! them, and a path with several loose names is one that grew. Two things tell it:
//!
//! - Of one set of names there are several paths that come back to one of them. Cut off at the first name that
//!   comes back, no more than two of the six million paths in Debian's packages have the same set.
//! - In one place a name and each of two others stand under each other, and one of them under itself: `a/a`, `a/b` and `b/a`, `a/c`
//!   and `c/a`. This shows before the crowd is there. Of those six million paths it is so of names in two places.
//!
//! Numbers are no names: days, pages and tiles do stand in every order. Only paths that come back to a name are remembered, and places
//! where one stands under itself: both are rare, so what is kept is exact and small. It has a limit all the same, beyond which nothing new is
//! learned.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many things of a kind are remembered, of all sites together.
const MOST: usize = 1 << 18;
/// With so many others a name stands in both orders before it is loose.
const PARTNERS: u16 = 2;

/// The names that come in any order, and what makes them so.
#[derive(Debug, Clone, Default)]
pub(super) struct Tangle {
    loose: HashSet<u64>,
    /// Paths up to the first name that comes back.
    returns: HashSet<u64>,
    /// How many of them have the same names.
    orders: HashMap<u64, u16>,
    /// Names that stand under themselves, each with its place.
    doubled: HashSet<u64>,
    /// Names that stand under others where one of the two is doubled.
    under: HashSet<u64>,
    /// With how many others a name stands in both orders.
    partners: HashMap<u64, u16>,
}

impl Tangle {
    /// Takes note of a path of a site whose names may come in so many orders; false if more than `most` of its segments are loose.
    pub(super) fn takes(&mut self, site: &str, segments: &[&str], orders: u16, most: usize) -> bool {
        let names = self.tangled_return(site, segments, orders);
        self.loosen(site, &names);
        let names = self.tangled_pair(site, segments);
        self.loosen(site, &names);
        if self.loose.is_empty() {
            return true;
        }
        let is_loose = |name: &&&str| self.loose.contains(&mark((site, **name)));
        segments.iter().filter(is_loose).count() <= most
    }

    fn loosen(&mut self, site: &str, names: &[&str]) {
        for name in names {
            insert(&mut self.loose, (site, *name));
        }
    }

    /// The names of the path up to the first that comes back, if those come in too many orders.
    fn tangled_return<'u>(&mut self, site: &str, segments: &[&'u str], orders: u16) -> Vec<&'u str> {
        let is_back = |at: &usize| is_name(segments[*at]) && segments[..*at].contains(&segments[*at]);
        let Some(back) = (1..segments.len()).find(is_back) else { return Vec::new() };
        let path = &segments[..=back];
        if !insert(&mut self.returns, (site, path)) {
            return Vec::new();
        }
        let mut names = path.to_vec();
        names.sort_unstable();
        names.dedup();
        if count(&mut self.orders, (site, &names)) <= orders {
            names.clear();
        }
        names
    }

    /// Which of the last two names of the path stand in both orders with too many others, in their place.
    fn tangled_pair<'u>(&mut self, site: &str, segments: &[&'u str]) -> Vec<&'u str> {
        let [place @ .., upper, lower] = segments else { return Vec::new() };
        if !is_name(upper) || !is_name(lower) {
            return Vec::new();
        }
        if upper == lower {
            insert(&mut self.doubled, (site, place, upper));
            return Vec::new();
        }
        let is_doubled = |name: &str| self.doubled.contains(&mark((site, place, name)));
        if !is_doubled(upper) && !is_doubled(lower)
            || !insert(&mut self.under, (site, place, upper, lower))
            || !self.under.contains(&mark((site, place, lower, upper)))
        {
            return Vec::new();
        }
        let mut names = vec![*upper, *lower];
        names.retain(|name| count(&mut self.partners, (site, place, name)) >= PARTNERS);
        names
    }
}

fn is_name(segment: &str) -> bool {
    segment.contains(char::is_alphabetic)
}

/// What a thing is remembered by: the same in every run, so that a crawl that is resumed learns alike.
fn mark(thing: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// Remembers a thing; false if it was known, or if there is no room.
fn insert(seen: &mut HashSet<u64>, thing: impl Hash) -> bool {
    seen.len() < MOST && seen.insert(mark(thing))
}

/// Counts a thing once more, and says how often it has come; never, if there is no room.
fn count(counts: &mut HashMap<u64, u16>, thing: impl Hash) -> u16 {
    let mark = mark(thing);
    if counts.len() >= MOST && !counts.contains_key(&mark) {
        return 0;
    }
    let count = counts.entry(mark).or_default();
    *count = count.saturating_add(1);
    *count
}
