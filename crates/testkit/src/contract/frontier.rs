//! The contract of a frontier: every URL once, hosts in turn, leases that expire.

use std::time::Duration;

use uuid::Uuid;
use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, FetchReason, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl,
    PastUrl,
};
use varve_core::{Moment, RunId, WorkerId};

/// How long claims last in the suite.
const TEST_LEASE: Duration = Duration::from_secs(60);

/// Runs the suite. `new_store` returns an empty store each time.
pub fn frontier(new_store: &dyn Fn() -> Box<dyn FrontierStore>) {
    for law in [
        pages_are_queued_once_at_their_smallest_distance,
        one_spelling_is_fetched_for_all_reasons,
        claims_carry_everything_that_was_pushed,
        hosts_take_turns_and_priority_comes_first,
        excluded_hosts_are_not_claimed,
        outcomes_are_counted_once,
        past_urls_are_listed,
        failed_urls_and_known_pages_are_found,
        expired_leases_are_claimable,
        only_the_holder_records_outcomes_and_releases,
        runs_are_resumed_and_finished,
    ] {
        law(&*new_store());
    }
}

fn run(number: u128) -> RunId {
    RunId::new(Uuid::from_u128(number))
}

fn worker(number: u128) -> WorkerId {
    WorkerId::new(Uuid::from_u128(number))
}

fn at(seconds: i64) -> Moment {
    Moment::from_seconds(seconds)
}

fn page<'a>(host: &'a str, url: &'a str) -> NewUrl<'a> {
    NewUrl {
        identity: url,
        url,
        host,
        reason: FetchReason::Page { depth: 1 },
        redirects: 0,
        requeued: false,
        priority: 0,
        found_on: None,
    }
}

fn begin(store: &dyn FrontierStore) -> Box<dyn Frontier> {
    store.begin_run(run(1), worker(1), at(5), "{\"depth\":3}").expect("begun")
}

fn join(store: &dyn FrontierStore, number: u128) -> Box<dyn Frontier> {
    store.join_run(run(1), worker(number)).expect("joined").expect("the run is open")
}

fn request(limit: usize, per_host: usize, now: i64) -> ClaimRequest<'static> {
    ClaimRequest { limit, per_host, now: at(now), lease: TEST_LEASE, excluded_hosts: &[] }
}

fn claim(frontier: &dyn Frontier, limit: usize, per_host: usize, now: i64) -> Vec<ClaimedUrl> {
    frontier.claim(&request(limit, per_host, now)).expect("claimed")
}

fn urls(claimed: &[ClaimedUrl]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.url.as_str()).collect()
}

fn pages_are_queued_once_at_their_smallest_distance(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let depth = |depth| FetchReason::Page { depth };
    let first = NewUrl { reason: depth(4), ..page("a", "http://a/?x=1&y=2") };
    let same = NewUrl { url: "http://a/?y=2&x=1", reason: depth(2), ..first };
    assert_eq!(frontier.push(&[first, same]).expect("pushed"), 1);
    assert_eq!(frontier.push(&[NewUrl { reason: depth(9), ..first }]).expect("pushed"), 0);
    let claimed = claim(&*frontier, 10, 10, 0);
    assert_eq!(urls(&claimed), ["http://a/?x=1&y=2"]);
    assert_eq!(claimed[0].reason, depth(2));
    let requeued = NewUrl { reason: depth(1), requeued: true, ..first };
    assert_eq!(frontier.push(&[requeued, requeued]).expect("pushed"), 1, "once for each distance");
    assert_eq!(claim(&*frontier, 10, 10, 0)[0].reason, depth(1));
    let other = store.begin_run(run(2), worker(1), at(6), "{}").expect("begun");
    assert_eq!(other.push(&[first]).expect("pushed"), 1, "each run has its own queue");
}

fn one_spelling_is_fetched_for_all_reasons(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let first = NewUrl { identity: "a b", ..page("a", "http://a/?b&a") };
    let embedded = NewUrl { reason: FetchReason::Embed { chain: 1 }, url: "http://a/?a&b", ..first };
    let nearer = NewUrl {
        reason: FetchReason::Page { depth: 0 },
        requeued: true,
        url: "http://a/?a&b&utm_source",
        ..first
    };
    assert_eq!(frontier.push(&[first, embedded, page("a", "http://a/?c")]).expect("pushed"), 3);
    assert_eq!(frontier.push(&[nearer, embedded]).expect("pushed"), 1);
    let same = "http://a/?b&a";
    assert_eq!(urls(&claim(&*frontier, 10, 10, 0)), [same, same, "http://a/?c", same]);
}

