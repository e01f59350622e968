//! Memento, RFC 7089.

use super::museum::REPLAY_HOST;
use super::{Museum, TestOrigins, page};

/// Three captures of a page, a month apart.
fn three() -> (Museum, TestOrigins) {
    let museum = Museum::new(true);
    for month in 1..=3 {
        museum.commit(
            &[page("http://e.org/", &format!("2026-0{month}-01T00:00:00Z"), &format!("<p>{month}"))],
            "m",
        );
    }
    let origins = museum.serve();
    (museum, origins)
}

#[test]
fn a_capture_links_to_its_neighbours() {
    let (_museum, origins) = three();
    let reply = origins.get("/web/20260201000000/http://e.org/");
    assert_eq!(reply.header("memento-datetime"), Some("Sun, 01 Feb 2026 00:00:00 GMT"));
    let link = reply.header("link").unwrap();
    let origin = format!("http://{}", REPLAY_HOST);
    for wanted in [
        "<http://e.org/>; rel=\"original\"".to_owned(),
        format!("<{origin}/timegate/http://e.org/>; rel=\"timegate\""),
        format!("<{origin}/timemap/link/http://e.org/>; rel=\"timemap\"; type=\"application/link-format\""),
        format!(
            "<{origin}/web/20260101000000/http://e.org/>; rel=\"first prev memento\"; datetime=\"Thu, 01 Jan 2026 00:00:00 GMT\""
        ),
        format!(
            "<{origin}/web/20260301000000/http://e.org/>; rel=\"next last memento\"; datetime=\"Sun, 01 Mar 2026 00:00:00 GMT\""
        ),
    ] {
        assert!(link.contains(&wanted), "{wanted}\n{link}");
    }
    // The header names the time of the capture, not the requested time.
    let near = origins.get("/web/20260210120000/http://e.org/");
    assert_eq!(near.header("memento-datetime"), Some("Sun, 01 Feb 2026 00:00:00 GMT"));
}

#[test]
fn the_time_gate_redirects_to_the_nearest_capture() {
    let (_museum, origins) = three();
    let gate = |date: &str| origins.get_with("/timegate/http://e.org/", &[("Accept-Datetime", date)]);
    let reply = gate("Sat, 28 Feb 2026 00:00:00 GMT");
    let museum = format!("http://{}/web/20260301000000/http://e.org/", REPLAY_HOST);
    assert_eq!((reply.status, reply.header("location")), (302, Some(museum.as_str())));
    assert_eq!(reply.header("vary"), Some("accept-datetime"));
    assert!(reply.header("link").unwrap().contains("rel=\"original\""));
    assert!(gate("Sat, 01 Jan 2000 00:00:00 GMT").header("location").unwrap().contains("/20260101000000/"));
    assert_eq!(gate("yesterday").status, 400);
    // Without a time, the newest capture.
    let head = origins.request(REPLAY_HOST, "HEAD", "/timegate/http://e.org/", &[]);
    assert!(head.header("location").unwrap().contains("/20260301000000/"));
    assert_eq!(origins.get("/timegate/http://nowhere.example/").status, 404);
}

#[test]
fn the_time_map_lists_every_capture() {
    let (_museum, origins) = three();
    let reply = origins.get("/timemap/link/http://e.org/");
    assert_eq!(reply.header("content-type"), Some("application/link-format"));
    let text = reply.text();
    let lines: Vec<_> = text.trim_end().split(",\n").collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert_eq!(lines[0], "<http://e.org/>; rel=\"original\"");
    let until = "from=\"Thu, 01 Jan 2026 00:00:00 GMT\"; until=\"Sun, 01 Mar 2026 00:00:00 GMT\"";
    assert!(lines[2].contains("rel=\"self\"") && lines[2].ends_with(until), "{}", lines[2]);
    assert!(
        lines[3].contains("rel=\"first memento\"") && lines[5].contains("rel=\"last memento\""),
        "{text}"
    );
    assert_eq!(origins.get("/timemap/link/http://nowhere.example/").status, 404);
}

/// All spellings of a URL share one history. A redirect from one spelling to the other still works.
#[test]
fn all_spellings_share_one_time_map() {
    let museum = Museum::new(true);
    let (one, other) = ("http://e.org/a?x=1&y=2", "http://e.org/a?y=2&x=1");
    museum.commit(&[page(one, "2026-01-01T00:00:00Z", "<p>1")], "one");
    let moved = serde_json::json!({
        "url": other, "status": 301, "time": "2026-02-01T00:00:00Z", "headers": { "location": one }, "body": ""
    });
    museum.commit(&[moved, page(one, "2026-02-01T00:00:01Z", "<p>2")], "moved");
    museum.commit(&[page(other, "2026-03-01T00:00:00Z", "<p>3")], "other");
    let origins = museum.serve();
    for url in [one, other] {
        let map = origins.get(&format!("/timemap/link/{url}")).text();
        assert_eq!(map.matches("memento\";").count(), 4, "{map}");
        let rows = origins.page(&format!("/cdx?url={}", url.replace('&', "%26"))).text();
        assert_eq!(rows.lines().count(), 4, "{rows}");
        let gate = origins
            .get_with(&format!("/timegate/{url}"), &[("Accept-Datetime", "Sun, 01 Mar 2026 00:00:00 GMT")]);
        let wanted = format!("http://{}/web/20260301000000/{other}", REPLAY_HOST);
        assert_eq!(gate.header("location"), Some(wanted.as_str()));
    }
    assert_eq!(origins.get(&format!("/web/20260201000000id_/{other}")).status, 301);
    assert_eq!(origins.get(&format!("/web/20260201000000id_/{one}")).status, 200);
}
