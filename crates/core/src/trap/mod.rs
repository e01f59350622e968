//! Crawler traps: why a URL looks like one of endlessly many.
//!
//! Some sites make new URLs faster than anybody can fetch them, mostly by mistake: relative links that grow, calendars
//! without end, filters in every combination, a session in each link. [`suspect`] knows the ones that show in a
//! single URL; [`Watch`] counts, in memory of fixed size, the ones that only show in the crowd.
//!
//! A pure rule with a name for each trap, so that what is skipped can be listed with its reason. All of it is
//! guessing, so every limit can be moved, and nothing here decides what becomes of a URL.

mod date;
mod detector;
mod path_permutation;
mod single_url;
mod sketch;

pub use detector::TrapDetector;
pub use single_url::detect_in_url;

use std::fmt;
use std::ops::RangeInclusive;

/// Why a URL looks like a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trap {
    /// The URL is too long.
    TooLong,
    /// The path has too many segments.
    TooDeep,
    /// The same segments come again and again.
    RepeatingSegments,
    /// The same segments come in every order.
    PermutedSegments,
    /// The same parameter comes again and again.
    RepeatingParameters,
    /// There are too many parameters.
    TooManyParameters,
    /// A calendar, at a date far from any event.
    Calendar,
    /// Something was escaped, and escaped again.
    NestedEscapes,
    /// A page that was seen under other session ids already.
    SessionId,
    /// One page with too many values for the same parameters.
    TooManyVariants,
    /// One page with too many combinations of parameters.
    TooManyCombinations,
}

impl Trap {
    /// The name of the rule, for lists and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooLong => "too-long",
            Self::TooDeep => "too-deep",
            Self::RepeatingSegments => "repeating-segments",
            Self::PermutedSegments => "tangled-segments",
            Self::RepeatingParameters => "repeating-parameters",
            Self::TooManyParameters => "too-many-parameters",
            Self::Calendar => "calendar",
            Self::NestedEscapes => "nested-escapes",
            Self::SessionId => "session-id",
            Self::TooManyVariants => "too-many-variants",
            Self::TooManyCombinations => "too-many-combinations",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where each rule begins to suspect. The defaults are far from what sites made for people have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapLimits {
    /// The longest URL, in bytes.
    pub length: usize,
    /// The most segments of a path.
    pub depth: usize,
    /// How often the same segments may follow each other.
    pub repeats: usize,
    /// How often a segment may come, wherever it stands.
    pub scattered: usize,
    /// How many paths of a site may have segments that come in any order.
    pub permuted: u16,
    /// The most parameters of a query.
    pub parameters: usize,
    /// The years that a calendar may show.
    pub years: RangeInclusive<u16>,
    /// How many dates a page may have before those in the years to come count as a calendar, whatever it is called.
    pub dates: u16,
    /// How many pages a calendar may have that is known to go on for ever.
    pub calendar: u16,
    /// Under how many session ids one page may be asked for.
    pub sessions: u16,
    /// How many URLs one page may have with the same one parameter, two parameters, and more; with all of them no more than with one.
    pub variants: [u16; 3],
    /// How many combinations of parameters one page may have.
    pub combinations: u16,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self {
            length: 2000,
            depth: 24,
            repeats: 3,
            scattered: 6,
            permuted: 1000,
            parameters: 20,
            years: 1990..=2100,
            dates: 24,
            calendar: 500,
            sessions: 2,
            variants: [10_000, 5000, 1000],
            combinations: 100,
        }
    }
}

impl TrapLimits {
    /// The defaults for a crawl in this year: calendars may look back a quarter of a century and two years ahead.
    pub fn for_year(year: u16) -> Self {
        Self { years: year.saturating_sub(25)..=year.saturating_add(2), ..Self::default() }
    }
}

/// A URL cut into the parts that the rules look at.
#[derive(Debug, Clone, Copy)]
struct TrapUrlParts<'u> {
    /// Scheme, host and port.
    site: &'u str,
    path: &'u str,
    query: &'u str,
}

impl<'u> TrapUrlParts<'u> {
    fn of(url: &'u str) -> Self {
        let url = url.split('#').next().unwrap_or("");
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
        let (path, query) = url[end..].split_once('?').unwrap_or((&url[end..], ""));
        Self { site: &url[..end], path, query }
    }

    fn segments(self) -> impl Iterator<Item = &'u str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    /// The parameters, as they are written.
    fn parameters(self) -> impl Iterator<Item = (&'u str, &'u str)> {
        let pieces = self.query.split(['&', ';']).filter(|piece| !piece.is_empty());
        pieces.map(|piece| piece.split_once('=').unwrap_or((piece, "")))
    }
}
