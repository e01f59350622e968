//! Both origins in one process: requests go to the routers without sockets, over archives and Moku
//! sites.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod api;
mod cdx;
mod guard;
mod memento;
mod museum;
mod replay;
mod sockets;
mod ui;

use serde_json::{Value, json};

use museum::{Museum, TestOrigins};

/// An archive or a Moku site with these pages, and its routers.
fn serving(is_archive: bool, pages: &[Value]) -> (Museum, TestOrigins) {
    let museum = Museum::new(is_archive);
    museum.commit(pages, "pages");
    let origins = museum.serve();
    (museum, origins)
}

/// A page of HTML.
fn page(url: &str, time: &str, body: &str) -> Value {
    resource(url, time, "text/html; charset=utf-8", body)
}

/// A resource of any media type.
fn resource(url: &str, time: &str, media_type: &str, body: &str) -> Value {
    json!({ "url": url, "time": time, "body": body, "headers": { "content-type": media_type } })
}
