//! The thread that runs a crawl: it owns the frontier, decides what is asked next, and sees to it that what is promised
//! is safe.
//!
//! Around it are requests under way ([`fetching`](super::fetching)) and keepers ([`keeper`](super::keeper)); both only
//! answer. The number of requests, of answers that wait for a keeper and of URLs that wait for their host are bounded
//! here, so memory does not grow with the size of a crawl: what is not yet in turn lies in the frontier.
//!
//! | file | does |
//! | --- | --- |
//! | `admit` | decides whether a URL is asked for, and when |
//! | `settle` | takes answers, failures and what follows from them |
//! | `checkpoint` | makes everything safe up to here |

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use varve_catalog::{CatalogRow, ClaimRequest, Frontier, PastUrl};
use varve_core::exchange::Exchange;
use varve_core::trap::{Limits as TrapLimits, Watch};
use varve_core::{Moment, RunId};
use varve_fetch::politeness::{HostTable, NextRequest};

use super::crawl_policy::CrawlPolicy;
use super::destination::Destination;
use super::event::{CrawlEvent, CrawlProgress, CrawlTally};
use super::given_up::GivenUp;
use super::link_backlog::LinkBacklog;
use super::reported_skips::ReportedSkips;
use super::request_pool::{CrawlMessage, RequestPool};
use super::resting::Resting;
use super::robots::RobotsTable;
use super::seen_urls::SeenUrls;
use super::task::{CrawlTask, FrontierEntry};
use super::unfollowed_links::UnfollowedLinks;
use super::writer_pool::{JobInput, WriteJob};
use crate::crawl::error::CrawlError;

/// So many URLs are taken out of the frontier at most.
const WINDOW: usize = 2048;
/// How long this process keeps URLs that it claimed, unless it claims again.
const CLAIM_LEASE: Duration = Duration::from_secs(10 * 60);
/// So many of them for one host.
const WINDOW_OF_HOST: usize = 512;
/// So many answers may wait for a keeper; each has at most a megabyte in memory.
const BACKLOG: usize = 64;
/// So many messages are taken before anything else is looked at.
const MESSAGES: usize = 256;
/// So many URLs may be settled before that is written down.
const MANY: usize = 16 << 10;
/// A frontier that had nothing is asked again after so long.
const PATIENCE: Duration = Duration::from_millis(50);
/// Whether to stop is asked so often.
const BLINK: Duration = Duration::from_millis(100);
/// Whoever stops a run waits so long for answers that are under way, as long as they come.
const GRACE: Duration = Duration::from_secs(1);
/// That none came for so long means that they do not come.
const SILENCE: Duration = Duration::from_millis(400);
/// Progress is told so often.
const TOLD_EVERY: Duration = Duration::from_millis(200);
/// Hosts that progress names.
const NAMED_HOSTS: usize = 5;
/// Forgotten hosts are swept so often.
const SWEPT_EVERY: Duration = Duration::from_secs(30);

/// How a process's share of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnding {
    /// Nothing is left.
    Finished,
    /// It was told to stop.
    Stopped,
    /// Nothing is left but what hosts ask not to be asked for yet, or what is wanted of hosts that were given up.
    Left,
}

/// What became of a URL of the frontier, to be said when everything else is safe.
pub(crate) enum FrontierUpdate {
    Done,
    Failed(String),
    Skipped(String),
    /// Not before this instant.
    Again(Moment),
}

/// What a run works with.
pub(crate) struct CrawlContext<'a> {
    pub(crate) destination: &'a dyn Destination,
    pub(crate) frontier: &'a dyn Frontier,
    pub(crate) plan: &'a CrawlPolicy,
    pub(crate) run: RunId,
    pub(crate) fetching: RequestPool,
    pub(crate) jobs: Sender<WriteJob>,
    pub(crate) backlog: &'a LinkBacklog,
    pub(crate) messages: Receiver<CrawlMessage>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) report: &'a mut dyn FnMut(CrawlEvent<'_>),
}

/// A run, going on.
pub(crate) struct Crawl<'a> {
    pub(super) context: CrawlContext<'a>,
    pub(super) agenda: HostTable<CrawlTask>,
    pub(super) robots: RobotsTable,
    pub(super) resting: Resting,
    pub(super) given_up: GivenUp,
    pub(super) watch: Watch,
    pub(super) known: SeenUrls,
    pub(super) refused: UnfollowedLinks,
    pub(super) denied: ReportedSkips,
    /// Addresses that are being asked for, or wait to be.
    pub(super) busy: HashSet<String>,
    /// Addresses that were captured since the last checkpoint.
    pub(super) fresh: HashSet<String>,
    /// What must wait for the next checkpoint.
    pub(super) deferred: Vec<CrawlTask>,
    /// Answers to what was asked for or captured when they came: which of them count is known after the next checkpoint.
    pub(super) doubtful: Vec<Exchange>,
    /// Leads on their way into the frontier.
    pub(super) entries: Vec<FrontierEntry>,
    pub(super) rows: Vec<CatalogRow>,
    pub(super) settled: Vec<(i64, FrontierUpdate)>,
    /// How many tasks of each host are out of the frontier.
    pub(super) out: HashMap<String, usize>,
    pub(super) out_in_all: usize,
    pub(super) pages_out: u64,
    pub(super) sitemaps: u32,
    pub(super) tally: CrawlTally,
    pub(super) fetching_now: usize,
    pub(super) keeping_now: usize,
    /// Answers of requests that came while keepers were waited for.
    pub(super) inbox: VecDeque<CrawlMessage>,
    pub(super) began: Instant,
    pub(super) checked: Instant,
    told: Instant,
    swept: Instant,
    /// When the frontier last had nothing to give.
    empty_since: Option<Instant>,
}

