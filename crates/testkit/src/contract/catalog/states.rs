//! The contract of states: a catalog of an archive answers as a walk over all ancestors does.
//!
//! Random histories have forks, runs that become versions late, outages, pages that go and come
//! back, several hosts, several spellings of a page, hidden pages, and versions that were removed.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use varve_core::catalog::{CatalogRead, CatalogRow, Removal, UrlMatch};
use varve_core::fact::{Tombstone, TombstoneKind};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{
    AbsenceKind, Capture, CaptureOwner, Coverage, CoverageScope, ListCursor, PageAbsence, PageState, Version,
};
use varve_core::{BodyId, Moment, RecordId, VersionId};

use super::histories::{run_id, version_id};
use super::{OpenCatalog, TestFolder, apply, compare, config};
use crate::memory_catalog::MemoryModel;

/// The URLs of all histories with their paths: spellings of one page, two hosts with one path, and a
/// text that is no URL.
const PAGES: [(&str, &str); 8] = [
    ("https://e.org/a?x=1&y=2", "/a?x=1&y=2"),
    ("https://e.org/a?y=2&x=1", "/a?x=1&y=2"),
    ("https://e.org/a?utm_source=z&y=2&x=1", "/a?x=1&y=2"),
    ("https://e.org/b", "/b"),
    ("http://other.example/b", "/b"),
    ("https://e.org/", ""),
    ("https://e.org/c", "/c"),
    ("no url \u{e9}", "/c"),
];
/// A path that some captures have in place of their own.
const OTHER_PATH: &str = "/else";
/// Statuses: mostly pages, some failures.
const STATUSES: [u16; 9] = [200, 200, 304, 301, 404, 410, 503, 429, 0];
/// The maximum number of versions in a history.
const MAX_VERSIONS: u8 = 12;

/// What a version says about one page.
#[derive(Clone, Debug)]
enum SaidStep {
    Capture { page: usize, status: usize, second: u8, elsewhere: bool },
    Absence { page: usize, reason: Option<u8>, second: u8 },
}

/// One step of a history.
#[derive(Clone, Debug)]
enum StateStep {
    /// A version. Its parent is one of the versions before it; a lost one has no rows.
    Version {
        parent: u8,
        run: Option<u8>,
        said: Vec<SaidStep>,
        is_lost: bool,
    },
    /// A capture of a run, before or after the run becomes a version.
    RunCapture {
        run: u8,
        page: usize,
        status: usize,
        second: u8,
    },
    /// The tombstone of the manifest of a lost version.
    RemovedVersion(u8),
    /// The tombstone of a page.
    HiddenPage {
        page: usize,
        record: u8,
    },
    /// The catalog has all rows of the silos.
    ScannedUpTo,
    ForgetVersion(u8),
}

fn said() -> impl Strategy<Value = SaidStep> {
    let page = 0..PAGES.len();
    let elsewhere = || prop::bool::weighted(0.1);
    prop_oneof![
        3 => (page.clone(), 0..STATUSES.len(), 0..3u8, elsewhere())
            .prop_map(|(page, status, second, elsewhere)| SaidStep::Capture { page, status, second, elsewhere }),
        2 => (page, prop::option::of(0..2u8), 0..3u8)
            .prop_map(|(page, reason, second)| SaidStep::Absence { page, reason, second }),
    ]
}

fn state_step() -> impl Strategy<Value = StateStep> {
    let version = (0..24u8, prop::option::weighted(0.3, 0..3u8), prop::collection::vec(said(), 0..5));
    prop_oneof![
        10 => (version, prop::bool::weighted(0.15)).prop_map(|((parent, run, said), is_lost)| {
            StateStep::Version { parent, run, said, is_lost }
        }),
        4 => (0..3u8, 0..PAGES.len(), 0..STATUSES.len(), 0..3u8)
            .prop_map(|(run, page, status, second)| StateStep::RunCapture { run, page, status, second }),
        2 => (0..MAX_VERSIONS).prop_map(StateStep::RemovedVersion),
        2 => (0..PAGES.len(), 0..3u8).prop_map(|(page, record)| StateStep::HiddenPage { page, record }),
        2 => Just(StateStep::ScannedUpTo),
        1 => (0..MAX_VERSIONS).prop_map(StateStep::ForgetVersion),
    ]
}

