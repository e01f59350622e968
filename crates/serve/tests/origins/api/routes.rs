//! Which paths take which methods, bodies and limits, and what the API answers without an archive.

use serde_json::json;
use varve_testkit::web::Site;

use super::super::museum::{Museum, UI_HOST};
use super::{Api, ApiOptions, value};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
const FORM: &[(&str, &str)] = &[("Content-Type", "application/x-www-form-urlencoded")];

#[test]
fn paths_take_their_methods_and_no_others() {
    let api = Api::new(Site::new());
    for (path, methods) in [
        ("/extract", &["GET", "HEAD", "POST", "DELETE"][..]),
        ("/extract/headless", &["GET", "HEAD", "POST"]),
        ("/batch", &["POST"]),
        ("/feed", &["GET", "HEAD", "POST"]),
        ("/history", &["GET", "HEAD"]),
        ("/settings/domain", &["GET", "HEAD"]),
        ("/settings/domain/example.com", &["GET", "HEAD", "PUT", "DELETE"]),
        ("/admin/login", &["GET", "HEAD"]),
        ("/.well-known/health", &["GET", "HEAD"]),
        ("/.well-known/heartbeat", &["GET", "HEAD"]),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
            let status = api.send(method, path, &[], "").status;
            assert_eq!(status == 405, !methods.contains(&method), "{method} {path}: {status}");
        }
    }
    for path in ["/extract/", "/extract/x", "/batch/", "/feeds", "/settings", "/settings/domain/a.example/b"]
    {
        assert_eq!(api.send("GET", path, &[], "").status, 404, "{path}");
    }
}

#[test]
fn invalid_requests_are_refused_before_anything_is_fetched() {
    let api = Api::new(Site::new());
    let long = "a".repeat(40_000);
    let object =
        |length: usize| json!({ "url": format!("http://a.example/{}", &long[..length]) }).to_string();
    for path in ["/extract", "/extract/headless", "/feed"] {
        assert_eq!(api.send("GET", path, &[], "").status, 400);
        assert_eq!(api.send("GET", path, &[], "").text(), "No URL provided\n");
        assert_eq!(api.send("GET", &format!("{path}?url=http://a%20b/"), &[], "").status, 400);
        for body in ["", "{", "[]", r#"{"urls":["http://a.example/"]}"#, r#"{"url":"a.example"}"#] {
            assert_eq!(api.send("POST", path, JSON, body).status, 400, "{path}: {body}");
        }
        assert_eq!(api.send("POST", path, FORM, "urls=x").status, 400);
        assert_eq!(api.send("POST", path, JSON, &object(5000)).status, 413);
        assert_eq!(
            api.send("POST", path, FORM, &format!("url=http://a.example/{}", &long[..5000])).status,
            413
        );
        assert_eq!(api.send("GET", &format!("{path}?url=http://u:p@a.example/"), &[], "").status, 400);
    }
    assert_eq!(api.send("DELETE", "/extract", JSON, "{").status, 400);
    assert_eq!(api.send("DELETE", "/extract", JSON, &object(5000)).status, 413);
    for body in ["", "{", "[]", r#"{"urls":"http://a.example/"}"#, r#"{"urls":["http://a.example/"],"pp":1}"#]
    {
        assert_eq!(api.send("POST", "/batch", JSON, body).status, 400, "{body}");
    }
    for body in ["{}", r#"{"urls":[]}"#] {
        let reply = api.send("POST", "/batch", &[], body);
        assert_eq!((reply.status, reply.text().as_str()), (422, "No URLs provided\n"));
    }
    let batch = json!({ "urls": [format!("http://a.example/{long}")] }).to_string();
    assert_eq!(api.send("POST", "/batch", JSON, &batch).status, 413);
    let settings = json!({ "sitename": &long[..5000] }).to_string();
    assert_eq!(api.send("PUT", "/settings/domain/example.com", JSON, &settings).status, 413);
    assert_eq!(api.web.total(), 0);
}

#[test]
fn only_archives_extract_and_others_say_so() {
    let museum = Museum::new(false);
    museum.commit(&[super::super::page("http://e.org/", "2026-01-01T00:00:00Z", "x")], "pages");
    let origins = museum.serve();
    for target in ["/extract?url=http://e.org/", "/history?url=http://e.org/", "/settings/domain"] {
        let reply = origins.page(target);
        assert_eq!(reply.status, 501, "{target}");
        assert!(reply.text().contains("Only an archive"), "{target}");
    }
    assert_eq!(origins.page("/").status, 200);
}

#[test]
fn health_has_the_fields_of_scrape() {
    let api = Api::new(Site::new());
    let heartbeat = api.send("GET", "/.well-known/heartbeat", &[], "");
    assert_eq!((heartbeat.status, heartbeat.text().as_str()), (200, "OK"));
    let reply = api.send("GET", "/.well-known/health", &[], "");
    assert!(reply.text().starts_with("{\n  \"application\": {\n    \"start_time\": \""), "{}", reply.text());
    let health = value(&reply);
    assert!(health["application"]["goroutine_count"].is_u64(), "{health}");
    for field in [
        "application_total_mb",
        "heap_system_mb",
        "heap_allocated_mb",
        "stack_system_mb",
        "stack_in_use_mb",
        "seconds_since_last_gc",
        "gc_count",
    ] {
        assert!(health["memory"][field].is_u64(), "{field}: {health}");
    }
}

#[test]
fn other_sites_cannot_make_a_browser_fetch_or_write() {
    let api = Api::with(Site::new(), ApiOptions { allow_private: false, ..ApiOptions::default() });
    let target = "/extract?url=http://127.0.0.1:1/";
    let status = |method: &str, headers: &[(&str, &str)]| api.send(method, target, headers, "").status;
    for (name, text) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:8081"),
    ] {
        for method in ["GET", "POST", "DELETE"] {
            assert_eq!(status(method, &[(name, text)]), 403, "{method} {name}: {text}");
        }
    }
    assert_eq!(status("GET", &[("Host", "evil.example")]), 421);
    assert_eq!(status("GET", &[("Sec-Fetch-Site", "none")]), 422);
    assert_eq!(
        status("GET", &[("Origin", &format!("http://{UI_HOST}")), ("Sec-Fetch-Site", "same-origin")]),
        422
    );
}
