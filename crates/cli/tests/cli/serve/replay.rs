//! Archived pages as they were: found by time, rewritten, in parts, and honest about what is not there.

use serde_json::json;

use super::client::{Served, ask};
use super::{commit, page, part, serving};
use crate::history::Place;

const FIRST: &str = "2026-01-01T00:00:00Z";
const SECOND: &str = "2026-03-01T00:00:00Z";

#[test]
fn the_capture_nearest_in_time_is_shown_with_links_that_stay() {
    let (_place, served) = serving(
        true,
        &[
            page("http://e.org/", FIRST, "<title>old</title><a href=/about>x</a><img srcset='a.png 1x'>"),
            page("http://e.org/a?b=1&c=2", FIRST, "query"),
        ],
    );
    let reply = served.get("/web/20260101000000/http://e.org/");
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
    // Any time leads to the nearest capture, and stays in the links.
    let reply = served.get("/web/1999/http://e.org/");
    assert_eq!(
        (reply.status, reply.header("content-location")),
        (200, Some("/web/20260101000000/http://e.org/"))
    );
    assert!(reply.text().contains("href=\"/web/1999/http://e.org/about\""));
    // A query is part of the URL, as it is; spellings, the other scheme and `www.` are found.
    assert!(served.get("/web/2026/http://e.org/a?b=1&c=2").text().ends_with("query"));
    assert!(served.get("/web/2026/http://e.org").text().contains("<title>old"));
    assert!(served.get("/web/2026/http:/e.org/").text().contains("<title>old"));
    let other = served.get("/web/2026/https://www.e.org/");
    assert_eq!((other.status, other.header("location")), (302, Some("/web/2026/http://e.org/")));
    // Without a time, the newest; with a star, the history.
    let newest = served.get("/web/http://e.org/");
    assert_eq!((newest.status, newest.header("location")), (302, Some("/web/20260101000000/http://e.org/")));
    let history = served.get("/web/*/http://e.org/");
    assert!(history.header("location").unwrap().ends_with("/page?url=http://e.org/"), "{history:?}");
}

#[test]
fn times_choose_among_captures() {
    let place = Place::new(true);
    for (time, body) in [(FIRST, "one"), (SECOND, "two"), ("2026-05-01T00:00:00Z", "three")] {
        commit(&place, &[page("http://e.org/", time, body)], body);
    }
    commit(
        &place,
        &[json!({ "url": "http://e.org/", "time": "2026-06-01T00:00:00Z", "status": 500, "body": "oops" })],
        "bad",
    );
    let served = super::Served::start(&place.path("museum"));
    for (time, body) in [
        ("2025", "one"),
        ("20260101000000", "one"),
        ("20260129000000", "one"),
        ("20260201000000", "two"),
        ("20260301", "two"),
        ("20260430", "three"),
        ("20260601000000", "oops"),
    ] {
        let text = served.get(&format!("/web/{time}id_/http://e.org/")).text();
        assert_eq!(text, body, "{time}");
    }
    // Without a time, the newest that was good.
    let newest = served.get("/web/http://e.org/");
    assert_eq!(newest.header("location"), Some("/web/20260501000000/http://e.org/"));
    assert_eq!(served.get("/web/20260601000000/http://e.org/").status, 500);
    // What is written while the server runs is seen at once.
    commit(
        &place,
        &[page("http://e.org/", "2026-07-01T00:00:00Z", "four"), page("http://e.org/new", FIRST, "new")],
        "four",
    );
    assert_eq!(served.get("/web/2027id_/http://e.org/").text(), "four");
    assert_eq!(served.get("/web/2027id_/http://e.org/new").text(), "new");
    // So is a catalog that is made again, in the place of the old one.
    std::fs::remove_file(place.path("museum/catalog.db")).unwrap();
    place.data(&["rebuild"]);
    commit(&place, &[page("http://e.org/", "2026-08-01T00:00:00Z", "five")], "five");
    assert_eq!(served.get("/web/2027id_/http://e.org/").text(), "five");
}