fn claims_carry_everything_that_was_pushed(store: &dyn FrontierStore) {
    let frontier = begin(store);
    frontier.push(&[page("a", "root")]).expect("pushed");
    let root = claim(&*frontier, 1, 1, 0).remove(0);
    let reasons = [
        FetchReason::Page { depth: 70_000 },
        FetchReason::Embed { chain: 3 },
        FetchReason::Frame { depth: 70_000, chain: 5 },
        FetchReason::Sitemap { nesting: 2 },
        FetchReason::Robots,
    ];
    for reason in reasons {
        let new = NewUrl { reason, redirects: 7, found_on: Some(root.no), ..page("a", "leaf") };
        assert_eq!(frontier.push(&[new]).expect("pushed"), 1);
        let claimed = claim(&*frontier, 9, 9, 0).remove(0);
        let expected = ClaimedUrl {
            no: claimed.no,
            url: "leaf".to_owned(),
            host: "a".to_owned(),
            reason,
            redirects: 7,
            found_on: Some(root.no),
            tries: 0,
        };
        assert_eq!(claimed, expected);
        let found_on = frontier.found_on(claimed.no).expect("read");
        assert_eq!(found_on, Some(("leaf".to_owned(), Some(root.no))));
    }
    assert_eq!(frontier.found_on(root.no).expect("read"), Some(("root".to_owned(), None)));
    assert_eq!(frontier.found_on(i64::MAX).expect("read"), None);
}

fn hosts_take_turns_and_priority_comes_first(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let urgent = NewUrl { priority: 5, ..page("a", "a3") };
    let new = [page("a", "a1"), page("a", "a2"), urgent, page("b", "b1"), page("b", "b2"), page("c", "c1")];
    frontier.push(&new).expect("pushed");
    assert_eq!(urls(&claim(&*frontier, 2, 1, 0)), ["a3", "b1"]);
    assert_eq!(urls(&claim(&*frontier, 2, 1, 0)), ["c1", "a1"], "it continues after the last host");
    assert_eq!(urls(&claim(&*frontier, 9, 9, 0)), ["b2", "a2"]);
    assert!(claim(&*frontier, 9, 9, 0).is_empty());
}

fn excluded_hosts_are_not_claimed(store: &dyn FrontierStore) {
    let frontier = begin(store);
    frontier.push(&[page("a", "a1"), page("b", "b1"), page("c", "c1")]).expect("pushed");
    let request = ClaimRequest { excluded_hosts: &["a", "c", "unknown"], ..request(9, 9, 0) };
    assert_eq!(urls(&frontier.claim(&request).expect("claimed")), ["b1"]);
    assert_eq!(frontier.counts().expect("counted").ready, 2);
}

fn outcomes_are_counted_once(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let new = ["1", "2", "3", "4", "5"].map(|url| page("a", url));
    frontier.push(&new).expect("pushed");
    let claimed = claim(&*frontier, 4, 4, 0);
    let outcomes = [
        (claimed[0].no, FrontierOutcome::Done),
        (claimed[1].no, FrontierOutcome::Again(at(60), "timed out")),
        (claimed[2].no, FrontierOutcome::Failed("no such host")),
        (claimed[3].no, FrontierOutcome::Skipped("robots")),
    ];
    assert_eq!(frontier.record_outcomes(&outcomes).expect("recorded"), 4);
    assert_eq!(frontier.record_outcomes(&outcomes).expect("recorded"), 0, "they are not claimed any more");
    let counts = FrontierCounts { ready: 1, claimed: 0, done: 1, waiting: 1, failed: 1, skipped: 1 };
    assert_eq!(frontier.counts().expect("counted"), counts);
    assert_eq!(frontier.next_retry_at().expect("read"), Some(at(60)));
    assert_eq!(urls(&claim(&*frontier, 9, 9, 59)), ["5"]);
    let again = claim(&*frontier, 9, 9, 60);
    assert_eq!((urls(&again), again[0].tries), (vec!["2"], 1));
    assert_eq!(frontier.next_retry_at().expect("read"), None);
}

fn past_urls_are_listed(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let embed = NewUrl { reason: FetchReason::Embed { chain: 2 }, ..page("b", "2") };
    frontier.push(&[page("a", "1"), embed, page("a", "3")]).expect("pushed");
    let claimed = claim(&*frontier, 2, 1, 0);
    frontier.record_outcomes(&[(claimed[0].no, FrontierOutcome::Done)]).expect("recorded");
    let mut past = Vec::new();
    let mut push =
        |PastUrl { url, reason, is_done }: PastUrl<'_>| past.push((url.to_owned(), reason, is_done));
    frontier.each_past(&mut push).expect("listed");
    let expected = [
        ("1".to_owned(), FetchReason::Page { depth: 1 }, true),
        ("2".to_owned(), FetchReason::Embed { chain: 2 }, false),
    ];
    assert_eq!(past, expected);
}

