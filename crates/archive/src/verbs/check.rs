//! `check`: compares expectations with the live web and stores the evidence.
//!
//! In an archive every response is stored as a capture, and the verdicts become part of its
//! history. A failure is reported with the last capture that met the expectation, and the time
//! since which it fails. Outside an archive, or on request, nothing is stored.

use std::collections::BTreeMap;
use std::io::Read;
use varve_repository::RepositoryError;

use varve_core::fact::StateChanges;
use varve_core::history::Capture;
use varve_core::url::RequestUrl;
use varve_core::{Moment, RecordId, RunId, VersionId};
use varve_diff::compare::compare;
use varve_store::StoreReader;

use super::commit::KeptIntent;
use super::diff::{CompareOptions, MAX_COMPARED_BYTES, PageComparison};
use crate::checking::{
    CheckCase, CheckEvidence, CheckFinding, CheckHistory, RecordedVerdict, archived_cases, ask_all,
    expected_cases,
};
use crate::error::ArchiveError;
use crate::expectations::report::CheckedUrl;
use crate::expectations::{Loaded, Prober, UrlDatabase, UrlsError, Verdict};
use varve_crawl::{CrawlError, NewRunVersion, RunDescription, version_of_run};
use varve_repository::archive::{hex_digits, object};
use varve_repository::history::LoadedPage;
use varve_repository::history::{
    ArchiveHistoryReader, ArchiveHistoryWriter, BodyInput, CapturePair, HistoryReader, PageChange,
};

pub use super::urls::check::{CheckProgress, Request};
pub use super::urls::list::UrlFilter;

/// The source of the expectations.
#[derive(Clone, Copy)]
pub enum ExpectationSource<'a> {
    /// The records of a URL database.
    Database(&'a UrlDatabase),
    /// The last version of the archive: every page should be unchanged.
    LastVersion,
}

/// The message and author of the version that a check makes.
#[derive(Clone, Debug)]
pub struct CheckLabel {
    /// The message of the version.
    pub message: String,
    /// The author of the check.
    pub author: Option<String>,
}

/// The result of a check that stored its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCheck {
    /// The run.
    pub run: RunId,
    /// The version of its captures; `None` if there was no response.
    pub version: Option<VersionId>,
    /// Number of captures in it.
    pub captures: u64,
    /// The record of the verdicts.
    pub verdicts: Option<RecordId>,
}

/// Compares the live web with the last version of an archive, and stores nothing.
pub fn look<E: From<ArchiveError>>(
    archive: &ArchiveHistoryReader,
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    let read = |record| read_fact(archive.archive().store(), record);
    let history = HistoryReader::from(archive);
    let cases = chosen(
        archived_cases(&history, &read, &|capture| takes(&request.filter, capture))
            .map_err(ArchiveError::from)?,
        request,
    )?;
    let mut verdicts: Vec<Option<CheckedUrl>> = cases.iter().map(|_| None).collect();
    ask_all(&cases, request.passes(), prober, progress, |number, finding| {
        fill(verdicts[number].insert(cases[number].checked.clone()), finding);
        Ok::<(), E>(())
    })?;
    verdicts.into_iter().flatten().try_for_each(each)
}

