//! What must not happen, whoever asks and whatever was captured.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::client::ask;
use super::{Place, Served, commit, page, serving};

const FIRST: &str = "2026-01-01T00:00:00Z";

#[test]
fn nobody_asks_by_another_name_or_from_another_page() {
    let (_place, served) = serving(true, &[page("http://e.org/", FIRST, "x")]);
    for server in [&served.ui, &served.replay] {
        let target = if *server == served.ui { "/" } else { "/web/2026/http://e.org/" };
        let status = |headers: &[(&str, &str)]| ask(server, "GET", target, headers).status;
        let port = server.split(':').nth(1).unwrap();
        assert_eq!(status(&[]), 200);
        assert_eq!(status(&[("Host", &format!("localhost:{port}"))]), 200);
        assert_eq!(status(&[("Host", "evil.example")]), 421);
        assert_eq!(status(&[("Host", &format!("127.0.0.1.evil.example:{port}"))]), 421);
        assert_eq!(status(&[("Origin", "http://evil.example")]), 403);
        assert_eq!(status(&[("Origin", &format!("http://{server}"))]), 200);
    }
    // An archived page may not ask the other origin; a frame without an origin may ask its own.
    let replay = format!("http://{}", served.replay);
    assert_eq!(ask(&served.ui, "GET", "/", &[("Origin", &replay)]).status, 403);
    assert_eq!(ask(&served.ui, "GET", "/", &[("Origin", "null")]).status, 403);
    assert_eq!(ask(&served.replay, "GET", "/web/2026/http://e.org/", &[("Origin", "null")]).status, 200);
    assert_eq!(ask(&served.ui, "POST", "/", &[]).status, 405);
}

#[test]
fn nothing_of_an_archive_is_markup_of_ours() {
    let evil = "http://e.org/\"><script>alert(1)</script>?'<img src=x onerror=alert(2)>";
    let (place, served) = serving(true, &[page(evil, FIRST, "<p>one"), page("http://e.org/", FIRST, "x")]);
    commit(
        &place,
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
        let reply = served.page(&target);
        let text = reply.text();
        let scripts = text.matches("<script").count();
        let ours = text.matches("<script src=\"/keys.js\" defer></script>").count();
        assert_eq!(scripts, ours, "{target}: {text}");
        assert!(!text.contains("<img") && !text.contains("\u{202e}"), "{target}: {text}");
        assert!(reply.header("content-security-policy").unwrap().contains("default-src 'none'"), "{target}");
    }
    let missing = served.get("/web/2026/http://nowhere.example/<script>alert(1)</script>").text();
    assert!(!missing.contains("<script"), "{missing}");
}

#[test]
fn headers_stay_headers() {
    let place = Place::new(false);
    let line = json!({ "url": "http://e.org/", "time": FIRST, "status": 302, "body": "", "headers": {} });
    commit(&place, &[line], "pages");
    // No verb of ours commits such headers; another program may have.
    let headers = json!({
        "location": ["/a\r\nSet-Cookie: evil=1"], "x-note": ["a\r\nSet-Cookie: evil=2"],
        "content-type": ["text/html\r\nX: y"], "evil\r\nname": ["x"]
    });
    let database = rusqlite::Connection::open(place.path("museum/.moku/moku.db")).unwrap();
    assert_eq!(database.execute("UPDATE snapshots SET headers = ?1", [headers.to_string()]), Ok(1));
    drop(database);
    let served = Served::start(&place.path("museum"));
    for target in [
        "/web/2026/http://e.org/",
        "/web/2026id_/http://e.org/",
        "/web/2026/http://e.org/%0d%0aSet-Cookie:%20evil=3",
        "/timegate/http://e.org/%0d%0aX:y",
    ] {
        let reply = served.get(target);
        assert!(
            !reply.headers.iter().any(|(name, _)| name == "set-cookie" || name == "x"),
            "{target}: {reply:?}"
        );
    }
}

#[test]
fn odd_requests_are_answered_and_nothing_ends() {
    let (_place, served) = serving(true, &[page("http://e.org/", FIRST, "x")]);
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
        let reply = served.get(target);
        assert!((400..500).contains(&reply.status), "{target}: {}", reply.status);
        assert!(!reply.body.windows(5).any(|window| window == b"root:"), "{target}");
    }
    let huge = format!("/cdx?url=http://e.org/&filter=~url:{}", "a".repeat(30_000));
    assert!(served.page(&huge).status < 500);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &[b'a'; 100_000],
    ] {
        let mut stream = TcpStream::connect(&served.replay).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(served.get("/web/2026/http://e.org/").status, 200);
}

#[test]
fn others_are_let_in_only_when_that_is_said() {
    let (place, mut served) = serving(true, &[page("http://e.org/", FIRST, "x")]);
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--allow-remote"), "{refused:?}");
    // A place that is taken is named.
    let taken = place.run(&["serve", "--listen", &served.ui]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&taken.stderr).contains(&served.ui), "{taken:?}");
    // Ctrl-C ends it, and that is no failure.
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &served.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(served.wait(), Some(0));
}
