//! The exposure score from outside: against what its predecessor computed, as laws, and as stories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod injected;
mod laws;
mod stories;
mod vectors;

use chrono::DateTime;
use varve_core::headers::{HeaderView, Redaction};
use varve_score::{PageScore, RulePack, ScoreLimits, ScoredPage, score};

/// The text of a fixture. Without the corpora the test is skipped.
fn fixture(path: &str) -> Option<String> {
    let path = varve_testkit::fixtures(path)?;
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The score of a page with the first pack.
fn scored(url: &str, headers: &[(&str, &str)], body: &[u8]) -> PageScore {
    let view = HeaderView::from_pairs(headers.iter().copied(), Redaction::Off);
    scored_with(RulePack::exposure_1(), url, &view, body)
}

fn scored_with(pack: &RulePack, url: &str, headers: &HeaderView, body: &[u8]) -> PageScore {
    let page = ScoredPage {
        url,
        file_path: "/page",
        snapshot_id: "S",
        version_id: "V",
        status: 200,
        headers,
        body,
        time: DateTime::UNIX_EPOCH,
    };
    score(&page, pack, &ScoreLimits::default())
}
