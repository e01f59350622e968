//! Replay: captures by time, rewriting, ranges, and error pages.

use serde_json::json;

use super::museum::REPLAY_HOST;
use super::{Museum, page, resource, serving};

const FIRST_TIME: &str = "2026-01-01T00:00:00Z";
const SECOND_TIME: &str = "2026-03-01T00:00:00Z";

#[test]
fn the_nearest_capture_is_shown_with_rewritten_links() {
    let (_museum, origins) = serving(
        true,
        &[
            page(
                "http://e.org/",
                FIRST_TIME,
                "<title>old</title><a href=/about>x</a><img srcset='a.png 1x'>",
            ),
            page("http://e.org/a?b=1&c=2", FIRST_TIME, "query"),
        ],
    );
    let reply = origins.get("/web/20260101000000/http://e.org/");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.text(),
        "<script src=\"/_varve/replay.js\"></script><title>old</title>\
         <a href=\"/web/20260101000000/http://e.org/about\">x</a><img srcset=\"/web/20260101000000/http://e.org/a.png 1x\">"
    );
    assert_eq!(reply.header("memento-datetime"), Some("Thu, 01 Jan 2026 00:00:00 GMT"));
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:;"), "{policy}");
    // Any time selects the nearest capture, and stays in the links.
    let reply = origins.get("/web/1999/http://e.org/");
    assert_eq!(
        (reply.status, reply.header("content-location")),
        (200, Some("/web/20260101000000/http://e.org/"))
    );
    assert!(reply.text().contains("href=\"/web/1999/http://e.org/about\""));
    // The query belongs to the URL. Other spellings, the other scheme and `www.` are found.
    assert!(origins.get("/web/2026/http://e.org/a?b=1&c=2").text().ends_with("query"));
    assert!(origins.get("/web/2026/http://e.org").text().contains("<title>old"));
    assert!(origins.get("/web/2026/http:/e.org/").text().contains("<title>old"));
    let other = origins.get("/web/2026/https://www.e.org/");
    assert_eq!((other.status, other.header("location")), (302, Some("/web/2026/http://e.org/")));
    // Without a time, the newest; with a star, the history.
    let newest = origins.get("/web/http://e.org/");
    assert_eq!((newest.status, newest.header("location")), (302, Some("/web/20260101000000/http://e.org/")));
    let history = origins.get("/web/*/http://e.org/");
    assert!(history.header("location").unwrap().ends_with("/page?url=http://e.org/"), "{history:?}");
}

#[test]
fn the_time_selects_a_capture() {
    let museum = Museum::new(true);
    for (time, body) in [(FIRST_TIME, "one"), (SECOND_TIME, "two"), ("2026-05-01T00:00:00Z", "three")] {
        museum.commit(&[page("http://e.org/", time, body)], body);
    }
    museum.commit(
        &[json!({ "url": "http://e.org/", "time": "2026-06-01T00:00:00Z", "status": 500, "body": "oops" })],
        "bad",
    );
    let origins = museum.serve();
    for (time, body) in [
        ("2025", "one"),
        ("20260101000000", "one"),
        ("20260129000000", "one"),
        ("20260201000000", "two"),
        ("20260301", "two"),
        ("20260430", "three"),
        ("20260601000000", "oops"),
    ] {
        let text = origins.get(&format!("/web/{time}id_/http://e.org/")).text();
        assert_eq!(text, body, "{time}");
    }
    // Without a time, the newest that was good.
    let newest = origins.get("/web/http://e.org/");
    assert_eq!(newest.header("location"), Some("/web/20260501000000/http://e.org/"));
    assert_eq!(origins.get("/web/20260601000000/http://e.org/").status, 500);
    // Captures that are committed while the server runs are seen at once.
    museum.commit(
        &[page("http://e.org/", "2026-07-01T00:00:00Z", "four"), page("http://e.org/new", FIRST_TIME, "new")],
        "four",
    );
    assert_eq!(origins.get("/web/2027id_/http://e.org/").text(), "four");
    assert_eq!(origins.get("/web/2027id_/http://e.org/new").text(), "new");
}

