//! `check`: compares expectations with the live web and stores the evidence.
//!
//! In an archive every response is stored, and the verdicts become part of its history. A check
//! makes no version and moves no HEAD. A failure is reported with the last response that met the
//! expectation, and the time since which it fails. Outside an archive, or on request, nothing is
//! stored.

use std::collections::BTreeMap;

use varve_core::history::{Capture, StoredCheck, VerdictKind};
use varve_core::url::RequestUrl;
use varve_core::{CheckId, Moment, RecordId};
use varve_diff::compare::compare;

use super::diff::{CompareOptions, MAX_COMPARED_BYTES, PageComparison};
use crate::checking::{
    CheckCase, CheckEvidence, CheckHistory, RecordedVerdict, archived_cases, ask_all, expected_cases,
    link_cases, report_all,
};
use crate::error::ArchiveError;
use crate::expectations::report::CheckedUrl;
use crate::expectations::{Loaded, Prober, UrlDatabase, UrlsError, Verdict};
use varve_crawl::RunDescription;
use varve_repository::history::{
    ArchiveHistoryWriter, BodyInput, CapturePair, HistoryReader, LoadedPage, PageChange, detail_of,
    evidence_capture,
};

pub use super::urls::check::{CheckProgress, Request};
pub use super::urls::list::UrlFilter;
pub use crate::checking::CheckLabel;
pub use crate::checking::links::{
    AcceptedStatuses, LinkCollection, LinkRules, LinkSourceError, LinkTextFormat,
};

/// The source of the expectations.
#[derive(Clone, Copy)]
pub enum ExpectationSource<'a> {
    /// The records of a URL database.
    Database(&'a UrlDatabase),
    /// The state of HEAD: every page should be unchanged.
    LastVersion,
    /// Links: each should lead to a page.
    Links(&'a LinkCollection, &'a LinkRules),
}

/// The result of a check that stored its evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The check; `None` if there was no verdict.
    pub check: Option<CheckId>,
    /// The number of stored responses, redirects included.
    pub responses: u64,
}

