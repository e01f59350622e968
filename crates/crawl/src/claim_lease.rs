//! The lease under which this process holds the URLs that it claimed from the frontier.
//!
//! A worker whose lease expires loses its URLs to other workers. Claims extend the lease, but a run
//! may work on what it has claimed, or wait for a host, for longer than a lease lasts. So the
//! dispatcher also renews it at the interval of checkpoints.

use std::time::{Duration, Instant};

use varve_catalog::{CatalogError, Frontier};

use super::checkpoint::CHECKPOINT_INTERVAL;
use super::clock::RunClock;

/// How long this process holds URLs that it claimed, unless it claims again or renews its lease.
pub(crate) const LEASE_DURATION: Duration = Duration::from_secs(10 * 60);

/// The lease of this process.
pub(crate) struct ClaimLease {
    renewed_at: Instant,
}

impl ClaimLease {
    /// A lease that begins now.
    pub(crate) fn new(now: Instant) -> Self {
        Self { renewed_at: now }
    }

    /// Renews the lease if the interval has passed.
    pub(crate) fn renew_if_due(
        &mut self,
        frontier: &dyn Frontier,
        clock: RunClock<'_>,
    ) -> Result<(), CatalogError> {
        if clock.elapsed(self.renewed_at) >= CHECKPOINT_INTERVAL {
            frontier.renew_lease(clock.moment_after(LEASE_DURATION))?;
            self.renewed_at = clock.instant();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use uuid::Uuid;
    use varve_catalog::{CatalogRow, ClaimRequest, FrontierStore};
    use varve_core::headers::Redaction;
    use varve_core::{RunId, WorkerId};
    use varve_fetch::{FetchError, FetchLimits, FetchRequest, Fetched, Fetcher, Pending};
    use varve_testkit::MemoryFrontierStore;

    use super::*;
    use crate::clock::ManualTime;
    use crate::crawl_policy::CrawlPolicy;
    use crate::destination::{Destination, ResponseWriter, ResponseWriters};
    use crate::error::CrawlError;
    use crate::event::CrawlEvent;
    use crate::fetchers::CrawlFetchers;
    use crate::past_captures::{PastLookup, PastQuery};
    use crate::run::{RunInput, run_crawl};
    use crate::settings::CrawlSettings;

    const MINUTE: Duration = Duration::from_secs(60);

    fn run_id() -> RunId {
        RunId::new(Uuid::from_u128(1))
    }

    fn worker(number: u128) -> WorkerId {
        WorkerId::new(Uuid::from_u128(number))
    }

    /// The number of URLs that another worker can claim.
    fn claimable(store: &MemoryFrontierStore, number: u128, time: &ManualTime) -> usize {
        let other = store.join_run(run_id(), worker(number)).unwrap().unwrap();
        let request = ClaimRequest {
            limit: 9,
            per_host: 9,
            now: time.moment(),
            lease: Duration::ZERO,
            excluded_hosts: &[],
        };
        let claimed = other.claim(&request).unwrap();
        other.release().unwrap();
        claimed.len()
    }

    /// A destination that stores nothing.
    struct NoDestination;

    impl Destination for NoDestination {
        fn redaction(&self) -> Redaction {
            Redaction::On
        }
        fn past(&self, _: RunId, queries: &[PastQuery<'_>]) -> Result<Vec<PastLookup>, CrawlError> {
            Ok(queries.iter().map(|_| PastLookup::Nothing).collect())
        }
        fn writers<'w>(
            &'w self,
            _: RunId,
            _: &'w CrawlPolicy,
        ) -> Result<Box<dyn ResponseWriters + 'w>, CrawlError> {
            Ok(Box::new(Self))
        }
        fn save(&self, _: Vec<CatalogRow>) -> Result<(), CrawlError> {
            Ok(())
        }
    }

    impl ResponseWriters for NoDestination {
        fn writer(&self) -> ResponseWriter<'_> {
            Box::new(|task, _| Err(CrawlError::Threads(std::io::Error::other(task.url.to_string()))))
        }
    }

