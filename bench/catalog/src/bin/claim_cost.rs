//! The cost of claims from a frontier with many hosts.
//!
//!     cargo run --release --manifest-path bench/catalog/Cargo.toml --bin claim_cost [HOSTS]
//!
//! It prints microseconds per claim, for few and for many URLs of each host, with a tenth of the
//! hosts excluded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;
use varve_catalog::{
    ClaimRequest, FetchReason, FrontierOutcome, FrontierStore, NewUrl, SqliteCatalog, SqliteFrontierStore,
};
use varve_core::{Moment, RunId, WorkerId};

/// URLs that one claim takes at most, as in a crawl.
const CLAIM_LIMIT: usize = 2048;
/// URLs of one host that one claim takes at most, as in a crawl.
const CLAIM_LIMIT_PER_HOST: usize = 256;

fn main() {
    let hosts: usize = std::env::args().nth(1).map_or(1000, |text| text.parse().unwrap());
    for per_host in [2, 20] {
        measure(hosts, per_host);
    }
}

fn measure(hosts: usize, per_host: usize) {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Arc::new(SqliteCatalog::open_to_write(&folder.path().join("catalog.db")).unwrap());
    let (run, worker) = (RunId::new(Uuid::from_u128(1)), WorkerId::new(Uuid::from_u128(1)));
    let now = Moment::from_seconds(5);
    let frontier = SqliteFrontierStore::new(catalog).begin_run(run, worker, now, "{}").unwrap();
    let names: Vec<String> = (0..hosts).map(|host| format!("host-{host}.example")).collect();
    for number in 0..per_host {
        let urls: Vec<String> = names.iter().map(|name| format!("http://{name}/{number}")).collect();
        let new = |(url, host)| NewUrl {
            identity: url,
            url,
            host,
            reason: FetchReason::Page { depth: 1 },
            redirects: 0,
            requeued: false,
            priority: 0,
            found_on: None,
        };
        let pairs = urls.iter().map(String::as_str).zip(names.iter().map(String::as_str));
        frontier.push(&pairs.map(new).collect::<Vec<_>>()).unwrap();
    }
    let excluded: Vec<&str> = names.iter().step_by(10).map(String::as_str).collect();
    let request = ClaimRequest {
        limit: CLAIM_LIMIT,
        per_host: CLAIM_LIMIT_PER_HOST,
        now,
        lease: Duration::from_secs(600),
        excluded_hosts: &excluded,
    };
    let (mut claims, mut urls, mut spent) = (0u32, 0, Duration::ZERO);
    loop {
        let begun = Instant::now();
        let claimed = frontier.claim(&request).unwrap();
        spent += begun.elapsed();
        if claimed.is_empty() {
            break;
        }
        (claims, urls) = (claims + 1, urls + claimed.len());
        let done: Vec<_> = claimed.iter().map(|url| (url.no, FrontierOutcome::Done)).collect();
        frontier.record_outcomes(&done).unwrap();
    }
    let micros = spent.as_micros() / u128::from(claims.max(1));
    println!("{hosts} hosts, {per_host} URLs each: {claims} claims of {urls} URLs, {micros} us per claim");
}
