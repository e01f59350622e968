//! Replay: selects the capture that shows a URL at a time, and its response.
//!
//! This module makes the selection and returns plain values; the server decides how to present it.
//! The nearest capture wins, whether before or after the time. A failed download is skipped unless
//! its exact second was requested. An unknown URL may be known by the other scheme, or with or
//! without `www.`. Such a URL is reported, not substituted, so that every page is shown under its
//! own URL.

use std::io::Read;

use varve_core::Moment;
use varve_core::headers::HeaderView;
use varve_core::history::{Capture, CaptureChoice, CaptureFilter, ListCursor, TimeOrder};

use super::canonical_lookup::declaring_url;
use super::cat::{self, CaptureSelector};
use super::log::{first_kept, spellings};
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::archive::hex_digits;
use varve_repository::history::{HistoryReader, STATUS_NOT_MODIFIED, headers_of};

/// Number of captures read on either side.
const MAX_NEIGHBOURS_READ: usize = 8;
/// Number of parts of a body that are read on either side to find the whole.
const MAX_PARTS_READ: usize = 512;
/// The microseconds of a second after its first.
const REST_OF_SECOND: i64 = 999_999;
/// The status that a 304 response is shown with.
const STATUS_OK: u16 = 200;
/// The status of a response to a request for a range.
const STATUS_PARTIAL: u16 = 206;

/// The requested time: any instant within a second, or an exact microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayTime {
    from: Moment,
    /// The last instant of the range.
    last: Moment,
}

/// The last year that a year prefix can stand for.
const LAST_YEAR: &str = "2999";

impl ReplayTime {
    /// Any instant of the second that begins here.
    pub fn second(from: Moment) -> Self {
        Self { from, last: Moment::from_micros(from.micros().saturating_add(REST_OF_SECOND)) }
    }

    /// Exactly this instant.
    pub fn exactly(from: Moment) -> Self {
        Self { from, last: from }
    }

    /// Parses 4 to 14 digits, which mean the last second of their period, or 20 digits with
    /// microseconds. A year prefix stands for the last year with that prefix, up to 2999: links use
    /// `2` for the newest capture.
    pub fn read(digits: &str) -> Option<Self> {
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match digits.split_at_checked(14) {
            Some((second, micros)) if micros.len() == 6 => {
                let second: Moment = second.parse().ok()?;
                Some(Self::exactly(Moment::from_micros(second.micros().saturating_add(micros.parse().ok()?))))
            }
            _ => {
                let digits = match LAST_YEAR.get(digits.len()..) {
                    Some(rest) if !digits.is_empty() => [digits, rest].concat(),
                    _ => digits.to_owned(),
                };
                let last = Moment::parse_end(&digits).ok()?;
                Some(Self::second(Moment::from_micros(last.micros().saturating_sub(REST_OF_SECOND))))
            }
        }
    }
}

/// The 20 digits that identify an instant to the microsecond.
pub fn precise_digits(time: Moment) -> String {
    format!("{}{:06}", time.digits(), time.micros().rem_euclid(1_000_000))
}

/// A capture with its neighbours of the same URL.
#[derive(Clone, Debug)]
pub struct ReplayCapture {
    /// The capture.
    pub capture: Capture,
    /// The capture before it.
    pub previous: Option<Capture>,
    /// The capture after it.
    pub next: Option<Capture>,
    /// Whether it lies in the requested second.
    pub exact: bool,
}

impl ReplayCapture {
    /// The digits that identify this capture and none of its neighbours.
    pub fn digits(&self) -> String {
        let second = self.capture.time.seconds();
        let shares =
            |other: &Option<Capture>| other.as_ref().is_some_and(|other| other.time.seconds() == second);
        match shares(&self.previous) || shares(&self.next) {
            true => precise_digits(self.capture.time),
            false => self.capture.time.digits(),
        }
    }
}

