//! The main text of 612 real pages, compared with that which people marked on them.
//!
//! The model is trained on these pages, so the floors here find a broken pipeline, not a weak model:
//! `bench/extract/train.py` scores pages that a model has not seen.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use varve_extract::{ExtractOptions, PageInput, extract};

/// Minimum mean F1 of all pages.
const MIN_MEAN_F1: f64 = 0.88;

/// Minimum mean F1 by type of page.
const MIN_TYPE_F1: [(&str, f64); 7] = [
    ("article", 0.93),
    ("collection", 0.72),
    ("documentation", 0.90),
    ("forum", 0.74),
    ("listing", 0.70),
    ("product", 0.70),
    ("service", 0.85),
];

struct ScoredPage {
    kind: String,
    f1: f64,
}

#[test]
fn pages_of_the_corpus_are_read() {
    let Some(folder) = varve_testkit::fixtures("extraction") else { return };
    let names: Vec<String> = fs::read_dir(folder.join("ground-truth"))
        .expect("the corpus has references")
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    let folder = folder.as_path();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let pages: Vec<ScoredPage> = std::thread::scope(|scope| {
        let chunks = names.chunks(names.len().div_ceil(workers));
        let threads: Vec<_> = chunks
            .map(|names| {
                scope.spawn(move || names.iter().map(|name| score(folder, name)).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no page panics")).collect()
    });
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    pages.iter().for_each(|page| scores.entry(&page.kind).or_default().push(page.f1));
    for (kind, least) in MIN_TYPE_F1 {
        let mean = mean(scores.get(kind).map_or(&[], Vec::as_slice));
        assert!(mean >= least, "{kind}: {mean:.3} is below {least}");
    }
    let mean = mean(&pages.iter().map(|page| page.f1).collect::<Vec<_>>());
    assert!(mean >= MIN_MEAN_F1, "all pages: {mean:.4} is below {MIN_MEAN_F1}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn score(folder: &Path, name: &str) -> ScoredPage {
    let truth = fs::read(folder.join("ground-truth").join(format!("{name}.json"))).expect("a reference");
    let truth: serde_json::Value = serde_json::from_slice(&truth).expect("the reference is JSON");
    let packed = fs::File::open(folder.join("html").join(format!("{name}.html.gz"))).expect("a page");
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut body).expect("the page is gzip");
    let input = PageInput {
        body: &body,
        content_type: Some("text/html"),
        requested_url: truth["url"].as_str().unwrap_or_default(),
        ..PageInput::default()
    };
    let found = extract(&input, &ExtractOptions::default()).page.content_text.unwrap_or_default();
    let reference = truth["ground_truth"]["main_content"].as_str().unwrap_or_default();
    let kind = truth["_internal"]["page_type"]["primary"].as_str().unwrap_or_default();
    ScoredPage { kind: kind.to_owned(), f1: super::word_f1(&found, reference) }
}
