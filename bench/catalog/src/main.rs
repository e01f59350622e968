//! One million captures: how fast they are kept, how many bytes each takes, and that a question costs the same with
//! ten thousand.
//!
//!     cargo run --release --manifest-path bench/catalog/Cargo.toml [FOLDER]
//!
//! Everything is made in a temporary folder (in FOLDER, if one is given) and removed.

mod frontier;
mod history;

use std::hint::black_box;
use std::path::Path;

use history::{History, Kind};
use varve_catalog::{Catalog, CatalogError, CatalogRead, CatalogRow, SqliteCatalog};
use varve_core::history::{CaptureFilter, ListCursor, TimeOrder, VersionFilter};

type Done<T> = Result<T, Box<dyn std::error::Error>>;

const SMALL: History = History { urls: 1_000, versions: 10, kind: Kind::Crawl };
const LARGE: History = History { urls: 20_000, versions: 50, kind: Kind::Crawl };
const COMMITS: History = History { urls: 20_000, versions: 50, kind: Kind::Commit };

fn main() -> Done<()> {
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    // First, while nothing else has asked for memory.
    frontier::measure(&folder.path().join("frontier.db"))?;
    let small = keep(&folder.path().join("small.db"), &SMALL)?;
    let large = keep(&folder.path().join("large.db"), &LARGE)?;
    drop(keep(&folder.path().join("commits.db"), &COMMITS)?);
    compare(&small, &large)?;
    drop((small, large));
    finish(&folder.path().join("small.db"), 100)?;
    finish(&folder.path().join("large.db"), 200_000)
}

/// Keeps a history, a version a batch, and says what that cost.
fn keep(path: &Path, history: &History) -> Done<SqliteCatalog> {
    let catalog = SqliteCatalog::open_to_write(path)?;
    let start = cpu();
    (0..history.versions).flat_map(|version| history.rows(version)).for_each(|row| drop(black_box(row)));
    let making = cpu() - start;
    let start = cpu();
    for version in 0..history.versions {
        catalog.apply(&mut history.rows(version))?;
    }
    let seconds = cpu() - start - making;
    drop(catalog);
    let bytes = std::fs::metadata(path)?.len();
    let captures = f64::from(history.urls * history.versions);
    println!(
        "{captures:>9} captures, {:?}: {:.0} captures a second of CPU, {:.1} bytes each",
        history.kind,
        captures / seconds,
        bytes as f64 / captures
    );
    Ok(SqliteCatalog::open_to_write(path)?)
}

type Question = fn(&SqliteCatalog, &History, u32) -> Result<usize, CatalogError>;

const QUESTIONS: [(&str, Question); 7] = [
    ("version(id)", |catalog, history, n| {
        Ok(catalog.version(&history.version_id(n % history.versions))?.map_or(0, |info| info.tags.len() + 1))
    }),
    ("versions_beginning(8 digits)", |catalog, history, n| {
        let id = history.version_id(n % history.versions).to_string();
        Ok(catalog.versions_beginning(&id[..8], 2)?.len())
    }),
    ("versions(the newest 10)", |catalog, _, _| {
        Ok(catalog.versions(&VersionFilter::default(), ListCursor::first(10))?.len())
    }),
    ("captures_of(url, the newest)", |catalog, history, n| {
        let url = history.url(n * 7919 % history.urls);
        let filter = CaptureFilter::default();
        Ok(catalog.captures_of(&url, &filter, TimeOrder::NewestFirst, ListCursor::first(1))?.len())
    }),
    ("captures_of(url, 5 in the middle)", |catalog, history, n| {
        let url = history.url(n * 7919 % history.urls);
        let filter =
            CaptureFilter { until: Some(history.time(history.versions / 2)), ..CaptureFilter::default() };
        Ok(catalog.captures_of(&url, &filter, TimeOrder::OldestFirst, ListCursor::first(5))?.len())
    }),
    ("captures_in(version, 100 in the middle)", |catalog, history, n| {
        let (path, url) = (history.path(n * 7919 % history.urls), history.url(n * 7919 % history.urls));
        let page = ListCursor { after: Some((path.as_str(), url.as_str())), limit: 100 };
        Ok(catalog.captures_in(&history.version_id(n % history.versions), page)?.len())
    }),
    ("urls(prefix, 100)", |catalog, history, n| {
        Ok(catalog.urls(&history.url(n * 7919 % history.urls)[..30], ListCursor::first(100))?.len())
    }),
];

/// Asks both the same, in turn.
fn compare(small: &SqliteCatalog, large: &SqliteCatalog) -> Done<()> {
    println!(
        "\n{:<42} {:>9} {:>9} {:>6}",
        "microseconds of a question, with captures", "10,000", "1,000,000", "ratio"
    );
    for (name, question) in QUESTIONS {
        let mut rounds = Vec::new();
        for _ in 0..9 {
            rounds.push((time(small, &SMALL, question)?, time(large, &LARGE, question)?));
        }
        let (small, large) =
            (median(rounds.iter().map(|round| round.0)), median(rounds.iter().map(|round| round.1)));
        println!("{name:<42} {small:>9.1} {large:>9.1} {:>6.2}", large / small);
    }
    Ok(())
}

fn time(catalog: &SqliteCatalog, history: &History, question: Question) -> Done<f64> {
    const TIMES: u32 = 500;
    let start = cpu();
    for n in 0..TIMES {
        black_box(question(catalog, history, n)?);
    }
    Ok((cpu() - start) * 1e6 / f64::from(TIMES))
}

/// Seconds of processor time that this process has used: others on the machine do not count.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A run of so many captures becomes a version.
fn finish(path: &Path, captures: u32) -> Done<()> {
    let catalog = SqliteCatalog::open_to_write(path)?;
    catalog.apply(&mut history::run(captures))?;
    // What the run left in the log is put back into the database first.
    catalog.apply(&mut std::iter::once(CatalogRow::Head(history::version_of_run().id)))?;
    let start = cpu();
    catalog.apply(&mut std::iter::once(CatalogRow::Version(history::version_of_run())))?;
    println!("a run of {captures} captures becomes a version in {:.0} microseconds", (cpu() - start) * 1e6);
    Ok(())
}
