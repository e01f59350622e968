//! The contract suites pass for the in-memory implementations, and fail for one that does nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use varve_core::catalog::{Catalog, CatalogError, CatalogRead, CatalogRow};
use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, FetchReason, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl,
    OpenRun, PastUrl,
};
use varve_core::head_store::{HeadError, HeadStore};
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, TimeOrder,
    VersionFilter, VersionInfo, VersionTag,
};
use varve_core::writer_lock::{LockError, LockGuard, WriterLock};
use varve_core::{BodyId, Moment, RunId, VersionId, WorkerId};
use varve_testkit::{MemoryCatalog, MemoryFrontierStore, MemoryHead, MemoryLock, contract};

#[test]
fn the_memory_catalog_fulfils_the_contract() {
    let catalogs: RefCell<HashMap<PathBuf, MemoryCatalog>> = RefCell::default();
    contract::catalog(&|folder| {
        Box::new(catalogs.borrow_mut().entry(folder.to_owned()).or_default().clone())
    });
}

#[test]
fn the_memory_catalog_fulfils_the_contract_of_an_archive() {
    let catalogs: RefCell<HashMap<PathBuf, MemoryCatalog>> = RefCell::default();
    contract::silo_catalog(&|folder| {
        Box::new(catalogs.borrow_mut().entry(folder.to_owned()).or_default().clone())
    });
}

#[test]
fn the_memory_catalog_fulfils_the_contract_of_states() {
    let catalogs: RefCell<HashMap<PathBuf, MemoryCatalog>> = RefCell::default();
    contract::state_catalog(&|folder| {
        Box::new(catalogs.borrow_mut().entry(folder.to_owned()).or_default().clone())
    });
}

/// A catalog that answers every call with nothing.
struct EmptyCatalog;

impl varve_core::catalog::SealedLogRead for EmptyCatalog {}

/// Answers methods of a catalog with default values.
macro_rules! answer_nothing {
    ($(fn $name:ident($($type:ty),*) -> $answer:ty;)*) => {
        impl CatalogRead for EmptyCatalog {
            $(fn $name(&self $(, _: $type)*) -> Result<$answer, CatalogError> {
                Ok(Default::default())
            })*
        }
    };
}

answer_nothing! {
    fn version(&VersionId) -> Option<VersionInfo>;
    fn versions_beginning(&str, usize) -> Vec<VersionId>;
    fn versions(&VersionFilter, ListCursor<VersionId>) -> Vec<VersionInfo>;
    fn count_versions(u64) -> u64;
    fn children(&VersionId) -> Vec<VersionId>;
    fn captures_in(&VersionId, ListCursor<(&str, &str)>) -> Vec<Capture>;
    fn captures_at_path(&VersionId, &str) -> Vec<Capture>;
    fn captures_of(&str, &CaptureFilter, TimeOrder, ListCursor<&Capture>) -> Vec<Capture>;
    fn urls(&str, ListCursor<&str>) -> Vec<String>;
    fn tags() -> Vec<VersionTag>;
    fn tag(&str) -> Option<VersionTag>;
    fn diff(Option<&VersionId>, &VersionId) -> Option<StoredDiff>;
    fn diffs_with(&VersionId) -> Vec<StoredDiffInfo>;
    fn diffs_before(Moment) -> u64;
    fn scores(&VersionId) -> Vec<StoredScore>;
    fn verdicts_of(&str, usize) -> Vec<StoredVerdict>;
    fn last_verdicts(ListCursor<&str>) -> Vec<StoredVerdict>;
    fn open_runs() -> Vec<RunId>;
    fn captures_of_run(&RunId) -> u64;
    fn head() -> Option<VersionId>;
    fn scanned_up_to() -> Option<u64>;
    fn each_body(&mut dyn FnMut(BodyId) -> Result<(), CatalogError>) -> ();
}

impl Catalog for EmptyCatalog {
    fn apply(&self, _: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), CatalogError> {
        Ok(())
    }
    fn apply_leniently(
        &self,
        _: &mut dyn Iterator<Item = CatalogRow>,
        _: &mut dyn FnMut(CatalogRow),
    ) -> Result<(), CatalogError> {
        Ok(())
    }
    fn exclusively(&self, _: &mut dyn FnMut()) -> Result<(), CatalogError> {
        Ok(())
    }
    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}

#[test]
#[should_panic(expected = "assertion")]
fn a_catalog_that_answers_nothing_fails_the_contract() {
    contract::catalog(&|_| Box::new(EmptyCatalog));
}

#[test]
#[should_panic(expected = "assertion")]
fn a_catalog_that_answers_nothing_fails_the_contract_of_an_archive() {
    contract::silo_catalog(&|_| Box::new(EmptyCatalog));
}

