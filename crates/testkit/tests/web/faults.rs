//! What is wrong, and wrong as its table says.

use crate::{ask, get, get_with, split};
use flate2::read::GzDecoder;
use std::io::Read;
use varve_testkit::web::Web;

#[test]
fn lengths_lie() {
    let web = Web::start();
    let body = |target: &str| {
        let answer = get(&web, target);
        let (head, body) = split(&answer);
        (head.to_owned(), body.len())
    };
    let (head, length) = body("/length/short");
    assert!(head.contains("Content-Length: 1000") && length == 10);
    let (head, length) = body("/length/long");
    assert!(head.contains("Content-Length: 10") && length > 1000);
    assert_eq!(body("/length/two").0.matches("Content-Length").count(), 2);
    assert!(body("/length/negative").0.contains("Content-Length: -1"));
    assert_eq!(body("/slow/3").1, 3);
}

#[test]
fn chunks_break() {
    let web = Web::start();
    for (target, end) in [
        ("/chunks/good", "0\r\nTrailer: yes\r\n\r\n"),
        ("/chunks/cut", "5\r\n56"),
        ("/chunks/broken", "xyz\r\n56789\r\n0\r\n\r\n"),
        ("/chunks/huge", "8000000000000000\r\n0123456789"),
    ] {
        let answer = get(&web, target);
        assert!(answer.contains("Transfer-Encoding: chunked") && answer.ends_with(end), "{target}");
    }
}

#[test]
fn heads_are_odd() {
    let web = Web::start();
    assert_eq!(get(&web, "/headers/flood").matches("\r\nX-Flood-").count(), 10_000);
    assert!(get(&web, "/headers/long").len() > 1 << 20);
    assert!(get(&web, "/headers/folded").contains("X-Folded: one\r\n\ttwo\r\n"));
    assert!(get(&web, "/headers/garbage").contains("\r\nno colon here\r\n: no name\r\n"));
    let early = get(&web, "/early");
    let statuses: Vec<_> = early.split("HTTP/1.1 ").skip(1).map(|part| &part[..3]).collect();
    assert_eq!(statuses, ["100", "102", "103", "200"]);
    assert!(get(&web, "/garbage").contains("this is no HTTP"));
    assert!(get(&web, "/bare").starts_with("<p>"));
    assert_eq!(get(&web, "/close"), "");
}

#[test]
fn what_has_no_end_ends_with_the_client() {
    let web = Web::start();
    for target in ["/endless", "/headers/endless"] {
        let mut beginning = vec![0; 1 << 20];
        ask(&web, target, "").read_exact(&mut beginning).unwrap();
        assert!(beginning.starts_with(b"HTTP/1.1 200 OK\r\n"), "{target}");
    }
}

#[test]
fn silence_ends_with_the_web() {
    let web = Web::start();
    let mut stream = ask(&web, "/silence", "");
    while web.count("/silence") == 0 {
        std::thread::yield_now();
    }
    drop(web);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty());
}

#[test]
fn a_reset_is_a_reset() {
    let web = Web::start();
    let (answer, end) = get_with(&web, "/reset", "");
    assert!(answer.len() < 100_000);
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn codings_and_charsets_lie() {
    let web = Web::start();
    let body = |target: &str| {
        let answer = get_with(&web, target, "").0;
        let at = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        answer[at..].to_vec()
    };
    let unpacked = |target: &str| {
        let mut text = Vec::new();
        GzDecoder::new(&body(target)[..]).read_to_end(&mut text).map(|_| text.len())
    };
    assert_eq!(unpacked("/gzip/good").unwrap(), 1400);
    assert!(unpacked("/gzip/cut").is_err() && unpacked("/gzip/false").is_err());
    assert!(body("/bomb/8").len() < 20_000);
    assert_eq!(unpacked("/bomb/8").unwrap(), 8 << 20);
    assert!(body("/charset/utf-16").starts_with(b"\xff\xfe<\0"));
    assert!(body("/charset/wrong").contains(&0xf6) && body("/charset/none").contains(&0xf6));
}
