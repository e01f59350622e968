//! Implicit expectations: the live web should still match the archive.
//!
//! A response of the same class and media type is expected and, for a success, the same body. A
//! different body is compared by the noise rules: a page in which only nonces and clocks differ
//! counts as unchanged.

use std::io::Read;
use varve_repository::RepositoryError;

use serde_json::{Value, json};
use varve_core::exchange::Exchange;
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::Capture;
use varve_core::url::resolve;
use varve_diff::compare::{CaptureSide, CompareOptions, compare};
use varve_expect::{Departure, Follow, Observed};

use super::{CheckCase, CheckTarget, Judgement};
use crate::expectations::report::{CheckedUrl, ContentComparison};
use crate::expectations::{ProbeRequest, ProbeResponse, Verdict};
use varve_crawl::{CrawlError, wire_exchange};
use varve_repository::history::MAX_COMPARED_BYTES;
use varve_repository::history::{HistoryReader, StatePages};
use varve_repository::history::{LoadedPage, with_full_response};

/// A capture that the live page is compared with.
struct ArchivedPage<'a> {
    history: &'a HistoryReader,
    capture: Capture,
}

/// A case for every URL in the state of HEAD.
pub(crate) fn archived_cases<'a>(
    history: &'a HistoryReader,
    takes: &dyn Fn(&Capture) -> bool,
) -> Result<Vec<CheckCase<'a>>, CrawlError> {
    let version = history.head()?.ok_or(RepositoryError::NoVersions)?;
    let mut cases: Vec<CheckCase<'a>> = Vec::new();
    for page in StatePages::new(history.catalog(), Some(version)) {
        // Of a page that is gone, the response that says so is expected again.
        let mut page = page?;
        let evidence = page.evidence.take();
        let Some(capture) = page.into_shown().or(evidence).filter(|capture| takes(capture)) else { continue };
        let capture = with_full_response(history, capture)?;
        let checked = CheckedUrl::new(&capture.url);
        let target = Box::new(ArchivedPage { history, capture });
        cases.push(CheckCase { target, checked });
    }
    Ok(cases)
}

impl CheckTarget for ArchivedPage<'_> {
    fn probe_request(&self) -> Result<ProbeRequest, Verdict> {
        let url = &self.capture.url;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Verdict::Skipped("not an address of the web".to_owned()));
        }
        if class(self.capture.status).is_none() {
            return Err(Verdict::Skipped("the archive holds no answer of it".to_owned()));
        }
        Ok(ProbeRequest {
            url: url.clone(),
            follow: Follow::First,
            content: true,
            length: self.capture.length,
            max_bytes: None,
        })
    }

    fn judge(&self, answer: &ProbeResponse) -> Judgement {
        let observed = &answer.observed;
        if let Some(reason) = &observed.error {
            return Judgement { verdict: Verdict::Unreachable(reason.clone()), comparison: None };
        }
        let Some(got) = observed.status else {
            let reason = "there was no answer".to_owned();
            return Judgement { verdict: Verdict::Unreachable(reason), comparison: None };
        };
        let expected = class(self.capture.status);
        if let Some(expected) = expected.filter(|expected| class(got) != Some(expected)) {
            let gone = matches!(got, 404 | 410);
            let comparison = Some(if gone { ContentComparison::Gone } else { ContentComparison::Changed });
            return Judgement { verdict: Verdict::of(vec![Departure::Status { expected, got }]), comparison };
        }
        self.judge_content(observed, answer.judged_exchange())
    }

    fn accepts(&self, capture: &Capture) -> bool {
        capture.id == self.capture.id
    }

    fn expectation_json(&self) -> Value {
        json!({
            "capture": self.capture.id.to_string(),
            "status": self.capture.status,
            "content-type": self.media_type(),
            "content-sha256": self.capture.body.to_string(),
        })
    }
}

