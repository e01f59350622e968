//! Days of crawling, without a clock.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const OK: RequestOutcome = RequestOutcome::answered(200);

fn policy() -> PolitenessPolicy {
    PolitenessPolicy { delay: SECOND, ..PolitenessPolicy::default() }
}

/// A table with its own idea of the time.
struct World {
    hosts: HostTable<u32>,
    start: Instant,
    now: Instant,
}

impl World {
    fn new(policy: PolitenessPolicy) -> Self {
        let start = Instant::now();
        Self { hosts: HostTable::new(policy, 1), start, now: start }
    }

    fn push(&mut self, host: &str, items: impl IntoIterator<Item = u32>) {
        for item in items {
            self.hosts.push(host, item, self.now);
        }
    }

    /// The seconds since the start.
    fn seconds(&self) -> f64 {
        (self.now - self.start).as_secs_f64()
    }

    /// Waits until something is to be asked.
    fn ask(&mut self) -> Option<(Box<str>, u32, u32)> {
        loop {
            match self.hosts.next(self.now) {
                NextRequest::Send { host, item, tries } => return Some((host, item, tries)),
                NextRequest::Wait(then) => {
                    assert!(then > self.now, "waiting moves on");
                    self.now = then;
                }
                NextRequest::InFlight | NextRequest::Empty => return None,
            }
        }
    }

    /// Waits until something is to be asked, and ends it at once in that way.
    fn step(&mut self, outcome: RequestOutcome) -> (u32, f64, RequestVerdict<u32>) {
        let (host, item, tries) = self.ask().expect("something waits");
        let at = self.seconds();
        (item, at, self.hosts.done(&host, item, tries, outcome, self.now))
    }
}

#[test]
fn withdrawn_requests_are_not_sent() {
    let now = Instant::now();
    let mut hosts: HostTable<u32> =
        HostTable::new(PolitenessPolicy { delay: Duration::ZERO, ..PolitenessPolicy::default() }, 1);
    for number in 0..6 {
        hosts.push(if number % 2 == 0 { "even" } else { "odd" }, number, now);
    }
    let mut withdrawn = hosts.withdraw(|number| *number < 4);
    withdrawn.sort_unstable();
    assert_eq!((withdrawn, hosts.waiting()), (vec![0, 1, 2, 3], 2));
    let mut asked = Vec::new();
    while let NextRequest::Send { host, item, tries } = hosts.next(now) {
        asked.push(item);
        hosts.done(&host, item, tries, OK, now);
    }
    assert_eq!((asked, hosts.waiting()), (vec![4, 5], 0));
    assert!(hosts.withdraw(|_| true).is_empty());
}

#[test]
fn requests_of_a_host_are_sent_in_order_with_a_delay() {
    let mut world = World::new(policy());
    world.push("a", 1..=3);
    assert_eq!(world.step(OK), (1, 0.0, RequestVerdict::Done(1)));
    let (host, item, tries) = world.ask().unwrap();
    assert_eq!((item, world.seconds()), (2, 1.0));
    world.now += 5 * SECOND;
    world.hosts.done(&host, item, tries, OK, world.now);
    assert_eq!(world.step(OK), (3, 7.0, RequestVerdict::Done(3)));
    assert_eq!(world.hosts.next(world.now), NextRequest::Empty);
}

#[test]
fn a_slow_host_does_not_delay_another() {
    let mut world = World::new(policy());
    world.push("slow", 1..=2);
    world.push("quick", 11..=12);
    let (slow, first, tries) = world.ask().unwrap();
    assert_eq!(first, 1);
    assert_eq!(world.step(OK).0, 11);
    assert_eq!(world.step(OK).0, 12);
    assert_eq!(world.hosts.next(world.now + 100 * SECOND), NextRequest::InFlight);
    world.hosts.done(&slow, first, tries, OK, world.now);
    assert_eq!(world.step(OK).0, 2);
}

#[test]
fn ready_hosts_alternate() {
    let mut world = World::new(PolitenessPolicy { delay: Duration::ZERO, ..policy() });
    for host in ["a", "b", "c"] {
        world.push(host, 0..3);
    }
    let mut order = String::new();
    while let Some((host, item, tries)) = world.ask() {
        order.push_str(&host);
        world.hosts.done(&host, item, tries, OK, world.now);
    }
    assert_eq!(order, "abcabcabc");
}

