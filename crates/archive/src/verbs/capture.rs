//! `capture`: fetches pages with their resources, and makes one version of them.
//!
//! [`crawl`](varve_crawl) does the work. This module chooses the seeds and the fetchers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use varve_repository::RepositoryError;

use uuid::Uuid;
use varve_core::RunId;
use varve_core::secret::ShownUrl;
use varve_core::url::request_url;
use varve_fetch::{ByteBudget, Client, Fetcher};
use varve_file::TemporaryFolder;
use varve_plan::Plan;

use super::commit::{KeptIntent, normal_url};
use crate::error::ArchiveError;
use varve_crawl::{
    BrowserGate, ClientOptions, CompiledPlan, CrawlError, CrawlFetchers, RunEnvironment, begin, robots_limits,
};
use varve_repository::history::ArchiveHistoryWriter;

pub use varve_catalog::OpenRun;
pub use varve_crawl::{
    CapturedPage, CrawlEvent, CrawlProgress, CrawlSettings, CrawlTally, PolitenessSettings, RefetchSettings,
    RequestSettings, RunEnd, RunLimits, ScopeKind, ScopeSettings, SkipRule,
};
pub use varve_crawl::{NetworkOptions, SavedNetworkOptions, SecretName, contact_in};
pub use varve_fetch::{CredentialsError, FetchErrorKind, ProxyText, ProxyTexts, user_agent};

/// The options of a run.
pub struct RunOptions<'a> {
    /// The network options of this process.
    pub reach: NetworkOptions,
    /// Number of threads that store responses.
    pub threads: usize,
    /// Set by the caller to stop. A version is made of the captures so far, and the run can be
    /// resumed.
    pub stop: &'a AtomicBool,
    /// The plan and the expectations in force.
    pub intent: KeptIntent,
}

/// The unfinished runs, oldest first.
pub fn unfinished(history: &ArchiveHistoryWriter) -> Result<Vec<OpenRun>, ArchiveError> {
    Ok(history.frontier_store().unfinished_runs()?)
}

