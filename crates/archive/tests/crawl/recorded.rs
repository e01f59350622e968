//! The recording proxy in front of a web: what clients get, and what the archive has afterwards.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use varve_archive::ArchiveError;
use varve_archive::verbs::capture::{CrawlEvent, NetworkOptions, RunEnd, RunOptions};
use varve_archive::verbs::commit::KeptIntent;
use varve_archive::verbs::proxy::{
    CertificateAuthority, RecordedProgram, RecordingOptions, RecordingStart, record,
};
use varve_testkit::web::{Answer, Site, Then, Web};

use crate::scene::Scene;

/// Tells a test where the proxy listens.
struct Announcement(mpsc::Sender<SocketAddr>);

impl RecordedProgram for Announcement {
    fn start(&mut self, address: SocketAddr) -> Result<(), ArchiveError> {
        self.0.send(address).unwrap();
        Ok(())
    }
}

/// What a recording reported.
#[derive(Default)]
struct Recorded {
    captured: Vec<(String, u16)>,
    exchanged: Vec<(String, String, u16)>,
    failed: Vec<(String, String)>,
    ended: Option<RunEnd>,
}

/// Records what `client` does.
fn recorded(scene: &Scene, is_private_allowed: bool, client: impl FnOnce(SocketAddr) + Send) -> Recorded {
    let history = scene.history();
    let stop = AtomicBool::new(false);
    let (sender, address) = mpsc::channel();
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let reach = NetworkOptions { allow_private: is_private_allowed, ..NetworkOptions::default() };
            let manner = RunOptions { reach, threads: 2, stop: &stop, intent: KeptIntent::default() };
            let options = RecordingOptions {
                manner,
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                authority: Arc::new(CertificateAuthority::for_session().unwrap()),
                idle_exit: None,
            };
            let mut settings = scene.settings(&[], varve_archive::verbs::capture::ScopeKind::Page);
            settings.message = "recorded".to_owned();
            let start = RecordingStart::New(Box::new(settings));
            let mut told = Recorded::default();
            let mut report = |event: CrawlEvent<'_>| match event {
                CrawlEvent::Captured(page) => told.captured.push((page.url.to_owned(), page.status)),
                CrawlEvent::Exchanged { url, method, status, .. } => {
                    told.exchanged.push((method.to_owned(), url.to_owned(), status));
                }
                CrawlEvent::Failed { url, kind, .. } => told.failed.push((url.to_owned(), kind.to_owned())),
                _ => {}
            };
            let ended = record(&history, start, options, &mut Announcement(sender), &mut report).unwrap();
            told.ended = Some(ended);
            told
        });
        let address = address.recv().unwrap();
        // A client that fails must not leave the recording running.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client(address)));
        stop.store(true, Ordering::Relaxed);
        let told = running.join().unwrap();
        if let Err(failure) = outcome {
            std::panic::resume_unwind(failure);
        }
        told
    })
}

/// Sends a request to a proxy and reads to the end of the connection.
fn ask(proxy: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A proxy that refuses a request need not read all of it.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    // The end of a truncated response is a reset.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(proxy: SocketAddr, web: &Web, path: &str, headers: &str) -> String {
    let (url, host) = (web.url(path), web.address());
    ask(proxy, &format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"))
}

/// All records of an archive, unpacked.
fn records(scene: &Scene) -> Vec<u8> {
    let mut all = Vec::new();
    let mut folders = vec![scene.root().join("warc")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            if entry.path().extension().is_none_or(|extension| extension != "gz") {
                continue;
            }
            let file = std::fs::File::open(entry.path()).unwrap();
            flate2::read::MultiGzDecoder::new(file).read_to_end(&mut all).unwrap();
        }
    }
    all
}

fn holds(records: &[u8], text: &[u8]) -> bool {
    records.windows(text.len()).any(|part| part == text)
}

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 Fine\r\nX-OdD:  1\r\ncontent-TYPE: text/html\r\nTransfer-Encoding: chunked\r\n\r\n\
                         3;ext=1\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";

