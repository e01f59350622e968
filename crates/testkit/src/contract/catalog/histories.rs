//! Random histories over a few URLs, versions and runs, so that all combinations occur.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use uuid::Uuid;
use varve_core::catalog::{CatalogRead, CatalogRow};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{
    Attribution, Capture, CaptureOwner, ListCursor, StoredCheck, StoredDiff, StoredEvidenceLocation,
    StoredScore, StoredVerdict, VerdictCounts, VerdictKind, Version,
};
use varve_core::{BodyId, CaptureId, CheckId, Moment, RecordId, RunId, VersionId};

use crate::memory_catalog::MemoryModel;

/// The URLs of all histories.
pub const URLS: [&str; 6] = [
    "https://example.com/",
    "https://example.com/a?x=1",
    "https://example.com/a?x=2",
    "https://example.com/b%20c",
    "http://other.example/a",
    "not a url at all \u{e9}",
];
/// The paths of all histories.
pub const PATHS: [&str; 4] = ["", "/a", "/b c", "/a/b"];
/// The tags of all histories.
pub const TAGS: [&str; 3] = ["first", "kept", "\u{fc}nlike"];

/// The id of a version.
pub fn version_id(which: u8) -> VersionId {
    VersionId::new(Uuid::from_u128(u128::from(which) << 124 | 0x8000_8000_0000_0000_0000 | u128::from(which)))
}

/// The id of a run.
pub fn run_id(which: u8) -> RunId {
    RunId::new(Uuid::from_u128(0x100 + u128::from(which)))
}

/// The id of a check.
pub fn check_id(which: u8) -> CheckId {
    CheckId::new(Uuid::from_u128(u128::from(which) << 124 | u128::from(which)))
}

/// An instant.
pub fn moment(which: u8) -> Moment {
    Moment::from_seconds(1_700_000_000 + i64::from(which))
}

/// One step of a history.
#[derive(Clone, Debug)]
pub(crate) enum HistoryStep {
    Version {
        which: u8,
        parent: u8,
        time: u8,
        run: Option<u8>,
    },
    Capture(CaptureStep),
    /// A version that lists all its pages: those of its parent with some changes.
    Listed {
        which: u8,
        parent: u8,
        time: Option<u8>,
        changes: Vec<(u8, Option<(u8, bool)>)>,
    },
    Tag {
        name: u8,
        version: Option<u8>,
        time: u8,
    },
    Head(u8),
    Diff {
        base: Option<u8>,
        head: u8,
        json: u8,
        time: u8,
    },
    Score {
        version: u8,
        rules: u8,
        score: u8,
        time: u8,
        base: Option<u8>,
    },
    Check {
        which: u8,
        time: u8,
        broken: u8,
    },
    Verdict {
        check: u8,
        url: u8,
        time: u8,
        verdict: u8,
    },
    ForgetVersion(u8),
    ForgetDiffs(u8),
    ForgetRun(u8),
    GcDone(u8),
}

/// A capture.
#[derive(Clone, Debug)]
pub(crate) struct CaptureStep {
    owner: Result<u8, u8>,
    /// Whether it comes before its version.
    early: bool,
    url: u8,
    elsewhere: bool,
    time: u8,
    record: Option<u8>,
    body: u8,
    headers: u8,
    truncated: bool,
}

/// Random histories: batches of steps.
pub(crate) fn histories(forgetting: bool) -> impl Strategy<Value = Vec<Vec<HistoryStep>>> {
    prop::collection::vec(prop::collection::vec(step(forgetting), 1..8), 1..8)
}

fn step(forgetting: bool) -> BoxedStrategy<HistoryStep> {
    if forgetting {
        prop_oneof![35 => lasting_step(), 3 => forgetting_step()].boxed()
    } else {
        lasting_step().boxed()
    }
}

/// A step that adds or changes rows.
fn lasting_step() -> impl Strategy<Value = HistoryStep> {
    prop_oneof![
        12 => prop_oneof![
            4 => (0..6u8, 0..8u8, 0..3u8, prop::option::weighted(0.5, 0..3u8))
                .prop_map(|(which, parent, time, run)| HistoryStep::Version { which, parent, time, run }),
            8 => listed(),
        ],
        10 => taken().prop_map(HistoryStep::Capture),
        1 => (0..3u8, prop::option::of(0..6u8), 0..3u8)
            .prop_map(|(name, version, time)| HistoryStep::Tag { name, version, time }),
        2 => prop_oneof![(0..6u8).prop_map(HistoryStep::Head), (0..4u8).prop_map(HistoryStep::GcDone)],
        1 => (prop::option::of(0..6u8), 0..6u8, 0..9u8, 0..4u8)
            .prop_map(|(base, head, json, time)| HistoryStep::Diff { base, head, json, time }),
        1 => (0..6u8, 0..2u8, 0..9u8, 0..4u8, prop::option::of(0..6u8))
            .prop_map(|(version, rules, score, time, base)| HistoryStep::Score { version, rules, score, time, base }),
        1 => (0..4u8, 0..2u8, 0..3u8)
            .prop_map(|(which, time, broken)| HistoryStep::Check { which, time, broken }),
        1 => (0..4u8, 0..6u8, 0..4u8, 0..3u8)
            .prop_map(|(check, url, time, verdict)| HistoryStep::Verdict { check, url, time, verdict }),
    ]
}

