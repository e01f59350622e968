//! The captures that a query means, one after the other.

use std::io;

use varve_archive::history::Holdings;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, TimeOrder};
use varve_archive::verbs::replay::{all_spellings, known_as, others};
use varve_archive::{Capture, Moment};

use super::query::{Query, Scope, Sort};

/// So many rows are read at a time.
const PIECE: usize = 500;

/// Takes a capture; says whether more are wanted.
type Each<'e> = dyn FnMut(Capture) -> io::Result<bool> + 'e;

/// Hands over the captures that a query means.
pub(super) fn each(holdings: &dyn Holdings, query: &Query, each: &mut Each<'_>) -> io::Result<()> {
    match query.scope {
        Scope::Exact => exact(holdings, query, each).map(|_| ()),
        Scope::Prefix => under(holdings, query, &with_scheme(&query.url), |_| true, each),
        Scope::Host => {
            let host = host_of(&query.url).to_owned();
            let prefixes = ["http://", "https://"].map(|scheme| format!("{scheme}{host}"));
            under(holdings, query, &prefixes, |url| host_of(url) == host, each)
        }
        Scope::Domain => {
            let domain = host_of(&query.url).to_ascii_lowercase();
            let inside = format!(".{domain}");
            let is_in = |url: &str| {
                let host = host_of(url).split(':').next().unwrap_or_default().to_ascii_lowercase();
                host == domain || host.ends_with(&inside)
            };
            under(holdings, query, &["http://".to_owned(), "https://".to_owned()], is_in, each)
        }
    }
}

/// A beginning of URLs; of both schemes where it names none.
fn with_scheme(prefix: &str) -> Vec<String> {
    let is_begun = "https://".starts_with(prefix) || "http://".starts_with(prefix);
    match prefix.contains("://") || is_begun {
        true => vec![prefix.to_owned()],
        false => vec![format!("http://{prefix}"), format!("https://{prefix}")],
    }
}

fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Every URL with one of these beginnings, and its captures.
fn under(
    holdings: &dyn Holdings,
    query: &Query,
    prefixes: &[String],
    is_wanted: impl Fn(&str) -> bool,
    each: &mut Each<'_>,
) -> io::Result<()> {
    for prefix in prefixes {
        let mut after: Option<String> = None;
        loop {
            let page = ListCursor { after: after.as_deref(), limit: PIECE };
            let urls = holdings.catalog().urls(prefix, page).map_err(io::Error::other)?;
            for url in urls.iter().filter(|url| is_wanted(url)) {
                if !of_urls(holdings, query, std::slice::from_ref(url), each)? {
                    return Ok(());
                }
            }
            let was_last = urls.len() < PIECE;
            after = urls.into_iter().last();
            if was_last {
                break;
            }
        }
    }
    Ok(())
}

/// The captures of the URL that is meant, or of the other URL that it surely means.
fn exact(holdings: &dyn Holdings, query: &Query, each: &mut Each<'_>) -> io::Result<bool> {
    let url = if query.url.contains("://") { query.url.clone() } else { format!("http://{}", query.url) };
    for candidate in std::iter::once(url.clone()).chain(others(&url)) {
        if let Some(known) = known_as(holdings, &candidate).map_err(io::Error::other)? {
            let spellings = all_spellings(holdings, &known).map_err(io::Error::other)?;
            return of_urls(holdings, query, &spellings, each);
        }
    }
    Ok(true)
}

/// The captures of URLs that are one.
fn of_urls(holdings: &dyn Holdings, query: &Query, urls: &[String], each: &mut Each<'_>) -> io::Result<bool> {
    let line = |since, until, order| {
        Line::new(holdings, urls, CaptureFilter { since, until, committed_only: false }, order)
    };
    match query.sort {
        Sort::OldestFirst => all(line(query.from, query.to, TimeOrder::OldestFirst), each),
        Sort::NewestFirst => all(line(query.from, query.to, TimeOrder::NewestFirst), each),
        Sort::Closest(time) => {
            let before = query.to.map_or(time, |to| to.min(time));
            let behind = Moment::from_micros(time.micros().saturating_add(1));
            let after = query.from.map_or(behind, |from| from.max(behind));
            let before = line(query.from, Some(before), TimeOrder::NewestFirst);
            closest(before, line(Some(after), query.to, TimeOrder::OldestFirst), time, each)
        }
    }
}

fn all(line: Line<'_>, each: &mut Each<'_>) -> io::Result<bool> {
    for capture in line {
        if !each(capture?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Two lines that lead away from a time, merged by distance.
fn closest(before: Line<'_>, after: Line<'_>, time: Moment, each: &mut Each<'_>) -> io::Result<bool> {
    let (mut before, mut after) = (before.peekable(), after.peekable());
    let distance = |side: Option<&io::Result<Capture>>| match side {
        Some(Ok(capture)) => Some(capture.time.micros().abs_diff(time.micros())),
        Some(Err(_)) => Some(0),
        None => None,
    };
    loop {
        let next = match (distance(before.peek()), distance(after.peek())) {
            (None, None) => return Ok(true),
            (Some(_), None) => before.next(),
            (None, Some(_)) => after.next(),
            (Some(one), Some(other)) if one <= other => before.next(),
            _ => after.next(),
        };
        let Some(next) = next else { return Ok(true) };
        if !each(next?)? {
            return Ok(false);
        }
    }
}

/// The captures of URLs that are one, read piece by piece.
struct Line<'h> {
    holdings: &'h dyn Holdings,
    urls: Vec<&'h str>,
    filter: CaptureFilter,
    order: TimeOrder,
    piece: std::vec::IntoIter<Capture>,
    last: Option<Capture>,
    ended: bool,
}

impl<'h> Line<'h> {
    fn new(holdings: &'h dyn Holdings, urls: &'h [String], filter: CaptureFilter, order: TimeOrder) -> Self {
        let (urls, piece) = (urls.iter().map(String::as_str).collect(), Vec::new().into_iter());
        Self { holdings, urls, filter, order, piece, last: None, ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        let page = ListCursor { after: self.last.as_ref(), limit: PIECE };
        let catalog = self.holdings.catalog();
        let piece =
            catalog.captures_of_any(&self.urls, &self.filter, self.order, page).map_err(io::Error::other)?;
        self.ended = piece.len() < PIECE;
        self.last = piece.last().cloned();
        self.piece = piece.into_iter();
        Ok(())
    }
}

impl Iterator for Line<'_> {
    type Item = io::Result<Capture>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(capture) = self.piece.next() {
            return Some(Ok(capture));
        }
        if self.ended {
            return None;
        }
        match self.fill() {
            Ok(()) => self.piece.next().map(Ok),
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}
