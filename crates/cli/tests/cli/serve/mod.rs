//! `varve serve` as a process, over sockets, on every layout.

mod browser;
mod cdx;
mod client;
mod damage;
mod extraction;
mod hostile;
mod layouts;
mod replay;

use serde_json::json;

use crate::history::Place;
use client::Served;

/// Serves an archive of these pages, each a JSON object for `commit --jsonl`.
fn serving(is_archive: bool, lines: &[serde_json::Value]) -> (Place, Served) {
    let place = Place::new(is_archive);
    commit(&place, lines, "pages");
    let served = Served::start(&place.path("museum"));
    (place, served)
}

fn commit(place: &Place, lines: &[serde_json::Value], message: &str) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.file("pages.jsonl", &text);
    place.data(&["commit", "--jsonl", "pages.jsonl", "-m", message]);
}

/// An HTML page.
fn page(url: &str, time: &str, body: &str) -> serde_json::Value {
    json!({ "url": url, "time": time, "body": body, "headers": { "content-type": "text/html; charset=utf-8" } })
}
