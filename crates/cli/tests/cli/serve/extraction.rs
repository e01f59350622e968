//! The extraction API of a running server, over sockets, with a web to fetch from.

use serde_json::{Value, json};
use varve_testkit::web::{Answer, Site, Web};

use super::client::{Reply, Served, send};
use crate::history::Place;
use crate::{stderr, stdout, varve};

/// Options with which the server may fetch from the web of the test.
const NEAR: [&str; 1] = ["--allow-private"];

fn web() -> Web {
    let article = |title: &str| {
        Answer::html(format!(
            "<html><head><title>{title}</title></head><body><article><h1>{title}</h1><p>Read the layers from the \
             top, and you read the history of the lake backwards, one year after the other, until the ice, \
             which no year has seen.</p></article></body></html>"
        ))
    };
    let feed = |request: &varve_testkit::web::Request| {
        let link = |path: &str| format!("<item><link>{}</link></item>", request.url(path));
        let items = [link("/b"), link("/a")].concat();
        Answer::of(
            "application/rss+xml",
            format!("<rss version=\"2.0\"><channel><title>f</title>{items}</channel></rss>"),
        )
    };
    let site = Site::new().page("/a", article("Page A")).page("/b", article("Page B"));
    Web::serve(site.computed("/feed", feed))
}

fn archive() -> Place {
    Place::new(true)
}

fn call(server: &Served, method: &str, target: &str, body: &Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&server.ui, method, target, &[("Content-Type", "application/json")], &body)
}

fn value(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    serde_json::from_str(&reply.text()).unwrap()
}

fn titles(pages: &Value) -> Vec<&str> {
    pages.as_array().unwrap().iter().map(|page| page["title"].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_client_extracts_pages_that_become_captures() {
    let (place, web) = (archive(), web());
    let served = Served::start_with(&place.path("museum"), &NEAR);
    let (a, b) = (web.url("/a"), web.url("/b"));
    let page = value(&call(&served, "POST", "/extract", &json!({ "url": a })));
    assert_eq!((page["title"].as_str(), page["url"].as_str()), (Some("Page A"), Some(a.as_str())));
    // Within its time to live, nothing is fetched.
    assert_eq!(value(&call(&served, "GET", &format!("/extract?url={a}"), &Value::Null)), page);
    assert_eq!(web.count("/a"), 1);

    let batch = value(&call(&served, "POST", "/batch", &json!({ "urls": [b, a, b] })));
    assert_eq!(titles(&batch), ["Page B", "Page A", "Page B"]);
    let feed = value(&call(&served, "GET", &format!("/feed?url={}", web.url("/feed")), &Value::Null));
    assert_eq!(titles(&feed), ["Page B", "Page A"]);
    assert_eq!((web.count("/a"), web.count("/b"), web.count("/feed")), (1, 1, 1));

    assert_eq!(call(&served, "DELETE", "/extract", &json!({ "url": a })).status, 204);
    assert_eq!(call(&served, "DELETE", "/extract", &json!({ "url": a })).status, 410);
    let past = value(&call(&served, "GET", &format!("/extract?at=2999&url={a}"), &Value::Null));
    assert_eq!(past["title"], "Page A");
    assert_eq!(web.count("/a"), 1);
    assert_eq!(value(&call(&served, "GET", &format!("/extract?url={a}"), &Value::Null))["title"], "Page A");
    assert_eq!(web.count("/a"), 2);
    let history = value(&call(&served, "GET", &format!("/history?url={a}"), &Value::Null));
    assert!(
        history["history"][0]["changes"].as_array().unwrap().iter().any(|change| change["field"] == "title")
    );

    // Each response is in the archive, also for the verbs of another process, while the server runs.
    assert_eq!(place.data(&["log", &a, "--json"]).lines().count(), 2);
    assert!(place.data(&["cat", &b]).contains("Page B"));
    // Replay shows it too.
    assert!(served.get(&format!("/web/2999/{b}")).status < 400);
}

#[test]
fn with_a_signing_key_clients_need_a_token() {
    let (place, web) = (archive(), web());
    let key = stdout(&varve().args(["token", "make-key"]).output().unwrap());
    let file = place.path("signing.key");
    std::fs::write(&file, key).unwrap();
    let file = file.to_str().unwrap();
    let token =
        varve().args(["token", "issue", "--sub", "ada", "--signing-key-file", file]).output().unwrap();
    let token = format!("Bearer {}", stdout(&token).trim());
    let served = Served::start_with(&place.path("museum"), &["--allow-private", "--signing-key-file", file]);
    let target = format!("/extract?url={}", web.url("/a"));
    assert_eq!(call(&served, "GET", &target, &Value::Null).status, 401);
    assert_eq!(web.total(), 0);
    assert_eq!(send(&served.ui, "GET", &target, &[("Authorization", &token)], "").status, 200);
    assert_eq!(served.page("/").status, 200);
}

#[test]
fn a_server_that_only_reads_writes_nothing() {
    let (place, web) = (archive(), web());
    let served = Served::start_with(&place.path("museum"), &["--allow-private", "--readonly"]);
    let reply = call(&served, "GET", &format!("/extract?url={}", web.url("/a")), &Value::Null);
    assert_eq!((reply.status, web.total()), (501, 0), "{reply:?}");
    assert!(reply.text().contains("--readonly"), "{reply:?}");
}

#[test]
fn private_addresses_need_the_option_here_too() {
    let (place, web) = (archive(), web());
    let served = Served::start(&place.path("museum"));
    let reply = call(&served, "GET", &format!("/extract?url={}", web.url("/a")), &Value::Null);
    assert_eq!((reply.status, web.total()), (422, 0), "{reply:?}");
}

#[test]
fn beyond_this_machine_a_server_without_a_key_answers_from_history_only() {
    let (place, web) = (archive(), web());
    let everywhere = ["--allow-private", "--allow-remote", "--listen", "0.0.0.0:0"];
    let start = |more: &[&str]| Served::start_with(&place.path("museum"), &[&everywhere[..], more].concat());
    let extract = |served: &Served| {
        let port = served.ui.rsplit(':').next().unwrap();
        send(&format!("127.0.0.1:{port}"), "GET", &format!("/extract?url={}", web.url("/a")), &[], "").status
    };
    assert_eq!(extract(&start(&[])), 501);
    assert_eq!(web.total(), 0);
    assert_eq!(extract(&start(&["--allow-remote-fetch"])), 200);
    let refused = varve()
        .args(["-C", place.path("museum").to_str().unwrap(), "serve", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--allow-remote"), "{}", stderr(&refused));
}
