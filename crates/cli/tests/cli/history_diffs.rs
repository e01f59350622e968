//! What a diff says of a page beside its lines: headers that are hidden, answers that are not whole, bodies that cannot be had.

use crate::history::{Place, places};

const URL: &str = "https://example.com/";

/// Commits a page with these headers.
fn commit(place: &Place, body: &str, headers: &[&str]) -> String {
    place.file("page.html", body);
    let mut words = vec!["commit", "page.html", "--url", URL, "-m", "m", "--json"];
    words.extend(headers.iter().flat_map(|header| ["--header", header]));
    place.object(&words)["version"].as_str().unwrap().to_owned()
}

#[test]
fn a_redacted_header_that_comes_or_goes_is_a_change() {
    for place in places() {
        commit(&place, "same", &["Cookie: k=1", "X: 1"]);
        commit(&place, "same", &["Cookie: k=2", "X: 1", "Set-Cookie: id=secret"]);
        let text = place.data(&["diff"]);
        assert_eq!(
            text,
            format!(
                "M {URL}\n+ set-cookie: [REDACTED]\nredacted, and so not compared: cookie\n\
                 The bodies are the same, byte for byte.\n\n"
            )
        );
        assert_eq!(place.data(&["diff", "--stat"]), format!("M {URL} 1 header (redacted: +set-cookie)\n"));
        assert_eq!(place.data(&["diff", "--mode", "headers", "--name-only"]), format!("M {URL}\n"));
        let html = place.data(&["diff", "--format", "html"]);
        assert!(html.contains("<td>added</td><td>set-cookie</td>"), "{html}");
        assert!(![&text, &html].iter().any(|shown| shown.contains("secret")));
        let file = place.object(&["diff", "--json"])["files"][0].clone();
        assert_eq!(file["headers_diff"], serde_json::json!({"redacted": ["cookie", "set-cookie"]}));
        assert_eq!(file["redacted_headers"], serde_json::json!({"cookie": "both", "set-cookie": "added"}));
        commit(&place, "same", &["X: 1"]);
        let gone = place.data(&["diff", "--mode", "headers"]);
        assert!(gone.contains("- cookie: [REDACTED]\n- set-cookie: [REDACTED]\n"), "{gone}");
    }
}