/// A step that removes rows.
fn forgetting_step() -> impl Strategy<Value = HistoryStep> {
    prop_oneof![
        (0..6u8).prop_map(HistoryStep::ForgetVersion),
        (0..4u8).prop_map(HistoryStep::ForgetDiffs),
        (0..3u8).prop_map(HistoryStep::ForgetRun),
    ]
}

fn listed() -> impl Strategy<Value = HistoryStep> {
    let change = (0..6u8, prop::option::weighted(0.8, (0..3u8, prop::bool::weighted(0.2))));
    let changes = prop::collection::vec(change, 0..4);
    // Nearly always the newest version, as in daily use.
    (0..6u8, 0..8u8, prop::option::weighted(0.2, 0..3u8), changes)
        .prop_map(|(which, parent, time, changes)| HistoryStep::Listed { which, parent, time, changes })
}

fn taken() -> impl Strategy<Value = CaptureStep> {
    let owner = prop_oneof![(0..6u8).prop_map(Ok), (0..3u8).prop_map(Err)];
    let what = (0..6u8, prop::bool::weighted(0.2), 0..4u8, prop::option::weighted(0.8, 0..4u8));
    let with = (0..3u8, 0..4u8, any::<bool>());
    (owner, any::<bool>(), what, with).prop_map(|(owner, early, what, with)| CaptureStep {
        owner,
        early,
        url: what.0,
        elsewhere: what.1,
        time: what.2,
        record: what.3,
        body: with.0,
        headers: with.1,
        truncated: with.2,
    })
}

/// Turns steps into rows that are valid at their position, and folds them into the model.
#[derive(Default)]
pub(crate) struct HistoryBuilder {
    pub(crate) model: MemoryModel,
    written: BTreeMap<VersionId, Version>,
    lists: BTreeMap<VersionId, Vec<CatalogRow>>,
    last: Option<VersionId>,
    clock: u8,
}

impl HistoryBuilder {
    /// The rows of one batch.
    pub(crate) fn batch(&mut self, steps: &[HistoryStep]) -> Vec<CatalogRow> {
        let mut rows = Vec::new();
        let mut early = Vec::new();
        for step in steps {
            let new = match step {
                HistoryStep::Listed { which, parent, time, changes } => {
                    self.listed(*which, *parent, *time, changes)
                }
                _ => self.row(step, &mut early).into_iter().collect(),
            };
            self.model.apply(new.as_slice());
            rows.extend(new);
        }
        for which in early {
            let new = self.version(which, 7, 1, None);
            self.model.apply(std::slice::from_ref(&new));
            rows.push(new);
        }
        rows
    }

