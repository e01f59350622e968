//! `varve proxy`, `record`, `open` and `serve --proxy-listen` as processes, with curl and Chromium as
//! their clients.

mod browsing;
mod running_proxy;

use std::process::Command;

use varve_testkit::web::{Answer, Certificate, Site, Web};

use crate::history::Place;
use running_proxy::RunningProxy;

/// Calls curl through a proxy. Returns what it printed.
fn curl(place: &Place, proxy: &str, words: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "60", "--proxy", proxy, "--cacert"])
        .arg(place.path("varve-ca.pem"))
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A place with the certificate of its user in a file.
fn place_with_certificate() -> Place {
    let place = Place::new(true);
    let folder = place.path("settings");
    let pem = place.data(&["proxy", "--print-ca", "--ca-folder", folder.to_str().unwrap()]);
    place.file("varve-ca.pem", &pem);
    place
}

#[test]
fn curl_records_over_https_in_both_versions_of_http() {
    if !varve_testkit::has_program("curl") {
        return;
    }
    let certificate = Certificate::for_names(&["localhost", "127.0.0.1"]);
    let site = Site::new()
        .page("/", Answer::html("<h1>Encrypted</h1>"))
        .page("/two", Answer::html("<h1>Two</h1>"))
        .computed("/echo", |request| Answer::of("text/plain", request.body.clone()));
    let web = Web::serve_tls(site, &certificate);
    let place = place_with_certificate();
    place.file("server.pem", certificate.pem());
    let trusted = place.path("server.pem");
    let mut proxy =
        RunningProxy::start(&place, &["--allow-private", "--ca", trusted.to_str().unwrap(), "-m", "curl"]);
    let version = "%{stdout} %{http_version}";
    assert_eq!(curl(&place, &proxy.url, &["--http2", "-w", version, &web.url("/")]), "<h1>Encrypted</h1> 2");
    let first = ["--http1.1", "-w", version, "-H", "Cookie: s=hunter2", &web.url("/two")];
    assert_eq!(curl(&place, &proxy.url, &first), "<h1>Two</h1> 1.1");
    let body = "x".repeat(3_000_000);
    place.file("body", &body);
    let sent = format!("@{}", place.path("body").display());
    // curl waits for `100 Continue` before it sends a body of this size.
    assert_eq!(curl(&place, &proxy.url, &["--http1.1", "--data-binary", &sent, &web.url("/echo")]), body);
    assert!(curl(&place, &proxy.url, &[&format!("{}/ca.pem", proxy.url)]).contains("BEGIN CERTIFICATE"));
    let ended = proxy.interrupt();
    assert_eq!((ended["captured"].as_u64(), ended["exchanged"].as_u64()), (Some(2), Some(1)), "{ended}");
    assert_eq!(place.data(&["cat", &web.url("/")]), "<h1>Encrypted</h1>");
    assert!(!place.data(&["cat", "--raw", &web.url("/two")]).contains("hunter2"));
    assert!(place.data(&["audit"]).starts_with("ok"));

    // The same through the museum, with the web gone.
    let url = web.url("/two");
    drop(web);
    let folder = place.path("settings");
    let museum = RunningProxy::museum(&place, &["--ca-folder", folder.to_str().unwrap()]);
    let shown = curl(&place, &museum.url, &["-D", "-", &url]);
    assert!(shown.contains("memento-datetime: ") && shown.ends_with("<h1>Two</h1>"), "{shown}");
    let range = ["-r", "1-2", "-w", " %{http_code}", &url];
    assert_eq!(curl(&place, &museum.url, &range), "h1 206");
    let missing = curl(&place, &museum.url, &["-w", " %{http_code}", "https://unknown.example/"]);
    assert!(missing.contains("was not captured") && missing.ends_with(" 404"), "{missing}");
}

#[test]
fn a_killed_recording_loses_nothing_that_was_acknowledged() {
    let site = Site::new().computed("/", |request| Answer::html(request.target.clone()));
    let site = site
        .at("/page/", |request, connection| Answer::html(request.target.clone()).send(request, connection));
    let web = Web::serve(site);
    let place = place_with_certificate();
    let mut proxy = RunningProxy::start(&place, &["--allow-private", "-m", "killed"]);
    for number in 0..20 {
        proxy.get(&web, &format!("/page/{number}"));
    }
    proxy.wait_for_checkpoint(20);
    proxy.get(&web, "/page/last");
    proxy.kill();
    let refused = place.failure(&["proxy", "--listen", "127.0.0.1:0", "--allow-private"]);
    assert!(refused.contains("an earlier run is not finished") && refused.contains("--finish"), "{refused}");

    let mut proxy = RunningProxy::start(&place, &["--allow-private", "--resume"]);
    proxy.get(&web, "/page/0");
    proxy.get(&web, "/page/new");
    let ended = proxy.interrupt();
    let captures = ended["captured"].as_u64().unwrap();
    assert!((21..=22).contains(&captures), "{ended}");
    assert_eq!(ended["exchanged"], 1, "{ended}");
    assert_eq!(place.data(&["cat", &web.url("/page/7")]), "/page/7");
    assert!(place.data(&["audit"]).starts_with("ok"));
    let before = place.data(&["log", "--json"]);
    place.data(&["rebuild"]);
    assert_eq!(place.data(&["log", "--json"]), before);

    let mut proxy = RunningProxy::start(&place, &["--allow-private", "-m", "finished"]);
    proxy.get(&web, "/page/other");
    proxy.wait_for_checkpoint(1);
    proxy.kill();
    let ended = place.object(&["proxy", "--finish", "--json"]);
    assert_eq!(ended["captured"], 1, "{ended}");
}

#[test]
fn mistakes_are_reported_before_anything_is_recorded() {
    let place = Place::new(true);
    let folder = place.path("settings");
    let folder = folder.to_str().unwrap();
    let failure = place.failure(&["proxy", "--listen", "0.0.0.0:0", "--ca-folder", folder]);
    assert!(failure.contains("--allow-remote"), "{failure}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let failure = place.failure(&["proxy", "--listen", &address, "--ca-folder", folder]);
    assert!(failure.contains("another program listens there"), "{failure}");
    let path = place.path("settings/proxy-ca.pem");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let failure = place.failure(&["proxy", "--listen", "127.0.0.1:0", "--ca-folder", folder]);
    assert!(failure.contains("can be read by others") && failure.contains("chmod 600"), "{failure}");
    let failure = place.failure(&["record", "http://me:secret@h/", "--chromium", "/nowhere"]);
    assert!(failure.contains("user name") && !failure.contains("secret"), "{failure}");
    let failure = place.failure(&["record", "http://h/", "--chromium", "/nowhere"]);
    assert!(failure.contains("`/nowhere` cannot be started"), "{failure}");
    let failure = place.failure(&["record", "--ca", "/nowhere", "--chromium", "/nowhere"]);
    assert!(failure.contains("/nowhere"), "{failure}");
    // No run is left behind.
    let failure = place.failure(&["proxy", "--finish"]);
    assert!(failure.contains("there is no unfinished run"), "{failure}");
    assert!(place.data(&["log"]).is_empty());
}
