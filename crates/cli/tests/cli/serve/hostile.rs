//! Hostile requests and hostile captured content.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{Place, Served, commit, page, serving};

const FIRST: &str = "2026-01-01T00:00:00Z";

#[test]
fn headers_stay_headers() {
    let place = Place::new(false);
    let line = json!({ "url": "http://e.org/", "time": FIRST, "status": 302, "body": "", "headers": {} });
    commit(&place, &[line], "pages");
    // No varve verb commits such headers; another program may have.
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
fn remote_addresses_need_allow_remote() {
    let (place, mut served) = serving(true, &[page("http://e.org/", FIRST, "x")]);
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--allow-remote"), "{refused:?}");
    // An address in use is named.
    let taken = place.run(&["serve", "--listen", &served.ui]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&taken.stderr).contains(&served.ui), "{taken:?}");
    // Ctrl-C ends the server with success.
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &served.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(served.wait(), Some(0));
}

/// Another program shortens the index again and again. Requests are answered or fail, and the server
/// goes on.
#[test]
fn an_index_that_is_truncated_while_it_is_served_does_not_end_the_server() {
    let place = Place::new(true);
    let pages: Vec<_> = (0..300)
        .map(|number| page(&format!("http://e.org/{number}"), FIRST, &format!("page {number}")))
        .collect();
    commit(&place, &pages, "pages");
    place.data(&["housekeeping"]);
    let path = place.path("museum/index/sorted");
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 4096, "the entries are in the sorted file");
    let served = Served::start(&place.path("museum"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            while !done.load(Ordering::Relaxed) {
                for length in [0, 64, 4096, bytes.len() - 16] {
                    file.set_len(length as u64).unwrap();
                    file.write_all_at(&bytes[length..], length as u64).unwrap();
                }
            }
        });
        for number in (0..300).cycle().take(600) {
            let reply = served.get(&format!("/web/2026id_/http://e.org/{number}"));
            let is_right = reply.status == 200 && reply.body == format!("page {number}").as_bytes();
            assert!(is_right || reply.status >= 400 || !reply.whole, "{number}: {reply:?}");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(served.get("/web/2026id_/http://e.org/7").status, 200);
}

#[test]
fn invalid_requests_get_no_page_and_do_not_stop_the_server() {
    let (_place, served) = serving(true, &[page("http://e.org/", FIRST, "x")]);
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
fn served_addresses_with_a_password_are_refused() {
    let place = Place::new(true);
    place.file("page", "text");
    place.data(&["commit", "--url", "http://h.example/a", "page", "-m", "page"]);
    let served = super::Served::start(&place.path("museum"));
    for target in [
        "/web/2026/http://me:hunter2@h.example/a",
        "/web/http://me:hunter2@h.example/a",
        "/web/timemap/link/http://me:hunter2@h.example/a",
        "/cdx?url=http://me:hunter2@h.example/a",
        "/page?url=http://me:hunter2@h.example/a",
    ] {
        let page = if target.starts_with("/web") { served.get(target) } else { served.page(target) };
        assert_eq!(page.status, 400, "{target}: {}", page.text());
        assert!(!page.text().contains("hunter2"), "{target}: {}", page.text());
    }
}
