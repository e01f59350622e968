//! Whole captures compared, as the `diff` verb does.

use proptest::prelude::*;
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{
    BodyComparison, BodySimilarity, CaptureComparison, CaptureSide, CompareOptions, DiffMode, compare, learn,
};
use varve_diff::text::{DiffView, plain_text};

fn headers(pairs: &[(&str, &str)]) -> HeaderView {
    HeaderView::from_pairs(pairs.iter().copied(), Redaction::Off)
}

fn side<'a>(id: &'a str, headers: &'a HeaderView, body: &'a [u8]) -> CaptureSide<'a> {
    CaptureSide { id, headers, body, media_type: None }
}

fn in_mode(mode: DiffMode) -> CompareOptions {
    CompareOptions { mode, ..CompareOptions::default() }
}

const BASE: &str = "<!doctype html>\r\n<title>News</title>\r\n<meta name=\"csrf-token\" content=\"aaaaaaaa1111\">\r\n\
    <script src=\"/app.1111aaaa.js\" nonce=\"n0nce-one\"></script>\r\n<h1>Old heading</h1>\r\n<p>Same text.</p>\r\n\
    <!-- rendered 2026-01-01 10:00:00 -->\r\n";

const HEAD: &str = "<!doctype html>\n<title>News</title>\n<meta name=\"csrf-token\" content=\"bbbbbbbb2222\">\n\
    <script src=\"/app.3333bbbb.js\" nonce=\"n0nce-two\"></script>\n<h1>New heading</h1>\n<p>Same text.</p>\n\
    <form action=/login><input name=password></form>\n<!-- rendered 2026-01-02 11:00:00 -->\n";

fn sample_headers() -> (HeaderView, HeaderView) {
    let base =
        [("Content-Type", "text/html"), ("Date", "a"), ("X-Frame-Options", "DENY"), ("Set-Cookie", "a=1")];
    let head = [("Content-Type", "text/html"), ("Date", "b"), ("Set-Cookie", "a=2"), ("ETag", "x")];
    (headers(&base), headers(&head))
}

fn json(comparison: &CaptureComparison<'_>, all: bool) -> serde_json::Value {
    serde_json::to_value(comparison.report(all)).expect("a report is JSON")
}

#[test]
fn lines_without_noise_have_the_documented_shape() {
    let (from, to) = sample_headers();
    let comparison = compare(
        &side("v1", &from, BASE.as_bytes()),
        &side("v2", &to, HEAD.as_bytes()),
        &CompareOptions::default(),
    );
    assert!(comparison.is_changed());
    let told = json(&comparison, false);
    assert_eq!(
        told["body_diff"],
        serde_json::json!({"base_id": "v1", "head_id": "v2", "chunks": [
            {"type": "removed", "content": "<h1>Old heading</h1>\r\n"},
            {"type": "added", "content": "<h1>New heading</h1>\n"},
            {"type": "added", "content": "<form action=/login><input name=password></form>\n"},
        ]})
    );
    assert_eq!(
        told["headers_diff"],
        serde_json::json!({"added": {"etag": ["x"]}, "removed": {"x-frame-options": ["DENY"]}, "redacted": ["set-cookie"]})
    );
    assert_eq!(told["header_noise"], serde_json::json!({"date": "volatile-header"}));
    let all = json(&comparison, true);
    assert!(all["headers_diff"]["changed"]["date"].is_object());
    assert_eq!(all["body_diff"]["chunks"][0]["noise"], "csrf-token");
}

const MODES: [DiffMode; 4] = [DiffMode::Lines, DiffMode::Words, DiffMode::Dom, DiffMode::Letters];