#[test]
fn no_more_connections_than_the_budget() {
    let mut world =
        World::new(PolitenessPolicy { delay: Duration::ZERO, connections_per_host: 3, ..policy() });
    world.push("a", 0..5);
    let in_flight: Vec<_> = std::iter::from_fn(|| world.ask()).collect();
    assert_eq!((in_flight.len(), world.hosts.in_flight(), world.hosts.waiting()), (3, 3, 2));
    world.hosts.done("a", 0, 0, OK, world.now);
    assert_eq!(world.ask().unwrap().1, 3);
    assert_eq!(world.ask(), None);
}

#[test]
fn a_crawl_delay_is_limited_and_never_shortens_the_delay() {
    for (asked, waited) in [(10, 10.0), (1000, 30.0), (0, 1.0)] {
        let mut world = World::new(policy());
        world.hosts.set_crawl_delay("a", asked * SECOND);
        world.push("a", 1..=2);
        world.step(OK);
        assert_eq!(world.step(OK).1, waited, "{asked}");
    }
}

#[test]
fn retry_after_is_waited_for_up_to_its_limit() {
    for (asked, waited) in [(100, 100.0), (1_000_000, 3600.0), (0, 1.0)] {
        let mut world = World::new(policy());
        world.push("a", 1..=2);
        let outcome = RequestOutcome::Answered { status: 429, retry_after: Some(asked * SECOND) };
        assert_eq!(world.step(outcome).2, RequestVerdict::Again);
        assert_eq!(world.step(OK), (1, waited, RequestVerdict::Done(1)), "{asked}");
    }
}

#[test]
fn pauses_grow_with_failures_and_retries_end() {
    let mut world = World::new(policy());
    world.push("a", 1..=2);
    let mut last = 0.0;
    let mut pauses = Vec::new();
    for tries in 0..4 {
        let (item, at, verdict) = world.step(RequestOutcome::answered(503));
        assert_eq!((item, verdict == RequestVerdict::Again), (1, tries < 3));
        pauses.push(at - last);
        last = at;
    }
    for (pause, whole) in pauses[1..].iter().zip([2.0, 4.0, 8.0]) {
        assert!(*pause >= whole / 2.0 && *pause <= whole, "{pauses:?}");
    }
    let (item, at, _) = world.step(OK);
    assert!(item == 2 && at - last >= 8.0, "the host is still in trouble");
    world.push("a", [3, 4]);
    world.step(OK);
    let before = world.seconds();
    assert_eq!(world.step(OK).1 - before, 1.0, "and then no longer");
}

#[test]
fn a_request_that_fails_alone_is_retried_after_the_others() {
    let mut world = World::new(policy());
    world.push("a", 1..=3);
    assert_eq!(world.step(RequestOutcome::answered(500)).2, RequestVerdict::Again);
    assert_eq!((world.step(OK).0, world.step(OK).0), (2, 3));
    for _ in 0..2 {
        assert_eq!(world.step(RequestOutcome::answered(500)).2, RequestVerdict::Again);
    }
    assert_eq!(world.step(RequestOutcome::answered(500)).2, RequestVerdict::GivenUp(1));
    assert!(world.seconds() > 4.0 + 1.0, "alone, it waits");
    assert_eq!(world.hosts.next(world.now), NextRequest::Empty);
}

#[test]
fn a_hopeless_request_is_given_up_without_a_pause() {
    let mut world = World::new(policy());
    world.push("a", 1..=2);
    assert_eq!(world.step(RequestOutcome::PermanentFailure), (1, 0.0, RequestVerdict::GivenUp(1)));
    assert_eq!(world.step(RequestOutcome::answered(404)), (2, 1.0, RequestVerdict::Done(2)));
}

#[test]
fn a_dead_host_is_given_up_with_its_queue() {
    let mut world = World::new(PolitenessPolicy { failures_per_host: 5, ..policy() });
    world.push("dead", 0..1000);
    world.push("alive", [7000]);
    let mut given_up = Vec::new();
    let mut asked = 0;
    while let Some((host, item, tries)) = world.ask() {
        let outcome = if &*host == "dead" { RequestOutcome::Failed } else { OK };
        asked += usize::from(&*host == "dead");
        match world.hosts.done(&host, item, tries, outcome, world.now) {
            RequestVerdict::GivenUp(item) => given_up.push(item),
            RequestVerdict::HostGivenUp(items) => given_up.extend(items),
            RequestVerdict::Again | RequestVerdict::Done(_) => {}
        }
    }
    given_up.sort_unstable();
    assert_eq!(given_up, (0..1000).collect::<Vec<_>>());
    assert_eq!((asked, world.hosts.waiting()), (5, 0));
}

