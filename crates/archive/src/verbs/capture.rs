//! `capture`: fetches pages with all that belongs to them, and makes one version of them.
//!
//! The work is done by [`crawl`](crate::crawl). Here it is decided where it begins and who asks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use uuid::Uuid;
use varve_catalog::Frontier;
use varve_core::RunId;
use varve_core::secret::ShownUrl;
use varve_core::url::normalise;
use varve_fetch::Fetcher;

use super::commit::Intent;
use crate::crawl::{Conduct, address, begin, has_user_info};
use crate::error::ArchiveError;
use crate::history::ArchiveHistory;
use crate::reach::Asker;

pub use crate::crawl::{Captured, Ended, Event, Progress, Rule, ScopeKind, Settings, Tally};
pub use crate::reach::Reach;
pub use varve_catalog::OpenRun;
pub use varve_fetch::user_agent;

/// How the work is done.
pub struct Manner<'a> {
    /// What belongs to this process.
    pub reach: Reach,
    /// How many threads keep answers.
    pub threads: usize,
    /// Says that it is time to stop; the run can then be resumed.
    pub stop: &'a AtomicBool,
    /// The plan and the expectations in force.
    pub intent: Intent,
}

/// The runs that are not finished, oldest first.
pub fn unfinished(history: &ArchiveHistory) -> Result<Vec<OpenRun>, ArchiveError> {
    Ok(Frontier::runs(history.sqlite())?)
}

/// Begins a run, and crawls until it is done or stopped.
pub fn capture(
    history: &ArchiveHistory,
    mut settings: Settings,
    manner: Manner<'_>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, ArchiveError> {
    if !unfinished(history)?.is_empty() {
        return Err(ArchiveError::UnfinishedRun);
    }
    if settings.message.trim().is_empty() {
        return Err(ArchiveError::NoMessage);
    }
    settings.seeds = seeds(&settings.seeds)?;
    let fetcher = client(history, &settings, &manner.reach)?;
    let run = RunId::new(Uuid::now_v7());
    begin(&conduct(history, manner), settings, run, fetcher, report)
}

/// Goes on with the run that is not finished.
pub fn resume(
    history: &ArchiveHistory,
    manner: Manner<'_>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, ArchiveError> {
    let run = unfinished(history)?.first().map(|open| open.run).ok_or(ArchiveError::NoRun)?;
    let reach = manner.reach.clone();
    let fetcher = |settings: &Settings| client(history, settings, &reach);
    crate::crawl::resume(&conduct(history, manner), run, fetcher, report)
}

/// Makes a version of what the unfinished run has captured, without asking for more.
pub fn finish(history: &ArchiveHistory, manner: Manner<'_>) -> Result<Ended, ArchiveError> {
    let run = unfinished(history)?.first().map(|open| open.run).ok_or(ArchiveError::NoRun)?;
    crate::crawl::finish(&conduct(history, manner), run)
}

fn conduct<'a>(history: &'a ArchiveHistory, manner: Manner<'a>) -> Conduct<'a> {
    Conduct { history, threads: manner.threads, stop: manner.stop, intent: manner.intent }
}

/// The addresses of seeds, each once.
fn seeds(texts: &[String]) -> Result<Vec<String>, ArchiveError> {
    let mut seeds: Vec<String> = Vec::new();
    for text in texts {
        let normal = normalise(text)
            .map_err(|source| ArchiveError::NotAUrl { text: ShownUrl(text).to_string(), source })?;
        if has_user_info(&normal) {
            return Err(ArchiveError::UserInfo { shown: ShownUrl(text).to_string() });
        }
        let seed = address(text).ok_or_else(|| ArchiveError::NotOnTheWeb { text: text.clone() })?;
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    if seeds.is_empty() { Err(ArchiveError::NoSeeds) } else { Ok(seeds) }
}

fn client(
    history: &ArchiveHistory,
    settings: &Settings,
    reach: &Reach,
) -> Result<Arc<dyn Fetcher>, ArchiveError> {
    let client = reach.client(&Asker {
        temporary: &history.writer().layout().temporary(),
        user_agent: &settings.user_agent,
        limits: settings.fetch_limits(),
        per_host: settings.per_host,
        seeds: &settings.seeds,
    })?;
    Ok(Arc::new(client))
}
