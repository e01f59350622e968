//! `diff`: shows what changed between two versions, page by page.
//!
//! Pairs the pages and compares each pair that differs. Each result goes to the caller at once, so
//! a diff of a thousand pages holds only two long bodies in memory; short ones are read ahead on all
//! cores. A page whose only changes are noise
//! counts as unchanged, unless the request includes noise.

use std::collections::BTreeMap;

use varve_catalog::CatalogRow;
use varve_core::VersionId;
use varve_core::history::{Capture, PageState, StoredDiff};
use varve_diff::compare::{compare, compare_heads, learn};

use super::canonical_lookup::declaring_url;
use super::cat::CaptureSelector;
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::body_failure::BodyFailure;
pub use varve_repository::history::MAX_COMPARED_BYTES;
use varve_repository::history::{
    CapturePair, CapturePairs, HistoryReader, HistoryWriter, HostPairing, LoadedPage, STATUS_NOT_MODIFIED,
    UnlistedPages, stored_diff, with_full_response,
};
use varve_repository::ordered_workers::{WorkerCount, together_in_order};

pub use varve_core::headers::REDACTED_VALUE;
pub use varve_diff::compare::{
    BodyComparison, BodySimilarity, CaptureComparison, CompareOptions, ComparisonReport, DiffMode,
    chunk_place,
};
pub use varve_diff::headers::RedactedSide;
pub use varve_diff::nodes::NodeChange;
pub use varve_diff::text::{
    ChunkKind, DiffChunk, DiffStyle, DiffView, Hunk, HunkLine, InlineSpan, LineRunKind, LineSegment,
    LineSide, NO_NEWLINE_NOTE, PrintedLine, html, side_by_side,
};
pub use varve_repository::history::{HostPair, PageChange};

/// Number of pairs that a thread reads at a time.
const PAIRS_PER_BATCH: usize = 64;
/// Maximum size of a body that is read before its turn. Some two thousand may wait.
const MAX_LOADED_AHEAD_BYTES: u64 = 24 << 10;

/// The options of a diff.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The older version; `None` for an empty one.
    pub base: Option<VersionId>,
    /// The newer version; `None` for an empty one.
    pub head: Option<VersionId>,
    /// A version captured together with the head: differences between the two are noise.
    pub noise_from: Option<VersionId>,
    /// Only pages of this URL.
    pub url: Option<String>,
    /// Compare the captures of the two versions alone, instead of their states.
    pub captures_only: bool,
    /// Hosts whose pages are compared with each other.
    pub host_pairs: Vec<HostPair>,
    /// How pages are compared.
    pub options: CompareOptions,
    /// Count noise as change.
    pub all: bool,
    /// Only report which pages changed. Text is compared only if noise must be distinguished from
    /// change.
    pub names_only: bool,
    /// Count pages with the same status and headers as unchanged.
    pub headers_only: bool,
}

/// One changed page.
pub struct PageComparison<'a> {
    /// The page in both versions.
    pub pair: &'a CapturePair,
    /// The kind of change.
    pub change: PageChange,
    /// The details; `None` if only names are requested. If the bodies cannot be compared, the other
    /// details.
    pub comparison: Option<&'a CaptureComparison<'a>>,
    /// Why the bodies of the base and the head are unavailable, if they are.
    pub trouble: [Option<BodyFailure>; 2],
}

/// Maximum number of pages reported that differ but do not count as changed. Each takes memory
/// until the end.
const MAX_INSIGNIFICANT_PAGES: usize = 100_000;

/// A page that differs but does not count as changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsignificantChange {
    /// Its URL.
    pub url: String,
    /// Its path.
    pub path: String,
    /// Number of its changes that each rule explains.
    pub rules: BTreeMap<&'static str, usize>,
    /// How the bodies are alike although their bytes differ and no noise was found in them.
    pub alike: Option<BodySimilarity>,
}