#[test]
fn the_client_gets_the_body_and_the_archive_the_bytes() {
    let site = Site::new()
        .at("/chunked", |_, connection| connection.send(CHUNKED).map(|()| Then::KeepOpen))
        .page("/plain", Answer::html("<p>plain"))
        .page("/long", Answer::html("<p>long").header("X-Long", &"a".repeat(60_000)))
        .page("/old", Answer::redirect(301, "/plain"));
    let scene = Scene::new(site);
    let told = recorded(&scene, true, |proxy| {
        let answer = get(proxy, &scene.web, "/chunked", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("X-Odd: 1\r\n"), "{answer}");
        let body: String = answer.split("\r\n\r\n").skip(1).collect();
        assert!(body.contains("abc") && body.contains("0123456789"), "{answer}");
        assert!(get(proxy, &scene.web, "/plain", "").ends_with("\r\n\r\n<p>plain"));
        let long = get(proxy, &scene.web, "/long", "");
        assert!(long.len() > 60_000 && long.ends_with("\r\n\r\n<p>long"), "{}", long.len());
        assert!(get(proxy, &scene.web, "/old", "").starts_with("HTTP/1.1 301"));
    });
    assert_eq!(told.ended.unwrap().captures, 4);
    assert!(holds(&records(&scene), CHUNKED));
    scene.assert_sound();
}

