//! The suites fail for implementations that never know anything.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use varve_fetch::{FetchError, FetchRequest, Fetched, Fetcher, Pending};
use varve_testkit::contract;

/// Answers every request without an exchange.
struct EmptyFetcher;

impl Fetcher for EmptyFetcher {
    fn fetch(&self, _: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        Box::pin(async { Ok(Fetched::default()) })
    }
}

/// Answers every request with an error.
struct FailingFetcher;

impl Fetcher for FailingFetcher {
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        Box::pin(async move { Err(FetchError::nothing(&request.url)) })
    }
}

fn run_suite(fetcher: &dyn Fetcher) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(contract::fetcher(fetcher));
}

#[test]
#[should_panic(expected = "at least one exchange")]
fn a_fetcher_without_exchanges_fails_the_suite() {
    run_suite(&EmptyFetcher);
}

#[test]
#[should_panic(expected = "a response")]
fn a_fetcher_that_only_fails_fails_the_suite() {
    run_suite(&FailingFetcher);
}