#[test]
fn bytes_that_cannot_be_read_are_never_the_same() {
    let page = |text: &[u8]| [b"<!doctype html>\r\n<p>Preis: 100 ", text, b"</p>\n"].concat();
    for (charset, base, head) in [
        ("utf-8", &b"\xa3, F\xfcnf"[..], &b"\xa5, F\xe4nf"[..]),
        ("utf-8", b"\xe9", b"\xc3\xa9"),
        ("utf-8", b"\xe9\xe9", b"\xe9"),
        ("utf-8", b"\xff", b"\xef\xbf\xbd"),
        ("shift_jis", b"\x82\xff", b"\x83\xff"),
        ("iso-2022-kr", b"one", b"two"),
    ] {
        let headers = headers(&[("content-type", &format!("text/html; charset={charset}"))]);
        let (base, head) = (page(base), page(head));
        for mode in MODES {
            let comparison = compare(&side("", &headers, &base), &side("", &headers, &head), &in_mode(mode));
            assert!(comparison.is_changed(), "{charset} {mode:?} {base:?}");
            assert_eq!(comparison.body.alike(), None);
        }
    }
    let headers = headers(&[("content-type", "text/html; charset=utf-8")]);
    let (base, head) = (page(b"\xa3, F\xfcnf"), page(b"\xa5, F\xe4nf"));
    let comparison =
        compare(&side("", &headers, &base), &side("", &headers, &head), &CompareOptions::default());
    let text = plain_text(&comparison.hunks(&DiffView::default(), false));
    assert!(text.contains("+<p>Preis: 100 ¥, Fänf</p>\n"), "{text}");
}

#[test]
fn bytes_that_cannot_be_read_and_stay_are_no_change() {
    let headers = headers(&[("content-type", "text/html; charset=utf-8")]);
    let base = &b"<p>F\xfcnf</p>\r\n<p>x</p>\r\n"[..];
    let head = &b"<p>F\xfcnf</p>\n<p>x</p>\n"[..];
    for mode in MODES {
        let comparison = compare(&side("", &headers, base), &side("", &headers, head), &in_mode(mode));
        assert!(!comparison.is_changed(), "{mode:?}");
    }
}

#[test]
fn pages_in_utf_16_are_text() {
    let bytes = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let headers = headers(&[("content-type", "text/html; charset=utf-16")]);
    let (base, head) = (bytes("<p>one</p>"), bytes("<p>two</p>"));
    let comparison = compare(&side("", &headers, &base), &side("", &headers, &head), &in_mode(DiffMode::Dom));
    let BodyComparison::Dom(dom) = &comparison.body else { panic!("{:?}", comparison.body) };
    assert_eq!(dom.diff.changes.len(), 1);
}

