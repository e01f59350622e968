//! Crawling: from seeds to a version. Also the requests of a check.
//!
//! One run becomes one version. A run that is stopped becomes a version of its captures, and
//! another run continues with the rest. The frontier holds the URLs still to fetch, the silos hold
//! the captures, and a checkpoint every few seconds connects the two. So a run may end at any
//! instant and is resumed at that point, with the same result.
//!
//! One thread, the dispatcher, decides. Requests, writers and checkpoints run on other threads and
//! send it messages. From the values at the top to the whole at the bottom, each file uses those
//! above it:
//!
//! | file | owns |
//! | --- | --- |
//! | `fetch_reason`, `skip_rule`, `event`, `settings`, `politeness` | values: why a URL is fetched or skipped, events, and the settings of a run |
//! | `scope`, `compiled_plan`, `crawl_policy`, `discovered_link`, `extract_links`, `links_over_limit` | which links of a response are followed |
//! | `past_captures`, `task`, `write_job`, `message` | one URL on its way, and the messages about it |
//! | `destination`, `read_response`, `archive`, `project` | where responses are stored: an archive or a Crystal project |
//! | `request_loop`, `fetchers`, `response_cache`, `browser_gate` | requests in flight, of the run and of pages in a browser |
//! | `hosts`, `robots`, `postponed_hosts`, `unreachable` | the one table of hosts: queue, pace, `robots.txt`, waits, outages |
//! | `writer_pool`, `link_backlog`, `checkpoint`, `claim_lease` | threads that store, what makes it durable, and the lease on claimed URLs |
//! | `seen_urls`, `urls_in_progress`, `unfollowed_links`, `reported_skips`, `reporter` | bounded sets of URLs, and reports |
//! | `dispatcher` | the thread that decides: admission, retries, responses, pages in a browser |
//! | `run`, `archive_run`, `saved_run`, `resume`, `run_version` | a run from beginning to end, across its stops, and the version that it becomes |
//! | `recording_run` | the same for a run whose requests are made by a browser behind the proxy |
//!
//! `probe` requests the URLs of a check with the same request loop and host table.
//! `network_options` makes the client, `wire_exchange` stores exchanges, `run_description`
//! describes a run in the silos.
//!
//! Nothing here opens a socket or parses a page: that is `varve-fetch` and `varve-page`. Nor does
//! it print: the caller gets [`CrawlEvent`]s. The caller also gives the one clock.

mod archive;
mod archive_run;
mod browser_gate;
mod checkpoint;
mod claim_lease;
mod clock;
mod compiled_plan;
mod crawl_policy;
mod destination;
mod discovered_link;
mod dispatcher;
mod error;
mod error_chain;
mod event;
mod extract_links;
mod fetch_reason;
mod fetchers;
mod hosts;
mod link_backlog;
mod links_over_limit;
mod message;
mod network_options;
mod past_captures;
mod politeness_settings;
mod postponed_hosts;
mod probe;
mod project;
mod read_response;
mod recording_run;
mod reported_skips;
mod reporter;
mod request_loop;
mod response_cache;
mod resume;
mod robots;
mod run;
mod run_coverage;
mod run_description;
mod run_version;
mod saved_run;
mod scope;
mod seen_urls;
mod settings;
mod skip_rule;
mod task;
mod unfollowed_links;
mod unreachable;
mod urls_in_progress;
pub mod wire_exchange;
mod write_job;
mod writer_pool;

pub use archive_run::{RunEnvironment, begin, only_worker};
pub use browser_gate::BrowserGate;
pub use clock::RunClock;
pub use compiled_plan::CompiledPlan;
pub use dispatcher::RunEnding;
pub use error::{CrawlError, and_more};
pub use event::{CapturedPage, CrawlEvent, CrawlProgress, CrawlTally, RunEnd};
pub use fetchers::CrawlFetchers;
pub use network_options::{ClientOptions, NetworkOptions, SavedNetworkOptions, SecretName, contact_in};
pub use politeness_settings::PolitenessSettings;
pub use probe::{OnAnswer, ProbeFailure, ProbeOptions, ProbeRequest, ProbeResponse, Prober, WebProber};
pub use project::{ProjectRun, SharedProject, crawl_into_project};
pub use recording_run::RecordingRun;
pub use resume::{finish, resume};
pub use robots::robots_limits;
pub use run_description::RunDescription;
pub use run_version::{NewRunVersion, RunVersion, version_of_run};
pub use scope::ScopeKind;
pub use settings::{CrawlSettings, RefetchSettings, RequestSettings, RunLimits, ScopeSettings};
pub use skip_rule::SkipRule;