fn state_histories() -> impl Strategy<Value = Vec<Vec<StateStep>>> {
    prop::collection::vec(prop::collection::vec(state_step(), 1..5), 1..8)
}

/// Turns steps into rows, and folds them into the model.
#[derive(Default)]
struct StateHistory {
    model: MemoryModel,
    /// The versions so far, each with its parent and whether it is lost.
    versions: Vec<(Option<VersionId>, bool)>,
    clock: i64,
    has_hidden_pages: bool,
}

impl StateHistory {
    fn batch(&mut self, steps: &[StateStep]) -> Vec<CatalogRow> {
        let mut rows = Vec::new();
        for step in steps {
            let new = self.rows(step);
            self.model.apply(&new);
            rows.extend(new);
        }
        rows
    }

    fn rows(&mut self, step: &StateStep) -> Vec<CatalogRow> {
        self.clock += 1;
        match step {
            StateStep::Version { parent, run, said, is_lost } => self.version(*parent, *run, said, *is_lost),
            StateStep::RunCapture { run, page, status, second } => {
                let said = (*page, *status, *second, false);
                vec![self.capture(CaptureOwner::Run(run_id(*run)), said)]
            }
            StateStep::RemovedVersion(number) => {
                let lost = self.versions.get(usize::from(*number)).filter(|(_, is_lost)| *is_lost);
                lost.map(|(parent, _)| removed_version(*number, *parent)).into_iter().collect()
            }
            StateStep::HiddenPage { page, record } => {
                self.has_hidden_pages = true;
                vec![self.hidden_page(*page, *record)]
            }
            StateStep::ScannedUpTo => vec![CatalogRow::ScannedUpTo(self.clock.unsigned_abs())],
            // Only a Moku site forgets versions, and it has no tombstones.
            StateStep::ForgetVersion(_) if self.has_hidden_pages => Vec::new(),
            StateStep::ForgetVersion(number) => vec![CatalogRow::ForgetVersion(version_id(*number))],
        }
    }

    fn version(&mut self, parent: u8, run: Option<u8>, said: &[SaidStep], is_lost: bool) -> Vec<CatalogRow> {
        let Some(number) = u8::try_from(self.versions.len()).ok().filter(|number| *number < MAX_VERSIONS)
        else {
            return Vec::new();
        };
        // Mostly the version before.
        let parent = if parent >= MAX_VERSIONS { number.checked_sub(1) } else { Some(parent) };
        let parent = parent.filter(|parent| *parent < number).map(version_id);
        self.versions.push((parent, is_lost));
        if is_lost {
            return Vec::new();
        }
        let id = version_id(number);
        let coverage = (number % 2 == 0).then_some(Coverage {
            scope: CoverageScope::Host,
            complete: number % 4 == 0,
            unchanged: u64::from(number),
            below: (number % 4 == 0).then(|| "https://a.example/".to_owned()),
        });
        let version = Version {
            id,
            parent,
            message: String::new(),
            author: None,
            time: self.moment(0),
            run: run.map(run_id),
            record: None,
            coverage,
        };
        let said = said.iter().map(|said| match said {
            SaidStep::Capture { page, status, second, elsewhere } => {
                self.capture(CaptureOwner::Version(id), (*page, *status, *second, *elsewhere))
            }
            SaidStep::Absence { page, reason, second } => self.absence(id, (*page, *reason, *second)),
        });
        std::iter::once(CatalogRow::Version(version)).chain(said).collect()
    }

    fn moment(&self, second: u8) -> Moment {
        Moment::from_seconds(1_700_000_000 + self.clock * 2 + i64::from(second))
    }

