//! Writes every row of a catalog as a line of JSON, in an order that depends only on the recorded
//! history. Two catalogs are equal if their dumps are equal.
//!
//! It uses [`CatalogRead`] alone, so that it works for every implementation. It holds one batch of
//! rows in memory.

use serde::Serialize;
use serde_json::{Value, json};

use crate::headers::HeaderView;
use crate::history::{
    Capture, CaptureOwner, ListCursor, PageAbsence, StoredScore, StoredVerdict, VersionFilter, VersionInfo,
};
use crate::{BodyId, CaptureId, Moment, RecordId, RunId, VersionId};

use super::error::CatalogResult;
use super::read::CatalogRead;
use super::row::Removal;

/// The number of rows that are read at once.
const ROW_BATCH: usize = 1_000;

type EachLine<'a> = &'a mut dyn FnMut(&str) -> CatalogResult<()>;

/// Calls `each` with every row of a catalog. Rows that are not made from silos are left out: diffs,
/// the frontier and the time of the last garbage collection.
pub fn dump_rows(
    catalog: &dyn CatalogRead,
    each: &mut dyn FnMut(&str) -> CatalogResult<()>,
) -> CatalogResult<()> {
    if let Some(head) = catalog.head()? {
        each(&json!({ "head": head }).to_string())?;
    }
    for tag in catalog.tags()? {
        each(&json!({ "tag": tag }).to_string())?;
    }
    dump_versions(catalog, each)?;
    dump_captures(catalog, each)?;
    dump_checks(catalog, each)?;
    dump_verdicts(catalog, each)?;
    dump_extractions(catalog, each)?;
    dump_domain_settings(catalog, each)?;
    dump_log(catalog, each)?;
    dump_removals(catalog, each)
}

fn dump_versions(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut equals: Vec<VersionInfo> = Vec::new();
    let mut after = None;
    loop {
        let page = catalog.versions(&VersionFilter::default(), ListCursor { after, limit: ROW_BATCH })?;
        let Some(last) = page.last() else { break };
        after = Some(last.version.id);
        for info in page {
            if equals.first().is_some_and(|first| first.version.time != info.version.time) {
                dump_versions_of_instant(catalog, &mut equals, each)?;
            }
            equals.push(info);
        }
    }
    dump_versions_of_instant(catalog, &mut equals, each)
}

fn dump_versions_of_instant(
    catalog: &dyn CatalogRead,
    equals: &mut Vec<VersionInfo>,
    each: EachLine<'_>,
) -> CatalogResult<()> {
    equals.sort_by_key(|info| info.version.id);
    for info in equals.drain(..) {
        each(&json!({ "version": info.version, "captures": info.captures }).to_string())?;
        dump_absences(catalog, &info.version.id, each)?;
        let mut scores = catalog.scores(&info.version.id)?;
        scores.sort_by(|a, b| a.scoring_version.cmp(&b.scoring_version));
        for score in scores {
            each(&json!({ "score": score_json(score) }).to_string())?;
        }
    }
    Ok(())
}

fn dump_absences(catalog: &dyn CatalogRead, version: &VersionId, each: EachLine<'_>) -> CatalogResult<()> {
    let mut last: Option<PageAbsence> = None;
    loop {
        let after = last.as_ref().map(|last| (last.path.as_str(), last.url.as_str()));
        let absences = catalog.absences_in(version, ListCursor { after, limit: ROW_BATCH })?;
        for absence in &absences {
            each(&json!({ "absence": absence }).to_string())?;
        }
        match absences.into_iter().next_back() {
            Some(end) => last = Some(end),
            None => return Ok(()),
        }
    }
}

fn dump_captures(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after: Option<String> = None;
    loop {
        let cursor = ListCursor { after: after.as_deref(), limit: ROW_BATCH };
        let mut captures = catalog.captures_by_url(cursor)?;
        let Some(last) = captures.last() else { return Ok(()) };
        after = Some(last.url.clone());
        captures.sort_by(|one, other| {
            (&one.url, one.time, one.owner, one.id).cmp(&(&other.url, other.time, other.owner, other.id))
        });
        for capture in &captures {
            each(&CaptureLine::text(capture))?;
        }
    }
}

fn dump_checks(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after = None;
    loop {
        let checks = catalog.checks(ListCursor { after, limit: ROW_BATCH })?;
        let Some(last) = checks.last() else { return Ok(()) };
        after = Some(last.id);
        for check in &checks {
            each(&json!({ "check": check }).to_string())?;
        }
    }
}

