//! The settings of domains over HTTP, and that they apply to fetches.

use serde_json::json;
use varve_testkit::web::Site;

use super::{Api, ApiOptions, value};

const PATH: &str = "/settings/domain/example.com";

#[test]
fn settings_are_stored_shown_and_deleted() {
    let api = Api::new(Site::new());
    assert_eq!(api.send("GET", PATH, &[], "").status, 404);
    let settings = json!({
        "domain": "other.example",
        "sitename": "Example",
        "fetch_client": "direct",
        "user_agent": "Mozilla/5.0",
        "headers": { "x-special": "special" },
    });
    let text = concat!(
        r#"{"domain":"example.com","sitename":"Example","fetch_client":"direct","user_agent":"Mozilla/5.0","#,
        r#""headers":{"X-Special":"special"}}"#,
        "\n"
    );
    let stored = api.json("PUT", "/settings/domain/EXAMPLE.com", &settings);
    assert_eq!((stored.status, stored.text().as_str()), (200, text));
    assert_eq!(api.send("GET", PATH, &[], "").text(), text);
    let pretty = api.send("GET", &format!("{PATH}?pp=1"), &[], "").text();
    assert!(pretty.starts_with("{\n  \"domain\": \"example.com\",\n  \"sitename\""), "{pretty}");
    // They replace those before, and outlive the server.
    assert_eq!(
        api.json("PUT", PATH, &json!({ "ttl": 60 })).text(),
        "{\"domain\":\"example.com\",\"ttl\":60}\n"
    );
    let api = Api::over(api.museum, api.web, ApiOptions::default());
    assert_eq!(api.send("GET", PATH, &[], "").text(), "{\"domain\":\"example.com\",\"ttl\":60}\n");
    for _ in 0..2 {
        assert_eq!(api.send("DELETE", PATH, &[], "").status, 204);
        assert_eq!(api.send("GET", PATH, &[], "").status, 404);
    }
}

#[test]
fn invalid_domains_and_settings_are_refused() {
    let api = Api::new(Site::new());
    for domain in [
        "example",
        "example-.com",
        "www.-example.com",
        "example--pie.com",
        "example..com",
        "example!.com",
        "example.com.",
        "x.inva1id",
        "a.b",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let reply = api.send(method, &format!("/settings/domain/{domain}"), &[], "{}");
            assert_eq!(reply.status, 400, "{method} {domain}");
        }
    }
    for domain in ["example.com", "sub.example.com", "example-pie.com"] {
        assert_eq!(
            api.json("PUT", &format!("/settings/domain/{domain}"), &json!({})).status,
            200,
            "{domain}"
        );
    }
    for settings in [
        json!({ "unknown": 1 }),
        json!({ "fetch_client": "curl" }),
        json!({ "headers": { "a": 1 } }),
        json!({ "headers": { "a b": "c" } }),
        json!({ "sitename": "a".repeat(256) }),
        json!({ "user_agent": "a".repeat(513) }),
        json!([]),
    ] {
        assert_eq!(api.json("PUT", PATH, &settings).status, 400, "{settings}");
    }
}

#[test]
fn domains_are_listed_by_queries() {
    let api = Api::new(Site::new());
    let domains = ["a.example", "b.example", "wee.com", "tiny-wee.org"];
    for domain in domains {
        assert_eq!(api.json("PUT", &format!("/settings/domain/{domain}"), &json!({ "ttl": 1 })).status, 200);
    }
    let listed = |query: &str| {
        let report = value(&api.send("GET", &format!("/settings/domain{query}"), &[], ""));
        let names = report["settings"].as_array().unwrap().iter();
        names.map(|settings| settings["domain"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["a.example", "b.example", "tiny-wee.org", "wee.com"];
    for query in ["", "?q=", "?q=*", "?q=**", "?limit=5000"] {
        assert_eq!(listed(query), all, "{query}");
    }
    assert_eq!(listed("?q=example"), ["a.example", "b.example"]);
    assert_eq!(listed("?q=WEE"), ["tiny-wee.org", "wee.com"]);
    assert_eq!(listed("?q=wee*"), ["wee.com"]);
    assert_eq!(listed("?q=*wee.org"), ["tiny-wee.org"]);
    assert_eq!(listed("?q=*.example"), ["a.example", "b.example"]);
    assert_eq!(listed("?offset=1&limit=2"), ["b.example", "tiny-wee.org"]);
    assert!(listed("?offset=9").is_empty());
    for query in ["?q=x:com", "?q=a*b", "?offset=-1", "?offset=x", "?limit=x", "?limit=1.5"] {
        let reply = api.send("GET", &format!("/settings/domain{query}"), &[], "");
        assert_eq!(reply.status, 400, "{query}");
    }
    let request = |query: &str| {
        value(&api.send("GET", &format!("/settings/domain{query}"), &[], ""))["request"].to_string()
    };
    assert_eq!(request(""), r#"{"limit":1000}"#);
    assert_eq!(request("?q=A&offset=1&limit=2000"), r#"{"q":"a","offset":1,"limit":1000}"#);
}

#[test]
fn nothing_is_set_where_nothing_may_be_written() {
    let api = Api::with(Site::new(), ApiOptions { may_write: false, ..ApiOptions::default() });
    assert_eq!(api.json("PUT", PATH, &json!({})).status, 501);
    assert_eq!(api.send("DELETE", PATH, &[], "").status, 501);
    assert_eq!(api.send("GET", PATH, &[], "").status, 404);
}