#[test]
fn original_bytes_are_unchanged_and_headers_are_safe() {
    let body = "<a href=/x>é</a>";
    let line = json!({ "url": "http://e.org/", "time": FIRST_TIME, "body": body, "headers": {
        "content-type": "text/html", "set-cookie": "a=b", "content-security-policy": "default-src http://live/",
        "link": "<http://live/x.css>; rel=preload", "server": "old", "x-frame-options": "DENY",
        "content-language": "fr", "content-encoding": "gzip", "content-length": "3", "transfer-encoding": "chunked",
        "strict-transport-security": "max-age=1", "refresh": "5; url=/next"
    } });
    let (_museum, origins) = serving(true, &[line]);
    let reply = origins.get("/web/20260101000000id_/http://e.org/");
    assert_eq!(reply.body, body.as_bytes());
    assert_eq!(reply.header("content-type"), Some("text/html"));
    assert_eq!(reply.header("content-length"), Some("17"));
    assert_eq!(reply.header("content-language"), Some("fr"));
    for name in [
        "set-cookie",
        "server",
        "x-frame-options",
        "content-encoding",
        "strict-transport-security",
        "transfer-encoding",
    ] {
        assert_eq!(reply.header(name), None, "{name}");
    }
    assert_eq!(reply.header("x-archive-orig-server"), Some("old"));
    assert_eq!(reply.header("x-archive-orig-content-encoding"), Some("gzip"));
    assert_eq!(reply.header("refresh"), Some("5; url=/web/20260101000000id_/http://e.org/next"));
    assert!(!reply.header("link").unwrap().contains("preload"));
    assert!(!reply.header("content-security-policy").unwrap().contains("live"));
}

#[test]
fn redirects_stay_in_the_archive_and_do_not_loop() {
    let moved = |from: &str, to: &str| json!({ "url": from, "time": FIRST_TIME, "status": 301, "body": "", "headers": { "location": to } });
    let (_museum, origins) = serving(
        true,
        &[
            moved("http://e.org/old", "/new?a=1#b"),
            moved("http://e.org/away", "https://live.example/"),
            moved("http://e.org/loop", "https://e.org/loop"),
        ],
    );
    let reply = origins.get("/web/2026/http://e.org/old");
    assert_eq!((reply.status, reply.header("location")), (301, Some("/web/2026/http://e.org/new?a=1#b")));
    let raw = origins.get("/web/2026id_/http://e.org/old");
    assert_eq!(raw.header("location"), Some("/web/2026id_/http://e.org/new?a=1#b"));
    let away = origins.get("/web/2026/http://e.org/away");
    assert_eq!(away.header("location"), Some("/web/2026/https://live.example/"));
    // Only `http` was captured, and redirects to `https`: that is missing, and does not redirect
    // back.
    assert_eq!(
        origins.get("/web/2026/http://e.org/loop").header("location"),
        Some("/web/2026/https://e.org/loop")
    );
    assert_eq!(origins.get("/web/2026/https://e.org/loop").status, 404);
}

