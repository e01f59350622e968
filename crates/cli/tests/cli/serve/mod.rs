//! `varve serve` as browsers and programs meet it: the real binary, over real sockets, on every layout.

mod browser;
mod cdx;
mod client;
mod hostile;
mod layouts;
mod replay;

use serde_json::json;

use crate::history::Place;
use client::Served;

/// A place with these pages, each a JSON object as `commit --lines` takes them, served.
fn serving(is_archive: bool, lines: &[serde_json::Value]) -> (Place, Served) {
    let place = Place::new(is_archive);
    commit(&place, lines, "pages");
    let served = Served::start(&place.path("museum"));
    (place, served)
}

fn commit(place: &Place, lines: &[serde_json::Value], message: &str) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.file("pages.jsonl", &text);
    place.data(&["commit", "--lines", "pages.jsonl", "-m", message]);
}

/// A page of HTML.
fn page(url: &str, time: &str, body: &str) -> serde_json::Value {
    json!({ "url": url, "time": time, "body": body, "headers": { "content-type": "text/html; charset=utf-8" } })
}