/// Number of pages by kind of change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Only in the newer version.
    pub added: u64,
    /// Gone in the older version, and in the newer again.
    pub back: u64,
    /// Found gone by the newer version.
    pub gone: u64,
    /// Only in the older version, and the newer says nothing about it.
    pub removed: u64,
    /// The same, and not reached by the newer version.
    pub unreachable: u64,
    /// In both, and different.
    pub changed: u64,
    /// In both, and the same.
    pub unchanged: u64,
    /// In both, and no version between them asked about it.
    pub not_asked: u64,
    /// In both, and the same except for noise.
    pub noise: u64,
    /// In both, with different bytes and the same text.
    pub same_text: u64,
    /// In both, with different bytes and the same nodes.
    pub same_nodes: u64,
    /// Changed, with a body that is present but damaged or unreadable.
    pub unread: u64,
    /// Number of noise-only pages in which each rule took part.
    pub rules: BTreeMap<&'static str, u64>,
    /// The first of the pages that differ but do not count as changed.
    pub insignificant: Vec<InsignificantChange>,
}

impl Totals {
    /// Whether anything differs.
    pub fn differ(&self) -> bool {
        self.added + self.back + self.gone + self.removed + self.changed + self.unreachable > 0
    }
}

/// Compares two versions. `each` is called with every changed page, in the order of paths.
pub fn diff<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    mut each: impl FnMut(&PageComparison<'_>) -> Result<(), E>,
) -> Result<Totals, E> {
    let mut url = request.url.clone();
    if let Some(asked) = &request.url {
        super::capture::refuse_user_info(asked)?;
        url = declaring_url(history, asked)?.or(url);
    }
    let mut totals = Totals::default();
    // The layout decides about redaction, not the caller.
    let options = as_shown(history, &request.options);
    let request = &Request { options, url, ..request.clone() };
    let mut unlisted = match (request.base, request.head) {
        (Some(base), Some(head)) if base != head => {
            UnlistedPages::between(history.catalog(), base, head).map_err(ArchiveError::from)?
        }
        _ => UnlistedPages::Known(u64::MAX),
    };
    let mut without_event = 0;
    let compare = |pair: Result<LoadedPair, RepositoryError>| {
        let LoadedPair { pair, sides } = pair.map_err(ArchiveError::from)?;
        if pair.is_from_same_event() {
            without_event += 1;
            return Ok(());
        }
        unlisted.add_page_with_event(&pair);
        if pair.change() == PageChange::Unchanged {
            totals.unchanged += 1;
            return Ok(());
        }
        compare_pair(history, request, (&pair, sides), &mut totals, &mut each)
    };
    let left_out = for_each_pair(history, request, compare)?;
    without_event += left_out;
    let unlisted = unlisted.count().min(without_event);
    totals.unchanged += unlisted;
    totals.not_asked = without_event - unlisted;
    if let Some(url) = request.url.as_deref()
        && totals == Totals::default()
    {
        let at = Some("in either version".to_owned());
        return Err(ArchiveError::NoCapture { url: url.to_owned(), at }.into());
    }
    Ok(totals)
}

/// Compares two responses of one URL, of which at least one is evidence of a check. `request.url`
/// names the URL; the versions of the request are not used.
pub fn diff_evidence<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    [base, head]: [&CaptureSelector; 2],
    mut each: impl FnMut(&PageComparison<'_>) -> Result<(), E>,
) -> Result<Totals, E> {
    let url = request.url.as_deref().unwrap_or_default();
    let pair = CapturePair::of(
        Some(super::cat::look_up(history, url, base)?),
        Some(super::cat::look_up(history, url, head)?),
    );
    let request = &Request { options: as_shown(history, &request.options), ..request.clone() };
    let mut totals = Totals::default();
    match pair.change() {
        PageChange::Unchanged => totals.unchanged += 1,
        _ => compare_pair(history, request, (&pair, None), &mut totals, &mut each)?,
    }
    Ok(totals)
}

type SomePairs<'a> = Box<dyn Iterator<Item = Result<CapturePair, RepositoryError>> + 'a>;