#[test]
fn text_output_shows_the_remaining_changes() {
    let none = HeaderView::default();
    let comparison = compare(
        &side("v1", &none, BASE.as_bytes()),
        &side("v2", &none, HEAD.as_bytes()),
        &CompareOptions::default(),
    );
    let view = DiffView { context: 1, ..DiffView::default() };
    insta::assert_snapshot!(plain_text(&comparison.hunks(&view, false)), @r#"
    @@ -4,4 +4,5 @@
    -<script src="/app.1111aaaa.js" nonce="n0nce-one"></script>  # noise: nonce
    +<script src="/app.3333bbbb.js" nonce="n0nce-two"></script>  # noise: nonce
    -<h1>Old heading</h1>
    +<h1>New heading</h1>
     <p>Same text.</p>
    +<form action=/login><input name=password></form>
    -<!-- rendered 2026-01-01 10:00:00 -->  # noise: timestamp
    +<!-- rendered 2026-01-02 11:00:00 -->  # noise: timestamp
    "#);
}

#[test]
fn noise_that_is_shown_is_marked_line_by_line() {
    let none = HeaderView::default();
    let sides = (side("v1", &none, BASE.as_bytes()), side("v2", &none, HEAD.as_bytes()));
    let comparison = compare(&sides.0, &sides.1, &CompareOptions::default());
    let text = plain_text(&comparison.hunks(&DiffView::default(), true));
    assert!(
        text.contains("+<meta name=\"csrf-token\" content=\"bbbbbbbb2222\">  # noise: csrf-token\n"),
        "{text}"
    );
    assert!(text.contains("+<h1>New heading</h1>\n"), "{text}");
    let html = comparison.html("News", &DiffView::default(), true);
    assert!(html.contains("<td class=\"added noise\" title=\"noise: csrf-token\">"), "{html}");
}

#[test]
fn nodes_have_paths_and_noise_has_names() {
    let none = headers(&[("content-type", "text/html")]);
    let comparison = compare(
        &side("v1", &none, BASE.as_bytes()),
        &side("v2", &none, HEAD.as_bytes()),
        &in_mode(DiffMode::Dom),
    );
    let told = json(&comparison, true);
    insta::assert_snapshot!(serde_json::to_string_pretty(&told["body_diff"]["chunks"]).unwrap(), @r#"
    [
      {
        "type": "changed",
        "path": "html > head > meta",
        "part": "attribute",
        "attribute": "content",
        "before": "aaaaaaaa1111",
        "after": "bbbbbbbb2222",
        "noise": "csrf-token"
      },
      {
        "type": "changed",
        "path": "html > head > script",
        "part": "attribute",
        "attribute": "src",
        "before": "/app.1111aaaa.js",
        "after": "/app.3333bbbb.js",
        "noise": "build-hash"
      },
      {
        "type": "changed",
        "path": "html > head > script",
        "part": "attribute",
        "attribute": "nonce",
        "before": "n0nce-one",
        "after": "n0nce-two",
        "noise": "nonce"
      },
      {
        "type": "changed",
        "path": "html > body > h1",
        "part": "text",
        "before": "Old heading",
        "after": "New heading"
      },
      {
        "type": "added",
        "content": "<form action=\"/login\"><input name=\"password\"></form>",
        "path": "html > body > form"
      },
      {
        "type": "changed",
        "path": "html > body",
        "part": "comment",
        "before": "<!-- rendered 2026-01-01 10:00:00 -->",
        "after": "<!-- rendered 2026-01-02 11:00:00 -->",
        "noise": "timestamp"
      }
    ]
    "#);
    assert_eq!(json(&comparison, false)["body_diff"]["chunks"].as_array().unwrap().len(), 2);
}

#[test]
fn moved_nodes_have_both_places_and_their_content() {
    let none = headers(&[("content-type", "text/html")]);
    let chunks = |base: &str, head: &str| {
        let sides = (side("", &none, base.as_bytes()), side("", &none, head.as_bytes()));
        json(&compare(&sides.0, &sides.1, &in_mode(DiffMode::Dom)), false)["body_diff"]["chunks"].clone()
    };
    let moved = chunks("<main>a text</main><p>one</p><p>two</p>", "<p>one</p><p>two</p><main>a text</main>");
    assert_eq!(
        moved,
        serde_json::json!([{"type": "moved", "content": "<main>a text</main>", "path": "html > body > main",
            "before": "html > body > main /* first */", "after": "html > body > main /* after <p>two</p> */"}])
    );
    let imitated = chunks("<p>a</p>", "<p>moved from html > body > main</p>");
    assert_eq!(imitated[0]["type"], "changed");
}

/// Lines that differ only by noise, in the context of an edit.
#[test]
fn each_side_shows_its_own_bytes_where_noise_is_context() {
    let none = headers(&[("content-type", "text/html")]);
    let sides = (side("v1", &none, BASE.as_bytes()), side("v2", &none, HEAD.as_bytes()));
    for mode in [DiffMode::Lines, DiffMode::Words] {
        let html = compare(&sides.0, &sides.1, &in_mode(mode)).html("News", &DiffView::default(), false);
        let row = html.lines().find(|line| line.contains("1111aaaa")).expect("the bytes of the older side");
        let (older, newer) = row.split_once("3333bbbb").expect("the bytes of the newer side in the same row");
        assert!(older.contains("one</del>") && !older.contains("two</"), "{row}");
        assert!(newer.contains("two</ins>") && !newer.contains("n0nce-one"), "{row}");
        assert_eq!(row.matches("<td class=\"noise\" title=\"noise: nonce\">").count(), 2, "{row}");
        assert_eq!(row.matches("<small>noise: nonce</small>").count(), 2, "{row}");
    }
}

#[test]
fn a_page_of_both_sides_is_self_contained() {
    let (from, to) = sample_headers();
    let sides = (side("v1", &from, BASE.as_bytes()), side("v2", &to, HEAD.as_bytes()));
    for mode in [DiffMode::Lines, DiffMode::Words, DiffMode::Dom] {
        let html = compare(&sides.0, &sides.1, &in_mode(mode)).html("News", &DiffView::default(), true);
        assert!(html.contains("x-frame-options") && html.contains("heading"), "{mode:?}");
        assert!(
            !html.contains("<script") && !html.contains("src=\"/app") && !html.contains("http://"),
            "{mode:?}"
        );
    }
}

#[test]
fn nodes_with_long_texts_show_where_they_differ() {
    let about = headers(&[("content-type", "text/html")]);
    let page = |word: &str| format!("<script id=x>{}{word}</script>", "same(); ".repeat(1000));
    let (one, other) = (page("good()"), page("evil()"));
    let comparison = compare(
        &side("a", &about, one.as_bytes()),
        &side("b", &about, other.as_bytes()),
        &in_mode(DiffMode::Dom),
    );
    let chunk = &comparison.body_diff(false).chunks[0];
    let (before, after) = (chunk.before.as_deref().unwrap(), chunk.after.as_deref().unwrap());
    assert!(before.ends_with("good()") && after.ends_with("evil()"), "{chunk:?}");
    assert!(before.len().max(after.len()) < 250, "{chunk:?}");
    let added =
        format!("<div>{}<script src=//evil.example></script>{}</div>", "a ".repeat(5000), "b ".repeat(5000));
    let comparison = compare(
        &side("a", &about, b"<p>x</p>"),
        &side("b", &about, added.as_bytes()),
        &in_mode(DiffMode::Dom),
    );
    assert!(json(&comparison, false)["body_diff"].to_string().contains("evil.example"));
}

#[test]
fn bodies_that_are_not_html_are_compared_by_lines() {
    let about = headers(&[("content-type", "text/html")]);
    let deep = |text: &str| format!("{}\n{text}\n", "<div>".repeat(1000));
    let attributes = |value: &str| {
        let list: String = (0..4_000).map(|n| format!(" a{n}={value}")).collect();
        format!("<p{list}>x")
    };
    for (one, other) in [(deep("one"), deep("two")), (attributes("1"), attributes("2"))] {
        let sides = (side("a", &about, one.as_bytes()), side("b", &about, other.as_bytes()));
        let comparison = compare(&sides.0, &sides.1, &in_mode(DiffMode::Dom));
        assert!(comparison.is_changed() && matches!(comparison.body, BodyComparison::Text(_)));
        assert!(comparison.notes()[0].starts_with("The page is compared by lines and not by nodes: "));
        assert!(json(&comparison, false)["not_by_nodes"].is_string());
    }
}

#[test]
fn pages_with_the_same_nodes_are_alike_and_not_noise() {
    let about = headers(&[("content-type", "text/html")]);
    let sides = (side("a", &about, b"<p>x</p>"), side("b", &about, b"<P>x</P>"));
    let comparison = compare(&sides.0, &sides.1, &in_mode(DiffMode::Dom));
    assert_eq!((comparison.body.alike(), comparison.is_changed()), (Some(BodySimilarity::Nodes), false));
    assert_eq!(
        comparison.notes(),
        ["The nodes are the same: the bytes differ only in how they are written."]
    );
    assert_eq!(compare(&sides.0, &sides.1, &CompareOptions::default()).body.alike(), None);
}

#[test]
fn only_noise_is_no_change() {
    let page =
        |nonce: &str, time: &str| format!("<script nonce=\"{nonce}\">run()</script>\n<!-- {time} -->\n");
    let (one, other) = (page("aaaaaaaa1", "2026-01-01T00:00:00Z"), page("bbbbbbbb2", "2026-01-01T00:00:01Z"));
    let from = headers(&[("Content-Type", "text/html"), ("ETag", "1"), ("Date", "x")]);
    let to = headers(&[("Content-Type", "text/html"), ("ETag", "2"), ("Date", "y")]);
    for mode in [DiffMode::Lines, DiffMode::Words, DiffMode::Dom] {
        let comparison =
            compare(&side("a", &from, one.as_bytes()), &side("b", &to, other.as_bytes()), &in_mode(mode));
        assert!(!comparison.is_changed(), "{mode:?}: {:?}", comparison.report(true));
        assert!(comparison.body_diff(false).chunks.is_empty());
    }
}

/// Whether two pages differ by more than noise, by lines and by nodes, and which rules fired.
fn told(base: &str, head: &str) -> [(bool, Vec<&'static str>); 2] {
    let html = headers(&[("Content-Type", "text/html")]);
    let page = |body: &str| format!("<!doctype html>\n<title>x</title>\n<p>before\n{body}\n<p>after\n");
    let (base, head) = (page(base), page(head));
    [DiffMode::Lines, DiffMode::Dom].map(|mode| {
        let comparison =
            compare(&side("a", &html, base.as_bytes()), &side("b", &html, head.as_bytes()), &in_mode(mode));
        let rules = comparison.body_noise().iter().flatten().map(|rule| rule.name()).collect();
        (comparison.is_changed(), rules)
    })
}

#[test]
fn edits_of_people_are_changes_by_lines_and_by_nodes() {
    for (base, head) in [
        ("<p>Concert on 2026-05-01 19:30 in the hall</p>", "<p>Concert on 2026-06-02 20:00 in the hall</p>"),
        (
            "<time datetime=\"2026-05-01T10:00:00Z\">then</time>",
            "<time datetime=\"2026-09-01T10:00:00Z\">then</time>",
        ),
        ("<table><td>1:23:45</td></table>", "<table><td>1:22:01</td></table>"),
        ("<script src=\"/js/bootstrap336.js\"></script>", "<script src=\"/js/coinhive22.js\"></script>"),
        ("<img src=\"/photos/20240501.jpg\">", "<img src=\"/photos/20260611.jpg\">"),
        ("<img src=\"/p/product-12345678.png\">", "<img src=\"/p/product-87654321.png\">"),
        ("<a href=\"/dist/20260101/\">all</a>", "<a href=\"/dist/20260601/\">all</a>"),
        ("<p>Order nonce: 12345678</p>", "<p>Order nonce: 99999999</p>"),
        (
            "<script src=\"/a.js\" integrity=\"sha256-aaaa\"></script>",
            "<script src=\"/a.js\" integrity=\"sha256-bbbb\"></script>",
        ),
        ("<div class=\"ad-banner\"></div>", "<div class=\"ad-banner\"><script src=/x></script></div>"),
    ] {
        for (changed, rules) in told(base, head) {
            assert!(changed && rules.is_empty(), "{head}: {rules:?}");
        }
    }
}

#[test]
fn generated_values_are_noise_by_lines_and_by_nodes() {
    for (base, head, rule) in [
        (
            "<p>Page rendered: May 1, 2026 10:15 AM</p>",
            "<p>Page rendered: May 2, 2026 8:01 PM</p>",
            "timestamp",
        ),
        (
            "<p>Rendered <time datetime=\"2026-05-01T10:00:00Z\">1 May 2026 10:00</time></p>",
            "<p>Rendered <time datetime=\"2026-05-02T11:00:00Z\">2 May 2026 11:00</time></p>",
            "timestamp",
        ),
        ("<p>Page generated in 0.123 seconds</p>", "<p>Page generated in 0.2 seconds</p>", "timestamp"),
        (
            "<!-- Generated by javadoc (17) on Thu Oct 31 10:11:12 UTC 2024 -->",
            "<!-- Generated by javadoc (17) on Fri Nov 01 10:11:12 UTC 2024 -->",
            "timestamp",
        ),
        (
            "<meta name=\"dc.created\" content=\"2024-10-31\">",
            "<meta name=\"dc.created\" content=\"2024-11-01\">",
            "timestamp",
        ),
        (
            "<input type=\"hidden\" name=\"_token\" value=\"a1B2c3D4e5F6g7H8\">",
            "<input type=\"hidden\" name=\"_token\" value=\"h8G7f6E5d4C3b2A1\">",
            "csrf-token",
        ),
        (
            "<script defer src=\"/en.search.min.3f1e3aaf261f960b.js\" integrity=\"sha256-Px46&#43;Y=\"></script>",
            "<script defer src=\"/en.search.min.9c26da0e9ac4703f.js\" integrity=\"sha256-nCba&#43;E=\"></script>",
            "build-hash",
        ),
        ("<ins class=\"adsbygoogle\">Buy this</ins>", "<ins class=\"adsbygoogle\">Buy that</ins>", "ad-slot"),
    ] {
        for (changed, rules) in told(base, head) {
            assert!(!changed && rules.iter().all(|fired| *fired == rule), "{head}: {rules:?}");
        }
    }
}

#[test]
fn volatile_content_is_learned_from_two_captures_taken_together() {
    let page =
        |visits: u32, text: &str| format!("<p>Visitors online right now: {visits}</p>\n<h1>{text}</h1>\n");
    let about = |rate: &str| headers(&[("Content-Type", "text/html"), ("X-Visitors", rate)]);
    let (first, second, third) = (about("9"), about("8"), about("3"));
    let bodies = [page(10, "Title"), page(12, "Title"), page(99, "Title"), page(99, "Other")];
    let together = (side("a", &first, bodies[0].as_bytes()), side("b", &second, bodies[1].as_bytes()));
    for mode in [DiffMode::Lines, DiffMode::Dom] {
        let volatile = learn(&together.0, &together.1, &CompareOptions::default());
        let options = CompareOptions { volatile, mode, ..CompareOptions::default() };
        let later = compare(&together.0, &side("c", &third, bodies[2].as_bytes()), &options);
        assert!(!later.is_changed(), "{:?}", later.report(true));
        let edited = compare(&together.0, &side("c", &third, bodies[3].as_bytes()), &options);
        assert!(edited.is_changed());
        // The volatile line is next to the edit, and is split from it.
        let shown = json(&edited, false)["body_diff"]["chunks"].to_string();
        assert!(shown.contains("Other") && !shown.contains("Visitors"), "{shown}");
        assert!(compare(&together.0, &together.1, &in_mode(mode)).is_changed());
    }
}

#[test]
fn binary_bodies_are_weighed() {
    let image = headers(&[("Content-Type", "image/png")]);
    let comparison = compare(
        &side("a", &image, b"\x89PNG\0"),
        &side("b", &image, b"\x89PNG\0\0"),
        &CompareOptions::default(),
    );
    let chunk = &comparison.body_diff(false).chunks[0];
    assert_eq!(
        [chunk.before.as_deref(), chunk.after.as_deref()],
        [
            Some("5 bytes sha256:ad91235e882292469812e16da0b8fc77075a7c6d6f8760c24be14a5c792508cf"),
            Some("6 bytes sha256:4ed147525816e2611eae4f940c63ad947074621c39c285463b087c87a7143081"),
        ]
    );
    assert!(matches!(comparison.body, BodyComparison::Binary(..)) && comparison.is_changed());
    let by_letters = compare(
        &side("a", &image, b"\x89PNG\0"),
        &side("b", &image, b"\x89PNG\0\0"),
        &in_mode(DiffMode::Letters),
    );
    assert!(matches!(by_letters.body, BodyComparison::Binary(..)), "no letters can be told apart in it");
}

#[test]
fn encodings_do_not_make_changes() {
    let latin = headers(&[("Content-Type", "text/html; charset=iso-8859-1")]);
    let utf = headers(&[("Content-Type", "text/html; charset=utf-8")]);
    let options = CompareOptions::default();
    let comparison =
        compare(&side("a", &latin, b"caf\xe9\n"), &side("b", &utf, "café\n".as_bytes()), &options);
    assert!(!comparison.body.is_changed());
    assert_eq!(json(&comparison, false)["encodings"][0]["encoding"], "windows-1252");
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        "(<(/?(p|div class=ad|script nonce=aaaaaaaaa))>|10:00:00|\n|2026-01-01T00:00:00Z|x){0,20}"
            .prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn comparing_is_total_and_a_body_equals_itself(base in body(), head in body(), html: bool) {
        let about = headers(&[("Content-Type", if html { "text/html" } else { "text/plain" })]);
        for mode in [DiffMode::Lines, DiffMode::Words, DiffMode::Dom] {
            let comparison = compare(&side("a", &about, &base), &side("b", &about, &head), &in_mode(mode));
            comparison.html("t", &DiffView::default(), true);
            json(&comparison, false);
            prop_assert!(!compare(&side("a", &about, &base), &side("b", &about, &base), &in_mode(mode)).is_changed());
        }
    }

    #[test]
    fn no_rule_hides_a_new_script(page in body(), place in 0..100usize) {
        let page = String::from_utf8_lossy(&page).into_owned();
        let place = page.floor_char_boundary(place.min(page.len()));
        let head = format!("{}\n<script>evil()</script>\n{}", &page[..place], &page[place..]);
        let about = headers(&[("Content-Type", "text/html")]);
        let comparison = compare(&side("a", &about, page.as_bytes()), &side("b", &about, head.as_bytes()), &CompareOptions::default());
        prop_assert!(comparison.is_changed());
        if matches!(comparison.body, BodyComparison::Text(_)) {
            let told = json(&comparison, false).to_string();
            prop_assert!(told.contains("evil()"), "{}", told);
        }
    }
}