fn dump_verdicts(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after: Option<String> = None;
    loop {
        let last = catalog.last_verdicts(ListCursor { after: after.as_deref(), limit: ROW_BATCH })?;
        let Some(end) = last.last() else { return Ok(()) };
        for verdict in &last {
            for verdict in catalog.verdicts_of(&verdict.url, usize::MAX)? {
                each(&json!({ "verdict": verdict_json(verdict) }).to_string())?;
            }
        }
        after = Some(end.url.clone());
    }
}

fn dump_extractions(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after: Option<String> = None;
    loop {
        let found = catalog.extractions(ListCursor { after: after.as_deref(), limit: ROW_BATCH })?;
        let Some(last) = found.last() else { return Ok(()) };
        after = Some(last.page.url.clone());
        for extraction in &found {
            let requests = catalog.requests_of(&extraction.page)?;
            each(&json!({ "extraction": extraction, "requests": requests }).to_string())?;
        }
    }
}

fn dump_domain_settings(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after: Option<String> = None;
    loop {
        let found = catalog.all_domain_settings(ListCursor { after: after.as_deref(), limit: ROW_BATCH })?;
        let Some(last) = found.last() else { return Ok(()) };
        after = Some(last.domain.clone());
        for settings in &found {
            each(&json!({ "domain_settings": settings }).to_string())?;
        }
    }
}

fn dump_log(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut first = 0;
    loop {
        let leaves = catalog.log_leaves(first, ROW_BATCH)?;
        let Some((last, _)) = leaves.last() else { break };
        first = last + 1;
        for (leaf, manifest) in &leaves {
            each(&json!({ "log_leaf": leaf, "manifest": manifest }).to_string())?;
        }
    }
    let mut after = None;
    loop {
        let checkpoints = catalog.log_checkpoints(ListCursor { after, limit: ROW_BATCH })?;
        let Some(last) = checkpoints.last() else { return Ok(()) };
        after = Some(last.size);
        for checkpoint in &checkpoints {
            each(&json!({ "log_checkpoint": checkpoint }).to_string())?;
            for timestamp in catalog.log_timestamps(checkpoint.size)? {
                each(&json!({ "log_timestamp": timestamp }).to_string())?;
            }
        }
    }
}

fn dump_removals(catalog: &dyn CatalogRead, each: EachLine<'_>) -> CatalogResult<()> {
    let mut after = None;
    loop {
        let removals = catalog.removals(ListCursor { after, limit: ROW_BATCH })?;
        let Some(last) = removals.last() else { return Ok(()) };
        after = Some(last.tombstone_record);
        for Removal { tombstone_record, tombstone } in removals {
            each(
                &json!({ "removal": { "tombstone_record": tombstone_record, "tombstone": tombstone } })
                    .to_string(),
            )?;
        }
    }
}

/// A capture as a line. It is written without a tree of values, because most lines are captures.
#[derive(Serialize)]
struct CaptureLine<'a> {
    capture: CaptureFields<'a>,
}

#[derive(Serialize)]
struct CaptureFields<'a> {
    id: CaptureId,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<VersionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    url: &'a str,
    path: &'a str,
    time: Moment,
    status: u16,
    headers: &'a HeaderView,
    body: BodyId,
    length: Option<u64>,
    record: Option<RecordId>,
    truncated: bool,
}

impl CaptureLine<'_> {
    fn text(capture: &Capture) -> String {
        let Capture { id, owner, url, path, time, status, headers, body, length, record, truncated } =
            capture;
        let (version, run) = match owner {
            CaptureOwner::Version(version) => (Some(*version), None),
            CaptureOwner::Run(run) => (None, Some(*run)),
        };
        let capture = CaptureFields {
            id: *id,
            version,
            run,
            url,
            path,
            time: *time,
            status: *status,
            headers,
            body: *body,
            length: *length,
            record: *record,
            truncated: *truncated,
        };
        serde_json::to_string(&CaptureLine { capture }).expect("plain values can be written as JSON")
    }
}

fn score_json(score: StoredScore) -> Value {
    json!({
        "version": score.version, "scoring_version": score.scoring_version, "score": score.score,
        "normalized": score.normalized, "confidence": score.confidence, "json": score.json, "time": score.time,
        "evidence": score.evidence, "attributions": score.attributions,
    })
}

fn verdict_json(verdict: StoredVerdict) -> Value {
    json!({
        "check": verdict.check, "url": verdict.url, "time": verdict.time, "verdict": verdict.verdict,
        "status": verdict.status, "json": verdict.json,
    })
}