#[test]
fn a_hundred_thousand_hosts_are_scheduled() {
    let mut world = World::new(policy());
    for item in 0..200_000u32 {
        world.hosts.push(&format!("host-{}.example", item % 100_000), item, world.now);
    }
    assert_eq!(world.hosts.hosts(), 100_000);
    let mut asked = 0;
    while let Some((host, item, tries)) = world.ask() {
        world.hosts.done(&host, item, tries, OK, world.now);
        asked += 1;
    }
    assert_eq!((asked, world.seconds()), (200_000, 1.0));
    world.hosts.forget_idle_hosts(world.now);
    assert_eq!(world.hosts.hosts(), 100_000, "their delay is still running");
    world.hosts.forget_idle_hosts(world.now + 2 * SECOND);
    assert_eq!(world.hosts.hosts(), 0);
    world.push("new", [1]);
    assert_eq!(world.step(OK).2, RequestVerdict::Done(1));
}

/// What happens in a made-up crawl.
#[derive(Clone, Debug)]
enum Event {
    Push(u8),
    Ask,
    End(usize, RequestOutcome),
    Pass(u16),
    CrawlDelay(u8, u8),
    Forget,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let status = prop_oneof![Just(200u16), Just(404), Just(429), Just(500), Just(503)];
    let outcome = prop_oneof![
        4 => (status, proptest::option::of(0u64..100)).prop_map(|(status, wait)| RequestOutcome::Answered {
            status,
            retry_after: wait.map(Duration::from_secs)
        }),
        1 => Just(RequestOutcome::Failed),
        1 => Just(RequestOutcome::PermanentFailure),
    ];
    let event = prop_oneof![
        3 => (0u8..4).prop_map(Event::Push),
        4 => Just(Event::Ask),
        3 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Event::End(which, outcome)),
        2 => (0u16..3000).prop_map(Event::Pass),
        1 => (0u8..4, 0u8..60).prop_map(|(host, delay)| Event::CrawlDelay(host, delay)),
        1 => Just(Event::Forget),
    ];
    proptest::collection::vec(event, 0..200)
}

proptest! {
    /// Nothing is lost, nothing comes twice, no host gets more connections or sooner than it
    /// should.
    #[test]
    fn the_policy_holds_in_any_crawl(events in events(), connections in 1usize..3) {
        let policy = PolitenessPolicy { connections_per_host: connections, failures_per_host: 4, ..policy() };
        let mut world = World::new(policy);
        let mut out: Vec<(Box<str>, u32, u32)> = Vec::new();
        let (mut pushed, mut ended) = (0u32, 0u32);
        let mut last_start: HashMap<Box<str>, Instant> = HashMap::new();
        for event in events {
            match event {
                Event::Push(host) => {
                    world.push(&host.to_string(), [pushed]);
                    pushed += 1;
                }
                Event::Ask => if let NextRequest::Send { host, item, tries } = world.hosts.next(world.now) {
                    let before = last_start.insert(host.clone(), world.now);
                    prop_assert!(before.is_none_or(|before| world.now - before >= SECOND));
                    out.push((host, item, tries));
                    let same = out.iter().filter(|(host, ..)| *host == out[out.len() - 1].0).count();
                    prop_assert!(same <= connections);
                }
                Event::End(which, outcome) if !out.is_empty() => {
                    let (host, item, tries) = out.swap_remove(which % out.len());
                    prop_assert!(tries <= policy.retries);
                    ended += match world.hosts.done(&host, item, tries, outcome, world.now) {
                        RequestVerdict::Done(_) | RequestVerdict::GivenUp(_) => 1,
                        RequestVerdict::HostGivenUp(items) => u32::try_from(items.len()).unwrap(),
                        RequestVerdict::Again => 0,
                    };
                }
                Event::End(..) => {}
                Event::Pass(millis) => world.now += Duration::from_millis(millis.into()),
                Event::CrawlDelay(host, delay) => {
                    world.hosts.set_crawl_delay(&host.to_string(), SECOND * delay.into());
                }
                Event::Forget => world.hosts.forget_idle_hosts(world.now),
            }
            let known = world.hosts.waiting() + world.hosts.in_flight() + ended as usize;
            prop_assert_eq!(known, pushed as usize);
        }
        for (host, item, tries) in std::mem::take(&mut out) {
            world.hosts.done(&host, item, tries, OK, world.now);
            ended += 1;
        }
        while let Some((host, item, tries)) = world.ask() {
            world.hosts.done(&host, item, tries, OK, world.now);
            ended += 1;
        }
        prop_assert_eq!(ended, pushed);
        prop_assert_eq!(world.hosts.next(world.now), NextRequest::Empty);
    }
}

