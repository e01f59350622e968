//! The contract of a catalog: it answers as a plain fold over its rows does.

pub mod compare;
mod extractions;
pub mod histories;
mod sealed_log;
pub mod silos;
pub mod states;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use varve_core::catalog::{Catalog, CatalogError, CatalogRead as _, CatalogRow, UrlMatch};
use varve_core::history::{Capture, CaptureOwner, ListCursor, StoredDiff};

use histories::{
    HistoryBuilder, HistoryStep, URLS, histories, moment, numbered_capture, run_id, version_id,
    version_with_captures,
};

/// The number of random histories for each law.
const RANDOM_HISTORIES: u32 = 48;
/// The maximum number of attempts to simplify a failing history.
const MAX_SHRINK_ITERATIONS: u32 = 300;
/// Histories that failed once are tried first.
const REGRESSIONS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/catalog.txt");

/// Opens the catalog in a folder.
type OpenCatalog<'a> = dyn Fn(&Path) -> Box<dyn Catalog> + 'a;

/// Runs the suite. `open` opens the catalog in a folder to write, and creates it if the folder is
/// empty.
pub fn catalog(open: &OpenCatalog<'_>) {
    for law in [
        failed_batches_leave_nothing,
        lenient_batches_leave_out_rows_without_version,
        work_alone_runs_once_and_reads,
        all_spellings_of_a_page_are_found,
        many_urls_are_looked_up,
    ] {
        let folder = TestFolder::new();
        law(&*open(folder.path()));
    }
    random_histories_are_answered_as_by_the_model(open);
    repeated_rows_change_nothing(open);
}

/// A folder that is removed when the value is dropped.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("varve-contract-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: RANDOM_HISTORIES,
        max_shrink_iters: MAX_SHRINK_ITERATIONS,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS_FILE))),
        ..ProptestConfig::default()
    }
}

fn apply(catalog: &dyn Catalog, rows: &[CatalogRow]) -> Result<(), CatalogError> {
    catalog.apply(&mut rows.iter().cloned())
}

fn random_histories_are_answered_as_by_the_model(open: &OpenCatalog<'_>) {
    proptest!(config(), |(history in histories(true))| {
        let folder = TestFolder::new();
        let mut builder = HistoryBuilder::default();
        let mut catalog = open(folder.path());
        for (position, steps) in history.iter().enumerate() {
            apply(&*catalog, &builder.batch(steps)).expect("applied");
            if position % 3 == 1 {
                drop(catalog);
                catalog = open(folder.path());
            }
        }
        compare::assert_same_answers(catalog.as_read(), &builder.model);
    });
}

fn repeated_rows_change_nothing(open: &OpenCatalog<'_>) {
    proptest!(config(), |(history in histories(false), from in any::<usize>())| {
        let folder = TestFolder::new();
        let mut builder = HistoryBuilder::default();
        let batches: Vec<_> = history.iter().map(|steps: &Vec<HistoryStep>| builder.batch(steps)).collect();
        let catalog = open(folder.path());
        batches.iter().for_each(|rows| apply(&*catalog, rows).expect("applied"));
        batches.iter().skip(from % history.len()).for_each(|rows| apply(&*catalog, rows).expect("applied"));
        assert_eq!(catalog.last_gc().expect("read"), builder.model.last_gc().expect("read"));
        assert_eq!(compare::dump(catalog.as_read()), compare::dump(&builder.model));
    });
}

fn failed_batches_leave_nothing(catalog: &dyn Catalog) {
    apply(catalog, &version_with_captures(1, 3)).expect("applied");
    let before = compare::dump(catalog.as_read());
    let nowhere = StoredDiff { base: None, head: version_id(5), json: "{}".to_owned(), time: moment(0) };
    let mut rows = version_with_captures(2, 3);
    rows.push(CatalogRow::Diff(nowhere));
    assert!(matches!(apply(catalog, &rows), Err(CatalogError::NoVersion(id)) if id == version_id(5)));
    let orphan = [CatalogRow::Capture(Box::new(numbered_capture(4, 0)))];
    assert!(matches!(apply(catalog, &orphan), Err(CatalogError::NoVersion(id)) if id == version_id(4)));
    assert_eq!(compare::dump(catalog.as_read()), before);
    apply(catalog, &version_with_captures(2, 3)).expect("the writer still works");
    assert_eq!(catalog.version(&version_id(2)).expect("read").expect("it exists").captures, 3);
}

