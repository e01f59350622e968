//! A frontier in memory: the contract in its plainest form, and a second implementation of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::catalog::CatalogError;
use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, FetchReason, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl,
    OpenRun, PastUrl,
};
use varve_core::{Moment, RunId, WorkerId};

/// The frontiers of all runs, in memory.
#[derive(Clone, Default)]
pub struct MemoryFrontierStore {
    runs: Arc<Mutex<Vec<Arc<Mutex<MemoryRun>>>>>,
}

struct MemoryRun {
    open: OpenRun,
    finished: bool,
    urls: Vec<MemoryUrl>,
    /// Hosts in the order of their first URL.
    hosts: Vec<String>,
    leases: Vec<(WorkerId, Moment)>,
}

struct MemoryUrl {
    identity: String,
    url: String,
    host: String,
    reason: FetchReason,
    redirects: u8,
    requeued: bool,
    priority: i32,
    found_on: Option<i64>,
    tries: u32,
    state: MemoryUrlState,
    message: String,
}

#[derive(Clone, Copy, PartialEq)]
enum MemoryUrlState {
    Ready,
    Claimed(WorkerId),
    Done,
    Waiting(Moment),
    Failed,
    Skipped,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryRun {
    /// Makes URLs ready that a condition on their state selects.
    fn make_ready(&mut self, is_selected: impl Fn(MemoryUrlState) -> bool) {
        self.urls
            .iter_mut()
            .filter(|url| is_selected(url.state))
            .for_each(|url| url.state = MemoryUrlState::Ready);
    }

    fn push(&mut self, new: &NewUrl<'_>) -> bool {
        let same_page: Vec<usize> =
            (0..self.urls.len()).filter(|&at| self.urls[at].identity == new.identity).collect();
        let is_known = |at: &&usize| {
            let url = &self.urls[**at];
            let same_kind = url.reason.kind() == new.reason.kind() && url.requeued == new.requeued;
            same_kind && (!new.requeued || url.reason.distance() == new.reason.distance())
        };
        if let Some(&at) = same_page.iter().find(is_known) {
            let url = &mut self.urls[at];
            let is_queued = matches!(url.state, MemoryUrlState::Ready | MemoryUrlState::Waiting(_));
            if is_queued && new.reason.distance() < url.reason.distance() {
                url.reason = new.reason;
            }
            return false;
        }
        let spelling = same_page.first().map_or(new.url, |&at| self.urls[at].url.as_str()).to_owned();
        if !self.hosts.iter().any(|host| host == new.host) {
            self.hosts.push(new.host.to_owned());
        }
        self.urls.push(MemoryUrl {
            identity: new.identity.to_owned(),
            url: spelling,
            host: new.host.to_owned(),
            reason: new.reason,
            redirects: new.redirects,
            requeued: new.requeued,
            priority: new.priority,
            found_on: new.found_on,
            tries: 0,
            state: MemoryUrlState::Ready,
            message: String::new(),
        });
        true
    }

    fn renew_lease(&mut self, worker: WorkerId, until: Moment) {
        self.leases.retain(|(other, _)| *other != worker);
        self.leases.push((worker, until));
    }

    fn claim_of_host(&mut self, host: &str, worker: WorkerId, limit: usize) -> Vec<ClaimedUrl> {
        let mut ready: Vec<usize> = (0..self.urls.len())
            .filter(|&at| self.urls[at].host == host && self.urls[at].state == MemoryUrlState::Ready)
            .collect();
        ready.sort_by_key(|&at| std::cmp::Reverse(self.urls[at].priority));
        ready.truncate(limit);
        let mut claim = |at: usize| {
            let url = &mut self.urls[at];
            url.state = MemoryUrlState::Claimed(worker);
            ClaimedUrl {
                no: at as i64,
                url: url.url.clone(),
                host: url.host.clone(),
                reason: url.reason,
                redirects: url.redirects,
                found_on: url.found_on,
                tries: url.tries,
            }
        };
        ready.into_iter().map(&mut claim).collect()
    }
}

/// The queue of one run, in memory.
struct MemoryFrontier {
    shared: Arc<Mutex<MemoryRun>>,
    worker: WorkerId,
    /// The position of the host that comes next.
    next_host: Mutex<usize>,
}

impl MemoryFrontierStore {
    fn find(&self, run: RunId) -> Option<Arc<Mutex<MemoryRun>>> {
        let is_open = |shared: &&Arc<Mutex<MemoryRun>>| {
            let one = lock(shared);
            one.open.run == run && !one.finished
        };
        lock(&self.runs).iter().find(is_open).cloned()
    }
}

impl FrontierStore for MemoryFrontierStore {
    fn begin_run(
        &self,
        run: RunId,
        worker: WorkerId,
        time: Moment,
        settings: &str,
    ) -> Result<Box<dyn Frontier>, CatalogError> {
        let open = OpenRun { run, time, settings: settings.to_owned() };
        let new =
            MemoryRun { open, finished: false, urls: Vec::new(), hosts: Vec::new(), leases: Vec::new() };
        let shared = Arc::new(Mutex::new(new));
        lock(&self.runs).push(Arc::clone(&shared));
        Ok(Box::new(MemoryFrontier { shared, worker, next_host: Mutex::new(0) }))
    }

