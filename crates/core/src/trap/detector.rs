//! Detects traps that show only across many URLs: one page under ever new parameters, sessions or
//! folders.
//!
//! Each URL is counted once, when it is first seen. A page is its site and path, a combination is
//! the set of its parameter names, and a variant is one set of values. A forum with 100,000 topics
//! has one combination and many variants, which is acceptable up to a limit. A shop with filters
//! has many combinations, which is not.
//!
//! A calendar is one shape of URL with ever more dates. One that continues into future years
//! continues into the past as well, regardless of its name. Once detected, it gets the page limit
//! of calendars, which is below one page for every day of 25 years. An archive of real years has no
//! future dates, so it is never taken for a calendar, regardless of its age.

use std::collections::HashSet;

use super::date::Dated;
use super::growing_path::GrowingPathDetector;
use super::sketch::Sketch;
use super::{Trap, TrapLimits, TrapUrlParts, detect_in_url};

/// The size of the sketch: 2 MiB, sufficient for about a million pages.
const SKETCH_BITS: u32 = 18;

/// No newspaper is older than this year, so earlier dates are not those of real content.
const OLDEST_NEWSPAPER_YEAR: u16 = 1600;
/// Maximum number of endless calendars that are remembered.
const MAX_ENDLESS_CALENDARS: usize = 4096;

/// The kinds of items that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CountedItem {
    Page,
    Combination,
    Variant,
    Session,
    Date,
}

/// Counts URLs and detects traps among them.
#[derive(Debug, Clone)]
pub struct TrapDetector {
    limits: TrapLimits,
    sketch: Sketch,
    /// Site and shape of the calendars that were found to be endless.
    endless: HashSet<(String, String)>,
    growing_paths: GrowingPathDetector,
}

impl TrapDetector {
    /// A detector that has seen no URL.
    pub fn new(limits: TrapLimits) -> Self {
        Self {
            limits,
            sketch: Sketch::new(SKETCH_BITS),
            endless: HashSet::new(),
            growing_paths: GrowingPathDetector::default(),
        }
    }

    /// Counts a URL that was not counted before, and returns why it looks like a trap, if it does.
    /// Counts never decrease: a page that became a trap remains one.
    pub fn note(&mut self, url: &str) -> Option<Trap> {
        if let Some(trap) = detect_in_url(url, &self.limits) {
            return Some(trap);
        }
        let parts = TrapUrlParts::of(url);
        let segments: Vec<&str> = parts.segments().collect();
        if !self.growing_paths.takes(parts.site, &segments, self.limits.growing_paths) {
            return Some(Trap::GrowingPath);
        }
        if Dated::find(parts).is_some_and(|dated| self.is_endless(parts.site, dated)) {
            return Some(Trap::Calendar);
        }
        let (plain, has_session) = without_session(parts);
        if has_session && self.sketch.add((CountedItem::Session, &plain)) > self.limits.sessions {
            return Some(Trap::SessionId);
        }
        let mut names: Vec<&str> = parts.parameters().map(|(name, _)| name).collect();
        if names.is_empty() {
            return None;
        }
        names.sort_unstable();
        names.dedup();
        self.count(parts, &names)
    }

    /// Whether a date belongs to an endless calendar of its shape.
    fn is_endless(&mut self, site: &str, Dated { year, shape }: Dated) -> bool {
        let dates = self.sketch.add((CountedItem::Date, site, &shape));
        let is_many = dates > self.limits.dates;
        let is_spent = dates > self.limits.calendar && !self.endless.is_empty();
        if self.limits.years.contains(&year) && !is_spent {
            return false;
        }
        let calendar = (site.to_owned(), shape);
        if self.limits.years.contains(&year) {
            return self.endless.contains(&calendar);
        }
        let is_future = year > *self.limits.years.end();
        if is_future && is_many && self.endless.len() < MAX_ENDLESS_CALENDARS {
            self.endless.insert(calendar);
            return true;
        }
        is_many && (is_future || year < OLDEST_NEWSPAPER_YEAR)
            || !is_future && self.endless.contains(&calendar)
    }

    /// Counts the variants of a combination, the combinations of a page, and all variants of the
    /// page. A few filters with a few values each have more variants than any site has pages.
    fn count(&mut self, parts: TrapUrlParts<'_>, names: &[&str]) -> Option<Trap> {
        let page = (parts.site, parts.path);
        let variants = self.sketch.add((CountedItem::Variant, page, names));
        if variants == 1 && self.sketch.add((CountedItem::Combination, page)) > self.limits.combinations {
            return Some(Trap::TooManyCombinations);
        }
        let most = self.limits.variants[names.len().min(3) - 1];
        if variants > most {
            return Some(Trap::TooManyVariants);
        }
        (self.sketch.add((CountedItem::Page, page)) > self.limits.variants[0])
            .then_some(Trap::TooManyCombinations)
    }
}

