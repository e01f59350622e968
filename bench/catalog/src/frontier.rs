//! A million URLs are pushed to a frontier; a tenth of them is claimed and recorded as done.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use varve_catalog::{SqliteCatalog, SqliteFrontierStore};
use varve_core::frontier::{
    ClaimRequest, FetchReason, Frontier, FrontierOutcome, FrontierStore as _, NewUrl,
};
use varve_core::{Moment, RunId, WorkerId};

const URLS: usize = 1_000_000;
const BATCH: usize = 10_000;
const HOSTS: usize = 500;

pub fn measure(path: &Path) -> super::Done<()> {
    let catalog = Arc::new(SqliteCatalog::open_to_write(path)?);
    let (run, worker) = (RunId::new(Uuid::from_u128(1)), WorkerId::new(Uuid::from_u128(1)));
    let frontier = SqliteFrontierStore::new(catalog).begin_run(run, worker, Moment::from_seconds(0), "{}")?;
    let before = resident();
    let start = super::cpu();
    for batch in 0..URLS / BATCH {
        push(&*frontier, batch)?;
    }
    let seconds = super::cpu() - start;
    println!(
        "frontier: {:.0} URLs pushed a second of CPU, {:.1} MB of memory more",
        URLS as f64 / seconds,
        resident() - before
    );
    let start = super::cpu();
    let request = ClaimRequest {
        limit: 1_000,
        per_host: 10,
        now: Moment::from_seconds(1),
        lease: Duration::from_secs(60),
        excluded_hosts: &[],
    };
    let mut recorded = 0;
    while recorded < URLS / 10 {
        let claimed = frontier.claim(&request)?;
        let outcomes: Vec<_> = claimed.iter().map(|url| (url.no, FrontierOutcome::Done)).collect();
        frontier.record_outcomes(&outcomes)?;
        recorded += claimed.len();
    }
    let seconds = super::cpu() - start;
    println!(
        "frontier: {:.0} URLs claimed and recorded as done a second of CPU, {:.1} MB of memory more",
        recorded as f64 / seconds,
        resident() - before
    );
    println!("frontier: {:.1} bytes a URL\n", std::fs::metadata(path)?.len() as f64 / URLS as f64);
    Ok(())
}

fn push(frontier: &dyn Frontier, batch: usize) -> super::Done<()> {
    let texts: Vec<(String, String)> = (batch * BATCH..(batch + 1) * BATCH)
        .map(|number| {
            let host = format!("host-{}.example.org", number * 7919 % HOSTS);
            (format!("https://{host}/section-{}/page-{number}.html", number % 97), host)
        })
        .collect();
    let urls: Vec<NewUrl<'_>> = texts
        .iter()
        .map(|(url, host)| NewUrl {
            identity: url,
            url,
            host,
            reason: FetchReason::Page { depth: 2 },
            redirects: 0,
            requeued: false,
            priority: 0,
            found_on: Some(1),
        })
        .collect();
    frontier.push(&urls)?;
    Ok(())
}

/// Megabytes of memory in use.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    kilobytes / 1024.0
}