/// Calls `each` with the pages to compare. Returns the number of requested pages that are the same
/// and left out.
fn for_each_pair<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    each: impl FnMut(Result<LoadedPair, RepositoryError>) -> Result<(), E>,
) -> Result<u64, E> {
    let (catalog, base, head) = (history.catalog(), request.base, request.head);
    let hosts = match &request.host_pairs[..] {
        [] => history.host_pairing(),
        pairs => HostPairing::Named(pairs.to_vec()),
    };
    if let Some(url) = request.url.as_deref() {
        load_in_order(history, request, &mut pairs_of_url(history, request, hosts, url), each)?;
        return Ok(0);
    }
    let pairs = match request.captures_only {
        true => CapturePairs::of_captures(catalog, base, head),
        false => CapturePairs::that_differ(catalog, base, head).map_err(ArchiveError::from)?,
    };
    let mut pairs = pairs.with_hosts(hosts);
    load_in_order(history, request, &mut pairs, each)?;
    Ok(pairs.left_out())
}

/// Calls `each` with the pairs in their order, while other threads read the next ones.
fn load_in_order<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    pairs: &mut dyn Iterator<Item = Result<CapturePair, RepositoryError>>,
    each: impl FnMut(Result<LoadedPair, RepositoryError>) -> Result<(), E>,
) -> Result<(), E> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let crew = WorkerCount { threads, together: PAIRS_PER_BATCH };
    let worker = || |pairs: Vec<Result<CapturePair, RepositoryError>>| load_batch(history, request, pairs);
    together_in_order(crew, pairs, worker, each)
}

/// Reads the pages of several pairs. Their short bodies are read together: those of a version lie
/// near each other.
fn load_batch(
    history: &HistoryReader,
    request: &Request,
    pairs: Vec<Result<CapturePair, RepositoryError>>,
) -> Vec<Result<LoadedPair, RepositoryError>> {
    let planned: Vec<_> = pairs.into_iter().map(|pair| PlannedPair::of(history, request, pair?)).collect();
    let pages = planned.iter().flatten().filter_map(|pair| pair.sides.as_ref()).flatten().flatten();
    let captures: Vec<&Capture> = pages.collect();
    // Where they cannot be read together, each is read by itself and reports why.
    let none_read = || vec![None; captures.len()];
    let bodies = history.read_bodies(&captures, MAX_LOADED_AHEAD_BYTES).unwrap_or_else(|_| none_read());
    let mut bodies = bodies.into_iter();
    let load = |pair: Result<PlannedPair, RepositoryError>| pair?.load(history, &mut bodies);
    planned.into_iter().map(load).collect()
}

/// A pair, and its pages with full responses if they are to be read now.
struct PlannedPair {
    pair: CapturePair,
    sides: Option<[Option<Capture>; 2]>,
}

impl PlannedPair {
    fn of(history: &HistoryReader, request: &Request, pair: CapturePair) -> Result<Self, RepositoryError> {
        let change = pair.change();
        let is_read = match change {
            PageChange::Unchanged | PageChange::Unreachable => false,
            PageChange::Changed => !pair.is_from_same_event(),
            _ => !request.names_only && !pair.is_from_same_event(),
        };
        let is_short = |page: &Option<Capture>| {
            page.as_ref()
                .is_none_or(|page| page.length.is_some_and(|length| length <= MAX_LOADED_AHEAD_BYTES))
        };
        if !is_read || !is_short(&pair.base) || !is_short(&pair.head) {
            return Ok(Self { pair, sides: None });
        }
        let full =
            |page: &Option<Capture>| page.clone().map(|page| with_full_response(history, page)).transpose();
        let sides = [full(&pair.base)?, full(&pair.head)?];
        Ok(Self { pair, sides: Some(sides) })
    }