#[test]
fn credentials_are_sent_and_not_recorded() {
    let scene = Scene::new(Site::new().page("/in", Answer::html("in")).page("/form", Answer::html("form")));
    let told = recorded(&scene, true, |proxy| {
        let headers = "Cookie: session=hunter2a\r\nAuthorization: Bearer hunter2b\r\n\
                       Proxy-Authorization: Basic hunter2c\r\nX-Plain: shown\r\n";
        get(proxy, &scene.web, "/in", headers);
        let (url, host) = (scene.web.url("/form"), scene.web.address());
        for body in ["user=me&password=hunter2d", "q=remember"] {
            let length = body.len();
            let answer = ask(
                proxy,
                &format!(
                    "POST {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
                     Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
                ),
            );
            assert!(answer.ends_with("form"), "{answer}");
        }
        let user_info = url.replace("http://", "http://me:hunter2e@");
        assert!(
            ask(proxy, &format!("GET {user_info} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
                .starts_with("HTTP/1.1 400")
        );
    });
    let seen = scene.web.seen();
    let sent = |name: &str| seen[0].headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    assert!(sent("cookie") && sent("authorization") && !sent("proxy-authorization"));
    let records = records(&scene);
    assert!(!holds(&records, b"hunter2"));
    assert!(holds(&records, b"X-Plain: shown") && holds(&records, b"q=remember"));
    assert_eq!(told.exchanged.len(), 2);
}

#[test]
fn a_url_is_captured_once_and_a_good_response_after_a_bad_one_as_well() {
    let site = Site::new()
        .computed("/login", |request| match request.times {
            1 => Answer::status(401),
            _ => Answer::html("welcome"),
        })
        .computed("/part", |request| match request.header("range") {
            Some(_) => {
                Answer::of("video/mp4", "part").with_status(206).header("Content-Range", "bytes 4-7/8")
            }
            None => Answer::of("video/mp4", "all of it"),
        });
    let scene = Scene::new(site);
    let told = recorded(&scene, true, |proxy| {
        for _ in 0..3 {
            get(proxy, &scene.web, "/login", "");
        }
        get(proxy, &scene.web, "/part", "Range: bytes=4-7\r\n");
        get(proxy, &scene.web, "/part", "Range: bytes=0-\r\nIf-None-Match: \"x\"\r\n");
        let (url, host) = (scene.web.url("/part"), scene.web.address());
        ask(proxy, &format!("HEAD {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
    });
    let captured: Vec<u16> = told.captured.iter().map(|(_, status)| *status).collect();
    assert_eq!(captured, [401, 200, 200]);
    let exchanged: Vec<(&str, u16)> =
        told.exchanged.iter().map(|(method, _, status)| (method.as_str(), *status)).collect();
    assert_eq!(exchanged, [("GET", 200), ("GET", 206), ("HEAD", 200)]);
    let unconditional = scene.web.seen().into_iter().filter(|seen| {
        seen.target == "/part"
            && !seen.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("if-none-match"))
    });
    assert_eq!(unconditional.count(), 3);
    scene.assert_sound();
}

#[test]
fn hostile_requests_are_refused_and_the_proxy_goes_on() {
    let scene = Scene::new(Site::new().page("/", Answer::html("here")));
    let told = recorded(&scene, false, |proxy| {
        let host = scene.web.address();
        for (request, status) in [
            (format!("CONNECT {}:25 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", host.ip()), "403"),
            (
                "CONNECT me:pw@example.com:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(),
                "400",
            ),
            (format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"), "403"),
            (format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "a".repeat(400 << 10)), "431"),
            ("GET ftp://h/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned(), "400"),
            ("TRACE http://h/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned(), "405"),
            ("nonsense\r\n\r\n".to_owned(), "400"),
        ] {
            let answer = ask(proxy, &request);
            let shown: String = answer.chars().take(200).collect();
            let is_reset = answer.is_empty() && request.len() > 100 << 10;
            assert!(is_reset || answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {shown}");
        }
        let tunnel = format!(
            "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
        );
        assert!(ask(proxy, &tunnel).contains("HTTP/1.1 421"));
        let large = format!(
            "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n"
        );
        assert!(ask(proxy, &large).starts_with("HTTP/1.1 413"));
        assert!(
            ask(proxy, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                .contains("This is a proxy of varve")
        );
    });
    assert_eq!(scene.web.total(), 0);
    assert_eq!(told.failed.len(), 1, "{:?}", told.failed);
    assert_eq!(told.ended.unwrap().version, None);
}

#[test]
fn a_truncated_response_is_truncated_for_the_client_and_marked() {
    let site = Site::new().at("/cut", |_, connection| {
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this").map(|()| Then::Close)
    });
    let scene = Scene::new(site);
    let told = recorded(&scene, true, |proxy| {
        let answer = get(proxy, &scene.web, "/cut", "");
        assert!(answer.contains("Content-Length: 1000") && answer.ends_with("only this"), "{answer}");
    });
    assert_eq!(told.ended.unwrap().tally.truncated, 1);
    assert!(holds(&records(&scene), b"WARC-Truncated: disconnect"));
}

#[test]
fn an_endless_response_is_recorded_as_far_as_it_came() {
    let site = Site::new().at("/endless", |_, connection| {
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        while !connection.is_over() {
            connection.send(b"data: tick\n\n")?;
            connection.wait(Duration::from_millis(10));
        }
        Ok(Then::Close)
    });
    let scene = Scene::new(site);
    let told = recorded(&scene, true, |proxy| {
        let mut stream = TcpStream::connect(proxy).unwrap();
        let (url, host) = (scene.web.url("/endless"), scene.web.address());
        write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut seen = Vec::new();
        while !holds(&seen, b"data: tick") {
            let mut some = [0; 100];
            let count = stream.read(&mut some).unwrap();
            assert_ne!(count, 0);
            seen.extend_from_slice(&some[..count]);
        }
    });
    assert_eq!(told.ended.unwrap().tally.truncated, 1);
    assert!(holds(&records(&scene), b"data: tick"));
}

#[test]
fn hundreds_of_clients_are_served_at_once() {
    let site = Site::new().at("/page/", |request, connection| {
        connection.wait(Duration::from_millis(50));
        Answer::html(request.target.clone()).send(request, connection)
    });
    let scene = Scene::new(site);
    let told = recorded(&scene, true, |proxy| {
        thread::scope(|scope| {
            for number in 0..500 {
                let web = &scene.web;
                scope.spawn(move || {
                    let path = format!("/page/{number}");
                    let answer = get(proxy, web, &path, "");
                    assert!(answer.ends_with(&path), "{answer}");
                });
            }
        });
    });
    assert_eq!(told.ended.unwrap().captures, 500);
    scene.assert_sound();
}

/// A server that accepts one web socket, says `welcome`, and repeats one frame.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Upgrade: websocket") && head.contains("Sec-Websocket-Key: abc"), "{head}");
        assert!(!head.to_lowercase().contains("extensions"), "{head}");
        let start = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x07welcome";
        stream.write_all(start).unwrap();
        let mut frame = [0; 6 + 5];
        stream.read_exact(&mut frame).unwrap();
        stream.write_all(b"\x81\x03yes").unwrap();
    });
    address
}

#[test]
fn frames_of_web_sockets_pass_and_are_recorded() {
    let scene = Scene::new(Site::new());
    let server = echo_server();
    let told = recorded(&scene, true, |proxy| {
        let mut stream = TcpStream::connect(proxy).unwrap();
        let open = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n");
        stream.write_all(open.as_bytes()).unwrap();
        let mut answer = [0; 19];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK\r\n\r\n");
        let upgrade = format!(
            "GET /socket HTTP/1.1\r\nHost: {server}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: abc\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
        );
        stream.write_all(upgrade.as_bytes()).unwrap();
        stream.write_all(b"\x81\x85\x01\x02\x03\x04").unwrap();
        let masked: Vec<u8> =
            b"hello".iter().zip([1u8, 2, 3, 4, 1]).map(|(byte, mask)| byte ^ mask).collect();
        stream.write_all(&masked).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert!(all.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&all));
        assert!(all.ends_with(b"\x81\x07welcome\x81\x03yes"), "{}", String::from_utf8_lossy(&all));
    });
    assert_eq!(told.exchanged.len(), 1);
    let records = records(&scene);
    for text in [
        "\"text\":\"welcome\"",
        "\"text\":\"hello\"",
        "\"text\":\"yes\"",
        "application/vnd.varve.websocket+json",
    ] {
        assert!(holds(&records, text.as_bytes()), "{text}");
    }
}