/// Compares the live web with an archive, and stores nothing.
pub fn look<E: From<ArchiveError>>(
    history: &HistoryReader,
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    report_all(&cases_of_head(history, request)?, request, prober, progress, each)
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
) -> Result<Report, E> {
    let (cases, in_force) = match source {
        ExpectationSource::Database(database) => {
            (expected_cases(database, request)?, in_force(history, &database.load_all()?)?)
        }
        ExpectationSource::LastVersion => (cases_of_head(history, request)?, BTreeMap::new()),
        ExpectationSource::Links(links, rules) => (link_cases(links, rules), BTreeMap::new()),
    };
    let (cases, known) = without_known(history, cases, request)?;
    known.into_iter().try_for_each(&mut each)?;
    let etiquette =
        prober.run_description().map(|etiquette| RunDescription { retries: request.retries, ..etiquette });
    let mut evidence = CheckEvidence::begin(history, etiquette.as_ref()).map_err(ArchiveError::from)?;
    let mut found: Vec<Option<(RecordedVerdict, CheckedUrl)>> = cases.iter().map(|_| None).collect();
    ask_all(&cases, request.passes(), prober, progress, |number, finding| {
        let noted = evidence.note(&cases[number], &finding)?;
        found[number] = Some((noted, finding.reported(&cases[number])));
        Ok::<(), ArchiveError>(())
    })?;
    // A stopped check has no verdict for some cases.
    let (cases, found): (Vec<&CheckCase<'_>>, Vec<(RecordedVerdict, CheckedUrl)>) =
        cases.iter().zip(found).filter_map(|(case, found)| Some((case, found?))).unzip();
    let (noted, verdicts): (Vec<RecordedVerdict>, Vec<CheckedUrl>) = found.into_iter().unzip();
    let Some(stored) = evidence.write_down(&noted, label, in_force).map_err(ArchiveError::from)? else {
        verdicts.into_iter().try_for_each(each)?;
        return Ok(Report::default());
    };
    let past = StoredPast { history, stored: &stored };
    for ((case, noted), mut checked) in cases.into_iter().zip(noted).zip(verdicts) {
        past.add_to(&mut checked, case, &noted)?;
        each(checked)?;
    }
    Ok(Report { check: Some(stored.id), responses: evidence.responses() })
}

/// Compares a failure with the last good capture. Returns whether there was anything to compare.
pub fn explain<E: From<ArchiveError>>(
    history: &HistoryReader,
    checked: &CheckedUrl,
    options: &CompareOptions,
    each: impl FnOnce(&PageComparison<'_>) -> Result<(), E>,
) -> Result<bool, E> {
    let (Some(good), Some(head)) = (&checked.archived.last_good, &checked.archived.evidence) else {
        return Ok(false);
    };
    let base = &good.capture;
    let pair = CapturePair::of(Some(base.clone()), Some((**head).clone()));
    let is_long = [base, &**head].into_iter().any(|capture| capture.length.unwrap_or(0) > MAX_COMPARED_BYTES);
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

/// What the archive knows about URLs, with the check that was stored last.
struct StoredPast<'a> {
    history: &'a HistoryReader,
    stored: &'a StoredCheck,
}

impl StoredPast<'_> {
    /// Adds the results of earlier checks and captures.
    fn add_to(
        &self,
        checked: &mut CheckedUrl,
        case: &CheckCase<'_>,
        noted: &RecordedVerdict,
    ) -> Result<(), ArchiveError> {
        let evidence = noted.evidence();
        checked.archived.capture = evidence.map(|evidence| evidence.record.to_string());
        checked.archived.check = evidence.map(|_| self.stored.id);
        if matches!(checked.verdict, Verdict::Skipped(_)) {
            return Ok(());
        }
        let past = CheckHistory { history: self.history };
        let (fails, time) = (checked.verdict.is_failure(), noted.verdict.time);
        let health = past.health(&checked.url, fails)?;
        checked.archived.health = Some(health);
        if fails {
            let since = health.since().unwrap_or(time.seconds());
            checked.archived.since = Some(Moment::from_seconds(since).to_string());
            checked.archived.last_good = past.last_good(&checked.url, &*case.target, time)?.map(Box::new);
            let capture = evidence
                .map(|evidence| evidence_capture(self.history, self.stored, &checked.url, evidence))
                .transpose()?;
            checked.archived.evidence = capture.map(Box::new);
        }
        Ok(())
    }
}

/// Takes out the cases whose last verdict is recent and was `ok`, and returns their results.
fn without_known<'a>(
    history: &HistoryReader,
    cases: Vec<CheckCase<'a>>,
    request: &Request,
) -> Result<(Vec<CheckCase<'a>>, Vec<CheckedUrl>), ArchiveError> {
    let Some(since) = request.known_since else { return Ok((cases, Vec::new())) };
    let (mut asked, mut known) = (Vec::new(), Vec::new());
    for case in cases {
        let last = history.catalog().verdicts_of(&case.checked.url, 1)?.pop();
        let is_known = last.is_some_and(|last| {
            let detail = detail_of(&last);
            let is_ok = last.verdict == VerdictKind::Ok && detail.warning.is_none();
            is_ok && last.time >= since && case.target.is_met_by(&detail.expectation)
        });
        match is_known {
            true => known.push(case.checked),
            false => asked.push(case),
        }
    }
    Ok((asked, known))
}

/// Checks links without an archive, and stores nothing.
pub fn check_links<E>(
    (links, rules): (&LinkCollection, &LinkRules),
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    report_all(&link_cases(links, rules), request, prober, progress, each)
}

/// A case for every selected page of HEAD.
fn cases_of_head<'a>(
    history: &'a HistoryReader,
    request: &Request,
) -> Result<Vec<CheckCase<'a>>, ArchiveError> {
    chosen(archived_cases(history, &|capture| takes(&request.filter, capture))?, request)
}

/// Stores the current files of a database with the results of the check.
fn in_force(
    history: &ArchiveHistoryWriter,
    files: &[Loaded],
) -> Result<BTreeMap<String, RecordId>, ArchiveError> {
    let mut keep = history.body_worker();
    let mut expectations = BTreeMap::new();
    for loaded in files {
        let Some(name) = loaded.path.file_name() else { continue };
        let kept = keep(BodyInput::Bytes(loaded.text.as_bytes()), "application/yaml")?;
        let record = RecordId::of_body(kept.id);
        expectations.insert(name.to_string_lossy().into_owned(), record);
    }
    Ok(expectations)
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