    /// Reads the pages. `bodies` has the next bodies that were read already, one for each page.
    fn load(
        self,
        history: &HistoryReader,
        bodies: &mut impl Iterator<Item = Option<Vec<u8>>>,
    ) -> Result<LoadedPair, RepositoryError> {
        let Self { pair, sides } = self;
        let Some(sides) = sides else { return Ok(LoadedPair { pair, sides: None }) };
        let read = sides.each_ref().map(|page| page.as_ref().and_then(|_| bodies.next().flatten()));
        let load = |page: &Option<Capture>, body: Option<Vec<u8>>| match (page, body) {
            (Some(page), Some(body)) => LoadedPage::with_body(history, page, body),
            (page, _) => LoadedPage::load_lossy(history, page.as_ref(), MAX_COMPARED_BYTES),
        };
        let ([base, head], [base_body, head_body]) = (&sides, read);
        let sides = [load(base, base_body)?, load(head, head_body)?];
        Ok(LoadedPair { pair, sides: Some(sides) })
    }
}

/// A pair, with its pages if they are short.
struct LoadedPair {
    pair: CapturePair,
    sides: Option<[LoadedPage; 2]>,
}

/// The pages of one URL.
fn pairs_of_url<'a>(
    history: &'a HistoryReader,
    request: &'a Request,
    hosts: HostPairing,
    url: &'a str,
) -> SomePairs<'a> {
    let (catalog, base, head) = (history.catalog(), request.base, request.head);
    if !history.has_versions() {
        return Box::new(one_page(history, request, url).transpose().into_iter());
    }
    let is_wanted =
        move |pair: &Result<CapturePair, _>| pair.as_ref().map_or(true, |pair| is_page(pair, url));
    if request.captures_only {
        let pairs = CapturePairs::of_captures(catalog, base, head).with_hosts(hosts);
        return Box::new(pairs.filter(is_wanted));
    }
    // The expected path; a page of a Moku site may be stored without its query. A page has another
    // path only if a user chose it.
    let path = varve_repository::page_path::page_path(url);
    let bare = path.split('?').next().unwrap_or_default().to_owned();
    let mut paths = vec![bare, path];
    paths.dedup();
    let pairs = CapturePairs::at(catalog, base, head, paths).with_hosts(hosts.clone());
    let mut found = pairs.filter(is_wanted).peekable();
    match found.peek() {
        Some(_) => Box::new(found),
        None => Box::new(CapturePairs::new(catalog, base, head).with_hosts(hosts).filter(is_wanted)),
    }
}

/// The same options, with the redaction of this layout.
fn as_shown(history: &HistoryReader, options: &CompareOptions) -> CompareOptions {
    CompareOptions { redaction: history.redaction(), ..options.clone() }
}

/// One page of a layout that itself decides which URLs are equivalent, and finds it without reading
/// the others.
fn one_page(
    history: &HistoryReader,
    request: &Request,
    url: &str,
) -> Result<Option<CapturePair>, RepositoryError> {
    let page = |version: Option<VersionId>| {
        let Some(version) = version else { return Ok(None) };
        let found = history.catalog().captures_at_path(&version, url)?;
        Ok::<_, RepositoryError>(found.into_iter().next())
    };
    let pair = CapturePair::of(page(request.base)?, page(request.head)?);
    Ok((pair.base.is_some() || pair.head.is_some()).then_some(pair))
}

fn is_page(pair: &CapturePair, url: &str) -> bool {
    let mut sides = [&pair.base, &pair.head].into_iter().flatten();
    let spellings = super::log::spellings(url);
    let address = varve_core::url::page_identity(url).unwrap_or_default();
    sides.any(|page| spellings.contains(&page.url) || super::log::is_spelling(&page.url, &address))
}

