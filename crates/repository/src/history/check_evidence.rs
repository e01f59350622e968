//! Reads checks: their names, and the responses that decided their verdicts.
//!
//! A response of a check is no capture and has no row. Its verdict names the record, from which
//! this module makes a value like a capture, so that the functions for captures show it too.

use varve_core::fact::{EvidenceRecord, VerdictDetail};
use varve_core::headers::HeaderView;
use varve_core::history::{Capture, CaptureOwner, StoredCheck, StoredVerdict};
use varve_core::{CheckId, RecordId};
use varve_wire::MessageHead;

use super::HistoryReader;
use super::resolve_version::{MAX_CANDIDATES, may_begin_id};
use crate::error::RepositoryError;
use crate::page_path::page_path;

/// The check with this id, or whose id begins with this text. `None` if there is none, and in
/// layouts without checks.
pub fn named_check(history: &HistoryReader, name: &str) -> Result<Option<CheckId>, RepositoryError> {
    if !matches!(history, HistoryReader::Archive(_)) || !may_begin_id(name) {
        return Ok(None);
    }
    match history.catalog().checks_beginning(name, MAX_CANDIDATES)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(RepositoryError::AmbiguousCheck { text: name.to_owned(), count: several.len() }),
    }
}

/// The details of a verdict. Those that cannot be parsed are empty.
pub fn detail_of(verdict: &StoredVerdict) -> VerdictDetail {
    serde_json::from_str(&verdict.json).unwrap_or_default()
}

/// The response that decided a verdict. `None` if there was none.
pub fn evidence_of(
    history: &HistoryReader,
    verdict: &StoredVerdict,
) -> Result<Option<Capture>, RepositoryError> {
    let Some(evidence) = detail_of(verdict).evidence else { return Ok(None) };
    let Some(check) = history.catalog().check(&verdict.check)? else { return Ok(None) };
    evidence_capture(history, &check, &verdict.url, &evidence).map(Some)
}

/// The response in a record of a check to `url`. Without headers if the record was removed.
pub fn evidence_capture(
    history: &HistoryReader,
    check: &StoredCheck,
    url: &str,
    evidence: &EvidenceRecord,
) -> Result<Capture, RepositoryError> {
    let record = current_record(history, evidence.record)?;
    let url = evidence.url.as_deref().unwrap_or(url);
    let owner = CaptureOwner::Run(check.run);
    let mut capture = Capture {
        id: Capture::derive_id(owner, url, evidence.time, &evidence.record),
        owner,
        url: url.to_owned(),
        path: page_path(url),
        time: evidence.time,
        status: evidence.status,
        headers: HeaderView::default(),
        body: evidence.body,
        length: Some(evidence.length),
        record: Some(record),
        truncated: evidence.truncated,
    };
    let head = match history.wire_head(&capture) {
        Err(RepositoryError::Absent { .. }) => None,
        head => head?,
    };
    if let Some(head) = head.and_then(|head| MessageHead::parse(&head)) {
        capture.headers = HeaderView::of(&head.headers, history.redaction());
    }
    Ok(capture)
}

/// The record that holds a response now. A purge replaces a revisit whose original it removes.
fn current_record(history: &HistoryReader, record: RecordId) -> Result<RecordId, RepositoryError> {
    let removals = history.catalog().removals_of(&record)?;
    let replacement = removals.into_iter().find_map(|removal| removal.tombstone.replaced_by);
    Ok(replacement.unwrap_or(record))
}
