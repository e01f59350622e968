//! The frontier of a run: every URL once, hosts in turn, and nothing forgotten by a run that was killed.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use std::sync::Arc;

use uuid::Uuid;
use varve_catalog::{ClaimedUrl, Frontier, FrontierCounts, FrontierOutcome, NewUrl, SqliteCatalog};
use varve_core::{Moment, RunId};

fn run(number: u128) -> RunId {
    RunId::new(Uuid::from_u128(number))
}

fn url<'a>(host: &'a str, url: &'a str) -> NewUrl<'a> {
    NewUrl { identity: url, reason: "p", url, host, depth: 1, role: "page", priority: 0, found_on: None }
}

fn open(folder: &tempfile::TempDir) -> Arc<SqliteCatalog> {
    Arc::new(SqliteCatalog::open_to_write(&folder.path().join("catalog.db")).unwrap())
}

fn begin(catalog: &Arc<SqliteCatalog>) -> Frontier {
    Frontier::begin(Arc::clone(catalog), run(1), Moment::from_seconds(5), "{\"depth\":3}").unwrap()
}

fn claim(frontier: &Frontier, limit: usize, per_host: usize, now: i64) -> Vec<ClaimedUrl> {
    frontier.claim(limit, per_host, Moment::from_seconds(now), &mut |_| true).unwrap()
}

fn urls(claimed: &[ClaimedUrl]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.url.as_str()).collect()
}

#[test]
fn a_url_comes_once_whatever_its_spelling_and_at_its_least_depth() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(&folder);
    let frontier = begin(&catalog);
    let first = NewUrl { depth: 4, ..url("a", "http://a/?x=1&y=2") };
    let same = NewUrl { url: "http://a/?y=2&x=1", depth: 2, ..first };
    let deeper = NewUrl { depth: 9, ..first };
    assert_eq!(frontier.push(&[first, same]).unwrap(), 1);
    assert_eq!(frontier.push(&[deeper]).unwrap(), 0);
    let claimed = claim(&frontier, 10, 10, 0);
    assert_eq!(urls(&claimed), ["http://a/?x=1&y=2"]);
    assert_eq!(claimed[0].depth, 2);
    let other = Frontier::begin(Arc::clone(&catalog), run(2), Moment::from_seconds(6), "{}").unwrap();
    assert_eq!(other.push(&[first]).unwrap(), 1, "another run has its own");
}

/// What a page embeds and what a page links to may be one URL by two spellings.
#[test]
fn a_url_that_is_wanted_for_two_reasons_is_asked_for_by_one_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = begin(&open(&folder));
    let first = NewUrl { identity: "a b", ..url("a", "http://a/?b&a") };
    let embedded = NewUrl { reason: "e", url: "http://a/?a&b", ..first };
    let nearer = NewUrl { reason: "p1", url: "http://a/?a&b&utm_source", ..first };
    let another = url("a", "http://a/?c");
    assert_eq!(frontier.push(&[first, embedded, another]).unwrap(), 3);
    assert_eq!(frontier.push(&[nearer, embedded]).unwrap(), 1);
    let same = "http://a/?b&a";
    assert_eq!(urls(&claim(&frontier, 10, 10, 0)), [same, same, "http://a/?c", same]);
}

#[test]
fn hosts_have_their_turns_and_the_urgent_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = begin(&open(&folder));
    let urgent = NewUrl { priority: 5, ..url("a", "a3") };
    frontier
        .push(&[url("a", "a1"), url("a", "a2"), urgent, url("b", "b1"), url("b", "b2"), url("c", "c1")])
        .unwrap();
    assert_eq!(urls(&claim(&frontier, 2, 1, 0)), ["a3", "b1"]);
    assert_eq!(urls(&claim(&frontier, 2, 1, 0)), ["c1", "a1"], "it goes on behind the last host");
    let not_a = frontier.claim(9, 9, Moment::from_seconds(0), &mut |host| host != "a").unwrap();
    assert_eq!(urls(&not_a), ["b2"]);
    assert_eq!(urls(&claim(&frontier, 9, 9, 0)), ["a2"]);
    assert!(claim(&frontier, 9, 9, 0).is_empty());
}

#[test]
fn what_becomes_of_urls_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = begin(&open(&folder));
    frontier.push(&[url("a", "1"), url("a", "2"), url("a", "3"), url("a", "4"), url("a", "5")]).unwrap();
    let claimed = claim(&frontier, 4, 4, 0);
    let at = Moment::from_seconds(60);
    let outcomes = [
        (claimed[0].no, FrontierOutcome::Done),
        (claimed[1].no, FrontierOutcome::Again(at, "timed out")),
        (claimed[2].no, FrontierOutcome::Failed("no such host")),
        (claimed[3].no, FrontierOutcome::Skipped("robots")),
    ];
    frontier.settle(&outcomes).unwrap();
    frontier.settle(&outcomes).unwrap();
    let counts = FrontierCounts { ready: 1, claimed: 0, done: 1, waiting: 1, failed: 1, skipped: 1 };
    assert_eq!(frontier.counts().unwrap(), counts);
    assert_eq!(frontier.next_again().unwrap(), Some(at));
    assert_eq!(urls(&claim(&frontier, 9, 9, 59)), ["5"]);
    let again = claim(&frontier, 9, 9, 60);
    assert_eq!((urls(&again), again[0].tries), (vec!["2"], 1));
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(&folder);
    let frontier = begin(&catalog);
    frontier.push(&[url("a", "1"), url("a", "2"), url("b", "3")]).unwrap();
    let claimed = claim(&frontier, 2, 1, 0);
    frontier.settle(&[(claimed[0].no, FrontierOutcome::Done)]).unwrap();
    drop((frontier, catalog));

    let catalog = open(&folder);
    let runs = Frontier::runs(&catalog).unwrap();
    assert_eq!((runs.len(), runs[0].run, runs[0].settings.as_str()), (1, run(1), "{\"depth\":3}"));
    assert!(Frontier::resume(Arc::clone(&catalog), run(9)).unwrap().is_none());
    let frontier = Frontier::resume(Arc::clone(&catalog), run(1)).unwrap().unwrap();
    assert_eq!(frontier.counts().unwrap(), FrontierCounts { ready: 2, done: 1, ..FrontierCounts::default() });
    assert_eq!(frontier.push(&[url("a", "1")]).unwrap(), 0, "what is done is not asked for again");
    assert_eq!(urls(&claim(&frontier, 9, 9, 0)), ["2", "3"]);
    frontier.finish().unwrap();
    assert!(Frontier::runs(&catalog).unwrap().is_empty());
    assert!(Frontier::resume(Arc::clone(&catalog), run(1)).unwrap().is_none());
}