    /// A server that takes half an hour to answer nothing. `rounds` counts the rounds of the
    /// dispatcher that reported progress.
    struct SlowServer {
        time: Arc<ManualTime>,
        rounds: Arc<AtomicU64>,
        store: Arc<MemoryFrontierStore>,
        claimed_by_others: Arc<Mutex<Vec<usize>>>,
    }

    impl SlowServer {
        /// Lets time pass and waits for a round of the dispatcher that began afterwards.
        async fn pass(&self, time: Duration) {
            for step in [time, Duration::from_secs(1)] {
                let before = self.rounds.load(Ordering::SeqCst);
                self.time.advance(step);
                while self.rounds.load(Ordering::SeqCst) == before {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
    }

    impl Fetcher for SlowServer {
        fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
            Box::pin(async move {
                for _ in 0..5 {
                    self.pass(6 * MINUTE).await;
                    let claimed = claimable(&self.store, 2, &self.time);
                    self.claimed_by_others.lock().unwrap().push(claimed);
                }
                Err(FetchError::nothing(&request.url))
            })
        }
    }

    #[test]
    fn a_run_keeps_its_urls_through_a_request_that_outlasts_the_lease() {
        let (time, store) = (Arc::new(ManualTime::new()), Arc::new(MemoryFrontierStore::default()));
        let (rounds, claimed_by_others) = (Arc::new(AtomicU64::new(0)), Arc::default());
        let server = Arc::new(SlowServer {
            time: Arc::clone(&time),
            rounds: Arc::clone(&rounds),
            store: Arc::clone(&store),
            claimed_by_others: Arc::clone(&claimed_by_others),
        });
        let frontier = store.begin_run(run_id(), worker(1), time.moment(), "{}").unwrap();
        let fetchers = CrawlFetchers {
            usual: Arc::clone(&server) as Arc<dyn Fetcher>,
            pages: server,
            gate: None,
            budget: None,
            robots: FetchLimits::default(),
            proxy: None,
            cookies: varve_fetch::CookieJar::new(),
        };
        let settings = CrawlSettings::default().with(|settings| {
            settings.seeds = vec!["http://h/".to_owned()];
            settings.politeness.obey_robots = false;
            settings.politeness.retries = 0;
        });
        let (wall, monotonic) = (|| time.moment(), || time.instant());
        let input = RunInput {
            destination: &NoDestination,
            frontier: &*frontier,
            policy: &CrawlPolicy::new(settings),
            fetchers,
            is_resumed: false,
            threads: 1,
            clock: RunClock::manual(&wall, &monotonic),
            stop: &AtomicBool::new(false),
        };
        let (_, tally, _) = run_crawl(input, &mut |event| {
            if matches!(event, CrawlEvent::Progress(_)) {
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
        assert_eq!(tally.failed, 1);
        assert_eq!(*claimed_by_others.lock().unwrap(), [0; 5]);
    }

    #[test]
    fn urls_are_claimable_when_the_lease_was_not_renewed() {
        let (time, store) = (ManualTime::new(), MemoryFrontierStore::default());
        let (wall, monotonic) = (|| time.moment(), || time.instant());
        let clock = RunClock::manual(&wall, &monotonic);
        let frontier = store.begin_run(run_id(), worker(1), time.moment(), "{}").unwrap();
        let link = crate::discovered_link::DiscoveredLink::new(
            varve_core::url::RequestUrl::parse("http://h/").unwrap(),
            crate::fetch_reason::FetchReason::Page { depth: 0 },
        );
        let entry = crate::task::FrontierEntry::new(link, 0, None, false);
        frontier.push(&[entry.as_new()]).unwrap();
        let request = ClaimRequest {
            limit: 9,
            per_host: 9,
            now: clock.moment(),
            lease: LEASE_DURATION,
            excluded_hosts: &[],
        };
        assert_eq!(frontier.claim(&request).unwrap().len(), 1);
        let mut lease = ClaimLease::new(clock.instant());
        time.advance(9 * MINUTE);
        lease.renew_if_due(&*frontier, clock).unwrap();
        time.advance(9 * MINUTE);
        assert_eq!(claimable(&store, 2, &time), 0, "it was renewed nine minutes ago");
        time.advance(MINUTE);
        assert_eq!(claimable(&store, 2, &time), 1);
    }
}
