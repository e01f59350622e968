//! The only conversion from silo records to catalog rows.
//!
//! Captures, commits, rebuild and recovery all use it. A rebuilt catalog therefore equals the
//! original.

use serde::Deserialize;
use varve_catalog::{CatalogRow, Removal};
use varve_core::fact::{
    AdoptedPages, CheckRecord, DomainSettingsSet, ExtractionDeleted, ExtractionRecord, Fact, FactError,
    HeadMoved, Manifest, ManifestPage, StateChanges, TagSet, UrlVerdict, media_type,
};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{
    AbsenceKind, Capture, CaptureOwner, KeyedUrl, PageAbsence, StoredCheck, StoredDomainSettings,
    StoredExtraction, StoredScore, StoredVerdict,
};
use varve_core::receipt::Receipt;
use varve_core::url::UrlError;
use varve_core::{CheckId, Moment, RecordId, VersionId};
use varve_store::exchange::ScannedRecord;

use crate::error::{RepositoryError, UnreadableFact};
use crate::history::{FindChanges, PendingChanges};
use crate::page_path::page_path;

/// A version that lost a record with some of its changes. Everything else of it is known.
#[derive(Debug)]
pub struct MissingChanges {
    /// The version.
    pub version: VersionId,
    /// The lost record.
    pub record: RecordId,
}

/// What a record says that has no rows.
#[derive(Debug)]
pub enum OmittedFact {
    /// It cannot be parsed.
    Unreadable(UnreadableFact),
    /// Records that it names are lost. The rows of the rest were made.
    Changes(Vec<MissingChanges>),
}

/// Receives rows.
type EmitRow<'a> = &'a mut dyn FnMut(CatalogRow) -> Result<(), RepositoryError>;

/// Makes rows from silo records, which must be passed in their order.
pub struct RowMaker<'a> {
    redaction: Redaction,
    pending: PendingChanges<'a>,
}

impl<'a> RowMaker<'a> {
    /// Starts at the beginning of the silos.
    pub fn new(redaction: Redaction) -> Self {
        Self { redaction, pending: PendingChanges::default() }
    }

    /// Starts after a given place. Changes from before it are found with `find`.
    pub fn behind(redaction: Redaction, find: FindChanges<'a>) -> Self {
        Self { redaction, pending: PendingChanges::behind(find) }
    }

    /// Passes the rows of the next record of a silo to `emit`, one at a time: a version may have
    /// millions of pages. Returns what has no rows.
    pub fn each_row(
        &mut self,
        scanned: &ScannedRecord,
        emit: EmitRow<'_>,
    ) -> Result<Option<OmittedFact>, RepositoryError> {
        match scanned {
            ScannedRecord::Capture(receipt) => {
                row_of_receipt(receipt, self.redaction).map_or(Ok(()), &mut *emit)?;
                Ok(None)
            }
            ScannedRecord::Fact { record, media_type, json, .. } => match Fact::parse(media_type, json) {
                None => Ok(None),
                Some(Ok(Fact::Changes(_))) => self.pending.add(*record, json).map(|()| None),
                Some(Ok(Fact::Version(manifest))) => self.version_rows(*record, json, &manifest, emit),
                Some(Ok(Fact::Check(check))) => {
                    let id = CheckRecord::check_id(json);
                    rows_of_check((id, *record), &check).try_for_each(emit).map(|()| None)
                }
                Some(fact) => {
                    let rows = fact.and_then(|fact| rows_of_fact(*record, &fact));
                    match rows {
                        Ok(rows) => rows.into_iter().try_for_each(emit).map(|()| None),
                        Err(source) => {
                            Ok(Some(OmittedFact::Unreadable(UnreadableFact { record: *record, source })))
                        }
                    }
                }
            },
        }
    }

    fn version_rows(
        &mut self,
        record: RecordId,
        json: &[u8],
        manifest: &Manifest,
        emit: EmitRow<'_>,
    ) -> Result<Option<OmittedFact>, RepositoryError> {
        let id = Manifest::version_id(json);
        let mut lost = Vec::new();
        let find = &mut |record| self.pending.take(record);
        each_version_row((id, Some(record)), manifest, find, &mut lost, emit)?;
        Ok((!lost.is_empty()).then_some(OmittedFact::Changes(lost)))
    }
}

/// Passes the rows of a version to `emit`. `find` returns the changes in a record that the manifest
/// names; records that it does not find go to `lost`.
fn each_version_row(
    (id, record): (VersionId, Option<RecordId>),
    manifest: &Manifest,
    find: &mut dyn FnMut(RecordId) -> Result<Option<StateChanges>, RepositoryError>,
    lost: &mut Vec<MissingChanges>,
    emit: EmitRow<'_>,
) -> Result<(), RepositoryError> {
    rows_of_version((id, record), manifest).try_for_each(&mut *emit)?;
    for record in &manifest.changes {
        match find(*record)? {
            Some(changes) => rows_of_changes(id, manifest.time, &changes).try_for_each(&mut *emit)?,
            None => lost.push(MissingChanges { version: id, record: *record }),
        }
    }
    Ok(())
}

/// The rows of a version and of the changes in its manifest.
pub fn rows_of_version(
    (id, record): (VersionId, Option<RecordId>),
    manifest: &Manifest,
) -> impl Iterator<Item = CatalogRow> + '_ {
    let version = CatalogRow::Version(manifest.version(id, record));
    std::iter::once(version).chain(rows_of_changes(id, manifest.time, &manifest.inline))
}