/// Begins a run, and crawls until it is done or stopped.
pub fn capture(
    history: &ArchiveHistoryWriter,
    mut settings: CrawlSettings,
    manner: RunOptions<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, ArchiveError> {
    if !unfinished(history)?.is_empty() {
        return Err(CrawlError::UnfinishedRun.into());
    }
    if settings.message.trim().is_empty() {
        return Err(RepositoryError::NoMessage.into());
    }
    if let Some(plan) = &settings.plan {
        settings.seeds = roots(plan)?;
        settings.scope.kind = ScopeKind::Plan;
    }
    settings.seeds = seeds(&settings.seeds)?;
    refuse_user_info_in_patterns(&settings.scope)?;
    settings.network = manner.reach.to_save(&settings.seeds)?;
    let fetchers = fetchers(history, &settings, &manner.reach)?;
    let run = RunId::new(Uuid::now_v7());
    Ok(begin(&conduct(history, manner), settings, run, fetchers, report)?)
}

/// Resumes the unfinished run. `change` may replace its settings, and the new ones are stored with
/// it. The settings that decide which pages belong to the run should stay the same. The network
/// options are those of the run, but secrets must be given again.
pub fn resume(
    history: &ArchiveHistoryWriter,
    change: impl FnOnce(&mut CrawlSettings),
    manner: RunOptions<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, ArchiveError> {
    let run = unfinished(history)?.first().map(|open| open.run).ok_or(CrawlError::NoRun)?;
    let reach = manner.reach.clone();
    let change = |settings: &mut CrawlSettings| {
        change(settings);
        let reach = resumed(&reach, settings)?;
        fetchers(history, settings, &reach)
    };
    Ok(varve_crawl::resume(&conduct(history, manner), run, change, report)?)
}

/// The network options of a resumed run, which are stored with its settings again.
pub(crate) fn resumed(
    reach: &NetworkOptions,
    settings: &mut CrawlSettings,
) -> Result<NetworkOptions, CrawlError> {
    let reach = reach.with_saved(&settings.network, &settings.seeds)?;
    settings.network = reach.to_save(&settings.seeds)?;
    Ok(reach)
}

/// Ends every browser of this process at once and deletes its files, for a caller that exits
/// without waiting for a run.
pub fn end_browsers() {
    varve_fetch::browser::end_all();
}

/// Ends the unfinished run with the version made when it was stopped. If the run was interrupted
/// instead, makes a version of its captures.
pub fn finish(history: &ArchiveHistoryWriter, manner: RunOptions<'_>) -> Result<RunEnd, ArchiveError> {
    let run = unfinished(history)?.first().map(|open| open.run).ok_or(CrawlError::NoRun)?;
    Ok(varve_crawl::finish(&conduct(history, manner), run)?)
}

fn conduct<'a>(history: &'a ArchiveHistoryWriter, manner: RunOptions<'a>) -> RunEnvironment<'a> {
    RunEnvironment { history, threads: manner.threads, stop: manner.stop, intent: manner.intent }
}

/// Refuses a URL with a user name or a password. Credentials are given apart from URLs, which are
/// stored, printed and logged.
pub(crate) fn refuse_user_info(url: &str) -> Result<(), ArchiveError> {
    match ShownUrl(url).has_user_info() {
        true => Err(ArchiveError::UserInfo(ShownUrl(url).to_string())),
        false => Ok(()),
    }
}

/// Refuses patterns with a user name or a password, because the patterns of a run are stored.
pub(crate) fn refuse_user_info_in_patterns(scope: &ScopeSettings) -> Result<(), ArchiveError> {
    let mut patterns = scope.include.iter().chain(&scope.exclude);
    match patterns.find(|pattern| ShownUrl(pattern).pattern_has_user_info()) {
        Some(pattern) => Err(ArchiveError::UserInfo(ShownUrl(pattern).to_string())),
        None => Ok(()),
    }
}

/// The URLs of the seeds, without duplicates.
fn seeds(texts: &[String]) -> Result<Vec<String>, ArchiveError> {
    for text in texts {
        normal_url(text)?;
    }
    let seeds = distinct_seeds(texts, request_url)?;
    if seeds.is_empty() { Err(ArchiveError::NoSeeds) } else { Ok(seeds) }
}

/// The URLs of the seeds as `spell` spells them, without duplicates. A URL with a user name or
/// password is refused.
pub(crate) fn distinct_seeds(
    texts: &[String],
    spell: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, ArchiveError> {
    let mut seeds: Vec<String> = Vec::new();
    for text in texts {
        refuse_user_info(text)?;
        let seed = spell(text).ok_or_else(|| ArchiveError::NotOnTheWeb(text.clone()))?;
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    Ok(seeds)
}

/// The roots of a plan. An invalid plan is refused.
fn roots(plan: &Plan) -> Result<Vec<String>, ArchiveError> {
    let mut problems = plan.problems().into_iter();
    if let Some(problem) = problems.next() {
        return Err(ArchiveError::PlanProblem { problem, more: problems.len() });
    }
    let seeds = CompiledPlan::new(plan).seeds();
    if seeds.is_empty() { Err(ArchiveError::NoRoots) } else { Ok(seeds) }
}

fn fetchers(
    history: &ArchiveHistoryWriter,
    settings: &CrawlSettings,
    reach: &NetworkOptions,
) -> Result<CrawlFetchers, CrawlError> {
    let layout = history.writer().layout();
    usual_and_pages(&layout.temporary_folder(), settings, &reach.clone().within(layout)?)
}

/// The fetchers of a run; long responses are spooled in `folder`.
pub(crate) fn usual_and_pages(
    folder: &TemporaryFolder,
    settings: &CrawlSettings,
    reach: &NetworkOptions,
) -> Result<CrawlFetchers, CrawlError> {
    let (budget, proxy) = (settings.limits.max_bytes.map(ByteBudget::new), reach.proxies_shown());
    let client = client(folder, settings, reach, budget.clone())?;
    let robots = robots_limits(settings.requests.fetch_limits());
    let cookies = client.cookies().clone();
    if !settings.browser {
        let usual: Arc<dyn Fetcher> = Arc::new(client);
        return Ok(CrawlFetchers {
            pages: Arc::clone(&usual),
            usual,
            gate: None,
            budget,
            robots,
            proxy,
            cookies,
        });
    }
    let executable = reach.browser.as_deref().ok_or(CrawlError::NoBrowser)?;
    let gate = Arc::new(BrowserGate::default());
    let pages =
        browser(client.clone(), (executable, folder), settings.scope.max_redirects, Arc::clone(&gate))?;
    Ok(CrawlFetchers { usual: Arc::new(client), pages, gate: Some(gate), budget, robots, proxy, cookies })
}

fn browser(
    client: Client,
    (executable, folder): (&Path, &TemporaryFolder),
    max_redirects: u8,
    gate: Arc<BrowserGate>,
) -> Result<Arc<dyn Fetcher>, CrawlError> {
    use varve_fetch::browser::{Browser, BrowserOptions, Identity, identify};
    if let Identity::Other { said } = identify(executable).map_err(RepositoryError::read(executable))? {
        return Err(CrawlError::NotABrowser { path: executable.to_owned(), said });
    }
    let options = BrowserOptions { max_redirects, ..BrowserOptions::new(executable, folder.clone()) };
    Ok(Arc::new(Browser::new(client, options).with_gate(gate)))
}

/// The HTTP client, with the guard, credentials, proxy and certificates of this process.
pub(crate) fn client(
    folder: &TemporaryFolder,
    settings: &CrawlSettings,
    reach: &NetworkOptions,
    budget: Option<ByteBudget>,
) -> Result<Client, CrawlError> {
    reach.client(&ClientOptions {
        temporary: folder,
        user_agent: &settings.politeness.user_agent,
        limits: settings.requests.fetch_limits(),
        budget,
        per_host: settings.politeness.per_host,
        seeds: &settings.seeds,
    })
}
