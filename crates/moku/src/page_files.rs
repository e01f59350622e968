//! The files of a page in the working tree of a site: their names, and the form of the headers.
//!
//! Knows neither folders nor how files are written: `repository` writes trees, also for archives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::Capture;
use varve_core::moku_json::escaped;

/// The file that holds the body of a page.
pub const BODY_FILE: &str = ".page_body";
/// The file that holds the headers of a page.
pub const HEADERS_FILE: &str = ".page_headers.json";
/// The name of the status among the headers.
const STATUS_HEADER: &str = "Status-Code";

/// The headers and the status as JSON, in Moku's format: sorted, indented, without a final line
/// end, and with HTML special characters escaped.
pub fn headers_json(capture: &Capture, redaction: Redaction) -> String {
    let status = vec![capture.status.to_string()];
    let headers = capture.headers.shown(redaction);
    let mut all: BTreeMap<&str, &[String]> = headers.iter().collect();
    all.insert(STATUS_HEADER, &status);
    let text = serde_json::to_string_pretty(&all).expect("texts can be written as JSON");
    escaped(&text)
}

/// Whether `text` holds the headers of a page. Redacted and unredacted values both match, because
/// the setting may have changed since. The spelling of names is ignored: Moku leaves those of a
/// batch as received.
pub fn are_headers_of(page: &Capture, text: &str) -> bool {
    let value = |text: &str| {
        let names: BTreeMap<String, Vec<String>> = serde_json::from_str(text).ok()?;
        let pairs = names.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        Some(HeaderView::from_pairs(pairs, Redaction::Off))
    };
    let found = value(text);
    let both = [Redaction::On, Redaction::Off];
    found.is_some() && both.into_iter().any(|redaction| value(&headers_json(page, redaction)) == found)
}

/// The folder in which Moku itself puts a page: Moku resolves dots instead of encoding them. `None`
/// if that leads out of the tree.
pub fn original_folder(path: &str) -> Option<PathBuf> {
    let mut folder = PathBuf::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                if !folder.pop() {
                    return None;
                }
            }
            name => folder.push(name),
        }
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::history::CaptureOwner;
    use varve_core::{BodyId, CaptureId, Moment, VersionId};

    #[test]
    fn headers_are_written_as_moku_writes_them() {
        let body = BodyId::new([0; 32]);
        let id = varve_core::history::uuid_of(body.as_bytes());
        let capture = Capture {
            id: CaptureId::new(id),
            owner: CaptureOwner::Version(VersionId::new(id)),
            url: String::new(),
            path: String::new(),
            time: Moment::from_seconds(0),
            status: 200,
            headers: HeaderView::from_pairs([("Link", "</a>; x&y")], Redaction::On),
            body,
            length: None,
            record: None,
            truncated: false,
        };
        let text = "{\n  \"Status-Code\": [\n    \"200\"\n  ],\n  \"link\": [\n    \"\\u003c/a\\u003e; x\\u0026y\"\n  ]\n}";
        assert_eq!(headers_json(&capture, Redaction::On), text);
    }
}