    fn row(&mut self, step: &HistoryStep, early: &mut Vec<u8>) -> Option<CatalogRow> {
        let there = |which: &u8| self.model.has(&version_id(*which));
        match step {
            HistoryStep::Version { which, parent, time, run } => {
                Some(self.version(*which, *parent, *time, *run))
            }
            HistoryStep::Capture(taken) => self.capture(taken, early),
            HistoryStep::Listed { .. } => None,
            HistoryStep::Tag { name, version, time } => Some(CatalogRow::Tag {
                name: TAGS[usize::from(*name)].to_owned(),
                version: version.map(version_id),
                time: moment(*time),
            }),
            HistoryStep::Head(which) => there(which).then(|| CatalogRow::Head(version_id(*which))),
            HistoryStep::Diff { base, head, json, time } => {
                (base.iter().all(there) && there(head)).then(|| {
                    let json = format!("{{\"files\":[],\"n\":{json}}}");
                    CatalogRow::Diff(StoredDiff {
                        base: base.map(version_id),
                        head: version_id(*head),
                        json,
                        time: moment(*time),
                    })
                })
            }
            HistoryStep::Score { version, rules, score, time, base } => (there(version)
                && base.iter().all(there))
            .then(|| CatalogRow::Score(Box::new(score_from(*version, *rules, *score, *time, *base)))),
            HistoryStep::Check { which, time, broken } => Some(CatalogRow::Check(Box::new(StoredCheck {
                id: check_id(*which),
                run: run_id(*which),
                time: moment(*time),
                message: format!("check {which}"),
                author: (*broken == 0).then(|| "ada".to_owned()),
                record: RecordId::new([*which; 32]),
                counts: VerdictCounts { broken: u64::from(*broken), ..VerdictCounts::default() },
            }))),
            HistoryStep::Verdict { check, url, time, verdict } => Some(CatalogRow::Verdict(StoredVerdict {
                check: check_id(*check),
                url: URLS[usize::from(*url)].to_owned(),
                time: moment(*time),
                verdict: VerdictKind::ALL[usize::from(*verdict)],
                status: 200 + u16::from(*verdict),
                json: "{}".to_owned(),
            })),
            HistoryStep::ForgetVersion(which) => Some(CatalogRow::ForgetVersion(version_id(*which))),
            HistoryStep::ForgetDiffs(before) => Some(CatalogRow::ForgetDiffs(moment(*before))),
            HistoryStep::ForgetRun(run) => Some(CatalogRow::ForgetRun(run_id(*run))),
            HistoryStep::GcDone(time) => Some(CatalogRow::GcDone(moment(*time))),
        }
    }

    fn version(&mut self, which: u8, parent: u8, time: u8, run: Option<u8>) -> CatalogRow {
        let id = version_id(which);
        if !self.model.has(&id) {
            let parent = version_id(parent);
            let version = Version {
                id,
                parent: self.model.has(&parent).then_some(parent),
                message: format!("Version {which}"),
                author: [None, Some("Ann \u{c4}rger".to_owned())][usize::from(which % 2)].clone(),
                time: moment(time),
                run: run.map(run_id),
                record: Some(RecordId::new([which; 32])),
                coverage: None,
            };
            self.written.insert(id, version);
        }
        CatalogRow::Version(self.written[&id].clone())
    }

    /// A version and its pages: the same each time.
    fn listed(
        &mut self,
        which: u8,
        parent: u8,
        time: Option<u8>,
        changes: &[(u8, Option<(u8, bool)>)],
    ) -> Vec<CatalogRow> {
        let id = version_id(which);
        if let Some(rows) = self.lists.get(&id).filter(|_| self.model.has(&id)) {
            return rows.clone();
        }
        if self.model.has(&id) {
            return Vec::new();
        }
        self.clock += 1;
        let time = time.unwrap_or(100 + self.clock);
        let parent = if parent > 5 { self.last } else { Some(version_id(parent)) };
        let parent = parent.filter(|parent| self.model.has(parent));
        let version = Version {
            id,
            parent,
            message: format!("Version {which}"),
            author: None,
            time: moment(time),
            run: None,
            record: Some(RecordId::new([which; 32])),
            coverage: None,
        };
        let before = parent
            .map(|parent| self.model.captures_in(&parent, ListCursor::first(usize::MAX)).expect("read"));
        let mut pages: BTreeMap<String, Capture> =
            before.unwrap_or_default().into_iter().map(|capture| (capture.url.clone(), capture)).collect();
        for (url, change) in changes {
            let taken = |(body, truncated)| CaptureStep {
                owner: Ok(which),
                early: false,
                url: *url,
                elsewhere: truncated,
                time: if truncated { 1 } else { time },
                record: Some(body),
                body,
                headers: body,
                truncated,
            };
            match change {
                Some(change) => {
                    _ = pages.insert(URLS[usize::from(*url)].to_owned(), capture_from(&taken(*change)))
                }
                None => _ = pages.remove(URLS[usize::from(*url)]),
            }
        }
        let captures = pages.into_values().map(|page| repeat_in(page, id, moment(time)));
        self.written.insert(id, version.clone());
        self.last = Some(id);
        let captures = captures.map(|capture| CatalogRow::Capture(Box::new(capture)));
        let rows: Vec<CatalogRow> = std::iter::once(CatalogRow::Version(version)).chain(captures).collect();
        self.lists.insert(id, rows.clone());
        rows
    }

    fn capture(&mut self, taken: &CaptureStep, early: &mut Vec<u8>) -> Option<CatalogRow> {
        if let Ok(which) = taken.owner
            && !self.model.has(&version_id(which))
        {
            if !taken.early {
                return None;
            }
            early.push(which);
        }
        let capture = capture_from(taken);
        Some(CatalogRow::Capture(Box::new(capture)))
    }
}

