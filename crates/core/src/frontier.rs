//! The seam to the queue of a crawl: which URLs a run has still to fetch.
//!
//! Owns the traits and their values. A [`Frontier`] holds one queue for each host of a run and the
//! outcome of each URL. It knows neither politeness nor scope: the crawler decides which hosts must
//! not be requested now, and why a URL was skipped.
//!
//! Several workers may fetch one run. Each claims URLs under a lease. When a lease expires, its
//! URLs can be claimed by others, so that a worker that dies loses nothing.
//!
//! Changes are atomic and survive the end of the process. They may be lost in a power cut, after
//! which some pages are fetched again, which adds nothing to the archive.

use std::time::Duration;

use crate::catalog::CatalogError;
use crate::{Moment, RunId, WorkerId};

/// Why a URL is fetched, which decides what follows from it.
///
/// The same URL may be queued for several reasons: as a page, and as a part of another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchReason {
    /// A page.
    Page {
        /// The number of links from a seed; 0 for a seed.
        depth: u32,
    },
    /// A part of a page, or of such a part.
    Embed {
        /// 1 for a part of a page, 2 for a part of that.
        chain: u8,
    },
    /// A document in a frame of a page. Its links count as links of the page.
    Frame {
        /// The number of links from a seed to the page.
        depth: u32,
        /// 1 for a frame of a page, 2 for a frame in that.
        chain: u8,
    },
    /// A sitemap.
    Sitemap {
        /// The number of sitemaps that lead to it; 0 for one that the site names itself.
        nesting: u8,
    },
    /// A robots.txt file.
    Robots,
}

/// The kind of a [`FetchReason`], without its distance. Each URL is queued once for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FetchKind {
    /// [`FetchReason::Page`].
    Page,
    /// [`FetchReason::Embed`].
    Embed,
    /// [`FetchReason::Frame`].
    Frame,
    /// [`FetchReason::Sitemap`].
    Sitemap,
    /// [`FetchReason::Robots`].
    Robots,
}

impl FetchReason {
    /// The kind.
    pub const fn kind(self) -> FetchKind {
        match self {
            Self::Page { .. } => FetchKind::Page,
            Self::Embed { .. } => FetchKind::Embed,
            Self::Frame { .. } => FetchKind::Frame,
            Self::Sitemap { .. } => FetchKind::Sitemap,
            Self::Robots => FetchKind::Robots,
        }
    }

    /// The number of links from a seed; 0 for kinds without a depth.
    pub const fn depth(self) -> u32 {
        match self {
            Self::Page { depth } | Self::Frame { depth, .. } => depth,
            Self::Embed { .. } | Self::Sitemap { .. } | Self::Robots => 0,
        }
    }

    /// The number of embeddings or sitemaps that lead to it; 0 for kinds without them.
    pub const fn chain(self) -> u8 {
        match self {
            Self::Embed { chain } | Self::Frame { chain, .. } => chain,
            Self::Sitemap { nesting } => nesting,
            Self::Page { .. } | Self::Robots => 0,
        }
    }

    /// The reason with these parts. Parts that the kind does not have are ignored.
    pub const fn from_parts(kind: FetchKind, depth: u32, chain: u8) -> Self {
        match kind {
            FetchKind::Page => Self::Page { depth },
            FetchKind::Embed => Self::Embed { chain },
            FetchKind::Frame => Self::Frame { depth, chain },
            FetchKind::Sitemap => Self::Sitemap { nesting: chain },
            FetchKind::Robots => Self::Robots,
        }
    }

    /// The order of fetching, smallest first: sitemaps, then parts of pages, then pages near a
    /// seed.
    pub fn priority(self) -> u32 {
        match self {
            Self::Robots | Self::Sitemap { .. } => 0,
            Self::Embed { .. } | Self::Frame { .. } => 1,
            Self::Page { depth } => depth.saturating_add(2),
        }
    }

