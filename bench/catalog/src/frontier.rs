//! A million URLs join a frontier, are taken and settled.

use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;
use varve_catalog::{Frontier, FrontierOutcome, NewUrl, SqliteCatalog};
use varve_core::{Moment, RunId};

const URLS: usize = 1_000_000;
const BATCH: usize = 10_000;
const HOSTS: usize = 500;

pub fn measure(path: &Path) -> super::Done<()> {
    let catalog = Arc::new(SqliteCatalog::open_to_write(path)?);
    let run = RunId::new(Uuid::from_u128(1));
    let frontier = Frontier::begin(catalog, run, Moment::from_seconds(0), "{}")?;
    let before = resident();
    let start = super::cpu();
    for batch in 0..URLS / BATCH {
        push(&frontier, batch)?;
    }
    let seconds = super::cpu() - start;
    println!(
        "frontier: {:.0} URLs pushed a second of CPU, {:.1} MB of memory more",
        URLS as f64 / seconds,
        resident() - before
    );
    let start = super::cpu();
    let mut settled = 0;
    while settled < URLS / 10 {
        let claimed = frontier.claim(1_000, 10, Moment::from_seconds(1), &mut |_| true)?;
        let outcomes: Vec<_> = claimed.iter().map(|url| (url.no, FrontierOutcome::Done)).collect();
        frontier.settle(&outcomes)?;
        settled += claimed.len();
    }
    let seconds = super::cpu() - start;
    println!(
        "frontier: {:.0} URLs claimed and settled a second of CPU, {:.1} MB of memory more",
        settled as f64 / seconds,
        resident() - before
    );
    println!("frontier: {:.1} bytes a URL\n", std::fs::metadata(path)?.len() as f64 / URLS as f64);
    Ok(())
}

fn push(frontier: &Frontier, batch: usize) -> super::Done<()> {
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
            reason: "p",
            url,
            host,
            depth: 2,
            role: "page",
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
