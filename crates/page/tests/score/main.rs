//! The exposure score from outside: against what its predecessor computed, as laws, and as stories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod laws;
mod stories;
mod vectors;

use chrono::DateTime;
use std::path::PathBuf;
use varve_core::headers::{HeaderView, Redaction};
use varve_page::score::{Limits, Pack, Page, PageScore, score};

/// Where the vectors are: given by the environment, or beside the repository.
fn fixture(path: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    let root = std::env::var_os("VARVE_FIXTURES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    std::fs::read_to_string(root.join(path)).ok()
}

/// The score of a page with the first pack.
fn scored(url: &str, headers: &[(&str, &str)], body: &[u8]) -> PageScore {
    let view = HeaderView::from_pairs(headers.iter().copied(), Redaction::Off);
    scored_with(Pack::exposure_1(), url, &view, body)
}

fn scored_with(pack: &Pack, url: &str, headers: &HeaderView, body: &[u8]) -> PageScore {
    let page = Page {
        url,
        file_path: "/page",
        snapshot_id: "S",
        version_id: "V",
        status: 200,
        headers,
        body,
        time: DateTime::UNIX_EPOCH,
    };
    score(&page, pack, &Limits::default())
}