/// The URL without session ids, and whether it had one.
fn without_session(parts: TrapUrlParts<'_>) -> (String, bool) {
    let mut plain = String::with_capacity(parts.site.len() + parts.path.len() + parts.query.len());
    plain.push_str(parts.site);
    let mut has_session = false;
    for segment in parts.path.split_inclusive('/') {
        let name = segment.trim_end_matches('/');
        let kept = path_session(name).map_or(segment, |at| &name[..at]);
        has_session |= kept.len() < name.len();
        plain.push_str(kept);
    }
    for (name, value) in parts.parameters() {
        if is_session(name, value) {
            has_session = true;
        } else {
            plain.extend(["&", name, "=", value]);
        }
    }
    (plain, has_session)
}

/// The start of a session id in a path segment: `page;jsessionid=…` or `(S(…))`.
fn path_session(segment: &str) -> Option<usize> {
    let dotnet = segment.starts_with("(S(") && segment.ends_with("))");
    let parameter = || {
        let at = segment.find(';')?;
        let (name, value) = segment[at + 1..].split_once('=')?;
        is_session(name, value).then_some(at)
    };
    if dotnet { Some(0) } else { parameter() }
}

/// Whether a parameter is a session id: by an unambiguous name, or by a short name and a long
/// value.
fn is_session(name: &str, value: &str) -> bool {
    const NAMES: [&str; 12] = [
        "jsessionid",
        "phpsessid",
        "sessionid",
        "session_id",
        "session",
        "sessid",
        "cfid",
        "cftoken",
        "zenid",
        "oscsid",
        "aspxauth",
        "phpsession",
    ];
    const SHORT: [&str; 4] = ["sid", "s", "sess", "ssid"];
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    let asp = name.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("aspsessionid"));
    let is_random = value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (NAMES.iter().any(is) || asp) && value.len() >= 4 || SHORT.iter().any(is) && is_random
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> TrapDetector {
        TrapDetector::new(TrapLimits { variants: [50, 20, 10], combinations: 5, ..TrapLimits::default() })
    }

    #[test]
    fn one_parameter_may_have_many_values_and_filters_may_not() {
        let mut watch = watch();
        let mut trapped = |url: String| watch.note(&url);
        assert!((0..50).all(|topic| trapped(format!("http://h/topic?t={topic}")).is_none()));
        assert_eq!(trapped("http://h/topic?t=x".to_owned()), Some(Trap::TooManyVariants));
        assert!((0..10).all(|page| trapped(format!("http://h/shop?a=1&b=2&c={page}")).is_none()));
        assert_eq!(trapped("http://h/shop?c=x&b=2&a=1".to_owned()), Some(Trap::TooManyVariants));
        assert_eq!(trapped("http://h/shop?a=1".to_owned()), None);
        assert_eq!(trapped("http://other/topic?t=1".to_owned()), None);
    }

    #[test]
    fn a_page_gets_no_more_by_many_combinations_than_by_one() {
        let mut watch = watch();
        // Four pairs of names, each with fewer values than a pair may have.
        let mut urls = (0..80).map(|number| format!("http://h/f?a{}=1&b={number}", number % 4));
        assert!(urls.by_ref().take(50).all(|url| watch.note(&url).is_none()));
        assert!(urls.all(|url| watch.note(&url) == Some(Trap::TooManyCombinations)));
    }

    /// Follows `next` and `previous` as a crawl does, and says how many pages there were.
    fn crawl(url: &dyn Fn(i32) -> String, most: i32) -> i32 {
        let mut watch = TrapDetector::new(TrapLimits::for_year(2026));
        let (mut next, mut previous) = (Some(0), Some(-1));
        let mut pages = 0;
        while (next.is_some() || previous.is_some()) && pages < most {
            let mut step = |at: &mut Option<i32>, by: i32| {
                let Some(number) = *at else { return };
                pages += 1;
                *at = watch.note(&url(number)).is_none().then_some(number + by);
            };
            step(&mut next, 1);
            step(&mut previous, -1);
        }
        pages
    }

    fn month(number: i32) -> (i32, i32) {
        (2026 + number.div_euclid(12), number.rem_euclid(12) + 1)
    }

    #[test]
    fn calendars_end_whatever_they_are_called() {
        let months: [fn(i32, i32) -> String; 4] = [
            |year, month| format!("http://h/tribe/month/{year:04}-{month:02}"),
            |year, month| format!("http://h/mo?month={year:04}-{month:02}"),
            |year, month| format!("http://h/m?month={month}&year={year}"),
            |year, month| format!("http://h/x/{year}/{month:02}/"),
        ];
        for url in months {
            let pages = crawl(&|number| url(month(number).0, month(number).1), 20_000);
            assert!((100..500).contains(&pages), "{pages}: {}", url(2026, 1));
        }
        // Months of thirty days will do.
        let day = |number: i32| {
            let (year, month) = month(number.div_euclid(30));
            format!("http://h/ev/{year:04}-{month:02}-{:02}/", number.rem_euclid(30) + 1)
        };
        let pages = crawl(&day, 40_000);
        assert!((1000..2500).contains(&pages), "{pages}");
        let back = |number: i32| format!("http://h/back/{}-01", 2026 - number.abs());
        assert!(crawl(&back, 20_000) < 1000);
    }

    /// Crawls a site that answers under every path with the same relative links, and says how many
    /// pages there were.
    fn grow(links: &[&str], most: usize) -> usize {
        let mut watch = TrapDetector::new(TrapLimits::default());
        let mut queue = std::collections::VecDeque::from(["http://h/".to_owned()]);
        let mut seen = HashSet::new();
        let mut pages = 0;
        while let Some(page) = queue.pop_front().filter(|_| pages < most) {
            pages += 1;
            for link in links {
                let next = crate::url::resolve(&page, link).unwrap();
                if seen.insert(next.clone()) && watch.note(&next).is_none() {
                    queue.push_back(next);
                }
            }
        }
        pages
    }

    #[test]
    fn relative_links_that_grow_end_soon() {
        let names: Vec<String> = (0..30).map(|number| format!("part{number}/")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (links, most) in [
            (&["a/b/", "../x/", "c/"][..], 1500),
            (&["en/", "de/", "fr/"], 1500),
            (&["en/news", "de/news", "en/about", "../fr/"], 1500),
            (&["docs/", "docs/guide/", "docs/guide/install/", "news/"], 2000),
            (&["about.html", "team/", "team/about.html"], 40),
            (&names[..5], 1200),
            (&names, 2000),
        ] {
            let pages = grow(links, 100_000);
            assert!((3..most).contains(&pages), "{pages} pages of {links:?}");
        }
    }

    /// Trees over few names that end by themselves.
    #[test]
    fn what_grows_and_ends_is_no_trap() {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
        let languages = ["en", "de", "fr", "es", "it"];
        let answer = |number: usize, bit: usize| ["yes", "no"][number >> bit & 1];
        let mut urls: Vec<String> = (0..17_576)
            .map(|n| format!("http://h/wiki/{}/{}/{}/x{n}.html", letter(n), letter(n / 26), letter(n / 676)))
            .collect();
        for (from, to) in (0..25).map(|n| (languages[n % 5], languages[n / 5])) {
            urls.extend(languages.map(|shown| format!("http://h/{shown}/translate/{from}/{to}")));
        }
        for depth in 1..7 {
            let path = |n: usize| (0..depth).map(|bit| format!("/{}", answer(n, bit))).collect::<String>();
            urls.extend((0..1 << depth).map(|n| format!("http://h/quiz{}", path(n))));
        }
        urls.extend((0..300).map(|n| format!("http://h/docs/guide/install/step-{n}")));
        let mut watch = TrapDetector::new(TrapLimits::default());
        for url in urls {
            assert!(watch.note(&url).is_none_or(|trap| trap != Trap::GrowingPath), "{url}");
        }
    }

    /// What grows in one folder does not touch another.
    #[test]
    fn a_trap_in_one_place_leaves_the_others_alone() {
        let mut watch = TrapDetector::new(TrapLimits::default());
        let names = ["docs", "guide", "install", "news"];
        let name = |number: usize, place: u32| names[number / 4_usize.pow(place) % 4];
        let grown = (0..4096).map(|n| {
            let path: Vec<&str> = (0..6).map(|place| name(n, place)).collect();
            format!("http://h/contact/{}/", path.join("/"))
        });
        let pairs = (0..16).map(|n| format!("http://h/contact/{}/{}/", name(n, 0), name(n, 1)));
        let trapped = pairs.chain(grown).filter(|url| watch.note(url).is_some()).count();
        assert!(trapped > 2000, "{trapped}");
        for step in 0..300 {
            assert_eq!(watch.note(&format!("http://h/docs/guide/install/step-{step}")), None);
        }
    }

    /// A newspaper has an edition each day, and none in the years to come.
    #[test]
    fn a_newspaper_is_no_calendar() {
        let mut watch = TrapDetector::new(TrapLimits::for_year(2026));
        for number in 0..9000 {
            let (year, month) = month(-number / 30);
            let url = format!("http://h/paper/{year}/{month:02}/{:02}/", number % 30 + 1);
            assert_eq!(watch.note(&url), None, "{url}");
        }
    }

    #[test]
    fn archives_of_real_years_are_no_calendars() {
        let mut watch = TrapDetector::new(TrapLimits::for_year(2026));
        for year in (1777..=2026).rev() {
            assert_eq!(watch.note(&format!("http://h/history/{year}/")), None);
            for month in 1..=12 {
                for url in [
                    format!("http://h/paper/{year}/{month:02}/"),
                    format!("http://h/lccn/sn83030214/{year}-{month:02}-17/ed-1/"),
                    format!("http://h/news?date={year}-{month:02}"),
                ] {
                    assert_eq!(watch.note(&url), None, "{url}");
                }
            }
        }
        for year in 2029..2049 {
            assert_eq!(watch.note(&format!("http://h/eclipses/{year}-05-17")), None);
        }
    }

    #[test]
    fn combinations_explode() {
        let mut watch = watch();
        let combination = |number: u32| {
            let names = (0..4).filter(|bit| number >> bit & 1 == 1).map(|bit| format!("&f{bit}=1"));
            format!("http://h/shop?{}", names.collect::<String>())
        };
        let traps: Vec<_> = (1..16).map(|number| watch.note(&combination(number))).collect();
        assert_eq!(traps.iter().filter(|trap| trap.is_none()).count(), 5);
        assert_eq!(traps[5..], [Some(Trap::TooManyCombinations); 10]);
    }

    #[test]
    fn the_same_page_under_new_sessions() {
        let urls: [fn(u32) -> String; 4] = [
            |number| format!("http://h/a/page;jsessionid={number:032X}?x=1"),
            |number| format!("http://h/b?x=1&PHPSESSID={number:026x}"),
            |number| format!("http://h/(S({number:024}))/c.aspx"),
            |number| format!("http://h/d?sid={number:032x}&x=1"),
        ];
        for url in urls {
            let mut watch = TrapDetector::new(TrapLimits::default());
            let traps: Vec<_> = (0..4).map(|number| watch.note(&url(number))).collect();
            assert_eq!(traps, [None, None, Some(Trap::SessionId), Some(Trap::SessionId)], "{}", url(0));
        }
        let mut watch = TrapDetector::new(TrapLimits::default());
        assert!((0..9).all(|page| watch.note(&format!("http://h/d?sid={page}")).is_none()));
    }

    #[test]
    fn a_large_site_is_no_trap() {
        let mut watch = TrapDetector::new(TrapLimits::default());
        let urls = (0..30_000).map(|page| format!("http://h/a/{page}?ref=x&page={}", page % 7));
        let trapped = urls.filter(|url| watch.note(url).is_some()).count();
        assert_eq!(trapped, 0);
    }

    /// Addresses as generators of documentation make them, each met once from every page.
    #[test]
    fn documentation_is_no_trap() {
        let mut watch = TrapDetector::new(TrapLimits::default());
        let kinds: [fn(u32) -> String; 7] = [
            |n| format!("http://h/api/java.base/java/util/concurrent/atomic/Atomic{n}.html"),
            |n| format!("http://h/api/jdk.compiler/com/sun/source/tree/class-use/Tree{n}.html"),
            |n| {
                format!("http://h/html/libs/python/doc/html/reference/high_level/boost/python/class_{n}.html")
            },
            |n| format!("http://h/libstdc++/html/user/a{n:05}_source.html"),
            |n| format!("http://h/3.11/library/index.html?highlight=word{n}"),
            |n| format!("http://h/docs/15/sql-{n}.html"),
            |n| {
                format!(
                    "http://h/pool/main/a/b/?C={};O={}",
                    ["N", "M", "S", "D"][n as usize % 4],
                    ["A", "D"][n as usize % 2]
                )
            },
        ];
        for number in 0..2000 {
            for url in kinds.iter().map(|kind| kind(number)) {
                assert_eq!(watch.note(&url), None, "{url}");
            }
        }
    }
}
