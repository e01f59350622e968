//! Every row as a line of JSON, in an order that depends on what was recorded only: how two catalogs are compared.
//!
//! Made from the seam for reading, so that every implementation says the same about the same history. What is held in
//! memory at once is what happened at one instant.

use serde_json::{Value, json};
use varve_core::history::{
    Belongs, Capture, CaptureFilter, ListCursor, StoredScore, StoredVerdict, TimeOrder, VersionFilter,
    VersionInfo,
};

use crate::error::CatalogError;
use crate::read::CatalogRead;
use crate::row::Removal;

const PAGE: usize = 1_000;

type Each<'a> = &'a mut dyn FnMut(&str) -> Result<(), CatalogError>;

/// Gives every row of a catalog: what [`CatalogRead::each_row`] does, whatever the catalog is kept in.
pub fn each_row(
    catalog: &dyn CatalogRead,
    each: &mut dyn FnMut(&str) -> Result<(), CatalogError>,
) -> Result<(), CatalogError> {
    if let Some(head) = catalog.head()? {
        each(&json!({ "head": head }).to_string())?;
    }
    for tag in catalog.tags()? {
        each(&json!({ "tag": tag }).to_string())?;
    }
    each_version(catalog, each)?;
    each_capture(catalog, each)?;
    each_verdict(catalog, each)?;
    each_removal(catalog, each)
}

fn each_version(catalog: &dyn CatalogRead, each: Each<'_>) -> Result<(), CatalogError> {
    let mut equals: Vec<VersionInfo> = Vec::new();
    let mut after = None;
    loop {
        let page = catalog.versions(&VersionFilter::default(), ListCursor { after, limit: PAGE })?;
        let Some(last) = page.last() else { break };
        after = Some(last.version.id);
        for info in page {
            if equals.first().is_some_and(|first| first.version.time != info.version.time) {
                give_versions(catalog, &mut equals, each)?;
            }
            equals.push(info);
        }
    }
    give_versions(catalog, &mut equals, each)
}

fn give_versions(
    catalog: &dyn CatalogRead,
    equals: &mut Vec<VersionInfo>,
    each: Each<'_>,
) -> Result<(), CatalogError> {
    equals.sort_by_key(|info| info.version.id);
    for info in equals.drain(..) {
        each(&json!({ "version": info.version, "captures": info.captures }).to_string())?;
        let mut scores = catalog.scores(&info.version.id)?;
        scores.sort_by(|a, b| a.scoring_version.cmp(&b.scoring_version));
        for score in scores {
            each(&json!({ "score": score_json(score) }).to_string())?;
        }
    }
    Ok(())
}

fn each_capture(catalog: &dyn CatalogRead, each: Each<'_>) -> Result<(), CatalogError> {
    let mut after: Option<String> = None;
    loop {
        let urls = catalog.urls("", ListCursor { after: after.as_deref(), limit: PAGE })?;
        let Some(last) = urls.last() else { return Ok(()) };
        for url in &urls {
            each_capture_of(catalog, url, each)?;
        }
        after = Some(last.clone());
    }
}

fn each_capture_of(catalog: &dyn CatalogRead, url: &str, each: Each<'_>) -> Result<(), CatalogError> {
    let filter = CaptureFilter::default();
    let mut equals: Vec<Capture> = Vec::new();
    let mut after: Option<Capture> = None;
    loop {
        let page = ListCursor { after: after.as_ref(), limit: PAGE };
        let page = catalog.captures_of(url, &filter, TimeOrder::OldestFirst, page)?;
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        for capture in page {
            if equals.first().is_some_and(|first| first.time != capture.time) {
                give_captures(&mut equals, each)?;
            }
            equals.push(capture);
        }
    }
    give_captures(&mut equals, each)
}

fn give_captures(equals: &mut Vec<Capture>, each: Each<'_>) -> Result<(), CatalogError> {
    equals.sort_by_key(|capture| (capture.belongs, capture.id));
    equals.drain(..).try_for_each(|capture| each(&capture_json(capture).to_string()))
}

fn each_verdict(catalog: &dyn CatalogRead, each: Each<'_>) -> Result<(), CatalogError> {
    let mut after: Option<String> = None;
    loop {
        let last = catalog.last_verdicts(ListCursor { after: after.as_deref(), limit: PAGE })?;
        let Some(end) = last.last() else { return Ok(()) };
        for verdict in &last {
            for verdict in catalog.verdicts_of(&verdict.url, usize::MAX)? {
                each(&json!({ "verdict": verdict_json(verdict) }).to_string())?;
            }
        }
        after = Some(end.url.clone());
    }
}

fn each_removal(catalog: &dyn CatalogRead, each: Each<'_>) -> Result<(), CatalogError> {
    let mut after = None;
    loop {
        let removals = catalog.removals(ListCursor { after, limit: PAGE })?;
        let Some(last) = removals.last() else { return Ok(()) };
        after = Some(last.told_by);
        for Removal { told_by, tombstone } in removals {
            each(&json!({ "removal": { "told_by": told_by, "tombstone": tombstone } }).to_string())?;
        }
    }
}

fn capture_json(capture: Capture) -> Value {
    let (kind, owner) = match capture.belongs {
        Belongs::Version(version) => ("version", version.to_string()),
        Belongs::Run(run) => ("run", run.to_string()),
    };
    json!({ "capture": {
        "id": capture.id, kind: owner, "url": capture.url, "path": capture.path, "time": capture.time,
        "status": capture.status, "headers": capture.headers, "body": capture.body, "length": capture.length,
        "record": capture.record, "truncated": capture.truncated,
    } })
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
        "url": verdict.url, "time": verdict.time, "verdict": verdict.verdict, "status": verdict.status,
        "json": verdict.json,
    })
}
