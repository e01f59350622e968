//! The captures that match a CDX query, one after the other.
//!
//! The cursor owns all its state and reads the catalog in batches, so it can stop between two
//! captures and continue on another thread.

use std::collections::VecDeque;
use std::io;

use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, TimeOrder};
use varve_archive::verbs::replay::{all_spellings, captured_url};
use varve_archive::{Capture, Moment};

use super::query::{CdxOrder, CdxQuery, UrlScope};

/// Rows that are read from the catalog at a time.
const BATCH_ROWS: usize = 500;

/// A position in the captures that match a query.
pub(super) struct CaptureCursor {
    urls: UrlCursor,
    current: Option<CapturesOfUrl>,
}

impl CaptureCursor {
    /// Starts before the first capture.
    pub(super) fn new(query: &CdxQuery) -> Self {
        Self { urls: UrlCursor::new(query), current: None }
    }

    /// The next capture.
    pub(super) fn next(&mut self, history: &HistoryReader, query: &CdxQuery) -> io::Result<Option<Capture>> {
        loop {
            if let Some(captures) = &mut self.current
                && let Some(capture) = captures.next(history)?
            {
                return Ok(Some(capture));
            }
            match self.urls.next(history)? {
                Some(spellings) => self.current = Some(CapturesOfUrl::new(query, spellings)),
                None => return Ok(None),
            }
        }
    }
}

/// The URLs that match a query. Each is a list of spellings that mean the same page.
enum UrlCursor {
    /// One URL, as the client wrote it; none once it was looked up.
    One(Option<String>),
    Matching(MatchingUrls),
}

impl UrlCursor {
    fn new(query: &CdxQuery) -> Self {
        let both_schemes = |rest: &str| ["http://", "https://"].map(|scheme| format!("{scheme}{rest}"));
        let (prefixes, rule) = match query.scope {
            UrlScope::Exact => return Self::One(Some(query.url.clone())),
            UrlScope::Prefix => (with_scheme(&query.url), HostRule::Any),
            UrlScope::Host => {
                let host = host_of(&query.url);
                (both_schemes(host).to_vec(), HostRule::Host(host.to_owned()))
            }
            UrlScope::Domain => {
                let domain = host_of(&query.url).to_ascii_lowercase();
                (both_schemes("").to_vec(), HostRule::Domain(domain))
            }
        };
        Self::Matching(MatchingUrls { prefixes: prefixes.into(), rule, batch: VecDeque::new(), after: None })
    }

    fn next(&mut self, history: &HistoryReader) -> io::Result<Option<Vec<String>>> {
        match self {
            Self::One(url) => url.take().map_or(Ok(None), |url| known_spellings(history, &url)),
            Self::Matching(urls) => Ok(urls.next(history)?.map(|url| vec![url])),
        }
    }
}

/// All spellings of the URL, or of the URL with another scheme or `www.` if only that was captured.
fn known_spellings(history: &HistoryReader, url: &str) -> io::Result<Option<Vec<String>>> {
    let known = captured_url(history, url).map_err(io::Error::other)?;
    known.map(|known| all_spellings(history, &known)).transpose().map_err(io::Error::other)
}

/// Captured URLs with one of several prefixes.
struct MatchingUrls {
    /// The prefixes that are not exhausted yet.
    prefixes: VecDeque<String>,
    rule: HostRule,
    batch: VecDeque<String>,
    /// The last URL of the previous batch with the current prefix.
    after: Option<String>,
}

/// Which hosts match, among the URLs with a prefix.
enum HostRule {
    Any,
    Host(String),
    Domain(String),
}

impl HostRule {
    fn matches(&self, url: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Host(host) => host_of(url) == host,
            Self::Domain(domain) => {
                let host = host_of(url).split(':').next().unwrap_or_default().to_ascii_lowercase();
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        }
    }
}

