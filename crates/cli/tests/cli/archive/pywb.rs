//! The silos of captures, replayed by pywb: an unchanged page shows its content.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use varve_testkit::web::{Answer, Site, Then, Web};

use super::{Scene, stderr};

/// Adds a WARC file to a collection, serves it, and prints a line of JSON for each URL.
pub(super) const REPLAY_SCRIPT: &str = r#"
from gevent import monkey; monkey.patch_all()
import json, logging, os, sys, urllib.error, urllib.request
folder, silo, *urls = sys.argv[1:]
os.chdir(folder)
from pywb.manager.manager import main as manage
sys.stdout, stdout = sys.stderr, sys.stdout
manage(["init", "museum"])
manage(["add", "museum", silo])
from pywb.apps.frontendapp import FrontEndApp
from pywb.utils.geventserver import GeventServer
server = GeventServer(FrontEndApp(), port=0, hostname="127.0.0.1")
for url in urls:
    try:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{server.port}/museum/{url}")
    except urllib.error.HTTPError as error:
        answer = error
    print(json.dumps([answer.status, answer.headers["Memento-Datetime"], answer.read().decode()]), file=stdout)
"#;

/// A page that a server confirms with a 304, and one that it sends in chunks.
fn site() -> Site {
    let plain = Answer::html("<p>the plain page</p>").header("ETag", "\"1\"");
    Site::new()
        .computed("/plain", move |request| match request.header("if-none-match") {
            Some(_) => Answer::status(304).header("ETag", "\"1\""),
            None => plain.clone(),
        })
        .at("/chunked", |request, connection| {
            connection.send(match request.header("if-none-match") {
                Some(_) => "HTTP/1.1 304 Not Modified\r\nETag: \"2\"\r\n\r\n",
                None => {
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"2\"\r\nTransfer-Encoding: chunked\r\n\r\n\
                     17\r\n<p>the chunked page</p>\r\n0\r\n\r\n"
                }
            })?;
            Ok(Then::KeepOpen)
        })
}

/// The date of the newest capture, as digits and as pywb sends it.
fn newest(scene: &Scene, url: &str) -> (String, String) {
    let log = String::from_utf8(scene.data(&["log", url, "--json"])).unwrap();
    let captures: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(captures.len(), 2, "{log}");
    assert_eq!((&captures[0]["status"], &captures[1]["status"]), (&304.into(), &200.into()), "{log}");
    let time = captures[0]["time"].as_str().unwrap();
    (time.chars().filter(char::is_ascii_digit).take(14).collect(), time[11..19].to_owned())
}

#[test]
fn pywb_shows_the_content_of_an_unchanged_page() {
    let Some(python) = varve_testkit::python() else { return };
    let (scene, web) = (Scene::new(&[]), Web::serve(site()));
    let urls = ["/plain", "/chunked"].map(|path| web.url(path));
    for round in 0..2 {
        if round == 1 {
            // pywb knows captures by the second.
            std::thread::sleep(Duration::from_millis(1100));
        }
        scene.data(&["capture", &urls[0], &urls[1], "--allow-private", "--delay", "0"]);
    }
    let silos = scene.silos();
    assert_eq!(silos.len(), 1);
    std::fs::create_dir(scene.path("pywb")).unwrap();
    let times = [newest(&scene, &urls[0]), newest(&scene, &urls[1])];
    let asked = times.iter().zip(&urls).map(|((digits, _), url)| format!("{digits}id_/{url}"));
    let mut replay = Command::new(python);
    replay.args(["-c", REPLAY_SCRIPT]).arg(scene.path("pywb")).arg(&silos[0]).args(asked);
    let output = replay.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown: Vec<(u16, String, String)> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let bodies = ["<p>the plain page</p>", "<p>the chunked page</p>"];
    assert_eq!(shown.len(), 2, "{shown:?}");
    for (((status, time, body), wanted), (_, clock)) in shown.iter().zip(bodies).zip(&times) {
        assert_eq!((*status, body.as_str()), (200, wanted));
        assert!(time.contains(clock), "{time} is not the capture at {clock}");
    }
}
