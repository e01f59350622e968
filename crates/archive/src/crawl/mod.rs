//! Crawling: from seeds to a version.
//!
//! One run is one version; one that is stopped is a version of what it got, and another run goes on with the rest. What a
//! run has still to do is in the frontier, what it has done is in the silos, and between
//! the two there are a few seconds at most: so a run may end at any instant, by any hand, and is resumed where it was,
//! with the same result.
//!
//! | file | knows |
//! | --- | --- |
//! | `address` | what is asked for, and what its spellings share |
//! | `scope`, `plan`, `errand`, `itinerary` | what is followed, how far, and for what reason |
//! | `run`, `admit`, `settle`, `checkpoint` | the thread that decides |
//! | `resting`, `given_up` | hosts that ask to be left alone, and hosts that do not answer |
//! | `robots`, `known`, `past`, `refused` | what hosts ask for, what was found, what is here already, what was not followed |
//! | `fetching`, `keeper`, `extract`, `backlog` | requests, and the work on answers |
//! | `rendering`, `door`, `denied`, `pace`, `memory`, `recall` | pages in a browser, what they may ask for, and what they need not ask for |
//! | `destination`, `project` | where answers go: into an archive, or into a Crystal project |
//! | `conduct`, `course` | a run from its beginning to its end, and across its stops |
//!
//! Nothing here knows a socket or a page: that is `varve-fetch` and `varve-page`. Nor is a terminal known: whoever
//! watches is told [`Event`]s.

mod address;
mod admission;
mod browser_gate;
mod cache_lookup;
mod checkpoint;
mod compiled_plan;
mod crawl_policy;
mod destination;
mod dispatcher;
pub mod error;
mod event;
mod extract_links;
mod fetch_reason;
mod given_up;
mod handle_response;
mod link_backlog;
mod pace;
mod past_captures;
mod project;
mod rendering;
mod reported_skips;
mod request_pool;
mod response_cache;
mod resting;
mod resumable_run;
mod robots;
mod run_lifecycle;
mod scope;
mod seen_urls;
mod settings;
mod task;
mod unfollowed_links;
mod writer_pool;

pub(crate) use address::{asked, has_user_info, host_of, origin_of};
pub(crate) use browser_gate::BrowserGate;
pub(crate) use compiled_plan::CompiledPlan;
pub(crate) use crawl_policy::CrawlPolicy as CrawlPlan;
pub(crate) use dispatcher::RunEnding;
pub use event::{CapturedPage, CrawlEvent, CrawlProgress, CrawlTally, RunEnd};
pub(crate) use handle_response::error_chain;
pub(crate) use pace::{Pace, Paced};
pub(crate) use project::{CrystalFetcher, ProjectDestination, SharedProject};
pub(crate) use request_pool::CrawlFetchers;
pub(crate) use request_pool::request_outcome;
pub(crate) use robots::robots_limits as limits_for_robots;
pub(crate) use run_lifecycle::{
    NewRunVersion, RunEnvironment, RunInput, begin, finish, only_worker, resume, run_crawl, version_of_run,
};
pub use scope::{ScopeKind, SkipRule};
pub use settings::CrawlSettings;