/// Maximum length of a screenshot, in bytes.
const MAX_SCREENSHOT_BYTES: u64 = 64 << 20;
/// How a PNG file begins.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The screenshot that a browser made of a capture, a PNG file; `None` if there is none.
pub fn screenshot(history: &HistoryReader, capture: &Capture) -> Result<Option<Vec<u8>>, ArchiveError> {
    let HistoryReader::Archive(archive) = history else { return Ok(None) };
    let Some(id) = history.renderings(capture)?.screenshot else { return Ok(None) };
    let object = archive.archive().object(id)?;
    let mut bytes = Vec::new();
    let read = object.read_range(0, object.length().min(MAX_SCREENSHOT_BYTES))?.read_to_end(&mut bytes);
    read.map_err(|source| RepositoryError::ReadObject { id: hex_digits(id), source })?;
    Ok(Some(bytes).filter(|bytes| bytes.starts_with(PNG_SIGNATURE)))
}

/// Whether there is a screenshot of a capture.
pub fn has_screenshot(history: &HistoryReader, capture: &Capture) -> Result<bool, ArchiveError> {
    Ok(history.renderings(capture)?.screenshot.is_some())
}

/// The result of a lookup of a URL.
#[derive(Clone, Debug)]
pub enum UrlKnowledge {
    /// The capture to show.
    Here(Box<ReplayCapture>),
    /// No capture of the URL, but this equivalent URL has captures.
    There(String),
    /// No capture.
    No,
}

/// The capture of a URL nearest to a time; without a time, the one that the layout selects.
pub fn find(
    history: &HistoryReader,
    url: &str,
    time: Option<ReplayTime>,
) -> Result<UrlKnowledge, ArchiveError> {
    let here = first_kept(history, url, |spelling| {
        let found = found_as(history, spelling, time)?;
        Ok(found.filter(|found| found.capture.url == url || !leads_to(&found.capture, url)))
    })?;
    if let Some(found) = here {
        return Ok(UrlKnowledge::Here(Box::new(found)));
    }
    for other in others(url) {
        let time = time.unwrap_or(ReplayTime::exactly(Moment::from_micros(i64::MAX)));
        let found = nearest(history, &other, time)?;
        if let Some(found) = found.filter(|found| !leads_to(&found.capture, url)) {
            return Ok(UrlKnowledge::There(found.capture.url));
        }
    }
    Ok(declaring_url(history, url)?.map_or(UrlKnowledge::No, UrlKnowledge::There))
}