fn failed_urls_and_known_pages_are_found(store: &dyn FrontierStore) {
    let frontier = begin(store);
    let embed = NewUrl { reason: FetchReason::Embed { chain: 2 }, ..page("b", "2") };
    frontier.push(&[page("a", "1"), embed, page("c", "3")]).expect("pushed");
    let claimed = claim(&*frontier, 2, 1, 0);
    let outcomes = [
        (claimed[0].no, FrontierOutcome::Skipped("robots")),
        (claimed[1].no, FrontierOutcome::Failed("no route")),
    ];
    frontier.record_outcomes(&outcomes).expect("recorded");
    let mut failed = Vec::new();
    let mut push =
        |url: &str, reason, message: &str| failed.push((url.to_owned(), reason, message.to_owned()));
    frontier.each_failed(&mut push).expect("listed");
    assert_eq!(failed, [("2".to_owned(), FetchReason::Embed { chain: 2 }, "no route".to_owned())]);
    assert_eq!(frontier.has_pages(&["3", "4", "1", "2"]).expect("read"), [true, false, true, true]);
    assert_eq!(frontier.has_pages(&[]).expect("read"), Vec::<bool>::new());
}

fn expired_leases_are_claimable(store: &dyn FrontierStore) {
    let first = begin(store);
    first.push(&[page("a", "1"), page("a", "2")]).expect("pushed");
    let held = claim(&*first, 1, 1, 0);
    let second = join(store, 2);
    assert_eq!(urls(&claim(&*second, 9, 9, 59)), ["2"], "a claim is held until its lease expires");
    first.renew_lease(at(100)).expect("renewed");
    assert!(claim(&*second, 9, 9, 99).is_empty(), "a renewed lease lasts longer");
    let taken = claim(&*second, 9, 9, 100);
    assert_eq!(taken, held, "the other worker takes over");
    let late = first.record_outcomes(&[(held[0].no, FrontierOutcome::Done)]).expect("recorded");
    assert_eq!(late, 0, "the first worker has lost its claim");
    assert_eq!(second.record_outcomes(&[(held[0].no, FrontierOutcome::Done)]).expect("recorded"), 1);
}

fn only_the_holder_records_outcomes_and_releases(store: &dyn FrontierStore) {
    let first = begin(store);
    first.push(&[page("a", "1"), page("a", "2")]).expect("pushed");
    let held = claim(&*first, 1, 1, 0);
    let second = join(store, 2);
    let others = claim(&*second, 1, 1, 0);
    assert_eq!((urls(&held), urls(&others)), (vec!["1"], vec!["2"]));
    assert_eq!(first.record_outcomes(&[(others[0].no, FrontierOutcome::Done)]).expect("recorded"), 0);
    first.release().expect("released");
    let counts = first.counts().expect("counted");
    assert_eq!((counts.ready, counts.claimed), (1, 1));
    assert_eq!(urls(&claim(&*second, 9, 9, 0)), ["1"]);
    assert_eq!((first.worker(), second.worker()), (worker(1), worker(2)));
}

fn runs_are_resumed_and_finished(store: &dyn FrontierStore) {
    let frontier = begin(store);
    frontier.push(&[page("a", "1"), page("a", "2"), page("b", "3")]).expect("pushed");
    let claimed = claim(&*frontier, 2, 1, 0);
    frontier.record_outcomes(&[(claimed[0].no, FrontierOutcome::Done)]).expect("recorded");
    drop(frontier);
    let runs = store.unfinished_runs().expect("listed");
    assert_eq!((runs.len(), runs[0].run, runs[0].time), (1, run(1), at(5)));
    assert_eq!(runs[0].settings, "{\"depth\":3}");
    assert!(store.resume_run(run(9), worker(1)).expect("asked").is_none());
    assert!(store.join_run(run(9), worker(1)).expect("asked").is_none());
    let mut frontier = store.resume_run(run(1), worker(3)).expect("resumed").expect("it is open");
    let counts = FrontierCounts { ready: 2, done: 1, ..FrontierCounts::default() };
    assert_eq!(frontier.counts().expect("counted"), counts, "claims of ended workers are ready");
    assert_eq!(frontier.push(&[page("a", "1")]).expect("pushed"), 0, "a captured page is not queued again");
    assert_eq!(urls(&claim(&*frontier, 9, 9, 0)), ["2", "3"]);
    frontier.continue_as(run(7), "{}").expect("continued");
    assert_eq!((frontier.run(), frontier.settings().expect("read").as_str()), (run(7), "{}"));
    assert_eq!(store.unfinished_runs().expect("listed")[0].run, run(7));
    frontier.finish().expect("finished");
    assert!(store.unfinished_runs().expect("listed").is_empty());
    assert!(store.resume_run(run(7), worker(1)).expect("asked").is_none());
}
