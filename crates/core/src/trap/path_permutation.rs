//! Relative links that grow: names that come under each other in every order.
//!
//! A page that answers under every path and links to `about/`, `team/` and `../news/` makes paths of few names without end, and none of
//! them has to repeat itself often to be one of millions. Folders that people make have an order: what lies under `docs/api` does not
//! lie under `api/docs` and `api/api` as well. So names are *loose* in a place, which is a folder, once they were met below it in
//! orders that nobody makes, and a path with several loose names is one that may have grown. Two things tell it:
//!
//! - There are many ways to come back to a name, such as `a/b/c/a` and `b/a/b`, and few names on them. Where folders happen to
//!   have names of those above them, as `src/one/src` and `src/two/src`, nearly every way has a name of its own.
//! - A name and each of two others stand under each other, and one of them under itself: `a/a`, `a/b` and `b/a`, `a/c` and `c/a`.
//!   This shows before the crowd is there.
//!
//! Both are rare where nothing grows, but sites do have them: articles in folders of their first letters, pairs of languages, trees of
//! questions. Those end. So a path may have three short names that are loose, as folders by letters do, and of paths with more, or of
//! longer names, each site has so many; only what comes then is taken for a trap.
//!
//! Numbers are no names: days, pages and tiles do stand in every order. Only paths that come back to a name are remembered, and places
//! where one stands under itself, so what is kept is exact and small. It has a limit all the same, beyond which nothing new is
//! learned.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many things of a kind are remembered, of all sites together.
const MAX_REMEMBERED_ITEMS: usize = 1 << 18;
/// So many ways back to a name may be made by people, and so many for each of the names on them.
const MAX_RETURN_PATHS: u16 = 8;
const MAX_RETURN_PATHS_PER_NAME: u16 = 2;
/// With so many others a name stands in both orders before it is loose.
const MIN_SWAPPED_PARTNERS: u16 = 2;
/// So many loose names a path may have below a place, and so many of them that are longer than letters and codes of languages.
const MAX_LOOSE_NAMES: usize = 3;
const MAX_LONG_LOOSE_NAMES: usize = 2;
const LONG_NAME_BYTES: usize = 3;

/// The names that come in any order, and what makes them so.
#[derive(Debug, Clone, Default)]
pub(super) struct PathPermutationTrap {
    loose: HashSet<u64>,
    /// Ways back to a name.
    returns: HashSet<u64>,
    /// How many of them there are in a place, and how many names are on them.
    ways: HashMap<u64, u16>,
    names: HashMap<u64, u16>,
    /// The names on them.
    on_ways: HashSet<u64>,
    /// Names that stand under themselves, each with its place.
    doubled: HashSet<u64>,
    /// Names that stand under others where one of the two is doubled.
    under: HashSet<u64>,
    /// With how many others a name stands in both orders.
    partners: HashMap<u64, u16>,
    /// How many paths of a site have many loose names.
    grown: HashMap<u64, u16>,
}

impl PathPermutationTrap {
    /// Takes note of a path; false if it looks as if it had grown, and is beyond the `most` of its site that do.
    pub(super) fn takes(&mut self, site: &str, segments: &[&str], most: u16) -> bool {
        self.learn_from_return(site, segments);
        self.learn_from_pair(site, segments);
        !self.has_grown(site, segments) || count(&mut self.grown, site) <= most
    }

    /// Whether a path has many names that are loose below one of its folders.
    fn has_grown(&self, site: &str, segments: &[&str]) -> bool {
        let below = |place: usize| {
            let (place, rest) = segments.split_at(place);
            let is_loose = |name: &&&str| self.loose.contains(&mark((site, place, **name)));
            let loose = || rest.iter().filter(is_loose);
            loose().count() > MAX_LOOSE_NAMES
                || loose().filter(|name| name.len() >= LONG_NAME_BYTES).count() > MAX_LONG_LOOSE_NAMES
        };
        !self.loose.is_empty() && (0..segments.len().saturating_sub(MAX_LONG_LOOSE_NAMES)).any(below)
    }

    /// Names on the ways from one to itself are loose if there are too many ways for so few names.
    fn learn_from_return(&mut self, site: &str, segments: &[&str]) {
        let before = |at: usize| segments[..at].iter().position(|name| *name == segments[at]);
        let back = (1..segments.len()).find(|at| is_name(segments[*at]) && before(*at).is_some());
        let Some((first, back)) = back.and_then(|back| Some((before(back)?, back))) else { return };
        let (place, way) = (&segments[..first], &segments[first..back]);
        if !insert(&mut self.returns, (site, place, way)) {
            return;
        }
        let ways = count(&mut self.ways, (site, place));
        for name in way {
            if insert(&mut self.on_ways, (site, place, *name)) {
                count(&mut self.names, (site, place));
            }
        }
        let names = self.names.get(&mark((site, place))).copied().unwrap_or(u16::MAX);
        if ways >= MAX_RETURN_PATHS && ways > names.saturating_mul(MAX_RETURN_PATHS_PER_NAME) {
            self.loosen(site, place, way);
        }
    }

    /// The last two names of a path are loose if they stand in both orders with too many others.
    fn learn_from_pair(&mut self, site: &str, segments: &[&str]) {
        let [place @ .., upper, lower] = segments else { return };
        if !is_name(upper) || !is_name(lower) {
            return;
        }
        if upper == lower {
            insert(&mut self.doubled, (site, place, upper));
            return;
        }
        let is_doubled = |name: &str| self.doubled.contains(&mark((site, place, name)));
        if !is_doubled(upper) && !is_doubled(lower)
            || !insert(&mut self.under, (site, place, upper, lower))
            || !self.under.contains(&mark((site, place, lower, upper)))
        {
            return;
        }
        for name in [*upper, *lower] {
            if count(&mut self.partners, (site, place, name)) >= MIN_SWAPPED_PARTNERS {
                self.loosen(site, place, &[name]);
            }
        }
    }

    fn loosen(&mut self, site: &str, place: &[&str], names: &[&str]) {
        for name in names {
            insert(&mut self.loose, (site, place, *name));
        }
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
    seen.len() < MAX_REMEMBERED_ITEMS && seen.insert(mark(thing))
}

/// Counts a thing once more, and says how often it has come; never, if there is no room.
fn count(counts: &mut HashMap<u64, u16>, thing: impl Hash) -> u16 {
    let mark = mark(thing);
    if counts.len() >= MAX_REMEMBERED_ITEMS && !counts.contains_key(&mark) {
        return 0;
    }
    let count = counts.entry(mark).or_default();
    *count = count.saturating_add(1);
    *count
}
