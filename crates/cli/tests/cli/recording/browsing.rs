//! Chromium: what a window does is recorded, and shown again without a request to the web.

use std::process::Command;

use varve_testkit::web::{Answer, Certificate, Site, Web};

use super::place_with_certificate;
use super::running_proxy::RunningProxy;

const PAGE: &str = r#"<!doctype html><title>Page</title><link rel="stylesheet" href="/style.css">
<h1>Page</h1><div id="log"></div><img id="dot" src="/dot.svg">
<script>
const note = text => document.getElementById('log').append(text + ' ');
note('host:' + location.host.split(':')[0]);
fetch('/data.json').then(r => r.json()).then(d => note('data:' + d.depth));
fetch('https://outside.invalid/').then(() => note('outside:reached'), () => note('outside:failed'));
addEventListener('load', () => {
  note('image:' + document.getElementById('dot').naturalWidth);
  note('style:' + getComputedStyle(document.querySelector('h1')).color);
  navigator.sendBeacon('/beacon', 'x');
});
</script>"#;

const DOT: &str =
    r#"<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>"#;

fn site() -> Site {
    Site::new()
        .page("/", Answer::html(PAGE).header("Set-Cookie", "session=hunter2"))
        .page("/style.css", Answer::of("text/css", "h1 { color: rgb(1, 2, 3) }"))
        .page("/dot.svg", Answer::of("image/svg+xml", DOT))
        .page(
            "/data.json",
            Answer::of("application/json", r#"{"depth":42}"#).header("Cache-Control", "no-store"),
        )
}

/// The DOM of a page behind a proxy.
fn dump(proxy: &str, url: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(varve_testkit::chromium().unwrap())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-quic", "--proxy-bypass-list=<-loopback>", "--ignore-certificate-errors"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--proxy-server={proxy}"))
        .args(["--virtual-time-budget=8000", "--dump-dom", url])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_window_is_recorded_and_shown_again_without_the_web() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let certificate = Certificate::for_names(&["localhost", "127.0.0.1"]);
    let web = Web::serve_tls(site(), &certificate);
    let url = web.url("/");
    let place = place_with_certificate();
    place.file("server.pem", certificate.pem());
    let trusted = place.path("server.pem");
    let words =
        ["record", &url, "--headless", "--for", "15s", "--allow-private", "--proxy", "none", "--json"];
    let events = place.lines(&[&words[..], &["--ca", trusted.to_str().unwrap()]].concat());
    let captured: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "captured")
        .filter_map(|event| event["url"].as_str())
        .collect();
    for path in ["/", "/style.css", "/dot.svg", "/data.json"] {
        assert!(captured.contains(&web.url(path).as_str()), "{path}: {events:#?}");
    }
    let foreign = |url: &&&str| !url.starts_with(&web.url(""));
    assert_eq!(captured.iter().filter(foreign).count(), 0, "{captured:?}");
    assert!(web.count("/beacon") > 0, "{:?}", web.counts());
    let exchanged = |event: &&serde_json::Value| event["event"] == "exchanged" && event["method"] == "POST";
    assert_eq!(events.iter().filter(exchanged).count(), 1, "{events:#?}");

    web.forget();
    let folder = place.path("settings");
    let museum = RunningProxy::museum(&place, &["--ca-folder", folder.to_str().unwrap()]);
    let document = dump(&museum.url, &url);
    for wanted in ["host:", "data:42", "outside:failed", "image:8", "style:rgb(1, 2, 3)"] {
        assert!(document.contains(wanted), "{wanted}: {document}");
    }
    let missing = dump(&museum.url, "https://unknown.example/page");
    assert!(missing.contains("was not captured"), "{missing}");
    drop(museum);
    place.data(&["open", &url, "--headless", "--for", "5s"]);
    assert_eq!(web.total(), 0, "{:?}", web.counts());
    // The counter works.
    assert!(Command::new("curl").args(["-sk", &url]).output().unwrap().status.success());
    assert_eq!(web.total(), 1);
}