#[test]
fn a_host_that_never_answers_costs_the_attempts_of_one_request() {
    let mut world = World::new(policy());
    world.push("dead", 0..30);
    let mut asked = Vec::new();
    while let Some((host, item, tries)) = world.ask() {
        asked.push(item);
        match world.hosts.done(&host, item, tries, RequestOutcome::Silent, world.now) {
            RequestVerdict::HostGivenUp(items) => assert_eq!(items, (1..30).collect::<Vec<u32>>()),
            RequestVerdict::GivenUp(item) => assert_eq!(item, 0),
            verdict => assert_eq!(verdict, RequestVerdict::Again),
        }
    }
    // The first as often as anything is tried; then another, for the first alone may be slow.
    assert_eq!(asked, [0, 0, 0, 0, 1]);
    // A later caller finds out with one request whether the host answers again.
    world.push("dead", 30..33);
    assert!(
        matches!(world.step(RequestOutcome::Silent).2, RequestVerdict::HostGivenUp(items) if items == [30, 31, 32])
    );
    world.push("dead", 33..35);
    assert_eq!(world.step(OK).2, RequestVerdict::Done(33));
    assert_eq!(world.step(RequestOutcome::Silent).2, RequestVerdict::Again);
}

#[test]
fn one_slow_request_does_not_make_its_host_dead() {
    let mut world = World::new(PolitenessPolicy { retries: 0, ..policy() });
    world.push("h", 0..4);
    assert_eq!(world.step(RequestOutcome::Silent).2, RequestVerdict::GivenUp(0));
    assert_eq!(world.step(OK).2, RequestVerdict::Done(1));
    assert_eq!(world.step(RequestOutcome::Silent).2, RequestVerdict::GivenUp(2));
    assert_eq!(world.step(RequestOutcome::Silent).2, RequestVerdict::GivenUp(3));
}

/// A page in a browser: its own requests take turns.
#[derive(Debug, PartialEq, Eq)]
struct BrowserPage(u32);

impl QueuedRequest for BrowserPage {
    fn takes_turns(&self) -> bool {
        self.0 == 0
    }
}

/// Turns and queued requests share the delay and the connections of their host.
#[test]
fn requests_of_a_page_obey_the_delay_of_their_host() {
    let (start, mut hosts): (_, HostTable<BrowserPage>) = (Instant::now(), HostTable::new(policy(), 1));
    hosts.push("h", BrowserPage(0), start);
    hosts.push("h", BrowserPage(1), start);
    let NextRequest::Send { host, item: page, tries } = hosts.next(start) else { panic!("no page") };
    assert_eq!(hosts.next(start), NextRequest::InFlight, "one at a time");
    hosts.push_turn("h", BrowserPage(2));
    hosts.push_turn("h", BrowserPage(3));
    hosts.push_turn("other", BrowserPage(4));
    let turn = |hosts: &mut HostTable<BrowserPage>, now| match hosts.next_turn(now) {
        NextTurn::Send { item, .. } => Some(item.0),
        NextTurn::Wait(_) | NextTurn::None => None,
    };
    assert_eq!(turn(&mut hosts, start), Some(2), "the page itself takes no connection");
    assert_eq!(turn(&mut hosts, start), Some(4));
    assert_eq!(turn(&mut hosts, start + SECOND), None, "the connection is in use");
    hosts.turn_done("h", start + SECOND);
    assert_eq!(hosts.next_turn(start + SECOND), NextTurn::Wait(start + 2 * SECOND));
    assert_eq!(turn(&mut hosts, start + 2 * SECOND), Some(3));
    assert_eq!(hosts.done(&host, page, tries, OK, start + 2 * SECOND), RequestVerdict::Done(BrowserPage(0)));
    assert_eq!(hosts.next(start + 9 * SECOND), NextRequest::Empty, "the connection is in use");
    hosts.turn_done("h", start + 3 * SECOND);
    assert!(matches!(hosts.next(start + 4 * SECOND), NextRequest::Send { item: BrowserPage(1), .. }));
}