fn compare_pair<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    (pair, sides): (&CapturePair, Option<[LoadedPage; 2]>),
    totals: &mut Totals,
    each: &mut impl FnMut(&PageComparison<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let change = pair.change();
    let pair = &in_full(history, pair.clone())?;
    let is_plain = change == PageChange::Unreachable || request.names_only && change != PageChange::Changed;
    let is_long = [&pair.base, &pair.head]
        .into_iter()
        .flatten()
        .any(|page| page.length.unwrap_or(0) > MAX_COMPARED_BYTES);
    if is_plain {
        totals.count(change);
        return each(&PageComparison { pair, change, comparison: None, trouble: [None; 2] });
    }
    let load = |page: &Option<Capture>| match is_long {
        true => LoadedPage::head_of(history, page.as_ref()),
        false => LoadedPage::load_lossy(history, page.as_ref(), MAX_COMPARED_BYTES),
    };
    let [base, head] = match sides {
        Some(sides) => sides,
        None => {
            [load(&pair.base).map_err(ArchiveError::from)?, load(&pair.head).map_err(ArchiveError::from)?]
        }
    };
    let trouble = [base.failure, head.failure];
    let (base_id, head_id) = (name(request.base), name(request.head));
    let sides = [base.side(&base_id), head.side(&head_id)];
    let comparison = if is_long || base.is_bodiless() || head.is_bodiless() {
        compare_heads(&sides[0], &sides[1], has_same_body(pair), &request.options)
    } else {
        let learned = with_learned_noise(history, request, pair, &head)?;
        compare(&sides[0], &sides[1], learned.as_ref().unwrap_or(&request.options))
    };
    let is_answered_otherwise = status_differs(pair) || pair.has_new_host();
    if request.headers_only && !is_answered_otherwise && comparison.headers_changed(request.all) == 0 {
        totals.unchanged += 1;
        return Ok(());
    }
    if !request.all && !is_answered_otherwise && !comparison.is_changed() {
        totals.hush(pair, &comparison);
        return Ok(());
    }
    totals.count(change);
    let is_unread = trouble.iter().flatten().any(|trouble| *trouble != BodyFailure::Missing);
    totals.unread += u64::from(is_unread);
    each(&PageComparison { pair, change, comparison: Some(&comparison), trouble })
}

/// Whether the bodies are known to be the same without reading them.
fn has_same_body(pair: &CapturePair) -> bool {
    matches!((&pair.base, &pair.head), (Some(base), Some(head)) if base.body == head.body)
}

/// A differing pair with full responses: a 304 response takes the values of the response it refers
/// to, so it does not count as a change.
fn in_full(history: &HistoryReader, pair: CapturePair) -> Result<CapturePair, ArchiveError> {
    let full = |page: Option<Capture>| page.map(|page| with_full_response(history, page)).transpose();
    Ok(CapturePair { base: full(pair.base)?, head: full(pair.head)?, ..pair })
}

/// Whether the status of a page differs, or the page is in one version only. A 304 status does not
/// count as different.
fn status_differs(pair: &CapturePair) -> bool {
    match (&pair.base, &pair.head) {
        (Some(base), Some(head)) => {
            base.status != head.status
                && base.status != STATUS_NOT_MODIFIED
                && head.status != STATUS_NOT_MODIFIED
        }
        _ => true,
    }
}

impl PageComparison<'_> {
    /// Whether the responses of the base and the head were truncated: text missing at their ends
    /// need not be removed.
    pub fn cut_short(&self) -> [bool; 2] {
        [&self.pair.base, &self.pair.head].map(|side| side.as_ref().is_some_and(|page| page.truncated))
    }

    /// Whether the host, status, headers or body changed in more than noise. `None` if that cannot
    /// be known.
    pub fn is_changed(&self) -> Option<bool> {
        let comparison = self.comparison?;
        Some(status_differs(self.pair) || self.pair.has_new_host() || comparison.is_changed())
    }
}

