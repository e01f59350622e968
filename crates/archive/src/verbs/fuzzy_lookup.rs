//! Finds the capture that answers a request of an archived script, where nothing was captured under
//! exactly that URL: scripts add times and random numbers to URLs.
//!
//! Which differences may be ignored is decided by [`varve_core::url::fuzzy`]. Only replay looks up
//! URLs this way, and says by which rule; `log` and `cat` mean what they are asked for.

use varve_core::history::ListCursor;
use varve_core::url::fuzzy::{FuzzyMatch, FuzzyRule, candidate_prefixes, fuzzy_match};
use varve_core::url::page_identity;
use varve_repository::history::HistoryReader;

use super::replay::{ReplayCapture, ReplayTime, UrlKnowledge, find, leads_to, others};
use crate::error::ArchiveError;

/// Maximum number of captured URLs that are compared, for each way to write the host and scheme.
const MAX_CANDIDATES: usize = 500;

/// A capture that answers a request for another URL.
#[derive(Clone, Debug)]
pub struct FuzzyCapture {
    /// The capture.
    pub found: ReplayCapture,
    /// The rule that found it.
    pub rule: FuzzyRule,
}

/// The capture that answers a request for `url`, of which nothing was captured. A redirect back to
/// `url` does not: it would be an endless loop.
pub fn find_fuzzy(
    history: &HistoryReader,
    url: &str,
    time: Option<ReplayTime>,
) -> Result<Option<FuzzyCapture>, ArchiveError> {
    let Some((captured, rule)) = fuzzy_url(history, url)? else { return Ok(None) };
    Ok(match find(history, &captured, time)? {
        UrlKnowledge::Here(found) if !leads_to(&found.capture, url) => {
            Some(FuzzyCapture { found: *found, rule })
        }
        UrlKnowledge::Here(_) | UrlKnowledge::There(_) | UrlKnowledge::No => None,
    })
}

/// The captured URL that answers a request for `url`, also by the other scheme, and with or without
/// `www.`.
pub(crate) fn fuzzy_url(
    history: &HistoryReader,
    url: &str,
) -> Result<Option<(String, FuzzyRule)>, ArchiveError> {
    for wanted in std::iter::once(url.to_owned()).chain(others(url)) {
        let captured = candidates(history, &wanted)?;
        if let Some(FuzzyMatch { url, rule }) = fuzzy_match(&wanted, &captured) {
            return Ok(Some((url.to_owned(), rule)));
        }
    }
    Ok(None)
}

/// Captured URLs that differ from `wanted` only in parameters.
fn candidates(history: &HistoryReader, wanted: &str) -> Result<Vec<String>, ArchiveError> {
    let [bare, with_parameters @ ..] = candidate_prefixes(wanted);
    let first = |limit| ListCursor { after: None, limit };
    let mut captured = history.catalog().urls(&bare, first(1))?;
    // The same page in another spelling is found without ignoring anything.
    captured.retain(|url| *url == bare && page_identity(url) != page_identity(wanted));
    for prefix in with_parameters {
        captured.extend(history.catalog().urls(&prefix, first(MAX_CANDIDATES))?);
    }
    Ok(captured)
}
