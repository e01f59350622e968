//! `diff`: what changed between two versions, page by page.
//!
//! Pairs the pages and compares each pair that is not the same; what comes out goes to the caller at once, so that a diff of
//! a thousand pages holds two bodies. A page whose only changes are noise counts as unchanged, unless noise is asked for.

use std::io::Read;

use varve_catalog::{CaptureFilter, Order, Page};
use varve_core::VersionId;
use varve_core::headers::HeaderView;
use varve_core::history::Capture;
use varve_page::compare::{Comparison, Side, compare};

use crate::error::ArchiveError;
use crate::history::{Holdings, Pair, Pairs};

pub use crate::history::Change;
pub use varve_core::diff::{ChunkKind, Hunk, HunkLine, Segment, Style, View};
pub use varve_page::compare::{Body, Mode, Options, Report};

/// Bodies longer than this are not compared, only weighed.
pub const LONGEST: u64 = 64 << 20;
/// What a server answers when nothing changed.
const NOT_MODIFIED: u16 = 304;
/// So many captures are looked at for one that has all headers.
const LOOK_BACK: usize = 100;

/// What to compare.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// From this version; none for nothing at all.
    pub base: Option<VersionId>,
    /// To this version; none for nothing at all.
    pub head: Option<VersionId>,
    /// Only pages of this URL.
    pub url: Option<String>,
    /// How pages are compared.
    pub options: Options,
    /// Noise counts as change.
    pub all: bool,
    /// Which pages changed is enough: no text is compared unless noise must be told from change.
    pub names_only: bool,
}

/// One page that changed.
pub struct PageDiff<'a> {
    /// The page in both versions.
    pub pair: &'a Pair,
    /// What became of it.
    pub change: Change,
    /// How it changed; none when a body is too long to be compared.
    pub comparison: Option<&'a Comparison<'a>>,
}

/// How many pages became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Only in the newer version.
    pub added: u64,
    /// Only in the older version.
    pub removed: u64,
    /// In both, and different.
    pub changed: u64,
    /// In both, and the same.
    pub unchanged: u64,
    /// In both, and the same but for noise.
    pub noise: u64,
}

impl Totals {
    /// Whether anything differs.
    pub fn differ(&self) -> bool {
        self.added + self.removed + self.changed > 0
    }
}

/// Compares two versions; `each` is given every page that changed, in the order of paths.
pub fn diff<E: From<ArchiveError>>(
    holdings: &dyn Holdings,
    request: &Request,
    mut each: impl FnMut(&PageDiff<'_>) -> Result<(), E>,
) -> Result<Totals, E> {
    let mut totals = Totals::default();
    for pair in Pairs::new(holdings.catalog(), request.base, request.head) {
        let pair = pair?;
        let wanted = request.url.as_deref().is_none_or(|url| is_page(&pair, url));
        if !wanted {
            continue;
        }
        if pair.change() == Change::Unchanged {
            totals.unchanged += 1;
            continue;
        }
        compare_pair(holdings, request, &pair, &mut totals, &mut each)?;
    }
    Ok(totals)
}

fn is_page(pair: &Pair, url: &str) -> bool {
    let sides = [&pair.base, &pair.head];
    super::log::spellings(url)
        .iter()
        .any(|url| sides.iter().any(|side| side.as_ref().is_some_and(|page| page.url == *url)))
}

fn compare_pair<E: From<ArchiveError>>(
    holdings: &dyn Holdings,
    request: &Request,
    pair: &Pair,
    totals: &mut Totals,
    each: &mut impl FnMut(&PageDiff<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let change = pair.change();
    let is_plain = request.names_only && change != Change::Changed;
    let is_long =
        [&pair.base, &pair.head].into_iter().flatten().any(|page| page.length.unwrap_or(0) > LONGEST);
    if is_plain || is_long {
        totals.count(change);
        return each(&PageDiff { pair, change, comparison: None });
    }
    let (base, head) = (Loaded::of(holdings, pair.base.as_ref())?, Loaded::of(holdings, pair.head.as_ref())?);
    let (base_id, head_id) = (name(request.base), name(request.head));
    let comparison = compare(&base.side(&base_id), &head.side(&head_id), &request.options);
    let status_differs = match (&pair.base, &pair.head) {
        (Some(base), Some(head)) => {
            base.status != head.status && base.status != NOT_MODIFIED && head.status != NOT_MODIFIED
        }
        _ => true,
    };
    if !request.all && !status_differs && !comparison.is_changed() {
        totals.noise += 1;
        return Ok(());
    }
    totals.count(change);
    each(&PageDiff { pair, change, comparison: Some(&comparison) })
}

fn name(version: Option<VersionId>) -> String {
    version.map(|version| version.to_string()).unwrap_or_default()
}

impl Totals {
    fn count(&mut self, change: Change) {
        match change {
            Change::Added => self.added += 1,
            Change::Removed => self.removed += 1,
            Change::Changed => self.changed += 1,
            Change::Unchanged => self.unchanged += 1,
        }
    }
}

/// A page in memory; nothing at all where there is none.
#[derive(Default)]
struct Loaded {
    headers: HeaderView,
    body: Vec<u8>,
}

impl Loaded {
    fn of(holdings: &dyn Holdings, capture: Option<&Capture>) -> Result<Self, ArchiveError> {
        let Some(capture) = capture else { return Ok(Self::default()) };
        let mut body = Vec::new();
        let reader = match holdings.open_body(capture) {
            // A download that failed is a page with nothing on it.
            Err(ArchiveError::DownloadFailed { .. }) => return Ok(Self::default()),
            reader => reader?,
        };
        reader
            .take(LONGEST)
            .read_to_end(&mut body)
            .map_err(|error| ArchiveError::Body(varve_core::body::BodyError::new(error)))?;
        Ok(Self { headers: headers_of(holdings, capture)?, body })
    }

    fn side<'a>(&'a self, id: &'a str) -> Side<'a> {
        Side { id, headers: &self.headers, body: &self.body, media_type: None }
    }
}

/// The headers of a page. A server that says that nothing changed leaves most of them out: then they are those of the
/// last answer that had them.
fn headers_of(holdings: &dyn Holdings, capture: &Capture) -> Result<HeaderView, ArchiveError> {
    if capture.status != NOT_MODIFIED {
        return Ok(capture.headers.clone());
    }
    let filter = CaptureFilter { until: Some(capture.time), ..CaptureFilter::default() };
    let page = Page::first(LOOK_BACK);
    let before = holdings.catalog().captures_of(&capture.url, &filter, Order::NewestFirst, page)?;
    let full = before.into_iter().find(|one| one.status != NOT_MODIFIED && one.body == capture.body);
    Ok(full.map_or_else(|| capture.headers.clone(), |full| full.headers))
}
