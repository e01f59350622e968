//! Detects growing relative links: names that occur below each other in every order.
//!
//! A page that is served under every path and links to `about/`, `team/` and `../news/` makes
//! endless paths of few names. None of these paths needs to repeat a name often. Folders made by
//! authors have an order: the content of `docs/api` is not also in `api/docs` and `api/api`.
//!
//! So names are *loose* in a place, which is a folder, once they occur below it in orders that
//! authors do not make. A path with several loose names may have grown. There are two signs:
//!
//! - Many paths return to a name, such as `a/b/c/a` and `b/a/b`, and few names are on them. If
//!   folders only share names with those above them, as in `src/one/src` and `src/two/src`, nearly
//!   every path has a name of its own.
//! - A name and each of two others occur below each other, and one of them below itself: `a/a`,
//!   `a/b` and `b/a`, `a/c` and `c/a`. This sign needs only a few URLs.
//!
//! Both are rare on sites without such links, but they exist: articles in folders of their first
//! letters, pairs of languages, trees of questions. Those are finite. So a path may have three
//! short loose names, as folders by letters have. Paths with more, or with longer names, count as
//! traps only above a limit for each site.
//!
//! Numbers are not names: days, pages and tiles occur in every order. Only paths that return to a
//! name are remembered, and places where a name is below itself. So the memory is exact and small.
//! It is also bounded: when it is full, nothing more is learned.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of remembered items of each kind, for all sites together.
const MAX_REMEMBERED_ITEMS: usize = 1 << 18;
/// The names on paths back to a name are loose if there are at least this many paths in a place,
/// and more than `MAX_RETURN_PATHS_PER_NAME` for each name on them.
const MAX_RETURN_PATHS: u16 = 8;
const MAX_RETURN_PATHS_PER_NAME: u16 = 2;
/// Minimum number of names with which a name must occur in both orders to be loose.
const MIN_SWAPPED_PARTNERS: u16 = 2;
/// Maximum number of loose names of a path below a place, and of those among them that are longer
/// than letters and language codes.
const MAX_LOOSE_NAMES: usize = 3;
const MAX_LONG_LOOSE_NAMES: usize = 2;
const LONG_NAME_BYTES: usize = 3;

/// The loose names, and the observations that make names loose.
#[derive(Debug, Clone, Default)]
pub(super) struct GrowingPathDetector {
    loose: HashSet<u64>,
    /// Paths from a name back to itself.
    returns: HashSet<u64>,
    /// The number of such paths in a place, and the number of names on them.
    ways: HashMap<u64, u16>,
    names: HashMap<u64, u16>,
    /// The names on such paths.
    on_ways: HashSet<u64>,
    /// Names that occur below themselves, each with its place.
    doubled: HashSet<u64>,
    /// Pairs of names, one below the other, of which one is doubled.
    under: HashSet<u64>,
    /// The number of other names with which a name occurs in both orders.
    partners: HashMap<u64, u16>,
    /// The number of paths of a site with many loose names.
    grown: HashMap<u64, u16>,
}

impl GrowingPathDetector {
    /// Learns from a path. Returns false if the path looks grown and the site has more than `most`
    /// such paths.
    pub(super) fn takes(&mut self, site: &str, segments: &[&str], most: u16) -> bool {
        self.learn_from_return(site, segments);
        self.learn_from_pair(site, segments);
        !self.has_grown(site, segments) || count(&mut self.grown, site) <= most
    }

    /// Whether a path has too many loose names below one of its folders.
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

    /// Makes the names on paths from a name to itself loose, if there are too many paths for the
    /// number of names.
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

    /// Makes each of the last two names of a path loose, if it occurs in both orders with enough
    /// others.
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

/// The hash by which an item is remembered. It is the same in every run, so that a resumed crawl
/// learns the same.
fn mark(thing: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// Remembers an item. Returns false if it was known, or if the memory is full.
fn insert(seen: &mut HashSet<u64>, thing: impl Hash) -> bool {
    seen.len() < MAX_REMEMBERED_ITEMS && seen.insert(mark(thing))
}

/// Increments the count of an item and returns it; 0 if the memory is full.
fn count(counts: &mut HashMap<u64, u16>, thing: impl Hash) -> u16 {
    let mark = mark(thing);
    if counts.len() >= MAX_REMEMBERED_ITEMS && !counts.contains_key(&mark) {
        return 0;
    }
    let count = counts.entry(mark).or_default();
    *count = count.saturating_add(1);
    *count
}