    fn capture(
        &self,
        owner: CaptureOwner,
        (page, status, second, elsewhere): (usize, usize, u8, bool),
    ) -> CatalogRow {
        let (url, path) = PAGES[page];
        let (time, record) = (self.moment(second), RecordId::new([second; 32]));
        CatalogRow::Capture(Box::new(Capture {
            id: Capture::derive_id(owner, url, time, &record),
            owner,
            url: url.to_owned(),
            path: if elsewhere { OTHER_PATH } else { path }.to_owned(),
            time,
            status: STATUSES[status],
            headers: HeaderView::from_pairs([("content-type", "text/html")], Redaction::On),
            body: BodyId::new([second; 32]),
            length: Some(1),
            record: Some(record),
            truncated: false,
        }))
    }

    /// An absence has the path that its URL gives it: a URL is absent at one path only.
    fn absence(&self, version: VersionId, (page, reason, second): (usize, Option<u8>, u8)) -> CatalogRow {
        let (url, path) = PAGES[page];
        let reason = reason.map(|reason| format!("reason {reason}"));
        CatalogRow::Absence(Box::new(PageAbsence {
            version,
            url: url.to_owned(),
            path: path.to_owned(),
            time: self.moment(second),
            kind: reason.map_or(AbsenceKind::Gone, |reason| AbsenceKind::Unreachable { reason }),
        }))
    }

    fn hidden_page(&self, page: usize, record: u8) -> CatalogRow {
        let mut tombstone_record = [0xaa; 32];
        tombstone_record[..8].copy_from_slice(&self.clock.to_be_bytes());
        let tombstone = Tombstone {
            url: Some(PAGES[page].0.to_owned()),
            ..Tombstone::new(RecordId::new([record; 32]), TombstoneKind::Page)
        };
        CatalogRow::Removal(Box::new(Removal {
            tombstone_record: RecordId::new(tombstone_record),
            tombstone,
        }))
    }
}

fn removed_version(number: u8, parent: Option<VersionId>) -> CatalogRow {
    let record = RecordId::new([0xb0 + number; 32]);
    let tombstone = Tombstone {
        version: Some(version_id(number)),
        parent,
        ..Tombstone::new(record, TombstoneKind::Metadata)
    };
    CatalogRow::Removal(Box::new(Removal { tombstone_record: RecordId::new([0xc0 + number; 32]), tombstone }))
}

/// Runs the suite. `open` opens the catalog in a folder to write, and creates it if the folder is
/// empty.
pub fn state_catalog(open: &OpenCatalog<'_>) {
    let folder = TestFolder::new();
    a_page_survives_an_outage(open, folder.path());
    proptest!(config(), |(history in state_histories(), split in 1..40usize)| {
        let folder = TestFolder::new();
        let mut builder = StateHistory::default();
        let mut catalog = open(folder.path());
        let mut rows = Vec::new();
        for (position, steps) in history.iter().enumerate() {
            let batch = builder.batch(steps);
            apply(&*catalog, &batch).expect("applied");
            rows.extend(batch);
            if position % 3 == 1 {
                assert_same_states(catalog.as_read(), &builder.model);
                drop(catalog);
                catalog = open(folder.path());
            }
        }
        assert_same_states(catalog.as_read(), &builder.model);
        // A rebuild applies the same rows in other batches.
        let folder = TestFolder::new();
        let again = open(folder.path());
        rows.chunks(split).for_each(|batch| apply(&*again, batch).expect("applied"));
        apply(&*again, &[CatalogRow::ScannedUpTo(1)]).expect("applied");
        assert_same_states(again.as_read(), &builder.model);
        assert_eq!(compare::dump(again.as_read()), compare::dump(catalog.as_read()));
    });
}