#[test]
#[should_panic(expected = "removal index")]
fn a_catalog_that_answers_nothing_fails_the_contract_of_states() {
    contract::state_catalog(&|_| Box::new(EmptyCatalog));
}

#[test]
fn the_memory_frontier_fulfils_the_contract() {
    contract::frontier(&|| Box::<MemoryFrontierStore>::default());
}

/// A frontier that answers every call with nothing.
struct EmptyFrontier(RunId, WorkerId);

impl Frontier for EmptyFrontier {
    fn run(&self) -> RunId {
        self.0
    }
    fn worker(&self) -> WorkerId {
        self.1
    }
    fn settings(&self) -> Result<String, CatalogError> {
        Ok(String::new())
    }
    fn push(&self, _: &[NewUrl<'_>]) -> Result<u64, CatalogError> {
        Ok(0)
    }
    fn claim(&self, _: &ClaimRequest<'_>) -> Result<Vec<ClaimedUrl>, CatalogError> {
        Ok(Vec::new())
    }
    fn renew_lease(&self, _: Moment) -> Result<(), CatalogError> {
        Ok(())
    }
    fn record_outcomes(&self, _: &[(i64, FrontierOutcome<'_>)]) -> Result<u64, CatalogError> {
        Ok(0)
    }
    fn release(&self) -> Result<(), CatalogError> {
        Ok(())
    }
    fn counts(&self) -> Result<FrontierCounts, CatalogError> {
        Ok(FrontierCounts::default())
    }
    fn each_past(&self, _: &mut dyn FnMut(PastUrl<'_>)) -> Result<(), CatalogError> {
        Ok(())
    }
    fn each_failed(&self, _: &mut dyn FnMut(&str, FetchReason, &str)) -> Result<(), CatalogError> {
        Ok(())
    }
    fn has_pages(&self, identities: &[&str]) -> Result<Vec<bool>, CatalogError> {
        Ok(vec![false; identities.len()])
    }
    fn found_on(&self, _: i64) -> Result<Option<(String, Option<i64>)>, CatalogError> {
        Ok(None)
    }
    fn next_retry_at(&self) -> Result<Option<Moment>, CatalogError> {
        Ok(None)
    }
    fn continue_as(&mut self, _: RunId, _: &str) -> Result<(), CatalogError> {
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<(), CatalogError> {
        Ok(())
    }
}

struct EmptyFrontierStore;

impl FrontierStore for EmptyFrontierStore {
    fn begin_run(
        &self,
        run: RunId,
        worker: WorkerId,
        _: Moment,
        _: &str,
    ) -> Result<Box<dyn Frontier>, CatalogError> {
        Ok(Box::new(EmptyFrontier(run, worker)))
    }
    fn join_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        Ok(Some(Box::new(EmptyFrontier(run, worker))))
    }
    fn resume_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        self.join_run(run, worker)
    }
    fn unfinished_runs(&self) -> Result<Vec<OpenRun>, CatalogError> {
        Ok(Vec::new())
    }
}

#[test]
#[should_panic(expected = "left: 0")]
fn a_frontier_that_does_nothing_fails_the_contract() {
    contract::frontier(&|| Box::new(EmptyFrontierStore));
}

#[test]
fn memory_heads_fulfil_the_contract() {
    let head = MemoryHead::default();
    contract::head(&|| Box::new(head.clone()));
}

/// A HEAD that accepts everything and stores nothing.
struct ForgetfulHead;

impl HeadStore for ForgetfulHead {
    fn read(&self) -> Result<Option<VersionId>, HeadError> {
        Ok(None)
    }
    fn advance(&self, _: Option<VersionId>, _: VersionId) -> Result<(), HeadError> {
        Ok(())
    }
    fn repair(&self, _: VersionId) -> Result<(), HeadError> {
        Ok(())
    }
    fn clear(&self) -> Result<(), HeadError> {
        Ok(())
    }
}

#[test]
#[should_panic(expected = "assertion")]
fn a_head_that_stores_nothing_fails_the_contract() {
    contract::head(&|| Box::new(ForgetfulHead));
}

#[test]
fn memory_locks_fulfil_the_contract() {
    let lock = MemoryLock::default();
    contract::lock(&|| Box::new(lock.clone()));
}

/// A lock that lets everyone in.
struct OpenLock;

impl WriterLock for OpenLock {
    fn take(&self, _: &str) -> Result<LockGuard, LockError> {
        Ok(LockGuard::new(()))
    }
    fn holder(&self) -> Result<Option<String>, LockError> {
        Ok(None)
    }
}

#[test]
#[should_panic(expected = "the lock is held")]
fn a_lock_that_lets_everyone_in_fails_the_contract() {
    contract::lock(&|| Box::new(OpenLock));
}
