//! `/extract`, `/extract/headless` and `/history`: statuses and bodies, time to live, other times.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use varve_testkit::web::{Answer, Site, Then, Web};

use super::super::museum::{Museum, Reply};
use super::{Api, ApiOptions, TTL, article, query_value, value};

fn titles(reply: &Reply) -> Vec<Value> {
    let page = value(reply);
    vec![page["title"].clone()]
}

#[test]
fn a_page_is_fetched_once_within_its_time_to_live() {
    let api = Api::new(Site::new().page("/a", article("One", "First.")));
    let reply = api.extract("/a?b=2&a=1&utm_source=x#top");
    assert_eq!(reply.status, 200);
    let page = value(&reply);
    let (asked, cleaned) = (api.web.url("/a?b=2&a=1&utm_source=x#top"), api.web.url("/a?a=1&b=2"));
    assert_eq!(page["original_url"], json!(asked));
    assert_eq!(page["requested_url"], json!(cleaned));
    assert_eq!(page["fetch_method"], json!("direct"));
    assert_eq!(page["title"], json!("One"));
    assert!(page["content_text"].as_str().unwrap().contains("thin layer of sediment"), "{page}");
    assert!(page["fetch_time"].as_str().unwrap().ends_with('Z'), "{page}");
    assert_eq!(api.web.total(), 1, "{:?}", api.web.counts());

    // The same page again, however it is asked for.
    let again = api.json("POST", "/extract", &json!({ "url": cleaned }));
    assert_eq!(value(&again)["fetch_time"], page["fetch_time"]);
    assert_eq!(value(&again)["original_url"], json!(cleaned));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("pp=1&url={}", query_value(&cleaned));
    let pretty = api.send("POST", "/extract", &form, &body).text();
    assert!(pretty.starts_with("{\n  \"url\": \""), "{pretty}");
    assert_eq!(api.web.total(), 1);

    api.advance(TTL + Duration::from_secs(1));
    assert_eq!(api.extract("/a?a=1&b=2").status, 200);
    assert_eq!(api.web.total(), 2);
}

#[test]
fn deleting_removes_the_answer_and_keeps_the_captures() {
    let api = Api::new(Site::new().page("/a", article("One", "First.")));
    let url = api.web.url("/a");
    let delete = || api.json("DELETE", "/extract", &json!({ "url": url }));
    let gone = delete();
    assert_eq!((gone.status, gone.text().as_str()), (410, "Not found\n"));
    assert_eq!(api.extract("/a").status, 200);
    let deleted = delete();
    assert_eq!((deleted.status, deleted.text().as_str()), (204, ""));
    assert_eq!(delete().status, 410);
    assert_eq!(value(&api.get("/extract", &url, "&at=2999"))["title"], json!("One"));
    assert_eq!(api.extract("/a").status, 200);
    assert_eq!(api.web.count("/a"), 2);
}

#[test]
fn each_failure_has_its_status() {
    let site = Site::new()
        .page("/missing", article("Gone", "Nothing is here.").with_status(404))
        .page("/broken", Answer::html("<p>no").with_status(500))
        .page("/refuses", Answer::html("<p>no").with_status(415))
        .page("/late", Answer::html("<p>no").with_status(504))
        .page("/image", Answer::of("image/png", "\u{89}PNG"))
        .page("/loop", Answer::redirect(302, "/loop"))
        .at("/closes", |_, _| Ok(Then::Close));
    let api = Api::new(site);
    for (path, status, code) in [
        ("/missing", 200, json!(404)),
        ("/broken", 200, json!(500)),
        ("/refuses", 415, json!(415)),
        ("/late", 504, json!(504)),
        ("/image", 415, Value::Null),
        ("/loop", 422, Value::Null),
        ("/closes", 422, Value::Null),
    ] {
        let reply = api.extract(path);
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        let page = value(&reply);
        assert!(page["error"].as_str().is_some_and(|error| !error.is_empty()), "{path}: {page}");
        assert_eq!(page["original_url"], json!(api.web.url(path)), "{page}");
        assert_eq!(page["requested_url"], json!(api.web.url(path)), "{page}");
        assert_eq!(page["content_text"], Value::Null, "{page}");
        if !code.is_null() {
            assert_eq!(page["status_code"], code, "{path}: {page}");
        }
    }
    // What is no absolute URL parses, and fails then.
    let reply = api.get("/extract", "example.com", "");
    assert_eq!(reply.status, 422);
    assert_eq!(value(&reply)["original_url"], json!("example.com"));
    let headless = api.get("/extract/headless", &api.web.url("/missing"), "");
    assert_eq!(headless.status, 503);
}

#[test]
fn a_server_that_never_answers_is_a_gateway_timeout() {
    let options = ApiOptions { timeout: Duration::from_millis(300), ..ApiOptions::default() };
    let api = Api::with(Site::with_everything(), options);
    let reply = api.extract("/silence");
    assert_eq!(reply.status, 504);
    assert!(value(&reply)["error"].as_str().unwrap().contains("did not reply within"), "{reply:?}");
    let feed = api.get("/feed", &api.web.url("/silence"), "");
    assert_eq!(feed.status, 504);
    assert!(feed.header("content-type").unwrap().starts_with("text/plain"));
}

