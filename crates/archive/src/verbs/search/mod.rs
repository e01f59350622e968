//! `search`: finds pages by their text, in the state of a version or in all of history.
//!
//! The index proposes pages that have all words. Each is verified against its text, and the best are
//! ranked exactly. The catalog says which text a version shows.

mod hit_history;

use std::collections::{HashMap, HashSet};

use varve_core::history::{Capture, CaptureFilter, CaptureOwner, Presence};
use varve_core::search_index::{IndexedPage, SearchIndexRead, WordLookup};
use varve_core::{Moment, VersionId};
use varve_repository::history::HistoryReader;
use varve_repository::search::texts_of_records;
use varve_search::{PageTexts, PageWords, TextKey, TextMatch, TextMatcher, ranking_words, snippet};

use super::page_events::{all_captures, state_at};
use crate::error::ArchiveError;

pub use hit_history::{HitChange, HitHistory, SeenIn};
pub use varve_repository::search::{IndexGap, IndexGapCause, OpenedIndex, open_search_index};
pub use varve_search::{PassageKind, QueryError, SearchQuery, Snippet, TextKind};

/// The number of hits that are ranked exactly, at least.
const MIN_RANKED_HITS: usize = 100;
/// How many times as many hits are ranked as are returned.
const RANKED_PER_HIT: usize = 2;

/// Which texts are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// Those in the state of a version.
    State(VersionId),
    /// Those of all captures.
    Ever,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The words.
    pub query: SearchQuery,
    /// The texts.
    pub scope: SearchScope,
    /// Only pages of this host and its subdomains.
    pub site: Option<String>,
    /// Only documents of this kind.
    pub kind: Option<TextKind>,
    /// Only captures that are not before this time.
    pub since: Option<Moment>,
    /// Only captures that are not after this time.
    pub until: Option<Moment>,
    /// Maximum number of hits.
    pub limit: usize,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// Whether there may be more.
    pub has_more: bool,
}

/// A page that was found.
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The capture whose text is shown: that of the state, or the last one that has the words.
    pub capture: Capture,
    /// The kind of document.
    pub kind: TextKind,
    /// The title.
    pub title: Option<String>,
    /// A piece of the text.
    pub snippet: Option<Snippet>,
    /// How well it fits: greater is better.
    pub score: f32,
    /// When it could be seen, if all of history was searched.
    pub history: Option<HitHistory>,
}

/// Searches.
pub fn search(
    history: &HistoryReader,
    index: &dyn SearchIndexRead,
    request: &Request,
) -> Result<Report, ArchiveError> {
    let (words, of_phrases) = lookups(&request.query);
    let candidates = index.candidates(&words, request.site.as_deref())?;
    let rarity =
        |words: &std::ops::Range<usize>| candidates.rarity[words.clone()].iter().copied().fold(0.0, f32::max);
    let search = Search { history, request, rarity: of_phrases.iter().map(rarity).collect() };
    let wanted = request.limit.saturating_mul(RANKED_PER_HIT).max(MIN_RANKED_HITS);
    let mut seen = HashSet::new();
    let (mut found, mut has_more) = (Vec::new(), false);
    for part in &candidates.parts {
        // The texts of a page may be long, so one page at a time is in memory.
        let Some(identity) = index.page_of(*part)? else { continue };
        if !seen.insert(identity.clone()) {
            continue;
        }
        if found.len() >= wanted {
            has_more = true;
            break;
        }
        let Some(page) = index.page(&identity)? else { continue };
        found.extend(search.hit(&page)?.map(|hit| (hit, identity)));
    }
    found.sort_by(|(one, _), (other, _)| {
        other.score.total_cmp(&one.score).then_with(|| one.capture.url.cmp(&other.capture.url))
    });
    has_more |= found.len() > request.limit;
    found.truncate(request.limit);
    let mut hits = Vec::with_capacity(found.len());
    for (mut hit, identity) in found {
        if request.scope == SearchScope::Ever
            && let Some(page) = index.page(&identity)?
        {
            let texts = texts_of_records(&page.records).map_err(varve_repository::RepositoryError::from)?;
            let matching = search.matching(&page, &texts);
            hit.history = hit_history::of_page(history, request, &page.url, &matching)?;
        }
        hits.push(hit);
    }
    Ok(Report { hits, has_more })
}