impl<'a> Crawl<'a> {
    /// A run in these surroundings.
    pub(crate) fn new(around: CrawlContext<'a>) -> Self {
        let now = Instant::now();
        let year = around.destination.present().utc().format("%Y").to_string().parse().unwrap_or(2026);
        let seed =
            around.run.as_bytes().iter().fold(0u64, |seed, byte| seed.rotate_left(8) ^ u64::from(*byte));
        Self {
            agenda: HostTable::new(around.plan.settings.policy(), seed),
            robots: RobotsTable::default(),
            resting: Resting::default(),
            given_up: GivenUp::default(),
            watch: Watch::new(TrapLimits::for_year(year)),
            known: SeenUrls::new(around.plan.settings.depth),
            refused: UnfollowedLinks::default(),
            denied: ReportedSkips::default(),
            context: around,
            busy: HashSet::new(),
            fresh: HashSet::new(),
            deferred: Vec::new(),
            doubtful: Vec::new(),
            entries: Vec::new(),
            rows: Vec::new(),
            settled: Vec::new(),
            out: HashMap::new(),
            out_in_all: 0,
            pages_out: 0,
            sitemaps: 0,
            tally: CrawlTally::default(),
            fetching_now: 0,
            keeping_now: 0,
            inbox: VecDeque::new(),
            began: now,
            checked: now,
            told: now,
            swept: now,
            empty_since: None,
        }
    }

    /// What came of it.
    pub(crate) fn tally(&self) -> CrawlTally {
        self.tally
    }

    /// Runs until nothing is left, or until it is told to stop.
    pub(crate) fn run(&mut self) -> Result<RunEnding, CrawlError> {
        loop {
            if self.context.stop.load(Ordering::Relaxed) {
                return self.wind_down();
            }
            self.fill()?;
            let until = self.dispatch();
            if self.is_idle() {
                // What was only skipped needs no checkpoint of its own.
                if self.deferred.is_empty() && self.settled.len() < MANY && self.claim()? > 0 {
                    continue;
                }
                let left = !self.deferred.is_empty();
                self.checkpoint()?;
                let is_done = !left && self.out_in_all == 0 && self.claim()? == 0;
                if is_done && self.settle_silences()? {
                    continue;
                }
                if is_done && !self.look_again_at_doubts()? {
                    return self.end();
                }
                continue;
            }
            self.listen(until)?;
            if self.checkpoint_is_due() {
                self.checkpoint()?;
            }
            self.tell(until);
        }
    }

    /// Stops: answers that are nearly here are waited for, so that nothing is asked for twice; the others are asked for by whoever resumes.
    fn wind_down(&mut self) -> Result<RunEnding, CrawlError> {
        let (end, mut until) = (Instant::now() + GRACE, Instant::now() + SILENCE);
        while self.fetching_now > 0 && Instant::now() < until.min(end) {
            let under_way = self.fetching_now;
            self.listen(Some(until))?;
            if self.fetching_now < under_way {
                until = Instant::now() + SILENCE;
            }
        }
        self.context.fetching.give_up();
        self.checkpoint()?;
        self.list_refused()?;
        self.tell_given_up();
        Ok(RunEnding::Stopped)
    }

    /// Says how it ended, when there is nothing more to do.
    fn end(&mut self) -> Result<RunEnding, CrawlError> {
        self.list_refused()?;
        self.tell_given_up();
        let counts = self.context.frontier.counts()?;
        let left = counts.ready + counts.claimed + counts.waiting > 0;
        Ok(if left { RunEnding::Left } else { RunEnding::Finished })
    }

    /// Whether nothing is under way, and nothing waits for a host.
    fn is_idle(&self) -> bool {
        self.fetching_now == 0
            && self.keeping_now == 0
            && self.inbox.is_empty()
            && self.agenda.waiting() == 0
            && self.robots.waiting() == 0
            && self.entries.is_empty()
    }

    /// Takes more out of the frontier, if there is room.
    fn fill(&mut self) -> Result<(), CrawlError> {
        let hungry = self.agenda.waiting() < self.context.plan.settings.concurrency * 2;
        if self.has_many_entries() || (hungry && !self.entries.is_empty()) {
            self.push_entries()?;
        }
        let rests = self.empty_since.is_some_and(|since| since.elapsed() < PATIENCE);
        if hungry && !rests && self.out_in_all < WINDOW {
            self.claim()?;
        }
        Ok(())
    }

    /// Whether so many leads wait that they should go into the frontier now.
    pub(super) fn has_many_entries(&self) -> bool {
        self.entries.len() >= WINDOW
    }

