//! The frontier in SQLite fulfils the contract, and survives the end of its process.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use std::sync::Arc;

use uuid::Uuid;
use varve_catalog::{FetchReason, FrontierStore, NewUrl, SqliteCatalog, SqliteFrontierStore};
use varve_core::{Moment, RunId, WorkerId};
use varve_testkit::contract;

fn open(folder: &tempfile::TempDir) -> SqliteFrontierStore {
    let catalog = SqliteCatalog::open_to_write(&folder.path().join("catalog.db")).unwrap();
    SqliteFrontierStore::new(Arc::new(catalog))
}

#[test]
fn the_frontier_fulfils_the_contract() {
    let folders = std::cell::RefCell::new(Vec::new());
    contract::frontier(&|| {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        folders.borrow_mut().push(folder);
        Box::new(store)
    });
}

#[test]
fn a_run_is_resumed_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let (run, worker) = (RunId::new(Uuid::from_u128(1)), WorkerId::new(Uuid::from_u128(1)));
    let frontier = open(&folder).begin_run(run, worker, Moment::from_seconds(5), "{}").unwrap();
    let url = NewUrl {
        identity: "1",
        url: "1",
        host: "a",
        reason: FetchReason::Page { depth: 0 },
        redirects: 0,
        requeued: false,
        priority: 0,
        found_on: None,
    };
    assert_eq!(frontier.push(&[url]).unwrap(), 1);
    drop(frontier);
    let store = open(&folder);
    assert_eq!(store.unfinished_runs().unwrap().len(), 1);
    let frontier = store.resume_run(run, worker).unwrap().unwrap();
    assert_eq!(frontier.counts().unwrap().ready, 1);
}