fn found_as(
    history: &HistoryReader,
    url: &str,
    time: Option<ReplayTime>,
) -> Result<Option<ReplayCapture>, ArchiveError> {
    if let Some(time) = time {
        return nearest(history, url, time);
    }
    let at = match history.choice() {
        CaptureChoice::Newest => CaptureSelector::Newest,
        CaptureChoice::NewestGood => CaptureSelector::NewestGood,
    };
    match cat::find(history, url, &at) {
        Ok(capture) => among_others(history, capture).map(Some),
        Err(ArchiveError::NoCapture { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A selected capture with its neighbours. If a search by its time finds another capture with the
/// same time, that one becomes its predecessor.
fn among_others(history: &HistoryReader, chosen: Capture) -> Result<ReplayCapture, ArchiveError> {
    let found = nearest(history, &chosen.url, ReplayTime::exactly(chosen.time))?;
    Ok(match found {
        Some(found) if found.capture.id == chosen.id => found,
        Some(found) => {
            ReplayCapture { previous: Some(found.capture), capture: chosen, next: None, exact: true }
        }
        None => ReplayCapture { previous: None, capture: chosen, next: None, exact: true },
    })
}

/// All stored spellings of a URL. Returns the URL itself if none is stored, or if the layout itself
/// decides which URLs are equivalent.
pub fn all_spellings(history: &HistoryReader, url: &str) -> Result<Vec<String>, ArchiveError> {
    let kept = history.catalog().spellings_of(url)?;
    Ok(if kept.is_empty() { vec![url.to_owned()] } else { kept })
}

/// The capture of a URL nearest to a time, under any of its spellings. Redirects are only taken
/// from the exact spelling: a site may redirect from one spelling to the other, which would be an
/// endless loop. A part of a body, which a script asked for, is only taken where no capture is whole.
pub fn nearest(
    history: &HistoryReader,
    url: &str,
    when: ReplayTime,
) -> Result<Option<ReplayCapture>, ArchiveError> {
    let ReplayTime { from: second, last } = when;
    let behind = Moment::from_micros(last.micros().saturating_add(1));
    let spellings = all_spellings(history, url)?;
    let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let ask = |since, until, order| {
        let filter = CaptureFilter { since, until, committed_only: false };
        let mut found = first_captures(history, &spellings, &filter, order)?;
        if spellings.contains(&url) {
            found.retain(|capture| capture.url == url || !is_redirect(capture));
        }
        Ok::<_, ArchiveError>(found)
    };
    let mut earlier = ask(None, Some(last), TimeOrder::NewestFirst)?;
    let mut later = ask(Some(behind), None, TimeOrder::OldestFirst)?;
    if earlier.iter().chain(&later).any(|capture| capture.status != STATUS_PARTIAL) {
        earlier.retain(|capture| capture.status != STATUS_PARTIAL);
        later.retain(|capture| capture.status != STATUS_PARTIAL);
    }
    let before = earlier.len();
    let mut line: Vec<Capture> = earlier.into_iter().rev().chain(later).collect();
    let Some(place) = choose(&line, before, second).map(|place| as_spelled(&line, place, url)) else {
        return Ok(None);
    };
    let exact = place < before && line[place].time >= second;
    let previous = place.checked_sub(1).map(|place| line[place].clone());
    let next = line.get(place + 1).cloned();
    Ok(Some(ReplayCapture { capture: line.swap_remove(place), previous, next, exact }))
}

/// The first captures in an order; more of them where those are only parts of the body.
fn first_captures(
    history: &HistoryReader,
    spellings: &[&str],
    filter: &CaptureFilter,
    order: TimeOrder,
) -> Result<Vec<Capture>, ArchiveError> {
    let mut found: Vec<Capture> = Vec::new();
    while found.len() < MAX_PARTS_READ {
        let cursor = ListCursor { after: found.last(), limit: MAX_NEIGHBOURS_READ };
        let mut next = history.catalog().captures_of_any(spellings, filter, order, cursor)?;
        let is_done =
            next.len() < MAX_NEIGHBOURS_READ || next.iter().any(|capture| capture.status != STATUS_PARTIAL);
        found.append(&mut next);
        if is_done {
            break;
        }
    }
    Ok(found)
}

/// The index of the capture with the exact spelling that has the same owner as the one at `place`;
/// `place` itself if there is none.
fn as_spelled(line: &[Capture], place: usize, url: &str) -> usize {
    let chosen = &line[place];
    let is_meant = |other: &Capture| other.url == url && other.owner == chosen.owner && other.status != 0;
    if chosen.url == url { place } else { line.iter().rposition(is_meant).unwrap_or(place) }
}

/// The index of the nearest capture in a list whose first `before` entries are not after the
/// requested time.
fn choose(line: &[Capture], before: usize, from: Moment) -> Option<usize> {
    let in_second = |place: &usize| line[*place].time >= from;
    let is_answer = |place: &usize| line[*place].status != 0;
    let exact = (0..before).rev().filter(in_second).find(is_answer);
    if let Some(place) = exact.or_else(|| (0..before).rev().find(in_second)) {
        return Some(place);
    }
    let distance = |place: &usize| line[*place].time.micros().abs_diff(from.micros());
    let answers = [(0..before).rev().find(is_answer), (before..line.len()).find(is_answer)];
    let any = [before.checked_sub(1), Some(before).filter(|place| *place < line.len())];
    answers
        .into_iter()
        .flatten()
        .min_by_key(distance)
        .or_else(|| any.into_iter().flatten().min_by_key(distance))
}

/// The first and the last capture of a set of equivalent URLs.
pub fn ends(history: &HistoryReader, urls: &[&str]) -> Result<Option<(Capture, Capture)>, ArchiveError> {
    let one = |order| {
        history.catalog().captures_of_any(urls, &CaptureFilter::default(), order, ListCursor::first(1))
    };
    let (first, last) = (one(TimeOrder::OldestFirst)?.pop(), one(TimeOrder::NewestFirst)?.pop());
    Ok(first.zip(last))
}

/// The spelling under which a URL is stored, if it is.
pub fn known_as(history: &HistoryReader, url: &str) -> Result<Option<String>, ArchiveError> {
    first_kept(history, url, |spelling| {
        let filter = CaptureFilter::default();
        let found =
            history.catalog().captures_of(spelling, &filter, TimeOrder::NewestFirst, ListCursor::first(1))?;
        Ok(found.into_iter().next().map(|capture| capture.url))
    })
}

/// The stored spelling of a URL, which may lack its scheme, or else of an equivalent URL, or of a page
/// that declared it as its canonical URL.
pub fn captured_url(history: &HistoryReader, url: &str) -> Result<Option<String>, ArchiveError> {
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    for candidate in std::iter::once(url.clone()).chain(others(&url)) {
        if let Some(known) = known_as(history, &candidate)? {
            return Ok(Some(known));
        }
    }
    declaring_url(history, &url)
}

/// The status and headers that a capture is shown with. For a 304 response, they are those of the
/// response it refers to.
pub fn answer(history: &HistoryReader, capture: &Capture) -> Result<(u16, HeaderView), ArchiveError> {
    let status = if capture.status == STATUS_NOT_MODIFIED { STATUS_OK } else { capture.status };
    Ok((status, headers_of(history, capture)?))
}

/// Whether a capture is a redirect.
fn is_redirect(capture: &Capture) -> bool {
    (300..400).contains(&capture.status) && capture.status != STATUS_NOT_MODIFIED
}

/// Whether a capture is a redirect to `url`: shown in its place, it would redirect to itself.
pub(super) fn leads_to(capture: &Capture, url: &str) -> bool {
    if !is_redirect(capture) {
        return false;
    }
    let location = capture.headers.get("location").and_then(|values| values.first());
    let target = location.and_then(|location| varve_core::url::resolve(&capture.url, location).ok());
    target.is_some_and(|target| spellings(&target).iter().any(|target| spellings(url).contains(target)))
}

/// Equivalent URLs of the same page: with the other scheme, and with or without `www.`.
pub fn others(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    let other_scheme = match scheme {
        "http" => "https",
        "https" => "http",
        _ => return Vec::new(),
    };
    let other_rest = match rest.strip_prefix("www.") {
        Some(bare) => bare.to_owned(),
        None => format!("www.{rest}"),
    };
    [(other_scheme, rest), (scheme, other_rest.as_str()), (other_scheme, other_rest.as_str())]
        .into_iter()
        .map(|(scheme, rest)| format!("{scheme}://{rest}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_mean_the_last_second_of_a_period_or_an_instant() {
        let at = |text: &str| text.parse::<Moment>().unwrap();
        for (digits, last) in [
            ("2026", "2026-12-31T23:59:59Z"),
            ("202602", "2026-02-28T23:59:59Z"),
            ("20260228", "2026-02-28T23:59:59Z"),
            ("202602280204", "2026-02-28T02:04:59Z"),
        ] {
            assert_eq!(ReplayTime::read(digits), Some(ReplayTime::second(at(last))), "{digits}");
        }
        assert_eq!(ReplayTime::read("20260102030405"), Some(ReplayTime::second(at("2026-01-02T03:04:05Z"))));
        assert_eq!(
            ReplayTime::read("20260102030405000678"),
            Some(ReplayTime::exactly(at("2026-01-02T03:04:05.000678Z")))
        );
        assert_eq!(precise_digits(at("2026-01-02T03:04:05.000678Z")), "20260102030405000678");
        for (digits, year) in
            [("1", "1999-12-31T23:59:59Z"), ("2", "2999-12-31T23:59:59Z"), ("202", "2029-12-31T23:59:59Z")]
        {
            assert_eq!(ReplayTime::read(digits), Some(ReplayTime::second(at(year))));
        }
        for wrong in ["", "20261", "20261301", "2026010203040500067", "202601020304050006789", "2026é"] {
            assert_eq!(ReplayTime::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn others_are_the_other_scheme_and_host() {
        assert_eq!(
            others("http://e.org/a"),
            ["https://e.org/a", "http://www.e.org/a", "https://www.e.org/a"]
        );
        assert_eq!(others("https://www.e.org/")[1], "https://e.org/");
        assert_eq!(others("ftp://e.org/"), [""; 0]);
        assert_eq!(others("nonsense"), [""; 0]);
    }
}