    /// Puts leads into the frontier.
    pub(super) fn push_entries(&mut self) -> Result<(), CrawlError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let new: Vec<_> = self.entries.iter().map(FrontierEntry::as_new).collect();
        if self.context.frontier.push(&new)? > 0 {
            self.empty_since = None;
        }
        self.entries.clear();
        Ok(())
    }

    /// Takes URLs out of the frontier; says how many.
    fn claim(&mut self) -> Result<usize, CrawlError> {
        let room = WINDOW.saturating_sub(self.out_in_all);
        let (out, resting, given_up) = (&self.out, &self.resting, &self.given_up);
        let busy = out.iter().filter(|(_, out)| **out >= WINDOW_OF_HOST / 2).map(|(host, _)| host.as_str());
        let excluded_hosts: Vec<&str> = busy.chain(resting.hosts()).chain(given_up.closed_hosts()).collect();
        let claimed = self.context.frontier.claim(&ClaimRequest {
            limit: room,
            per_host: WINDOW_OF_HOST / 2,
            now: self.context.destination.present(),
            lease: CLAIM_LEASE,
            excluded_hosts: &excluded_hosts,
        })?;
        self.empty_since = claimed.is_empty().then(Instant::now);
        let count = claimed.len();
        for claimed in claimed {
            self.consider(CrawlTask::claimed(claimed))?;
        }
        Ok(count)
    }

    /// Begins as many requests as may be; says until when there is nothing to begin.
    fn dispatch(&mut self) -> Option<Instant> {
        self.keep_to_limits();
        while self.fetching_now < self.context.plan.settings.concurrency.max(1) && self.keeping_now < BACKLOG
        {
            match self.agenda.next(Instant::now()) {
                NextRequest::Ask { item, tries, .. } => {
                    self.fetching_now += 1;
                    let until = self.until();
                    self.context.fetching.ask(item, tries, until);
                }
                NextRequest::Wait(until) => return Some(until),
                NextRequest::UnderWay | NextRequest::Empty => return None,
            }
        }
        None
    }

    /// Hands something to a keeper.
    pub(super) fn give(&mut self, task: CrawlTask, material: JobInput) {
        self.keeping_now += 1;
        let sent = self.context.jobs.send(WriteJob { task, material });
        sent.expect("keepers listen for as long as the run goes on");
    }

    /// Waits for messages, and deals with them.
    fn listen(&mut self, until: Option<Instant>) -> Result<(), CrawlError> {
        let wait = until.map_or(BLINK, |until| until.saturating_duration_since(Instant::now()).min(BLINK));
        let first = match self.inbox.pop_front() {
            Some(message) => message,
            None => match self.context.messages.recv_timeout(wait) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            },
        };
        self.take(first)?;
        for _ in 0..MESSAGES {
            let Some(message) = self.inbox.pop_front().or_else(|| self.context.messages.try_recv().ok())
            else {
                break;
            };
            self.take(message)?;
        }
        Ok(())
    }

    fn take(&mut self, message: CrawlMessage) -> Result<(), CrawlError> {
        match message {
            CrawlMessage::Fetched(fetched) => self.fetched(*fetched),
            CrawlMessage::Kept(kept) => self.kept(*kept),
            CrawlMessage::Asked(inquiry) => self.asked(inquiry),
            CrawlMessage::Recall(recall) => self.give_again(recall),
        }
    }

    fn tell(&mut self, until: Option<Instant>) {
        if self.told.elapsed() < TOLD_EVERY {
            return;
        }
        self.told = Instant::now();
        if self.swept.elapsed() > SWEPT_EVERY {
            self.swept = self.told;
            self.agenda.forget_idle_hosts(self.told);
        }
        let queued = self.context.frontier.counts().map_or(0, |counts| counts.ready + counts.claimed);
        let hosts = self.out.keys().take(NAMED_HOSTS).cloned().collect();
        let is_at_rest = self.fetching_now == 0 && self.keeping_now == 0;
        let rests = until.filter(|_| is_at_rest).map(|until| until.saturating_duration_since(Instant::now()));
        let progress =
            CrawlProgress { tally: self.tally, queued, in_flight: self.fetching_now, hosts, idle_for: rests };
        (self.context.report)(CrawlEvent::Progress(&progress));
    }
}

impl Crawl<'_> {
    /// Learns again what an earlier process of the same run had learned.
    pub(crate) fn recall(&mut self) -> Result<(), CrawlError> {
        let (known, watch, plan) = (&mut self.known, &mut self.watch, self.context.plan);
        self.tally.failed_before = self.context.frontier.counts()?.failed;
        let given_up = &mut self.given_up;
        given_up.resume();
        self.context.frontier.each_past(&mut |past| {
            let PastUrl { url, reason, is_done } = past;
            if is_done {
                given_up.gave(url);
            }
            if reason.depends_on_depth() {
                let address = plan.address(url);
                known.recall(&address, reason);
                if reason.is_page() && reason.depth() > 0 {
                    let _ = watch.note(&address);
                }
            }
        })?;
        Ok(())
    }
}