fn lenient_batches_leave_out_rows_without_version(catalog: &dyn Catalog) {
    let mut rows = version_with_captures(1, 3);
    rows.push(CatalogRow::Head(version_id(5)));
    let time = moment(0);
    rows.push(CatalogRow::Tag { name: "lost".to_owned(), version: Some(version_id(5)), time });
    let mut left_out = Vec::new();
    let mut leave_out = |row| left_out.push(row);
    catalog.apply_leniently(&mut rows.into_iter(), &mut leave_out).expect("applied");
    assert_eq!(left_out, [CatalogRow::Head(version_id(5))]);
    assert_eq!(catalog.head().expect("read"), Some(version_id(1)));
    assert_eq!(catalog.tag("lost").expect("read").map(|tag| tag.version), Some(version_id(5)));
    let orphan = [CatalogRow::Capture(Box::new(numbered_capture(4, 0)))];
    let refused = catalog.apply_leniently(&mut orphan.into_iter(), &mut |_| panic!("a capture is left out"));
    assert!(matches!(refused, Err(CatalogError::NoVersion(id)) if id == version_id(4)));
}

fn work_alone_runs_once_and_reads(catalog: &dyn Catalog) {
    apply(catalog, &version_with_captures(1, 3)).expect("applied");
    let mut counts = Vec::new();
    catalog.exclusively(&mut || counts.push(catalog.count_versions(9).expect("read"))).expect("run");
    assert_eq!(counts, [1]);
    apply(catalog, &version_with_captures(2, 3)).expect("the writer still works");
}

/// A row that captures a URL in run 1.
fn capture_of_url(url: &str, second: u8) -> CatalogRow {
    let belongs = CaptureOwner::Run(run_id(1));
    let capture = Capture { time: moment(second), ..numbered_capture(1, 0) };
    let record = capture.record.expect("it has a record");
    let id = Capture::derive_id(belongs, url, capture.time, &record);
    CatalogRow::Capture(Box::new(Capture { id, owner: belongs, url: url.to_owned(), ..capture }))
}

/// Rows are found by the key of their page, and two pages never share a result.
fn all_spellings_of_a_page_are_found(catalog: &dyn Catalog) {
    let spellings = ["https://h/a?x=1&y=2", "https://h/a?y=2&utm_source=z&x=1", "https://h/a?y=2&x=1"];
    let others = ["https://h/a", "https://h/a?x=1", "https://h/a?x=1&y=2&y=3", "https://h/ab?x=1&y=2"];
    let rows: Vec<_> = spellings.iter().chain(&others).map(|url| capture_of_url(url, 1)).collect();
    apply(catalog, &rows).expect("applied");
    let mut expected = spellings.map(str::to_owned);
    expected.sort_unstable();
    for url in spellings.into_iter().chain(["https://H/a?utm_medium=m&y=2&x=1#top"]) {
        assert_eq!(catalog.spellings_of(url).expect("read"), expected);
    }
    assert_eq!(catalog.spellings_of(others[0]).expect("read"), ["https://h/a"]);
}

fn many_urls_are_looked_up(catalog: &dyn Catalog) {
    let (page, other) = ("https://h/a?x=1&y=2", "https://h/a?y=2&x=1");
    let rows = [(page, 1), (other, 2), (page, 3), (URLS[0], 4)].map(|(url, time)| capture_of_url(url, time));
    apply(catalog, &rows).expect("applied");
    let find = |matching, limit| {
        let urls = [URLS[0], "https://nowhere.example/", page];
        let found = catalog.newest_captures(&urls, matching, limit).expect("read");
        let times = |captures: &Vec<Capture>| captures.iter().map(|capture| capture.time).collect();
        found.iter().map(times).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(find(UrlMatch::Exact, 9), [vec![moment(4)], vec![], vec![moment(3), moment(1)]]);
    assert_eq!(find(UrlMatch::SamePage, 2), [vec![moment(4)], vec![], vec![moment(3), moment(2)]]);
    assert_eq!(catalog.newest_captures(&[], UrlMatch::Exact, 9).expect("read"), Vec::<Vec<Capture>>::new());
    let cursor = ListCursor::first(9);
    assert_eq!(catalog.urls("https://h/", cursor).expect("read"), [page, other]);
}