    /// Whether it is fetched as a part of a page.
    pub const fn is_page_part(self) -> bool {
        matches!(self, Self::Embed { .. } | Self::Frame { .. })
    }

    /// Whether more links are followed from it the nearer it is to a seed.
    pub const fn depends_on_depth(self) -> bool {
        matches!(self, Self::Page { .. } | Self::Frame { .. })
    }

    /// Whether it is fetched as a page.
    pub const fn is_page(self) -> bool {
        matches!(self, Self::Page { .. })
    }

    /// The distance from a seed, for comparing two reasons of the same kind.
    pub const fn distance(self) -> (u32, u8) {
        (self.depth(), self.chain())
    }
}

/// A URL to add to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewUrl<'a> {
    /// The page identity: two spellings of one page share it. The page is fetched by the spelling
    /// that came first.
    pub identity: &'a str,
    /// The URL to fetch, unless the page was queued before by another spelling.
    pub url: &'a str,
    /// The host whose queue it joins.
    pub host: &'a str,
    /// Why it is fetched. A page is queued once for each [kind](FetchReason::kind).
    pub reason: FetchReason,
    /// The number of redirects that led to it.
    pub redirects: u8,
    /// Whether it is queued again because it was found at a smaller distance. A page is then queued
    /// once for each distance.
    pub requeued: bool,
    /// URLs with a greater priority are fetched first.
    pub priority: i32,
    /// The number of the page that links to it.
    pub found_on: Option<i64>,
}

/// A URL that a worker has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedUrl {
    /// Its number in the frontier.
    pub no: i64,
    /// The URL.
    pub url: String,
    /// Its host.
    pub host: String,
    /// Why it is fetched.
    pub reason: FetchReason,
    /// The number of redirects that led to it.
    pub redirects: u8,
    /// The number of the page that links to it.
    pub found_on: Option<i64>,
    /// The number of failed attempts.
    pub tries: u32,
}

/// A URL that is claimed or has an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastUrl<'a> {
    /// The URL.
    pub url: &'a str,
    /// Why it is fetched.
    pub reason: FetchReason,
    /// Whether it was captured.
    pub is_done: bool,
}

/// The outcome of a claimed URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierOutcome<'a> {
    /// It was captured.
    Done,
    /// It failed, and is ready again at this instant. The text is a message for the user.
    Again(Moment, &'a str),
    /// It failed for good. The text is a message for the user.
    Failed(&'a str),
    /// It was not fetched. The text names the rule.
    Skipped(&'a str),
}

/// The number of URLs in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontierCounts {
    /// Waiting to be claimed.
    pub ready: u64,
    /// Claimed by a worker.
    pub claimed: u64,
    /// Captured.
    pub done: u64,
    /// Waiting for the instant of their next attempt.
    pub waiting: u64,
    /// Failed for good.
    pub failed: u64,
    /// Skipped by a rule.
    pub skipped: u64,
}

/// A run that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub time: Moment,
    /// Its settings, as JSON.
    pub settings: String,
}

/// Which URLs a worker claims.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a> {
    /// The maximum number of URLs.
    pub limit: usize,
    /// The maximum number of URLs of one host.
    pub per_host: usize,
    /// The present.
    pub now: Moment,
    /// How long the worker keeps its claims unless it claims again or renews its lease.
    pub lease: Duration,
    /// Hosts that must not be requested now.
    pub excluded_hosts: &'a [&'a str],
}

impl ClaimRequest<'_> {
    /// The instant at which the lease expires.
    pub fn lease_until(&self) -> Moment {
        lease_until(self.now, self.lease)
    }
}