#[test]
fn style_sheets_manifests_playlists_and_svg_are_rewritten() {
    let (_museum, origins) = serving(
        true,
        &[
            resource("http://e.org/s.css", FIRST_TIME, "text/css", "@import 'a.css'; b { c: url(/d.png) }"),
            resource("http://e.org/m.json", FIRST_TIME, "application/manifest+json", r#"{"start_url":"/"}"#),
            resource("http://e.org/l.m3u8", FIRST_TIME, "application/vnd.apple.mpegurl", "#EXTM3U\nseg.ts\n"),
            resource("http://e.org/s.js", FIRST_TIME, "text/javascript", "location = '/x'"),
            resource(
                "http://e.org/p.svg",
                FIRST_TIME,
                "image/svg+xml",
                "<svg xmlns='http://www.w3.org/2000/svg'><image href='x.png'/></svg>",
            ),
            resource("http://e.org/t.txt", FIRST_TIME, "text/plain", "<html><a href=/x>"),
        ],
    );
    let text = |path: &str| origins.get(&format!("/web/2026/http://e.org/{path}")).text();
    assert_eq!(
        text("s.css"),
        "@import \"/web/2026/http://e.org/a.css\"; b { c: url(\"/web/2026/http://e.org/d.png\") }"
    );
    assert_eq!(text("m.json"), r#"{"start_url":"/web/2026/http://e.org/"}"#);
    assert_eq!(text("l.m3u8"), "#EXTM3U\n/web/2026/http://e.org/seg.ts\n");
    assert_eq!(text("s.js"), "location = '/x'");
    assert_eq!(
        text("p.svg"),
        "<svg xmlns='http://www.w3.org/2000/svg'><script xmlns=\"http://www.w3.org/2000/svg\" href=\"/_varve/replay.js\"></script>\
         <image href=\"/web/2026/http://e.org/x.png\" /></svg>"
    );
    assert_eq!(text("t.txt"), "<html><a href=/x>");
    // HTML that is requested as a script is not rewritten.
    let script = origins.get_with("/web/2026/http://e.org/t.txt", &[("Sec-Fetch-Dest", "script")]);
    assert_eq!(script.text(), "<html><a href=/x>");
}

#[test]
fn the_content_type_names_the_encoding() {
    let base64 = |bytes: &[u8]| data_encoding::BASE64.encode(bytes);
    let line = |url: &str, kind: &str, body: &[u8]| json!({ "url": url, "time": FIRST_TIME, "body_base64": base64(body), "headers": { "content-type": kind } });
    let utf_16: Vec<u8> = "\u{feff}<p>é".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_museum, origins) = serving(
        true,
        &[
            line("http://e.org/latin", "text/html; charset=iso-8859-1", b"<p>\xe9"),
            line("http://e.org/meta", "text/html", b"<meta charset=koi8-r><p>\xc1"),
            line("http://e.org/wide", "text/html", &utf_16),
            line("http://e.org/none", "text/html", "<p>é".as_bytes()),
        ],
    );
    let reply = |path: &str| origins.get(&format!("/web/2026/http://e.org/{path}"));
    let kind = |path: &str| reply(path).header("content-type").unwrap().to_owned();
    assert_eq!(kind("latin"), "text/html; charset=windows-1252");
    assert!(reply("latin").body.ends_with(b"<p>\xe9"));
    assert_eq!(kind("meta"), "text/html; charset=koi8-r");
    assert_eq!(kind("wide"), "text/html; charset=utf-8");
    assert!(reply("wide").text().ends_with("<p>é"));
    assert_eq!(kind("none"), "text/html; charset=utf-8");
}

#[test]
fn ranges_conditions_and_head_requests() {
    let body: String = (0..200_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
    let (_museum, origins) = serving(
        true,
        &[
            resource("http://e.org/v.mp4", FIRST_TIME, "video/mp4", &body),
            page("http://e.org/", FIRST_TIME, "<p>x"),
        ],
    );
    let video = "/web/20260101000000/http://e.org/v.mp4";
    let ranged = |range: &str| origins.get_with(video, &[("Range", range)]);
    let reply = ranged("bytes=26-30");
    assert_eq!(
        (reply.status, reply.text().as_str(), reply.header("content-range")),
        (206, "abcde", Some("bytes 26-30/200000"))
    );
    assert_eq!(ranged("bytes=-3").text(), body[199_997..]);
    assert_eq!(ranged("bytes=199999-").text(), body[199_999..]);
    let beyond = ranged("bytes=200000-");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */200000")));
    assert_eq!(ranged("bytes=0-1,5-6").status, 200);
    let whole = origins.get(video);
    assert_eq!(
        (whole.status, whole.header("accept-ranges"), whole.body.len()),
        (200, Some("bytes"), 200_000)
    );
    let tag = whole.header("etag").unwrap();
    let known = origins.get_with(video, &[("If-None-Match", tag)]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let stale = origins.get_with(video, &[("Range", "bytes=0-1"), ("If-Range", "\"other\"")]);
    assert_eq!((stale.status, stale.body.len()), (200, 200_000));
    let head = origins.request(REPLAY_HOST, "HEAD", video, &[]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("200000"), 0));
    let head = origins.request(REPLAY_HOST, "HEAD", "/web/2026/http://e.org/", &[]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, None, 0));
    assert_eq!(origins.request(REPLAY_HOST, "POST", video, &[]).status, 405);
}

#[test]
fn a_part_of_a_body_is_shown_only_where_no_capture_is_whole() {
    let part = |url: &str, time: &str, body: &str| {
        let mut part = resource(url, time, "video/mp4", body);
        part["status"] = 206.into();
        part
    };
    let (museum, origins) = serving(
        true,
        &[
            resource("http://e.org/v.mp4", "2026-01-01T00:00:00Z", "video/mp4", "the whole video"),
            part("http://e.org/other.mp4", "2026-01-01T00:00:00Z", "the"),
        ],
    );
    for day in 2..12 {
        let part = part("http://e.org/v.mp4", &format!("2026-01-{day:02}T00:00:00Z"), &format!("part {day}"));
        museum.commit(&[part], "a part");
    }
    for time in ["20260101000000", "20260106", "2026"] {
        let reply = origins.get(&format!("/web/{time}/http://e.org/v.mp4"));
        assert_eq!((reply.status, reply.text().as_str()), (200, "the whole video"), "{time}");
    }
    let range = origins.get_with("/web/2026/http://e.org/v.mp4", &[("Range", "bytes=4-8")]);
    assert_eq!((range.status, range.text().as_str()), (206, "whole"));
    assert_eq!(origins.get("/web/2026/http://e.org/other.mp4").text(), "the");
}

#[test]
fn requests_with_other_numbers_callbacks_and_sessions_are_answered() {
    let script = "text/javascript";
    let (_museum, origins) = serving(
        true,
        &[
            resource("http://e.org/data?q=x&_=1600000000000", FIRST_TIME, "application/json", "{}"),
            resource("http://e.org/p?callback=old_1&id=3", FIRST_TIME, script, "/**/old_1 ({\"a\": 1});"),
            resource("http://e.org/p?callback=f&id=4", FIRST_TIME, script, "g({});"),
            page("http://e.org/search.html", FIRST_TIME, "<p>results"),
        ],
    );
    let reply = |url: &str| origins.get(&format!("/web/20260101000000/{url}"));
    let data = reply("http://e.org/data?_=1700000000000&q=x");
    assert_eq!((data.status, data.text().as_str()), (200, "{}"));
    assert_eq!(data.header("x-varve-match"), Some("fuzzy/cache-buster"));
    assert_eq!(
        data.header("content-location"),
        Some("/web/20260101000000/http://e.org/data?q=x&_=1600000000000")
    );
    let called = reply("http://e.org/p?callback=new.name&id=3");
    assert_eq!(
        (called.text().as_str(), called.header("x-varve-match")),
        ("/**/new.name ({\"a\": 1});", Some("fuzzy/callback"))
    );
    assert_eq!(reply("http://e.org/p?callback=h&id=4").text(), "g({});");
    let page = reply("https://www.e.org/search.html?q=word");
    assert_eq!((page.status, page.header("x-varve-match")), (200, Some("fuzzy/static-file")));
    assert!(page.text().contains("<p>results"));
    for other in ["http://e.org/data?q=y&_=1", "http://e.org/p?callback=x&id=5", "http://e.org/p"] {
        assert_eq!(reply(other).status, 404, "{other}");
    }
}

#[test]
fn missing_and_damaged_captures_have_error_pages() {
    let (museum, origins) = serving(
        true,
        &[
            page("http://e.org/a/one", FIRST_TIME, "one"),
            page("http://e.org/big", FIRST_TIME, &"<p>text</p>".repeat(50_000)),
        ],
    );
    let reply = origins.get("/web/2026/http://e.org/a/two");
    assert_eq!(reply.status, 404);
    let text = reply.text();
    assert!(text.contains("Not in the archive") && text.contains("/web/2026/http://e.org/a/one"), "{text}");
    assert_eq!(origins.get("/web/2026/http://nowhere.example/").status, 404);
    assert_eq!(origins.get("/web/20261399000000/http://e.org/").status, 400);
    for without_url in ["/web/2026/", "/web/"] {
        let reply = origins.get(without_url);
        assert_eq!(reply.status, 200);
        assert!(reply.text().contains("<form"), "a page that takes a URL: {}", reply.text());
    }
    assert_eq!(origins.get("/nothing").status, 404);
    // The error page of a damaged body names its record. A body that is cut never looks whole.
    let silo = museum.path("warc/0/00000000.warc.gz");
    let mut bytes = std::fs::read(&silo).unwrap();
    let length = bytes.len();
    bytes[length / 3..].fill(0);
    std::fs::write(&silo, &bytes).unwrap();
    let mut failures = 0;
    for url in ["http://e.org/a/one", "http://e.org/big"] {
        let reply = origins.get(&format!("/web/2026id_/{url}"));
        if reply.status == 200 && reply.is_whole {
            continue;
        }
        failures += 1;
        if reply.status != 200 {
            let text = reply.text();
            assert_eq!(reply.status, 500, "{text}");
            assert!(
                text.contains("cannot be shown") && text.contains("urn:sha256:") && text.contains(url),
                "{text}"
            );
        }
    }
    assert!(failures > 0, "nothing was damaged");
}

#[test]
fn a_missed_link_is_resolved_by_its_referer() {
    let (_museum, origins) = serving(
        true,
        &[
            page("http://e.org/d/", FIRST_TIME, "x"),
            resource("http://e.org/i.png", FIRST_TIME, "image/png", "PNG"),
        ],
    );
    let referer = format!("http://{}/web/2026/http://e.org/d/", REPLAY_HOST);
    let reply = origins.get_with("/i.png?a=b", &[("Referer", &referer)]);
    assert_eq!(
        (reply.status, reply.header("location"), reply.header("vary")),
        (307, Some("/web/2026/http://e.org/i.png?a=b"), Some("Referer"))
    );
    let foreign = origins.get_with("/i.png", &[("Referer", "http://evil.example/web/2026/http://e.org/d/")]);
    assert_eq!(foreign.status, 404);
    let script = origins.get("/_varve/replay.js");
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(origins.get_with("/web/2026/http://e.org/d/", &[("Service-Worker", "script")]).status, 404);
}

/// A URL inside the path keeps its slashes, escapes and query. These URLs are already in the normal
/// form of `commit`, so a difference could only come from the server.
#[test]
fn urls_inside_urls_are_not_decoded_or_normalised() {
    let urls = [
        "http://a.example//b?x=%2F",
        "http://a.example/b?x=/",
        "http://a.example/x%2Fy/c?u=http://b.example//d?e",
        "http://a.example/b;p=1?q%5B%5D=%26&r",
    ];
    let pages: Vec<_> = urls.iter().map(|url| page(url, FIRST_TIME, url)).collect();
    let (_museum, origins) = serving(true, &pages);
    for url in urls {
        let reply = origins.get(&format!("/web/20260101000000id_/{url}"));
        assert_eq!((reply.status, reply.text().as_str()), (200, url));
        let location = origins.get(&format!("/web/{url}"));
        assert_eq!(location.header("location"), Some(format!("/web/20260101000000/{url}").as_str()));
    }
}
