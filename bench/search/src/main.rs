//! Compares SQLite's FTS5 with tantivy and with the index of varve on generated page texts, and
//! measures how the index of varve grows over versions.
//!
//!     cargo run --release --manifest-path bench/search/Cargo.toml -- [PAGES]
//!
//! Each page has a title of 6 words and a body of 100 to 700, drawn from 200,000 words by Zipf's
//! law. FTS5 and tantivy store words and no text. Times are CPU times of the whole process.

mod corpus;
#[cfg(feature = "fts5")]
mod fts5;
#[cfg(feature = "tantivy")]
mod tantivy_engine;
#[cfg(feature = "varve")]
mod varve_index;
#[cfg(feature = "varve")]
mod versions;

use std::path::Path;
use std::time::Duration;

use corpus::Corpus;

/// The number of queries of each kind.
const QUERIES_PER_KIND: usize = 500;

/// One engine with an index.
trait Engine {
    fn build(&mut self, corpus: &Corpus);
    /// Replaces a twentieth of the pages.
    fn update(&mut self, corpus: &Corpus);
    /// The number of hits among the ten best.
    fn search(&self, words: &[String], phrase: bool) -> usize;
}

fn main() {
    let pages = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let corpus = Corpus::new(pages);
    println!("{pages} pages, {:.1} MB of text", corpus.bytes() as f64 / 1e6);
    let folder = std::env::temp_dir().join(format!("search-engines-{}", std::process::id()));
    #[cfg(feature = "fts5")]
    for detail in ["full", "none"] {
        measure(&format!("fts5 detail={detail}"), &folder, &corpus, |path| {
            Box::new(fts5::Fts5::new(path, detail))
        });
    }
    #[cfg(feature = "tantivy")]
    measure("tantivy", &folder, &corpus, |path| Box::new(tantivy_engine::Tantivy::new(path)));
    #[cfg(feature = "varve")]
    {
        measure("varve", &folder, &corpus, |path| Box::new(varve_index::VarveIndex::new(path)));
        grow(&folder);
    }
}

/// Prints how the index grows over versions.
#[cfg(feature = "varve")]
fn grow(folder: &Path) {
    use versions::{Change, sizes};
    for (name, change) in [
        ("1 of 20 words", Change::Words(1)),
        ("2 of 20 words", Change::Words(2)),
        ("all words", Change::Whole),
    ] {
        let sizes = sizes(folder, change);
        let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
        println!(
            "5 % of passages changed in each of 20 versions, {name}: {:.1} MB, then {:.1} MB: {:.2}",
            first / 1e6,
            last / 1e6,
            last / first
        );
    }
}

fn measure(name: &str, folder: &Path, corpus: &Corpus, open: impl Fn(&Path) -> Box<dyn Engine>) {
    std::fs::create_dir_all(folder).expect("the temporary folder can be written");
    let mut engine = open(folder);
    let start = cpu_time();
    engine.build(corpus);
    let built = cpu_time() - start;
    let size = folder_bytes(folder);
    let start = cpu_time();
    engine.update(corpus);
    let updated = cpu_time() - start;
    println!(
        "{name}: build {:.1} s, {:.1} MB; 5 % replaced {:.1} s, {:.1} MB",
        built.as_secs_f64(),
        size as f64 / 1e6,
        updated.as_secs_f64(),
        folder_bytes(folder) as f64 / 1e6
    );
    for (kind, queries) in corpus.queries(QUERIES_PER_KIND) {
        let mut times: Vec<Duration> = queries
            .iter()
            .map(|(words, phrase)| {
                let start = cpu_time();
                std::hint::black_box(engine.search(words, *phrase));
                cpu_time() - start
            })
            .collect();
        times.sort();
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_micros();
        println!("  {kind}: p50 {} us, p99 {} us", at(50), at(99));
    }
    drop(engine);
    std::fs::remove_dir_all(folder).expect("the temporary folder can be removed");
}

fn cpu_time() -> Duration {
    // SAFETY: a zeroed `rusage` is valid, and the call only writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let part = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    part(usage.ru_utime) + part(usage.ru_stime)
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|about| about.len()).sum()
}