#[test]
fn private_addresses_are_refused_for_clients_too() {
    let options = ApiOptions { allow_private: false, ..ApiOptions::default() };
    let api = Api::with(Site::new().page("/a", article("One", "First.")), options);
    for url in [api.web.url("/a"), "http://localhost/".to_owned(), "http://169.254.169.254/".to_owned()] {
        let reply = api.get("/extract", &url, "");
        assert_eq!(reply.status, 422, "{url}");
        assert!(value(&reply)["error"].as_str().unwrap().contains("may not be fetched"), "{url}: {reply:?}");
        assert_eq!(api.get("/feed", &url, "").status, 422, "{url}");
    }
    for url in ["file:///etc/passwd", "ftp://a.example/"] {
        assert_eq!(api.get("/extract", url, "").status, 422, "{url}");
    }
    let batch = value(&api.json("POST", "/batch", &json!({ "urls": [api.web.url("/a")] })));
    assert!(batch[0]["error"].as_str().unwrap().contains("may not be fetched"), "{batch}");
    assert_eq!(api.web.total(), 0);
}

/// An archive in which a page has two captures.
fn two_captures() -> Museum {
    let museum = Museum::new(true);
    let text = |title: &str| {
        String::from_utf8(article(title, "Words.").bytes(true))
            .unwrap()
            .split_once("\r\n\r\n")
            .unwrap()
            .1
            .to_owned()
    };
    for (time, title) in [("2026-01-01T00:00:00Z", "Old"), ("2026-06-01T00:00:00Z", "New")] {
        museum.commit(&[super::super::page("http://e.org/a", time, &text(title))], title);
    }
    museum
}

#[test]
fn at_answers_from_any_date_and_history_lists_the_changes() {
    let options = ApiOptions { may_write: false, ..ApiOptions::default() };
    let api = Api::over(two_captures(), Web::serve(Site::new()), options);
    let url = "http://e.org/a";
    for (at, title) in [("2026-01-01", "Old"), ("2026-03", "Old"), ("20260601000000", "New"), ("2027", "New")]
    {
        let reply = api.get("/extract", url, &format!("&at={at}"));
        assert_eq!(reply.status, 200, "{at}: {reply:?}");
        assert_eq!(titles(&reply), [json!(title)], "{at}");
    }
    let posted = api.json("POST", "/extract", &json!({ "url": url, "at": "2026-03" }));
    assert_eq!(titles(&posted), [json!("Old")]);
    assert_eq!(api.get("/extract", url, "&at=2025").status, 404);
    assert_eq!(api.get("/extract", url, "&at=yesterday").status, 400);
    assert_eq!(api.get("/extract", "http://e.org/never", "&at=2027").status, 404);

    let history = value(&api.get("/history", url, ""));
    assert_eq!(history["url"], json!(url));
    let changes = history["history"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "{history}");
    assert_eq!(changes[1]["time"], json!("2026-06-01T00:00:00Z"));
    let change = |field: &str| {
        let fields = changes[1]["changes"].as_array().unwrap();
        fields.iter().find(|change| change["field"] == json!(field)).cloned()
    };
    assert_eq!(change("title"), Some(json!({ "field": "title", "before": "Old", "after": "New" })));
    assert_eq!(change("language"), None);
    assert_eq!(api.get("/history", "http://e.org/never", "").status, 404);
}

#[test]
fn a_server_that_only_reads_fetches_nothing() {
    let options = ApiOptions { may_write: false, ..ApiOptions::default() };
    let api = Api::with(Site::new().page("/a", article("One", "First.")), options);
    let reply = api.extract("/a");
    assert_eq!(reply.status, 501, "{reply:?}");
    assert!(reply.text().contains("only reads"), "{reply:?}");
    assert_eq!(api.web.total(), 0);
}

#[test]
fn what_is_saved_answers_while_all_places_for_fetches_are_taken() {
    // 8 requests that run and 32 that wait, and one too many.
    const REQUESTS: usize = 41;
    let gate = Arc::new(Mutex::new(()));
    let entrance = Arc::clone(&gate);
    let slow = move |_: &varve_testkit::web::Request| {
        drop(entrance.lock());
        article("Slow", "Later.")
    };
    let api = Api::new(Site::new().page("/saved", article("Saved", "Before.")).computed("/slow", slow));
    assert_eq!(api.extract("/saved").status, 200);
    let closed = gate.lock().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for number in 0..REQUESTS {
            let (api, tell) = (&api, tell.clone());
            scope.spawn(move || tell.send(api.extract(&format!("/slow?n={number}")).status).unwrap());
        }
        // All others wait for the gate, so the first answer is that of the request too many.
        assert_eq!(told.recv().unwrap(), 503);
        assert_eq!(titles(&api.extract("/saved")), ["Saved"]);
        let batch = json!({ "urls": [api.web.url("/saved"), "example.com"] });
        let pages = value(&api.json("POST", "/batch", &batch));
        assert_eq!([&pages[0]["title"], &pages[1]["title"]], [&json!("Saved"), &Value::Null]);
        assert_eq!(api.json("POST", "/batch", &json!({ "urls": [api.web.url("/new")] })).status, 503);
        drop(closed);
        drop(tell);
        assert!(told.iter().all(|status| status == 200));
    });
}

#[test]
fn a_time_map_leads_to_the_page_that_declared_the_url() {
    let head = |request: &varve_testkit::web::Request| {
        Answer::html(format!(
            "<!DOCTYPE html><title>Mobile</title><link rel=canonical href='{}'><article><p>A varve is the \
             thin layer of sediment that a lake lays down each year.</p></article>",
            request.url("/page")
        ))
    };
    let api = Api::new(Site::new().computed("/mobile", head));
    assert_eq!(api.extract("/mobile").status, 200);
    let map = api.origins.get(&format!("/timemap/link/{}", api.web.url("/page")));
    let captured = format!("/timemap/link/{}", api.web.url("/mobile"));
    assert_eq!((map.status, map.header("location")), (302, Some(captured.as_str())));
    assert!(api.origins.get(&captured).text().contains("first last memento"));
}