/// A page in another version, at the time of that version.
fn repeat_in(page: Capture, version: VersionId, time: Moment) -> Capture {
    let belongs = CaptureOwner::Version(version);
    let record = page.record.unwrap_or(RecordId::new([9; 32]));
    let time = if page.truncated { page.time } else { time };
    let id = Capture::derive_id(belongs, &page.url, time, &record);
    Capture { id, owner: belongs, time, record: Some(record), ..page }
}

fn capture_from(taken: &CaptureStep) -> Capture {
    let belongs = match taken.owner {
        Ok(version) => CaptureOwner::Version(version_id(version)),
        Err(run) => CaptureOwner::Run(run_id(run)),
    };
    let url = URLS[usize::from(taken.url)].to_owned();
    let body = BodyId::new([taken.body; 32]);
    let record = taken.record.map(|which| RecordId::new([which; 32]));
    let time = moment(taken.time);
    let id = match &record {
        Some(record) => Capture::derive_id(belongs, &url, time, record),
        None => {
            let digest: [u8; 32] = Sha256::digest(format!("{taken:?}")).into();
            CaptureId::new(varve_core::history::uuid_of(&digest))
        }
    };
    let headers = [
        HeaderView::default(),
        HeaderView::from_pairs([("content-type", "text/html")], Redaction::On),
        HeaderView::from_pairs([("content-type", "text/html"), ("date", "now")], Redaction::On),
        HeaderView::from_pairs([("etag", "\"1\""), ("x-\u{e9}", "<&>\u{2028}")], Redaction::On),
    ];
    Capture {
        id,
        owner: belongs,
        path: if taken.elsewhere { "/else" } else { PATHS[usize::from(taken.url) % 4] }.to_owned(),
        url,
        time,
        status: 200 + u16::from(taken.body),
        headers: headers[usize::from(taken.headers)].clone(),
        body,
        length: taken.truncated.then_some(u64::from(taken.body) * 1_000),
        record,
        truncated: taken.truncated,
    }
}

fn score_from(version: u8, rules: u8, score: u8, time: u8, base: Option<u8>) -> StoredScore {
    let rules = format!("rules-{rules}");
    let evidence = StoredEvidenceLocation {
        evidence_id: format!("{rules}-form"),
        evidence_index: 0,
        location_index: -1,
        key: "form".to_owned(),
        selector: Some("form > input".to_owned()),
        file_path: None,
        bytes: Some((1, 20)),
        lines: None,
        confidence: Some(0.1 + f64::from(score) / 7.0),
        evidence_json: "{\"a\":1}".to_owned(),
        location_json: None,
    };
    let attribution = base.map(|base| Attribution {
        base: Some(version_id(base)),
        evidence_id: evidence.evidence_id.clone(),
        location_index: -1,
        chunk_index: 2,
        key: "form".to_owned(),
        evidence_json: "{}".to_owned(),
        location_json: Some("[]".to_owned()),
        contribution: 1.0 / 3.0,
        percent: 100.0,
        note: None,
    });
    StoredScore {
        version: version_id(version),
        scoring_version: rules,
        score: f64::from(score) / 3.0,
        normalized: score,
        confidence: 0.7,
        json: "{}".to_owned(),
        time: moment(time),
        evidence: if score == 0 { Vec::new() } else { vec![evidence] },
        attributions: attribution.into_iter().collect(),
    }
}

/// One of many captures of a version, each of another URL.
pub fn numbered_capture(version: u8, number: u32) -> Capture {
    let belongs = CaptureOwner::Version(version_id(version));
    let url = format!("https://example.com/{}/{number}", number % 7);
    let record = RecordId::new([version; 32]);
    let time = moment(version);
    Capture {
        id: Capture::derive_id(belongs, &url, time, &record),
        owner: belongs,
        path: format!("/{}/{number}", number % 7),
        url,
        time,
        status: 200,
        headers: HeaderView::from_pairs([("content-type", "text/html")], Redaction::On),
        body: BodyId::new([version / 2; 32]),
        length: Some(u64::from(number)),
        record: Some(record),
        truncated: false,
    }
}

/// A version with this number of captures.
pub fn version_with_captures(which: u8, captures: u32) -> Vec<CatalogRow> {
    let version = Version {
        id: version_id(which),
        parent: None,
        message: String::new(),
        author: None,
        time: moment(which),
        run: None,
        record: None,
        coverage: None,
    };
    let captures = (0..captures).map(|number| CatalogRow::Capture(Box::new(numbered_capture(which, number))));
    std::iter::once(CatalogRow::Version(version)).chain(captures).collect()
}