/// Asserts that a catalog gives the states of the model.
fn assert_same_states(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    assert_eq!(compare::dump(catalog), compare::dump(model));
    let versions: Vec<VersionId> = (0..=MAX_VERSIONS).map(version_id).collect();
    let paths: BTreeSet<&str> = PAGES.iter().map(|(_, path)| *path).chain([OTHER_PATH, "/nowhere"]).collect();
    let paths: Vec<&str> = paths.into_iter().rev().collect();
    let urls = PAGES.map(|(url, _)| url);
    for id in &versions {
        let whole = model.state_in(id, ListCursor::first(usize::MAX)).expect("read");
        for limit in [1, 2, usize::MAX] {
            assert_eq!(state_in_batches(catalog, id, limit), whole, "state of {id}, {limit} at a time");
        }
        let found = catalog.states_at(id, &paths).expect("read");
        assert_eq!(found, model.states_at(id, &paths).expect("read"), "paths of {id}");
        for matching in [UrlMatch::Exact, UrlMatch::SamePage] {
            let found = catalog.states_of(id, &urls, matching).expect("read");
            assert_eq!(found, model.states_of(id, &urls, matching).expect("read"), "{matching:?} of {id}");
        }
        let counts = model.state_counts(id).expect("read");
        assert_eq!(catalog.state_counts(id).expect("read"), counts, "pages of {id}");
        for base in &versions {
            assert_same_states_elsewhere(catalog, model, [base, id]);
        }
    }
}

fn state_in_batches(catalog: &dyn CatalogRead, id: &VersionId, limit: usize) -> Vec<PageState> {
    let mut all: Vec<PageState> = Vec::new();
    loop {
        let after = all.last().map(|page| (page.path.as_str(), page.url.as_str()));
        let batch = catalog.state_in(id, ListCursor { after, limit }).expect("read");
        if batch.is_empty() {
            return all;
        }
        all.extend(batch);
    }
}

/// Asserts that two states are the same at all paths that the catalog does not list.
fn assert_same_states_elsewhere(
    catalog: &dyn CatalogRead,
    model: &dyn CatalogRead,
    [base, head]: [&VersionId; 2],
) {
    let mut paths = Vec::new();
    let is_listed = catalog.each_page_that_differs(base, head, &mut |path, _| paths.push(path.to_owned()));
    if !is_listed.expect("read") {
        return assert!(paths.is_empty());
    }
    let elsewhere = |id: &VersionId| {
        let mut state = model.state_in(id, ListCursor::first(usize::MAX)).expect("read");
        state.retain(|page| !paths.contains(&page.path));
        state
    };
    assert_eq!(elsewhere(base), elsewhere(head), "{base} and {head} outside {paths:?}");
}

/// The example of the model: a page, an outage, and the page changed.
fn a_page_survives_an_outage(open: &OpenCatalog<'_>, folder: &Path) {
    let catalog = open(folder);
    let mut history = StateHistory::default();
    let capture = |status| vec![SaidStep::Capture { page: 3, status, second: 0, elsewhere: false }];
    let absence = |reason| vec![SaidStep::Absence { page: 3, reason, second: 0 }];
    for said in [capture(0), absence(Some(1)), capture(6), Vec::new(), capture(0), absence(None)] {
        let rows = history.batch(&[
            StateStep::Version { parent: MAX_VERSIONS, run: None, said, is_lost: false },
            StateStep::ScannedUpTo,
        ]);
        apply(&*catalog, &rows).expect("applied");
    }
    let shown = |number: u8| {
        let state = catalog.states_at(&version_id(number), &["/b"]).expect("read").remove(0);
        let counts = catalog.state_counts(&version_id(number)).expect("read");
        let counts = [counts.present, counts.unreachable, counts.gone];
        (format!("{:?}", state.presence), state.capture.map(|capture| capture.owner), counts)
    };
    let owner = |number| Some(CaptureOwner::Version(version_id(number)));
    let unreachable = |reason: &str| format!("Unreachable {{ reason: {reason:?} }}");
    assert_eq!(shown(0), ("Present".to_owned(), owner(0), [1, 0, 0]));
    assert_eq!(shown(1), (unreachable("reason 1"), owner(0), [0, 1, 0]));
    assert_eq!(shown(2), (unreachable("status 503"), owner(0), [0, 1, 0]));
    assert_eq!(shown(3), (unreachable("status 503"), owner(0), [0, 1, 0]));
    assert_eq!(shown(4), ("Present".to_owned(), owner(4), [1, 0, 0]));
    assert_eq!(shown(5), ("Gone".to_owned(), owner(4), [0, 0, 1]));
}
