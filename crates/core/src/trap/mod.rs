//! Crawler traps: rules that recognise URLs of endless URL spaces.
//!
//! Some sites generate new URLs faster than a crawler can fetch them, mostly by mistake: growing
//! relative links, endless calendars, combinations of filters, session ids in links.
//! [`detect_in_url`] finds the traps that show in a single URL. [`TrapDetector`] counts URLs in
//! memory of bounded size and finds the others.
//!
//! Each trap is a pure rule with a name, so that skipped URLs can be listed with the reason. All
//! rules are heuristics, so every limit can be changed. The caller decides what to do with a URL.

mod date;
mod detector;
mod growing_path;
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
    /// The same segments repeat.
    RepeatingSegments,
    /// Relative links make the path grow: the same segments occur in every order.
    GrowingPath,
    /// The same parameter repeats.
    RepeatingParameters,
    /// There are too many parameters.
    TooManyParameters,
    /// A calendar, at a date far from the present.
    Calendar,
    /// Text that was percent-escaped repeatedly.
    NestedEscapes,
    /// A page that was already seen under other session ids.
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
            Self::GrowingPath => "growing-path",
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

/// The limits of the rules. The defaults are far above the values of ordinary sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapLimits {
    /// The maximum length of a URL, in bytes.
    pub length: usize,
    /// The maximum number of segments in a path.
    pub depth: usize,
    /// The maximum number of consecutive repetitions of the same segments.
    pub repeats: usize,
    /// The maximum number of occurrences of a segment anywhere in a path.
    pub scattered: usize,
    /// The maximum number of paths of a site that relative links seem to have made grow.
    pub growing_paths: u16,
    /// The maximum number of parameters in a query.
    pub parameters: usize,
    /// The years that a calendar may show.
    pub years: RangeInclusive<u16>,
    /// The maximum number of dates of a page before its future dates count as a calendar,
    /// regardless of its name.
    pub dates: u16,
    /// The maximum number of pages of a calendar that is known to be endless.
    pub calendar: u16,
    /// The maximum number of session ids under which one page is requested.
    pub sessions: u16,
    /// The maximum number of URLs of one page with the same one parameter, two parameters, and
    /// more. The first is also the maximum for all parameters together.
    pub variants: [u16; 3],
    /// The maximum number of combinations of parameters of one page.
    pub combinations: u16,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self {
            length: 2000,
            depth: 24,
            repeats: 3,
            scattered: 6,
            growing_paths: 1000,
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
    /// The defaults for a crawl in this year: calendars may go back 25 years and ahead two years.
    pub fn for_year(year: u16) -> Self {
        Self { years: year.saturating_sub(25)..=year.saturating_add(2), ..Self::default() }
    }
}

/// The parts of a URL that the rules examine.
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

    /// The parameters, as written.
    fn parameters(self) -> impl Iterator<Item = (&'u str, &'u str)> {
        let pieces = self.query.split(['&', ';']).filter(|piece| !piece.is_empty());
        pieces.map(|piece| piece.split_once('=').unwrap_or((piece, "")))
    }
}