/// The words to look up, and for each wanted phrase the range of its words.
fn lookups(query: &SearchQuery) -> (Vec<WordLookup>, Vec<std::ops::Range<usize>>) {
    let mut words = Vec::new();
    let ranges = query.wanted.iter().map(|phrase| {
        let start = words.len();
        words.extend(phrase.index_words().into_iter().map(|word| WordLookup {
            ranking: ranking_words(&word.text).to_vec(),
            text: word.text,
            is_prefix: word.is_prefix,
        }));
        start..words.len()
    });
    let ranges = ranges.collect();
    (words, ranges)
}

/// A search in progress.
struct Search<'a> {
    history: &'a HistoryReader,
    request: &'a Request,
    /// How rare each wanted phrase is.
    rarity: Vec<f32>,
}

impl Search<'_> {
    /// The texts of a page that match, by their keys.
    fn matching(&self, page: &IndexedPage, texts: &[PageTexts]) -> HashMap<TextKey, (usize, TextMatch)> {
        let mut matching = HashMap::new();
        for (place, part) in texts.iter().enumerate() {
            let words = PageWords::of_query(part, &self.request.query);
            let matcher = TextMatcher::new(&self.request.query, &words, &page.page);
            for text in
                part.texts().iter().filter(|text| self.request.kind.is_none_or(|kind| kind == text.kind))
            {
                if let Some(found) = matcher.match_text(text, &self.rarity) {
                    matching.insert(text.key, (place, found));
                }
            }
        }
        matching
    }

    /// The hit of a page, without its history.
    fn hit(&self, page: &IndexedPage) -> Result<Option<SearchHit>, ArchiveError> {
        let texts = texts_of_records(&page.records).map_err(varve_repository::RepositoryError::from)?;
        let matching = self.matching(page, &texts);
        if matching.is_empty() {
            return Ok(None);
        }
        let Some(capture) = self.shown_capture(page, &matching)? else { return Ok(None) };
        let Ok(body) = self.history.body_id(&capture) else { return Ok(None) };
        let key = PageTexts::key_of(&body);
        let Some((place, found)) = matching.get(&key) else { return Ok(None) };
        let Some(text) = texts[*place].text_of(key) else { return Ok(None) };
        let title = texts[*place].passages_of(text).find(|passage| passage.kind == PassageKind::Title);
        Ok(Some(SearchHit {
            capture,
            kind: text.kind,
            title: title.map(|title| title.text.clone()),
            snippet: snippet(&texts[*place], text, found),
            score: found.score,
            history: None,
        }))
    }

    /// The capture that a hit shows, if the page is in scope.
    fn shown_capture(
        &self,
        page: &IndexedPage,
        matching: &HashMap<TextKey, (usize, TextMatch)>,
    ) -> Result<Option<Capture>, ArchiveError> {
        let Request { since, until, .. } = self.request;
        match self.request.scope {
            SearchScope::State(version) => {
                let state = state_at(self.history, &version, &page.url)?.filter(|state| !state.is_hidden);
                let shown = state.and_then(varve_core::history::PageState::into_shown);
                let is_in_time = |capture: &Capture| {
                    since.is_none_or(|since| capture.time >= since)
                        && until.is_none_or(|until| capture.time <= until)
                };
                Ok(shown.filter(is_in_time))
            }
            SearchScope::Ever => {
                let filter = CaptureFilter { since: *since, until: *until, ..CaptureFilter::default() };
                for capture in all_captures(self.history, &page.url, &filter)?.into_iter().rev() {
                    if has_text(self.history, &capture, matching)? {
                        return Ok(Some(capture));
                    }
                }
                Ok(None)
            }
        }
    }
}

/// Whether a capture of a version shows one of these texts.
fn has_text(
    history: &HistoryReader,
    capture: &Capture,
    matching: &HashMap<TextKey, (usize, TextMatch)>,
) -> Result<bool, ArchiveError> {
    let can_be_shown = matches!(capture.owner, CaptureOwner::Version(_))
        && Presence::of_status(capture.status) == Presence::Present;
    let Ok(body) = history.body_id(capture) else { return Ok(false) };
    Ok(can_be_shown
        && matching.contains_key(&PageTexts::key_of(&body))
        && history.catalog().removal_of_page(capture)?.is_none())
}