/// The rows of what a version says about pages.
pub(crate) fn rows_of_changes(
    version: VersionId,
    time: Moment,
    changes: &StateChanges,
) -> impl Iterator<Item = CatalogRow> + '_ {
    let absence = move |url: &str, kind: AbsenceKind| {
        let path = page_path(url);
        CatalogRow::Absence(Box::new(PageAbsence { version, url: url.to_owned(), path, time, kind }))
    };
    let pages =
        changes.pages.iter().map(move |page| CatalogRow::Capture(Box::new(capture_of(version, page))));
    let gone = changes.gone.iter().map(move |url| absence(url, AbsenceKind::Gone));
    let unreachable = changes.unreachable.iter();
    let failed = unreachable
        .map(move |page| absence(&page.url, AbsenceKind::Unreachable { reason: page.reason.clone() }));
    pages.chain(gone).chain(failed)
}

/// The rows of a check and its verdicts.
pub fn rows_of_check(
    (id, record): (CheckId, RecordId),
    check: &CheckRecord,
) -> impl Iterator<Item = CatalogRow> + '_ {
    let CheckRecord { run, time, message, author, .. } = check;
    let (message, author) = (message.clone(), author.clone());
    let counts = check.counts();
    let row = StoredCheck { id, run: *run, time: *time, message, author, record, counts };
    let verdicts = check.verdicts.iter().map(move |verdict| row_of_verdict(id, verdict));
    std::iter::once(CatalogRow::Check(Box::new(row))).chain(verdicts)
}

/// The row of a capture. `None` if it belongs to no run, as the evidence of a check.
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

/// The rows of a fact. Those of a version need other records, and those of a check its bytes: see
/// [`RowMaker`].
pub fn rows_of_fact(record: RecordId, fact: &Fact) -> Result<Vec<CatalogRow>, FactError> {
    Ok(match fact {
        Fact::Version(_) | Fact::Changes(_) | Fact::Check(_) => Vec::new(),
        Fact::Adopted(adopted) => {
            let AdoptedPages { version, time, changes, .. } = &**adopted;
            rows_of_changes(*version, *time, changes).collect()
        }
        Fact::Tag(TagSet { name, version, time }) => {
            vec![CatalogRow::Tag { name: name.clone(), version: *version, time: *time }]
        }
        Fact::Head(HeadMoved { version, .. }) => vec![CatalogRow::Head(*version)],
        Fact::Score(score) => vec![CatalogRow::Score(Box::new(row_of_score(score)?))],
        Fact::Extraction(extraction) => {
            vec![CatalogRow::Extraction(Box::new(row_of_extraction(extraction)?))]
        }
        Fact::ExtractionDeleted(ExtractionDeleted { url, .. }) => {
            vec![CatalogRow::ForgetExtraction(keyed(url, media_type::EXTRACTION_DELETED)?)]
        }
        Fact::DomainSettings(set) => {
            let DomainSettingsSet { domain, settings, .. } = &**set;
            vec![match settings.clone() {
                None => CatalogRow::ForgetDomainSettings(domain.clone()),
                Some(settings) => CatalogRow::DomainSettings(Box::new(StoredDomainSettings {
                    domain: domain.clone(),
                    settings,
                })),
            }]
        }
        Fact::LogLeaves(added) => vec![CatalogRow::LogLeaves(added.clone())],
        Fact::LogCheckpoint(signed) => vec![CatalogRow::LogCheckpoint(signed.clone())],
        Fact::LogTimestamp(stamped) => vec![CatalogRow::LogTimestamp(stamped.clone())],
        Fact::Tombstone(tombstone) => {
            let removal = Removal { tombstone_record: record, tombstone: (**tombstone).clone() };
            // Other versions list the responses that remain of a removed run.
            let run = tombstone.removed_run().map(CatalogRow::ForgetRun);
            std::iter::once(CatalogRow::Removal(Box::new(removal))).chain(run).collect()
        }
    })
}

/// The row of a saved extraction.
fn row_of_extraction(extraction: &ExtractionRecord) -> Result<StoredExtraction, FactError> {
    let ExtractionRecord {
        url,
        requested_url,
        fetch_time,
        fetch_method,
        expires,
        metadata,
        content_text,
        ..
    } = extraction;
    let whole_second = |time: &Moment| Moment::from_seconds(time.seconds());
    Ok(StoredExtraction {
        page: keyed(url, media_type::EXTRACTION)?,
        requested: keyed(requested_url, media_type::EXTRACTION)?,
        fetch_time: whole_second(fetch_time),
        fetch_method: *fetch_method,
        expires: whole_second(expires),
        metadata: metadata.to_string(),
        content_text: content_text.clone(),
    })
}

/// A URL of a fact with its key.
fn keyed(url: &str, media_type: &str) -> Result<KeyedUrl, FactError> {
    let invalid = |error: UrlError| FactError {
        media_type: media_type.to_owned(),
        source: serde::de::Error::custom(error),
    };
    KeyedUrl::new(url).map_err(invalid)
}

/// The row of a score. The fact is the row itself, so evidence and attributions need not be
/// recomputed by rules that may have changed since.
pub fn row_of_score(fact: &serde_json::Value) -> Result<StoredScore, FactError> {
    let media_type = media_type::SCORE.to_owned();
    StoredScore::deserialize(fact).map_err(|source| FactError { media_type, source })
}

fn row_of_verdict(check: CheckId, verdict: &UrlVerdict) -> CatalogRow {
    CatalogRow::Verdict(StoredVerdict {
        check,
        url: verdict.url.clone(),
        time: verdict.time,
        verdict: verdict.verdict,
        status: verdict.status.unwrap_or(0),
        json: serde_json::to_string(&verdict.detail).expect("plain values can be written as JSON"),
    })
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
