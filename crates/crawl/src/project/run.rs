//! A run into a Crystal project.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use varve_catalog::Frontier;
use varve_core::Moment;
use varve_crystal::ResourceGroup;
use varve_fetch::{Credentials, Fetcher};

use super::{CrystalFetcher, ProjectDestination, RequestCookies, SharedProject};
use crate::clock::RunClock;
use crate::crawl_policy::CrawlPolicy;
use crate::dispatcher::RunEnding;
use crate::error::CrawlError;
use crate::event::{CrawlEvent, CrawlTally};
use crate::fetchers::CrawlFetchers;
use crate::run::{RunInput, run_crawl};
use crate::settings::CrawlSettings;

/// The input of a run into a project.
pub struct ProjectRun<'a> {
    /// The project.
    pub project: &'a Arc<SharedProject>,
    /// The settings.
    pub settings: CrawlSettings,
    /// The groups whose known members are fetched, each with its number in the plan.
    pub groups: Vec<(u32, ResourceGroup)>,
    /// The credentials of the run: the cookies among them are recorded, as are those of the jar.
    pub credentials: Credentials,
    /// The URLs that are still to be requested.
    pub frontier: &'a dyn Frontier,
    /// Who sends the requests.
    pub fetchers: CrawlFetchers,
    /// Whether the run was begun by an earlier process.
    pub is_resumed: bool,
    /// The number of writers.
    pub threads: usize,
    /// The wall time.
    pub wall_time: &'a (dyn Fn() -> Moment + Sync),
    /// Set by the caller to stop the run.
    pub stop: &'a AtomicBool,
}

/// Crawls into a project until nothing is left, or until the caller stops it.
pub fn crawl_into_project(
    run: ProjectRun<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<(RunEnding, CrawlTally), CrawlError> {
    let ProjectRun { project, settings, groups, credentials, frontier, fetchers, .. } = run;
    let (no_conditional, refetch) = (settings.requests.no_conditional, settings.refetch);
    let as_crystal = |fetcher: Arc<dyn Fetcher>| {
        Arc::new(CrystalFetcher::new(Arc::clone(project), fetcher, no_conditional)) as Arc<dyn Fetcher>
    };
    let CrawlFetchers { usual, pages, gate, budget, robots, proxy, cookies } = fetchers;
    let request_cookies = RequestCookies::new(credentials, cookies.clone());
    let (usual, pages) = (as_crystal(usual), as_crystal(pages));
    let input = RunInput {
        destination: &ProjectDestination::new(Arc::clone(project), request_cookies, groups, refetch),
        frontier,
        policy: &CrawlPolicy::with_spelling(settings, project.spelling()),
        fetchers: CrawlFetchers { usual, pages, gate, budget, robots, proxy, cookies },
        is_resumed: run.is_resumed,
        threads: run.threads,
        clock: RunClock::new(run.wall_time),
        stop: run.stop,
    };
    run_crawl(input, report).map(|(ending, tally, _)| (ending, tally))
}