impl MatchingUrls {
    fn next(&mut self, history: &HistoryReader) -> io::Result<Option<String>> {
        loop {
            while let Some(url) = self.batch.pop_front() {
                if self.rule.matches(&url) {
                    return Ok(Some(url));
                }
            }
            let Some(prefix) = self.prefixes.front() else { return Ok(None) };
            let cursor = ListCursor { after: self.after.as_deref(), limit: BATCH_ROWS };
            let urls = history.catalog().urls(prefix, cursor).map_err(io::Error::other)?;
            self.after = urls.last().cloned();
            if urls.len() < BATCH_ROWS {
                self.prefixes.pop_front();
                self.after = None;
            }
            self.batch = urls.into();
        }
    }
}

/// The prefix with its scheme, or with both schemes if it has none.
fn with_scheme(prefix: &str) -> Vec<String> {
    let is_partial_scheme = "https://".starts_with(prefix) || "http://".starts_with(prefix);
    match prefix.contains("://") || is_partial_scheme {
        true => vec![prefix.to_owned()],
        false => vec![format!("http://{prefix}"), format!("https://{prefix}")],
    }
}

/// Host and port of a URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The captures of one URL in the order of the query.
enum CapturesOfUrl {
    Ordered(Box<CaptureRun>),
    /// Two runs that lead away from a time, merged by distance.
    Closest {
        before: Box<CaptureRun>,
        after: Box<CaptureRun>,
        time: Moment,
    },
}

impl CapturesOfUrl {
    fn new(query: &CdxQuery, spellings: Vec<String>) -> Self {
        let run = |spellings, since, until, order| {
            CaptureRun::new(spellings, CaptureFilter { since, until, committed_only: false }, order)
        };
        let order = match query.sort {
            CdxOrder::OldestFirst => TimeOrder::OldestFirst,
            CdxOrder::NewestFirst => TimeOrder::NewestFirst,
            CdxOrder::Closest(time) => {
                let until = query.to.map_or(time, |to| to.min(time));
                let later = Moment::from_micros(time.micros().saturating_add(1));
                let since = query.from.map_or(later, |from| from.max(later));
                let before = run(spellings.clone(), query.from, Some(until), TimeOrder::NewestFirst);
                let after = run(spellings, Some(since), query.to, TimeOrder::OldestFirst);
                return Self::Closest { before: Box::new(before), after: Box::new(after), time };
            }
        };
        Self::Ordered(Box::new(run(spellings, query.from, query.to, order)))
    }

    fn next(&mut self, history: &HistoryReader) -> io::Result<Option<Capture>> {
        let (before, after, time) = match self {
            Self::Ordered(run) => return run.next(history),
            Self::Closest { before, after, time } => (before, after, *time),
        };
        let distance = |capture: &Capture| capture.time.micros().abs_diff(time.micros());
        let is_before = match (before.peek(history)?.map(distance), after.peek(history)?.map(distance)) {
            (Some(before), Some(after)) => before <= after,
            (before, _) => before.is_some(),
        };
        if is_before { before.next(history) } else { after.next(history) }
    }
}

/// The captures of one URL in order of time, read in batches.
struct CaptureRun {
    spellings: Vec<String>,
    filter: CaptureFilter,
    order: TimeOrder,
    batch: VecDeque<Capture>,
    last: Option<Capture>,
    is_exhausted: bool,
}

impl CaptureRun {
    fn new(spellings: Vec<String>, filter: CaptureFilter, order: TimeOrder) -> Self {
        Self { spellings, filter, order, batch: VecDeque::new(), last: None, is_exhausted: false }
    }

    /// The next capture, which stays the next one.
    fn peek(&mut self, history: &HistoryReader) -> io::Result<Option<&Capture>> {
        if self.batch.is_empty() && !self.is_exhausted {
            let spellings: Vec<&str> = self.spellings.iter().map(String::as_str).collect();
            let cursor = ListCursor { after: self.last.as_ref(), limit: BATCH_ROWS };
            let catalog = history.catalog();
            let batch = catalog
                .captures_of_any(&spellings, &self.filter, self.order, cursor)
                .map_err(io::Error::other)?;
            self.is_exhausted = batch.len() < BATCH_ROWS;
            self.last = batch.last().cloned();
            self.batch = batch.into();
        }
        Ok(self.batch.front())
    }

    fn next(&mut self, history: &HistoryReader) -> io::Result<Option<Capture>> {
        self.peek(history)?;
        Ok(self.batch.pop_front())
    }
}