/// The instant at which a lease that begins at `now` expires.
pub fn lease_until(now: Moment, lease: Duration) -> Moment {
    let micros = i64::try_from(lease.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(now.micros().saturating_add(micros))
}

/// The queue of one run, as one worker uses it.
pub trait Frontier: Send + Sync {
    /// The run.
    fn run(&self) -> RunId;

    /// The worker that claims through this handle.
    fn worker(&self) -> WorkerId;

    /// The settings of the run, as JSON.
    fn settings(&self) -> Result<String, CatalogError>;

    /// Adds all URLs or none, and returns the number of new ones. A URL that is queued for the same
    /// kind and not claimed yet takes the smaller distance.
    fn push(&self, urls: &[NewUrl<'_>]) -> Result<u64, CatalogError>;

    /// Claims URLs, by priority and then in the order of finding. Hosts take turns. The lease of
    /// this worker is renewed. URLs whose lease has expired, and waiting URLs whose instant has
    /// come, can be claimed.
    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Vec<ClaimedUrl>, CatalogError>;

    /// Extends the lease of this worker, which keeps its claims until then.
    fn renew_lease(&self, until: Moment) -> Result<(), CatalogError>;

    /// Stores the outcomes of URLs that this worker claimed, all or none, and returns the number
    /// that were stored. A URL that this worker does not hold is left as it is.
    fn record_outcomes(&self, outcomes: &[(i64, FrontierOutcome<'_>)]) -> Result<u64, CatalogError>;

    /// Makes all URLs ready that this worker claimed and that have no outcome yet.
    fn release(&self) -> Result<(), CatalogError>;

    /// The number of URLs in each state.
    fn counts(&self) -> Result<FrontierCounts, CatalogError>;

    /// Calls `each` with every URL that is claimed or has an outcome, in the order of finding.
    fn each_past(&self, each: &mut dyn FnMut(PastUrl<'_>)) -> Result<(), CatalogError>;

    /// Calls `each` with every URL that failed for good, its reason and the message, in the order of
    /// finding.
    fn each_failed(&self, each: &mut dyn FnMut(&str, FetchReason, &str)) -> Result<(), CatalogError>;

    /// Whether pages with these identities were ever queued, for any reason and with any outcome.
    fn has_pages(&self, identities: &[&str]) -> Result<Vec<bool>, CatalogError>;

    /// The URL with a number, and the number of the page that links to it.
    fn found_on(&self, no: i64) -> Result<Option<(String, Option<i64>)>, CatalogError>;

    /// The earliest instant at which a waiting URL is ready again.
    fn next_retry_at(&self) -> Result<Option<Moment>, CatalogError>;

    /// Continues the queue under another run id, or with other settings.
    fn continue_as(&mut self, run: RunId, settings: &str) -> Result<(), CatalogError>;

    /// Finishes the run and removes its URLs.
    fn finish(self: Box<Self>) -> Result<(), CatalogError>;
}

/// Begins, resumes and lists runs.
pub trait FrontierStore: Send + Sync {
    /// Begins a run.
    fn begin_run(
        &self,
        run: RunId,
        worker: WorkerId,
        time: Moment,
        settings: &str,
    ) -> Result<Box<dyn Frontier>, CatalogError>;

    /// Joins an unfinished run as a worker. Claims of other workers stay until their leases expire.
    /// Returns `None` if there is no such run.
    fn join_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError>;

    /// Joins an unfinished run whose other workers have all ended: their claims are ready at once.
    fn resume_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError>;

    /// The runs that are not finished, oldest first.
    fn unfinished_runs(&self) -> Result<Vec<OpenRun>, CatalogError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_restored_from_its_parts() {
        for reason in [
            FetchReason::Page { depth: 70_000 },
            FetchReason::Embed { chain: 3 },
            FetchReason::Frame { depth: 70_000, chain: 5 },
            FetchReason::Sitemap { nesting: 2 },
            FetchReason::Robots,
        ] {
            assert_eq!(FetchReason::from_parts(reason.kind(), reason.depth(), reason.chain()), reason);
        }
    }

    #[test]
    fn a_lease_never_overflows() {
        let now = Moment::from_micros(i64::MAX - 1);
        assert_eq!(lease_until(now, Duration::from_secs(60)), now);
    }
}