impl ArchivedPage<'_> {
    fn media_type(&self) -> Option<&str> {
        self.capture.headers.get("content-type")?.first().map(|text| essence(text))
    }

    fn judge_content(&self, observed: &Observed, exchange: Option<&Exchange>) -> Judgement {
        let mut departures: Vec<Departure> = self.other_type(observed).into_iter().collect();
        departures.extend(self.other_location(observed));
        let comparison = self.compare(observed, exchange);
        if comparison == Some(ContentComparison::Changed)
            && let (Some(length), Some(got)) = (observed.length, observed.sha256)
        {
            if let Some(expected) = self.capture.length.filter(|expected| *expected != length) {
                departures.push(Departure::Length { expected, got: length });
            }
            departures.push(Departure::Digest { expected: self.capture.body, got });
        }
        Judgement { verdict: Verdict::of(departures), comparison }
    }

    fn other_type(&self, observed: &Observed) -> Option<Departure> {
        let expected = self.media_type()?;
        let got = observed.media_type.as_deref().map(essence);
        if got.is_some_and(|got| got.eq_ignore_ascii_case(expected)) {
            return None;
        }
        Some(Departure::MediaType { expected: expected.to_owned(), got: got.map(str::to_owned) })
    }

    /// The changed target of a redirect, if it changed. Different spellings of one URL are equal.
    fn other_location(&self, observed: &Observed) -> Option<Departure> {
        if class(self.capture.status) != Some(REDIRECT_CLASS) {
            return None;
        }
        let meant = |location: &str| resolve(&self.capture.url, location).unwrap_or(location.to_owned());
        let expected =
            self.capture.headers.get("location").and_then(|values| values.first()).map(|text| meant(text));
        let got = observed.location.as_deref().map(meant);
        (expected != got).then_some(Departure::Location { expected, got })
    }

    /// Compares the bodies. `None` for errors, redirects and truncated captures, which have nothing
    /// to compare.
    fn compare(&self, observed: &Observed, exchange: Option<&Exchange>) -> Option<ContentComparison> {
        let is_page = class(self.capture.status) == Some(SUCCESS_CLASS) && !self.capture.truncated;
        let got = observed.sha256.filter(|_| is_page)?;
        if got == self.capture.body {
            return Some(ContentComparison::Unchanged);
        }
        let is_noise = exchange.is_some_and(|exchange| self.is_noise(exchange).unwrap_or(false));
        Some(if is_noise { ContentComparison::Noise } else { ContentComparison::Changed })
    }

    /// Whether the bodies differ only by noise. A body over the size limit does not count as noise;
    /// the caller treats an unreadable one the same way.
    fn is_noise(&self, exchange: &Exchange) -> Result<bool, CrawlError> {
        if self.capture.length.unwrap_or(0) > MAX_COMPARED_BYTES
            || exchange.response.len() > MAX_COMPARED_BYTES
        {
            return Ok(false);
        }
        let old = LoadedPage::of(self.history, Some(&self.capture), MAX_COMPARED_BYTES)?;
        let mut body = Vec::new();
        let unreadable = |error| RepositoryError::Body(varve_core::body::BodyError::new(error));
        if let Some(content) = wire_exchange::open_wire_body(&exchange.response).map_err(unreadable)? {
            content.take(MAX_COMPARED_BYTES).read_to_end(&mut body).map_err(unreadable)?;
        }
        let head = exchange.head().map_err(unreadable)?;
        let headers = head.map(|head| HeaderView::of(head.headers, Redaction::On)).unwrap_or_default();
        let new = CaptureSide { id: "live", headers: &headers, body: &body, media_type: None };
        Ok(!compare(&old.side("archive"), &new, &CompareOptions::default()).body.is_changed())
    }
}

const SUCCESS_CLASS: &str = "HTTP 2xx";
const REDIRECT_CLASS: &str = "HTTP 3xx";

/// The class of a status; `None` for a number that is not an HTTP response status.
fn class(status: u16) -> Option<&'static str> {
    match status {
        200..=299 => Some(SUCCESS_CLASS),
        300..=399 => Some(REDIRECT_CLASS),
        400..=499 => Some("HTTP 4xx"),
        500..=599 => Some("HTTP 5xx"),
        _ => None,
    }
}

fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}
