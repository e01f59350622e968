//! The contract suites pass for the in-memory implementations, and fail for one that does nothing.

use varve_core::catalog::CatalogError;
use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl, OpenRun,
    PastUrl,
};
use varve_core::{Moment, RunId, WorkerId};
use varve_testkit::{MemoryFrontierStore, contract};

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
    fn settle(&self, _: &[(i64, FrontierOutcome<'_>)]) -> Result<u64, CatalogError> {
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