/// The options with the noise learned from the capture of a page in the version `noise_from`.
/// `None` if there is no such capture, or one with a different status.
fn with_learned_noise(
    history: &HistoryReader,
    request: &Request,
    pair: &CapturePair,
    head: &LoadedPage,
) -> Result<Option<CompareOptions>, ArchiveError> {
    let (Some(version), Some(page)) = (request.noise_from, &pair.head) else { return Ok(None) };
    let states = history.catalog().states_at(&version, &[&page.path])?;
    let found: Vec<Capture> = states.into_iter().filter_map(PageState::into_shown).collect();
    let is_same_page = |capture: &&Capture| {
        let address = varve_core::url::page_identity(&page.url).unwrap_or_else(|| page.url.clone());
        super::log::is_spelling(&capture.url, &address)
            && capture.status == page.status
            && capture.length.unwrap_or(0) <= MAX_COMPARED_BYTES
    };
    let Some(second) = found.iter().find(is_same_page) else { return Ok(None) };
    let second = LoadedPage::load_lossy(history, Some(second), MAX_COMPARED_BYTES)?;
    if second.is_bodiless() {
        return Ok(None);
    }
    let volatile = learn(&head.side("head"), &second.side("second"), &request.options);
    Ok(Some(CompareOptions { volatile, ..request.options.clone() }))
}

/// Compares any two captures; `show` is called with the differences. Returns `None` if a body is
/// longer than `most`, or missing.
pub fn captures<T>(
    history: &HistoryReader,
    [base, head]: [&Capture; 2],
    options: &CompareOptions,
    most: u64,
    show: impl FnOnce(&CaptureComparison<'_>) -> T,
) -> Result<Option<T>, ArchiveError> {
    if [base, head].iter().any(|capture| capture.length.unwrap_or(0) > most) {
        return Ok(None);
    }
    let (base_id, head_id) = (base.id.to_string(), head.id.to_string());
    let (base, head) =
        (LoadedPage::of(history, Some(base), most)?, LoadedPage::of(history, Some(head), most)?);
    if base.is_bodiless() || head.is_bodiless() {
        return Ok(None);
    }
    let options = as_shown(history, options);
    Ok(Some(show(&compare(&base.side(&base_id), &head.side(&head_id), &options))))
}

/// Computes the diff of two versions in its stored form, and stores it.
pub fn keep(history: &HistoryWriter, base: Option<VersionId>, head: VersionId) -> Result<(), ArchiveError> {
    let pairs =
        CapturePairs::new(history.catalog(), base, Some(head)).with_hosts(history.as_reader().host_pairing());
    let json = stored_diff(history.as_reader(), history.redaction(), (base, head), pairs)?.to_json();
    Ok(history.apply(vec![CatalogRow::Diff(StoredDiff { base, head, json, time: history.now() })])?)
}

fn name(version: Option<VersionId>) -> String {
    version.map(|version| version.to_string()).unwrap_or_default()
}

impl Totals {
    /// Counts a page that differs but does not count as changed, and records why.
    fn hush(&mut self, pair: &CapturePair, comparison: &CaptureComparison<'_>) {
        let (rules, alike) = (comparison.rules(), comparison.body.alike());
        match alike {
            Some(BodySimilarity::Text) => self.same_text += 1,
            Some(BodySimilarity::Nodes) => self.same_nodes += 1,
            // Headers that differ only in spelling or in redacted values.
            None if rules.is_empty() => {
                self.unchanged += 1;
                return;
            }
            None => {
                self.noise += 1;
                rules.keys().for_each(|rule| *self.rules.entry(rule).or_default() += 1);
            }
        }
        if self.insignificant.len() < MAX_INSIGNIFICANT_PAGES {
            let page = pair.any();
            self.insignificant.push(InsignificantChange {
                url: page.url.clone(),
                path: page.path.clone(),
                rules,
                alike,
            });
        }
    }

    fn count(&mut self, change: PageChange) {
        match change {
            PageChange::Added => self.added += 1,
            PageChange::Back => self.back += 1,
            PageChange::Gone => self.gone += 1,
            PageChange::Removed => self.removed += 1,
            PageChange::Unreachable => self.unreachable += 1,
            PageChange::Changed => self.changed += 1,
            PageChange::Unchanged => self.unchanged += 1,
        }
    }
}
