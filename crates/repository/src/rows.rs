//! The only conversion from silo records to catalog rows.
//!
//! Captures, commits, rebuild and recovery all use it. A rebuilt catalog therefore equals the
//! original.

use serde::Deserialize;
use varve_catalog::{CatalogRow, Removal};
use varve_core::fact::{Fact, FactError, HeadMoved, Manifest, ManifestPage, TagSet, UrlVerdict, media_type};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, StoredScore, StoredVerdict};
use varve_core::receipt::Receipt;
use varve_core::{RecordId, VersionId};
use varve_store::exchange::ScannedRecord;

use crate::error::UnreadableFact;
use crate::history::{FindPageList, PageLists};
use crate::page_path::page_path;

/// A version whose page list is lost.
#[derive(Debug)]
pub struct MissingPageList {
    /// The version.
    pub version: VersionId,
    /// The record of the list.
    pub list: RecordId,
    /// The number of its pages that are known nevertheless.
    pub known: usize,
}

/// Makes rows from silo records, which must be passed in their order.
pub struct RowMaker<'a> {
    redaction: Redaction,
    lists: PageLists<'a>,
}

impl<'a> RowMaker<'a> {
    /// Starts at the beginning of the silos.
    pub fn new(redaction: Redaction) -> Self {
        Self { redaction, lists: PageLists::default() }
    }

    /// Starts after a given place. Page lists from before it are found with `find`.
    pub fn behind(redaction: Redaction, spent: u64, find: FindPageList<'a>) -> Self {
        Self { redaction, lists: PageLists::behind(spent, find) }
    }

    /// The rows of the next record of a silo.
    pub fn rows_of(&mut self, scanned: &ScannedRecord) -> Result<Vec<CatalogRow>, UnreadableFact> {
        match scanned {
            ScannedRecord::Capture(receipt) => {
                Ok(row_of_receipt(receipt, self.redaction).into_iter().collect())
            }
            ScannedRecord::Fact { record, media_type, json, .. } => match Fact::parse(media_type, json) {
                Some(fact) => {
                    let rows = fact.and_then(|fact| self.rows_of_fact(*record, json, fact));
                    rows.map_err(|source| UnreadableFact { record: *record, source })
                }
                None => Ok(Vec::new()),
            },
        }
    }

    /// The rows of a version whose page list is lost: the version itself, and the pages in its
    /// manifest. `None` for any other record.
    pub fn rows_without_list(
        &mut self,
        scanned: &ScannedRecord,
    ) -> Option<(Vec<CatalogRow>, MissingPageList)> {
        let ScannedRecord::Fact { record, media_type, json, .. } = scanned else { return None };
        let Some(Ok(Fact::Version(manifest))) = Fact::parse(media_type, json) else { return None };
        let version = Manifest::version_id(json);
        let lost = MissingPageList { version, list: manifest.list?, known: manifest.pages.len() };
        let mut rows = rows_of_version(version, Some(*record), &manifest, &manifest.pages);
        // Counted so that the next version does not reference a list older than this one.
        rows.extend(self.lists.spend(&manifest));
        Some((rows, lost))
    }

    fn rows_of_fact(
        &mut self,
        record: RecordId,
        json: &[u8],
        fact: Fact,
    ) -> Result<Vec<CatalogRow>, FactError> {
        match fact {
            Fact::Pages(list) => Ok(vec![self.lists.hear(record, list)]),
            Fact::Version(manifest) if manifest.list.is_some() => {
                let pages = self.lists.pages_of(&manifest)?;
                let mut rows = rows_of_version(Manifest::version_id(json), Some(record), &manifest, &pages);
                rows.extend(self.lists.spend(&manifest));
                Ok(rows)
            }
            other => rows_of_fact(record, json, &other),
        }
    }
}

/// The row of a capture. `None` if it belongs to no run.
pub fn row_of_receipt(receipt: &Receipt, redaction: Redaction) -> Option<CatalogRow> {
    let belongs = CaptureOwner::Run(receipt.run?);
    let capture = Capture {
        id: Capture::derive_id(belongs, &receipt.url, receipt.time, &receipt.record),
        owner: belongs,
        url: receipt.url.clone(),
        path: page_path(&receipt.url),
        time: receipt.time,
        status: receipt.status,
        headers: HeaderView::of(&receipt.headers, redaction),
        body: receipt.body,
        length: Some(receipt.length),
        record: Some(receipt.record),
        truncated: receipt.truncated.is_some(),
    };
    Some(CatalogRow::Capture(Box::new(capture)))
}

/// The rows of a fact. `json` is the content of its record.
pub fn rows_of_fact(record: RecordId, json: &[u8], fact: &Fact) -> Result<Vec<CatalogRow>, FactError> {
    Ok(match fact {
        Fact::Version(manifest) => {
            rows_of_version(Manifest::version_id(json), Some(record), manifest, &manifest.pages)
        }
        Fact::Tag(TagSet { name, version, time }) => {
            vec![CatalogRow::Tag { name: name.clone(), version: *version, time: *time }]
        }
        Fact::Head(HeadMoved { version, .. }) => vec![CatalogRow::Head(*version)],
        Fact::Verdicts(verdicts) => verdicts.verdicts.iter().map(row_of_verdict).collect(),
        Fact::Score(score) => vec![CatalogRow::Score(Box::new(row_of_score(score)?))],
        Fact::Tombstone(tombstone) => {
            vec![CatalogRow::Removal(Box::new(Removal {
                tombstone_record: record,
                tombstone: (**tombstone).clone(),
            }))]
        }
        // Listed pages get rows through the versions that reference the list.
        Fact::Pages(_) => Vec::new(),
    })
}

/// The row of a score. The fact is the row itself, so evidence and attributions need not be
/// recomputed by rules that may have changed since.
pub fn row_of_score(fact: &serde_json::Value) -> Result<StoredScore, FactError> {
    let media_type = media_type::SCORE.to_owned();
    StoredScore::deserialize(fact).map_err(|source| FactError { media_type, source })
}

fn row_of_verdict(verdict: &UrlVerdict) -> CatalogRow {
    CatalogRow::Verdict(StoredVerdict {
        url: verdict.url.clone(),
        time: verdict.time,
        verdict: verdict.verdict,
        status: verdict.status.unwrap_or(0),
        json: serde_json::to_string(&verdict.detail).expect("plain values can be written as JSON"),
    })
}

/// The rows of a version and of all its pages.
pub fn rows_of_version(
    id: VersionId,
    record: Option<RecordId>,
    manifest: &Manifest,
    pages: &[ManifestPage],
) -> Vec<CatalogRow> {
    let mut rows = vec![CatalogRow::Version(manifest.version(id, record))];
    if !pages.is_empty() {
        rows.push(CatalogRow::Pages {
            version: id,
            captures: pages.iter().map(|page| capture_of(id, page)).collect(),
        });
    }
    rows
}

/// The capture for a page of a manifest.
pub fn capture_of(version: VersionId, page: &ManifestPage) -> Capture {
    let belongs = CaptureOwner::Version(version);
    // A body that a user committed is an object of its own, with the same id.
    let record = page.record.unwrap_or(RecordId::of_body(page.body));
    Capture {
        id: Capture::derive_id(belongs, &page.url, page.time, &record),
        owner: belongs,
        url: page.url.clone(),
        path: page.path.clone(),
        time: page.time,
        status: page.status,
        headers: page.headers.clone(),
        body: page.body,
        length: Some(page.length),
        record: Some(record),
        truncated: page.truncated,
    }
}
