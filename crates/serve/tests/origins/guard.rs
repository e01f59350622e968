//! Hostile requests and hostile archives.

use super::museum::{REPLAY_HOST, UI_HOST};
use super::{page, serving};

const FIRST_TIME: &str = "2026-01-01T00:00:00Z";

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let (_museum, origins) = serving(true, &[page("http://e.org/", FIRST_TIME, "x")]);
    for host in [UI_HOST, REPLAY_HOST] {
        let target = if host == UI_HOST { "/" } else { "/web/2026/http://e.org/" };
        let status = |headers: &[(&str, &str)]| origins.request(host, "GET", target, headers).status;
        let port = host.split(':').nth(1).unwrap();
        assert_eq!(status(&[]), 200);
        assert_eq!(status(&[("Host", &format!("localhost:{port}"))]), 200);
        assert_eq!(status(&[("Host", "evil.example")]), 421);
        assert_eq!(status(&[("Host", &format!("127.0.0.1.evil.example:{port}"))]), 421);
        assert_eq!(status(&[("Host", &format!("evil.example@{host}"))]), 400);
        assert_eq!(status(&[("Origin", "http://evil.example")]), 403);
        assert_eq!(status(&[("Origin", &format!("http://{host}"))]), 200);
    }
    // Archived pages may not send requests to the UI. A sandboxed frame may send them to its own
    // origin.
    let replay = format!("http://{REPLAY_HOST}");
    assert_eq!(origins.request(UI_HOST, "GET", "/", &[("Origin", &replay)]).status, 403);
    assert_eq!(origins.request(UI_HOST, "GET", "/", &[("Origin", "null")]).status, 403);
    assert_eq!(
        origins.request(REPLAY_HOST, "GET", "/web/2026/http://e.org/", &[("Origin", "null")]).status,
        200
    );
    assert_eq!(origins.request(UI_HOST, "POST", "/", &[]).status, 405);
}

#[test]
fn text_of_an_archive_is_escaped_in_the_ui() {
    let evil = "http://e.org/\"><script>alert(1)</script>?'<img src=x onerror=alert(2)>";
    let (museum, origins) =
        serving(true, &[page(evil, FIRST_TIME, "<p>one"), page("http://e.org/", FIRST_TIME, "x")]);
    museum.commit(
        &[page(evil, "2026-02-01T00:00:00Z", "<script>alert(3)</script>\u{202e}")],
        "<script>alert(4)</script>",
    );
    let encoded = "http%3A%2F%2Fe.org%2F%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%3F%27%3Cimg%20src%3Dx%20onerror%3Dalert(2)%3E";
    for target in [
        "/".to_owned(),
        "/pages".to_owned(),
        format!("/pages?prefix={encoded}"),
        "/versions".to_owned(),
        "/version?id=HEAD".to_owned(),
        "/version?id=%3Cscript%3Ealert(5)%3C/script%3E".to_owned(),
        format!("/page?url={encoded}"),
        "/page?url=%3Cscript%3Ealert(6)%3C/script%3E".to_owned(),
        format!("/view?time=2026&url={encoded}"),
        format!("/diff?url={encoded}&base=2026-01-01&head=2026-02-01"),
        "/diff?url=x&base=%3Cscript%3E&head=2".to_owned(),
    ] {
        let reply = origins.page(&target);
        let text = reply.text();
        let scripts = text.matches("<script").count();
        let own = ["keys.js", "view.js"].map(|name| format!("<script src=\"/{name}\" defer></script>"));
        let ours: usize = own.iter().map(|script| text.matches(script.as_str()).count()).sum();
        assert_eq!(scripts, ours, "{target}: {text}");
        assert!(!text.contains("<img") && !text.contains("\u{202e}"), "{target}: {text}");
        assert!(reply.header("content-security-policy").unwrap().contains("default-src 'none'"), "{target}");
    }
    let missing = origins.get("/web/2026/http://nowhere.example/<script>alert(1)</script>").text();
    assert!(!missing.contains("<script"), "{missing}");
}

#[test]
fn malformed_targets_get_client_errors() {
    let (_museum, origins) = serving(true, &[page("http://e.org/", FIRST_TIME, "x")]);
    let long = format!("/web/2026/http://e.org/{}", "a".repeat(40_000));
    for target in [
        "/web/2026/../../../etc/passwd",
        "/../../etc/passwd",
        "/web/2026/file:///etc/passwd",
        "/web/99999999999999/http://e.org/",
        "/web/00000000000000/http://e.org/",
        "/web/2026/http://",
        "/web/2026/http://%00/",
        "/web/2026/http://[::1/",
        "/web/2026/http://e.org/%ff%fe",
        "/timemap/link/",
        "/timegate/::::",
        &long,
    ] {
        let reply = origins.get(target);
        assert!((400..500).contains(&reply.status), "{target}: {}", reply.status);
        assert!(!reply.body.windows(5).any(|window| window == b"root:"), "{target}");
    }
    let huge = format!("/cdx?url=http://e.org/&filter=~url:{}", "a".repeat(30_000));
    assert!(origins.page(&huge).status < 500);
    assert_eq!(origins.get("/web/2026/http://e.org/").status, 200);
}