#[test]
fn long_bodies_cost_little_memory() {
    let place = Place::new(true);
    let folder = place.path("site");
    std::fs::create_dir_all(&folder).unwrap();
    let line = format!("<p>{}</p>\n<a href=/x>x</a>\n", "thin layers ".repeat(80));
    std::fs::write(folder.join("long.html"), line.repeat(24 << 10)).unwrap();
    std::fs::write(folder.join("long.bin"), vec![7; 96 << 20]).unwrap();
    place.data(&["commit", "--from", "site", "--base-url", "http://e.org/", "-m", "long"]);
    let served = super::Served::start(&place.path("museum"));
    assert_eq!(served.get("/web/2999id_/http://e.org/long.bin").body.len(), 96 << 20);
    let page = served.get("/web/2999/http://e.org/long.html");
    assert!(page.whole && page.body.len() > line.len() * (24 << 10), "{}", page.body.len());
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 80_000, "{peak} kB");
}

#[test]
fn raw_bytes_are_raw_and_headers_are_safe() {
    let body = "<a href=/x>é</a>";
    let line = json!({ "url": "http://e.org/", "time": FIRST, "body": body, "headers": {
        "content-type": "text/html", "set-cookie": "a=b", "content-security-policy": "default-src http://live/",
        "link": "<http://live/x.css>; rel=preload", "server": "old", "x-frame-options": "DENY",
        "content-language": "fr", "content-encoding": "gzip", "content-length": "3", "transfer-encoding": "chunked",
        "strict-transport-security": "max-age=1", "refresh": "5; url=/next"
    } });
    let (_place, served) = serving(true, &[line]);
    let reply = served.get("/web/20260101000000id_/http://e.org/");
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
fn redirects_lead_to_the_archive_and_never_to_themselves() {
    let moved = |from: &str, to: &str| json!({ "url": from, "time": FIRST, "status": 301, "body": "", "headers": { "location": to } });
    let (_place, served) = serving(
        true,
        &[
            moved("http://e.org/old", "/new?a=1#b"),
            moved("http://e.org/away", "https://live.example/"),
            moved("http://e.org/loop", "https://e.org/loop"),
        ],
    );
    let reply = served.get("/web/2026/http://e.org/old");
    assert_eq!((reply.status, reply.header("location")), (301, Some("/web/2026/http://e.org/new?a=1#b")));
    let raw = served.get("/web/2026id_/http://e.org/old");
    assert_eq!(raw.header("location"), Some("/web/2026id_/http://e.org/new?a=1#b"));
    let away = served.get("/web/2026/http://e.org/away");
    assert_eq!(away.header("location"), Some("/web/2026/https://live.example/"));
    // Only the old scheme was captured, and leads to the new one: that is said to be missing, and does not lead back.
    assert_eq!(
        served.get("/web/2026/http://e.org/loop").header("location"),
        Some("/web/2026/https://e.org/loop")
    );
    assert_eq!(served.get("/web/2026/https://e.org/loop").status, 404);
}

#[test]
fn other_formats_are_rewritten_too() {
    let (_place, served) = serving(
        true,
        &[
            part("http://e.org/s.css", FIRST, "text/css", "@import 'a.css'; b { c: url(/d.png) }"),
            part("http://e.org/m.json", FIRST, "application/manifest+json", r#"{"start_url":"/"}"#),
            part("http://e.org/l.m3u8", FIRST, "application/vnd.apple.mpegurl", "#EXTM3U\nseg.ts\n"),
            part("http://e.org/s.js", FIRST, "text/javascript", "location = '/x'"),
            part(
                "http://e.org/p.svg",
                FIRST,
                "image/svg+xml",
                "<svg xmlns='http://www.w3.org/2000/svg'><image href='x.png'/></svg>",
            ),
            part("http://e.org/t.txt", FIRST, "text/plain", "<html><a href=/x>"),
        ],
    );
    let text = |path: &str| served.get(&format!("/web/2026/http://e.org/{path}")).text();
    assert_eq!(
        text("s.css"),
        "@import \"/web/2026/http://e.org/a.css\"; b { c: url(\"/web/2026/http://e.org/d.png\") }"
    );
    assert_eq!(text("m.json"), r#"{"start_url":"/web/2026/http://e.org/"}"#);
    assert_eq!(text("l.m3u8"), "#EXTM3U\n/web/2026/http://e.org/seg.ts\n");
    assert_eq!(text("s.js"), "location = '/x'");
    assert_eq!(
        text("p.svg"),
        "<svg xmlns='http://www.w3.org/2000/svg'><image href=\"/web/2026/http://e.org/x.png\" /></svg>"
    );
    assert_eq!(text("t.txt"), "<html><a href=/x>");
    // A page that a script is asked for as is left alone.
    let script = served.get_with("/web/2026/http://e.org/t.txt", &[("Sec-Fetch-Dest", "script")]);
    assert_eq!(script.text(), "<html><a href=/x>");
}

#[test]
fn encodings_are_told() {
    let base64 = |bytes: &[u8]| data_encoding(bytes);
    let line = |url: &str, kind: &str, body: &[u8]| json!({ "url": url, "time": FIRST, "body_base64": base64(body), "headers": { "content-type": kind } });
    let utf_16: Vec<u8> = "\u{feff}<p>é".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_place, served) = serving(
        true,
        &[
            line("http://e.org/latin", "text/html; charset=iso-8859-1", b"<p>\xe9"),
            line("http://e.org/meta", "text/html", b"<meta charset=koi8-r><p>\xc1"),
            line("http://e.org/wide", "text/html", &utf_16),
            line("http://e.org/none", "text/html", "<p>é".as_bytes()),
        ],
    );
    let reply = |path: &str| served.get(&format!("/web/2026/http://e.org/{path}"));
    let kind = |path: &str| reply(path).header("content-type").unwrap().to_owned();
    assert_eq!(kind("latin"), "text/html; charset=windows-1252");
    assert!(reply("latin").body.ends_with(b"<p>\xe9"));
    assert_eq!(kind("meta"), "text/html; charset=koi8-r");
    assert_eq!(kind("wide"), "text/html; charset=utf-8");
    assert!(reply("wide").text().ends_with("<p>é"));
    assert_eq!(kind("none"), "text/html; charset=utf-8");
}

fn data_encoding(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[test]
fn parts_conditions_and_heads() {
    let body: String = (0..200_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
    let (_place, served) = serving(
        true,
        &[part("http://e.org/v.mp4", FIRST, "video/mp4", &body), page("http://e.org/", FIRST, "<p>x")],
    );
    let video = "/web/20260101000000/http://e.org/v.mp4";
    let ranged = |range: &str| served.get_with(video, &[("Range", range)]);
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
    let whole = served.get(video);
    assert_eq!(
        (whole.status, whole.header("accept-ranges"), whole.body.len()),
        (200, Some("bytes"), 200_000)
    );
    let tag = whole.header("etag").unwrap();
    let known = served.get_with(video, &[("If-None-Match", tag)]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let stale = served.get_with(video, &[("Range", "bytes=0-1"), ("If-Range", "\"other\"")]);
    assert_eq!((stale.status, stale.body.len()), (200, 200_000));
    let head = ask(&served.replay, "HEAD", video, &[]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("200000"), 0));
    let head = ask(&served.replay, "HEAD", "/web/2026/http://e.org/", &[]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, None, 0));
    assert_eq!(ask(&served.replay, "POST", video, &[]).status, 405);
}

#[test]
fn what_is_missing_is_said() {
    let (place, served) = serving(
        true,
        &[
            page("http://e.org/a/one", FIRST, "one"),
            page("http://e.org/big", FIRST, &"<p>text</p>".repeat(50_000)),
        ],
    );
    let reply = served.get("/web/2026/http://e.org/a/two");
    assert_eq!(reply.status, 404);
    let text = reply.text();
    assert!(text.contains("Not in the archive") && text.contains("/web/2026/http://e.org/a/one"), "{text}");
    assert_eq!(served.get("/web/2026/http://nowhere.example/").status, 404);
    assert_eq!(served.get("/web/20261399000000/http://e.org/").status, 400);
    assert_eq!(served.get("/web/2026/").status, 400);
    assert_eq!(served.get("/web/").status, 400);
    assert_eq!(served.get("/nothing").status, 404);
    // Damage: a page that was rotted away says so, and names its record; half a page is never a whole one.
    let silo = place.path("museum/warc/0/00000000.warc.gz");
    let mut bytes = std::fs::read(&silo).unwrap();
    let length = bytes.len();
    bytes[length / 3..].fill(0);
    std::fs::write(&silo, &bytes).unwrap();
    let mut failures = 0;
    for url in ["http://e.org/a/one", "http://e.org/big"] {
        let reply = served.get(&format!("/web/2026id_/{url}"));
        if reply.status == 200 && reply.whole {
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

/// What was on the wire goes to those who can read it, also when it was seen again and not stored again.
#[test]
fn raw_bytes_keep_their_coding_for_those_who_undo_it() {
    let web = varve_testkit::web::Web::start();
    let url = web.url("/gzip/good");
    let place = Place::new(true);
    for message in ["first", "again"] {
        let words = ["capture", &url, "--allow-private", "--delay", "0s", "--ignore-robots", "-m", message];
        place.data(&words);
    }
    let served = super::Served::start(&place.path("museum"));
    for time in ["2000", "2999"] {
        let target = format!("/web/{time}id_/{url}");
        let plain = served.get(&target);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
        assert!(plain.text().contains("<p>"), "{}", plain.text());
        let packed = served.get_with(&target, &[("Accept-Encoding", "br, gzip")]);
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")));
        assert_eq!(packed.body.get(..2), Some(&[0x1f, 0x8b][..]));
        assert!(packed.whole && packed.body != plain.body && packed.header("etag") != plain.header("etag"));
        assert_eq!(packed.header("vary"), Some("Accept-Encoding"));
        let part = served.get_with(&target, &[("Accept-Encoding", "gzip"), ("Range", "bytes=0-2")]);
        assert_eq!((part.status, part.header("content-encoding")), (206, None));
        assert_eq!(part.body, plain.body[..3]);
        let page = served.get_with(&format!("/web/{time}/{url}"), &[("Accept-Encoding", "gzip")]);
        assert_eq!(page.header("content-encoding"), None, "what is rewritten is made anew");
    }
}

#[test]
fn a_missed_link_is_caught_by_its_page() {
    let (_place, served) = serving(
        true,
        &[page("http://e.org/d/", FIRST, "x"), part("http://e.org/i.png", FIRST, "image/png", "PNG")],
    );
    let referer = format!("http://{}/web/2026/http://e.org/d/", served.replay);
    let reply = served.get_with("/i.png?a=b", &[("Referer", &referer)]);
    assert_eq!(
        (reply.status, reply.header("location"), reply.header("vary")),
        (307, Some("/web/2026/http://e.org/i.png?a=b"), Some("Referer"))
    );
    let foreign = served.get_with("/i.png", &[("Referer", "http://evil.example/web/2026/http://e.org/d/")]);
    assert_eq!(foreign.status, 404);
    let script = served.get("/_varve/replay.js");
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(served.get_with("/web/2026/http://e.org/d/", &[("Service-Worker", "script")]).status, 404);
}

/// A body in many silos: a part is read from where it lies, and what lies before it need not even be sound.
#[test]
fn a_part_of_a_body_in_segments_is_read_from_its_segment() {
    let place = Place::new(true);
    let settings = std::fs::read_to_string(place.path("museum/varve.toml")).unwrap();
    let settings: String = settings
        .lines()
        .filter(|line| !line.contains("silo_size"))
        .fold("silo_size = \"1 MiB\"\n".to_owned(), |text, line| text + line + "\n");
    std::fs::write(place.path("museum/varve.toml"), settings).unwrap();
    let mut state = 7u64;
    let bytes: Vec<u8> = (0..3_500_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    std::fs::write(place.path("v.mp4"), &bytes).unwrap();
    place.data(&["commit", "v.mp4", "--url", "http://e.org/v.mp4", "-m", "video"]);
    let mut silos: Vec<_> =
        std::fs::read_dir(place.path("museum/warc/0")).unwrap().map(|entry| entry.unwrap().path()).collect();
    silos.sort();
    assert!(silos.len() >= 4, "{silos:?}");
    let served = Served::start(&place.path("museum"));
    let video = "/web/http://e.org/v.mp4";
    let at = served.get(video).header("location").unwrap().to_owned();
    let ranged = |range: &str| served.get_with(&at, &[("Range", range)]);
    let middle = ranged("bytes=2000000-2600000");
    assert_eq!((middle.status, middle.body == bytes[2_000_000..=2_600_000]), (206, true));
    drop(served);
    // The middle of the first segment is damaged.
    let first = silos.iter().find(|silo| std::fs::metadata(silo).unwrap().len() > 500_000).unwrap();
    let mut damaged = std::fs::read(first).unwrap();
    let half = damaged.len() / 2;
    damaged[half] ^= 0xff;
    std::fs::remove_file(first).unwrap();
    std::fs::write(first, damaged).unwrap();
    let served = Served::start(&place.path("museum"));
    let ranged = |range: &str| served.get_with(&at, &[("Range", range)]);
    let last = ranged("bytes=3499000-");
    assert_eq!((last.status, last.body == bytes[3_499_000..]), (206, true));
    let bad = ranged("bytes=100000-100010");
    assert!(bad.status >= 500 || !bad.whole, "{}", bad.status);
}