    fn join_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        let handle = |shared| {
            Box::new(MemoryFrontier { shared, worker, next_host: Mutex::new(0) }) as Box<dyn Frontier>
        };
        Ok(self.find(run).map(handle))
    }

    fn resume_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        if let Some(shared) = self.find(run) {
            lock(&shared).make_ready(|state| matches!(state, MemoryUrlState::Claimed(_)));
        }
        self.join_run(run, worker)
    }

    fn unfinished_runs(&self) -> Result<Vec<OpenRun>, CatalogError> {
        let runs = lock(&self.runs);
        let open = runs.iter().map(|shared| lock(shared)).filter(|one| !one.finished);
        Ok(open.map(|one| one.open.clone()).collect())
    }
}

impl Frontier for MemoryFrontier {
    fn run(&self) -> RunId {
        lock(&self.shared).open.run
    }

    fn worker(&self) -> WorkerId {
        self.worker
    }

    fn settings(&self) -> Result<String, CatalogError> {
        Ok(lock(&self.shared).open.settings.clone())
    }

    fn push(&self, urls: &[NewUrl<'_>]) -> Result<u64, CatalogError> {
        let mut shared = lock(&self.shared);
        Ok(urls.iter().filter(|url| shared.push(url)).count() as u64)
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Vec<ClaimedUrl>, CatalogError> {
        let (mut shared, mut next_host) = (lock(&self.shared), lock(&self.next_host));
        shared.renew_lease(self.worker, request.lease_until());
        let expired: Vec<WorkerId> = shared
            .leases
            .iter()
            .filter(|(_, until)| *until <= request.now)
            .map(|(worker, _)| *worker)
            .collect();
        shared.make_ready(|state| match state {
            MemoryUrlState::Claimed(holder) => expired.contains(&holder),
            MemoryUrlState::Waiting(until) => until <= request.now,
            _ => false,
        });
        let (hosts, start) = (shared.hosts.clone(), *next_host);
        let mut claimed = Vec::new();
        for at in (0..hosts.len()).map(|turn| (start + turn) % hosts.len()) {
            let limit = request.per_host.min(request.limit - claimed.len());
            if limit > 0 && !request.excluded_hosts.contains(&hosts[at].as_str()) {
                let found = shared.claim_of_host(&hosts[at], self.worker, limit);
                if !found.is_empty() {
                    *next_host = at + 1;
                }
                claimed.extend(found);
            }
        }
        Ok(claimed)
    }

    fn renew_lease(&self, until: Moment) -> Result<(), CatalogError> {
        lock(&self.shared).renew_lease(self.worker, until);
        Ok(())
    }

    fn record_outcomes(&self, outcomes: &[(i64, FrontierOutcome<'_>)]) -> Result<u64, CatalogError> {
        let mut shared = lock(&self.shared);
        let mut recorded = 0;
        for (no, outcome) in outcomes {
            let url = usize::try_from(*no).ok().and_then(|at| shared.urls.get_mut(at));
            let Some(url) = url.filter(|url| url.state == MemoryUrlState::Claimed(self.worker)) else {
                continue;
            };
            (url.state, url.tries) = match outcome {
                FrontierOutcome::Done => (MemoryUrlState::Done, url.tries),
                FrontierOutcome::Again(until, _) => (MemoryUrlState::Waiting(*until), url.tries + 1),
                FrontierOutcome::Failed(_) => (MemoryUrlState::Failed, url.tries + 1),
                FrontierOutcome::Skipped(_) => (MemoryUrlState::Skipped, url.tries),
            };
            if let FrontierOutcome::Failed(message) = outcome {
                url.message = (*message).to_owned();
            }
            recorded += 1;
        }
        Ok(recorded)
    }

    fn release(&self) -> Result<(), CatalogError> {
        lock(&self.shared).make_ready(|state| state == MemoryUrlState::Claimed(self.worker));
        Ok(())
    }

    fn counts(&self) -> Result<FrontierCounts, CatalogError> {
        let mut counts = FrontierCounts::default();
        for url in &lock(&self.shared).urls {
            *match url.state {
                MemoryUrlState::Ready => &mut counts.ready,
                MemoryUrlState::Claimed(_) => &mut counts.claimed,
                MemoryUrlState::Done => &mut counts.done,
                MemoryUrlState::Waiting(_) => &mut counts.waiting,
                MemoryUrlState::Failed => &mut counts.failed,
                MemoryUrlState::Skipped => &mut counts.skipped,
            } += 1;
        }
        Ok(counts)
    }

    fn each_past(&self, each: &mut dyn FnMut(PastUrl<'_>)) -> Result<(), CatalogError> {
        for url in lock(&self.shared).urls.iter().filter(|url| url.state != MemoryUrlState::Ready) {
            each(PastUrl { url: &url.url, reason: url.reason, is_done: url.state == MemoryUrlState::Done });
        }
        Ok(())
    }

    fn each_failed(&self, each: &mut dyn FnMut(&str, FetchReason, &str)) -> Result<(), CatalogError> {
        let shared = lock(&self.shared);
        let failed = shared.urls.iter().filter(|url| url.state == MemoryUrlState::Failed);
        failed.for_each(|url| each(&url.url, url.reason, &url.message));
        Ok(())
    }

    fn has_pages(&self, identities: &[&str]) -> Result<Vec<bool>, CatalogError> {
        let shared = lock(&self.shared);
        let has = |identity: &&str| shared.urls.iter().any(|url| url.identity == *identity);
        Ok(identities.iter().map(has).collect())
    }

    fn found_on(&self, no: i64) -> Result<Option<(String, Option<i64>)>, CatalogError> {
        let shared = lock(&self.shared);
        let url = usize::try_from(no).ok().and_then(|at| shared.urls.get(at));
        Ok(url.map(|url| (url.url.clone(), url.found_on)))
    }

    fn next_retry_at(&self) -> Result<Option<Moment>, CatalogError> {
        let waiting = |url: &MemoryUrl| match url.state {
            MemoryUrlState::Waiting(until) => Some(until),
            _ => None,
        };
        Ok(lock(&self.shared).urls.iter().filter_map(waiting).min())
    }

    fn continue_as(&mut self, run: RunId, settings: &str) -> Result<(), CatalogError> {
        let mut shared = lock(&self.shared);
        shared.open = OpenRun { run, settings: settings.to_owned(), time: shared.open.time };
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), CatalogError> {
        let mut shared = lock(&self.shared);
        shared.finished = true;
        shared.urls.clear();
        Ok(())
    }
}