/// Runs a check and stores the evidence. `each` is called with the verdicts in the order of the
/// expectations, once everything is durable.
pub fn check<E: From<ArchiveError> + From<UrlsError>>(
    history: &ArchiveHistoryWriter,
    source: ExpectationSource<'_>,
    request: &Request,
    label: CheckLabel,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    mut each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<StoredCheck, E> {
    let (cases, intent) = match source {
        ExpectationSource::Database(database) => {
            (expected_cases(database, request)?, in_force(history, &database.load_all()?)?)
        }
        ExpectationSource::LastVersion => {
            let read = |record| read_fact(&history.writer().reader(), record);
            let takes = |capture: &Capture| takes(&request.filter, capture);
            (
                chosen(archived_cases(history, &read, &takes).map_err(ArchiveError::from)?, request)?,
                KeptIntent::default(),
            )
        }
    };
    let etiquette =
        prober.run_description().map(|etiquette| RunDescription { retries: request.retries, ..etiquette });
    let mut evidence = CheckEvidence::begin(history, etiquette.as_ref()).map_err(ArchiveError::from)?;
    let mut found: Vec<Option<(RecordedVerdict, CheckedUrl)>> = cases.iter().map(|_| None).collect();
    ask_all(&cases, request.passes(), prober, progress, |number, finding| {
        let noted = evidence.note(&cases[number], &finding)?;
        let mut checked = cases[number].checked.clone();
        fill(&mut checked, finding);
        found[number] = Some((noted, checked));
        Ok::<(), ArchiveError>(())
    })?;
    // A stopped check has no verdict for some cases.
    let (cases, found): (Vec<&CheckCase<'_>>, Vec<(RecordedVerdict, CheckedUrl)>) =
        cases.iter().zip(found).filter_map(|(case, found)| Some((case, found?))).unzip();
    let (noted, verdicts): (Vec<RecordedVerdict>, Vec<CheckedUrl>) = found.into_iter().unzip();
    let stored = conclude(history, &mut evidence, &noted, label, intent)?;
    let past = CheckHistory { history };
    for ((case, noted), mut checked) in cases.into_iter().zip(noted).zip(verdicts) {
        checked.version = stored.version.filter(|_| noted.capture.is_some());
        look_back(&past, case, noted, &mut checked)?;
        each(checked)?;
    }
    Ok(stored)
}

/// Compares a failure with the last good capture. Returns whether there was anything to compare.
pub fn explain<E: From<ArchiveError>>(
    history: &HistoryReader,
    checked: &CheckedUrl,
    options: &CompareOptions,
    each: impl FnOnce(&PageComparison<'_>) -> Result<(), E>,
) -> Result<bool, E> {
    let (Some(base), Some(head)) = (&checked.last_good, &checked.evidence) else { return Ok(false) };
    let pair = CapturePair::of(Some((**base).clone()), Some((**head).clone()));
    let is_long = [base, head].into_iter().any(|capture| capture.length.unwrap_or(0) > MAX_COMPARED_BYTES);
    if is_long {
        each(&PageComparison {
            pair: &pair,
            change: PageChange::Changed,
            comparison: None,
            trouble: [None; 2],
        })?;
        return Ok(true);
    }
    let load = |page| LoadedPage::load_lossy(history, Some(page), MAX_COMPARED_BYTES);
    let (old, new) = (load(base).map_err(ArchiveError::from)?, load(head).map_err(ArchiveError::from)?);
    let trouble = [old.failure, new.failure];
    let (old_id, new_id) = (base.id.to_string(), head.id.to_string());
    let comparison = compare(&old.side(&old_id), &new.side(&new_id), options);
    let comparison = (trouble == [None; 2]).then_some(&comparison);
    each(&PageComparison { pair: &pair, change: PageChange::Changed, comparison, trouble })?;
    Ok(true)
}

/// Stores the verdicts and makes a version of the evidence.
fn conclude(
    history: &ArchiveHistoryWriter,
    evidence: &mut CheckEvidence<'_>,
    noted: &[RecordedVerdict],
    label: CheckLabel,
    intent: KeptIntent,
) -> Result<StoredCheck, ArchiveError> {
    let run = evidence.run();
    let verdicts = if noted.is_empty() { None } else { Some(evidence.write_down(noted)?) };
    let CheckLabel { message, author } = label;
    let made = version_of_run(
        history,
        NewRunVersion {
            run,
            message,
            author,
            intent,
            verdicts,
            coverage: None,
            changes: StateChanges::default(),
        },
    )?;
    Ok(StoredCheck { run, version: made.version, captures: made.captures, verdicts })
}

fn fill(checked: &mut CheckedUrl, finding: CheckFinding) {
    checked.verdict = finding.verdict;
    checked.status = finding.status;
    checked.comparison = finding.comparison;
    checked.took = finding.took;
    checked.trouble = finding.trouble;
}

/// Adds the results of earlier checks and captures.
fn look_back(
    past: &CheckHistory<'_>,
    case: &CheckCase<'_>,
    noted: RecordedVerdict,
    checked: &mut CheckedUrl,
) -> Result<(), ArchiveError> {
    checked.capture = noted.capture.as_ref().map(|capture| capture.id.to_string());
    if matches!(checked.verdict, Verdict::Skipped(_)) {
        return Ok(());
    }
    let fails = checked.verdict.is_failure();
    let health = past.health(&checked.url, fails)?;
    checked.health = Some(health);
    if fails {
        let since = health.since().unwrap_or(noted.time.seconds());
        checked.since = Some(Moment::from_seconds(since).to_string());
        checked.last_good = past.last_good(&checked.url, &*case.promise, noted.time)?.map(Box::new);
        checked.evidence = noted.capture.map(Box::new);
    }
    Ok(())
}

/// Stores the current files of a database with the results of the check.
fn in_force(history: &ArchiveHistoryWriter, files: &[Loaded]) -> Result<KeptIntent, ArchiveError> {
    let mut keep = history.body_worker();
    let mut expectations = BTreeMap::new();
    for loaded in files {
        let Some(name) = loaded.path.file_name() else { continue };
        let kept = keep(BodyInput::Bytes(loaded.text.as_bytes()), "application/yaml")?;
        let record = RecordId::of_body(kept.id);
        expectations.insert(name.to_string_lossy().into_owned(), record);
    }
    Ok(KeptIntent { plan: None, expectations })
}

/// Requires that a named domain has captures. Without any, the check would compare nothing and
/// report success.
fn chosen<'a>(cases: Vec<CheckCase<'a>>, request: &Request) -> Result<Vec<CheckCase<'a>>, ArchiveError> {
    let UrlFilter { domain, path_prefix, .. } = &request.filter;
    match domain {
        Some(domain) if cases.is_empty() && path_prefix.is_none() => {
            Err(ArchiveError::NoCapture { url: domain.clone(), at: None })
        }
        _ => Ok(cases),
    }
}

/// Whether a filter selects a capture. Categories are ignored: users assign them to records, and
/// captures have none.
fn takes(filter: &UrlFilter, capture: &Capture) -> bool {
    let url = RequestUrl::verbatim(&capture.url);
    let (host, path) = url.as_ref().map_or(("", ""), |url| (url.authority(), url.path_and_query()));
    filter.domain.as_deref().is_none_or(|domain| host.eq_ignore_ascii_case(domain))
        && filter.path_prefix.as_deref().is_none_or(|prefix| path.starts_with(prefix))
}

fn read_fact(store: &StoreReader, record: RecordId) -> Result<Vec<u8>, CrawlError> {
    let mut bytes = Vec::new();
    let id = hex_digits(record);
    let mut object = object(store, record)?.read()?;
    object.read_to_end(&mut bytes).map_err(|source| RepositoryError::ReadObject { id, source })?;
    Ok(bytes)
}
