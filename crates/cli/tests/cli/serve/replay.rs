//! Replay tests that need the whole program: captures of a live site, a separate process, silos of a chosen size.

use super::client::Served;
use super::{commit, page};
use crate::history::Place;

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

/// Clients that accept the content coding get the wire bytes, also of a revisit.
#[test]
fn raw_bytes_keep_their_content_coding() {
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

/// A range of a segmented body is read from its segment; segments before it may be damaged.
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

#[test]
fn a_rebuilt_catalog_is_served_at_once() {
    let place = Place::new(true);
    commit(&place, &[page("http://e.org/", "2026-07-01T00:00:00Z", "four")], "four");
    let served = Served::start(&place.path("museum"));
    assert_eq!(served.get("/web/2027id_/http://e.org/").text(), "four");
    std::fs::remove_file(place.path("museum/catalog.db")).unwrap();
    place.data(&["rebuild"]);
    commit(&place, &[page("http://e.org/", "2026-08-01T00:00:00Z", "five")], "five");
    assert_eq!(served.get("/web/2027id_/http://e.org/").text(), "five");
}

/// Every link on the page about a URL without a capture leads somewhere.
#[test]
fn suggestions_for_a_missing_page_can_be_followed() {
    let pages = [page("http://e.org/a/one", "2026-01-01T00:00:00Z", "one")];
    let (_place, served) = super::serving(true, &pages);
    for missing in ["/web/http://e.org/a/two", "/web/2026/http://e.org/a/two", "/web/id_/http://e.org/a/two"]
    {
        let answer = served.get(missing);
        assert_eq!(answer.status, 404, "{missing}");
        let text = answer.text();
        let links: Vec<&str> =
            text.split("href=\"/web/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(!links.is_empty(), "{missing}: {text}");
        for link in links {
            let followed = served.get(&format!("/web/{link}"));
            assert!(matches!(followed.status, 200 | 302 | 307), "{link}: {}", followed.status);
        }
    }
}

#[test]
fn an_address_without_a_url_has_a_form() {
    let (_place, served) =
        super::serving(true, &[page("https://e.org/a", "2026-01-01T00:00:00Z", "<p>a</p>")]);
    for (path, time) in [("/web/", ""), ("/web", ""), ("/web/2026/", "2026"), ("/web/202602", "202602")] {
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}");
        let text = reply.text();
        assert!(text.contains("/web/TIME/URL") && text.contains("name=\"url\""), "{path}: {text}");
        assert!(text.contains(&format!("name=\"time\" value=\"{time}\"")), "{path}: {text}");
        let action = format!("action=\"http://{}/view\"", served.ui);
        assert!(text.contains(&action), "{path}: {text}");
        assert!(
            reply
                .header("content-security-policy")
                .unwrap()
                .contains(&format!("form-action http://{}", served.ui))
        );
    }
    // What the form sends: a URL without a scheme, and no time or a period.
    for query in ["url=https%3A%2F%2Fe.org%2Fa&time=", "url=e.org%2Fa&time=", "url=e.org/a&time=2026-01"] {
        let mut reply = served.page(&format!("/view?{query}"));
        if reply.status == 302 {
            reply = served.page(reply.header("location").unwrap());
        }
        assert!(reply.status == 200 && reply.text().contains("https://e.org/a"), "{query}: {reply:?}");
    }
}

#[test]
fn a_period_means_its_end() {
    let pages =
        [("2023-12-31T00:00:00Z", "old"), ("2024-06-15T00:00:00Z", "new"), ("2025-12-01T00:00:00Z", "late")];
    let pages = pages.map(|(time, body)| page("https://e.org/a", time, body));
    let place = Place::new(true);
    pages.iter().for_each(|page| commit(&place, std::slice::from_ref(page), "x"));
    let served = Served::start(&place.path("museum"));
    for (time, body) in
        [("2023", "old"), ("2024", "new"), ("202406", "new"), ("20231231", "old"), ("2", "late")]
    {
        let reply = served.get(&format!("/web/{time}id_/https://e.org/a"));
        assert_eq!(reply.text(), body, "{time}");
    }
}
