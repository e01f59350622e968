//! `/batch` and `/feed`: an element for every URL, in order, with errors inside.

use serde_json::{Value, json};
use varve_testkit::web::{Answer, Site};

use super::{Api, article, value};

fn site() -> Site {
    (1..=5).fold(Site::new(), |site, number| {
        site.page(&format!("/{number}"), article(&format!("Page {number}"), "Words."))
    })
}

fn elements(value: &Value) -> Vec<(Value, Value)> {
    let pages = value.as_array().unwrap().iter();
    pages.map(|page| (page["original_url"].clone(), page["title"].clone())).collect()
}

#[test]
fn batches_are_answered_in_order_with_errors_inside() {
    let api = Api::new(site());
    assert_eq!(api.extract("/3").status, 200);
    let url = |path: &str| api.web.url(path);
    let urls =
        [url("/5"), url("/3"), "not a url at all://".to_owned(), url("/missing"), url("/1"), url("/5")];
    let reply = api.json("POST", "/batch", &json!({ "urls": urls }));
    assert_eq!(reply.status, 200);
    let text = reply.text();
    assert!(text.starts_with("[\n{\"") && text.ends_with("}\n]\n") && text.contains("},\n{"), "{text}");
    let pages = value(&reply);
    let wanted =
        [json!("Page 5"), json!("Page 3"), Value::Null, Value::Null, json!("Page 1"), json!("Page 5")];
    let wanted: Vec<_> = urls.iter().map(|url| json!(url)).zip(wanted).collect();
    let found: Vec<_> = elements(&pages)
        .into_iter()
        .zip(pages.as_array().unwrap())
        .map(|((url, title), page)| (url, if page["error"].is_null() { title } else { Value::Null }))
        .collect();
    assert_eq!(found, wanted, "{pages}");
    assert_eq!(pages[3]["status_code"], json!(404));
    // What is known or named twice is fetched once.
    assert_eq!(["/1", "/3", "/5"].map(|path| api.web.count(path)), [1, 1, 1]);

    let pretty = api.json("POST", "/batch?pp=1", &json!({ "urls": [url("/1")] })).text();
    assert!(pretty.starts_with("[\n  {\n    \"url\": \"") && pretty.ends_with("\n  }\n]\n"), "{pretty}");
}

#[test]
fn a_feed_is_answered_with_the_pages_of_its_items() {
    let item = |path: &str| format!("<item><title>{path}</title><link>{path}</link></item>");
    let rss = move |items: &[String]| {
        let items: String = items.iter().map(|url| item(url)).collect();
        format!(
            "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>f</title>{items}</channel></rss>"
        )
    };
    let feed = move |request: &varve_testkit::web::Request| {
        let urls = [request.url("/2"), request.url("/gone"), request.url("/4")];
        Answer::of("application/rss+xml", rss(&urls))
    };
    let site = site()
        .computed("/feed", feed)
        .page("/empty", Answer::of("application/rss+xml", rss(&[])))
        .page("/page", article("No feed", "Words."));
    let api = Api::new(site);
    let reply = api.get("/feed", &api.web.url("/feed"), "");
    assert_eq!(reply.status, 200, "{reply:?}");
    let pages = value(&reply);
    let wanted = [("/2", json!("Page 2")), ("/gone", Value::Null), ("/4", json!("Page 4"))];
    assert_eq!(elements(&pages), wanted.map(|(path, title)| (json!(api.web.url(path)), title)));
    assert_eq!(pages[1]["status_code"], json!(404));
    let empty = api.get("/feed", &api.web.url("/empty"), "");
    assert_eq!((empty.status, empty.text().as_str()), (200, "[]\n"));
    for path in ["/page", "/missing"] {
        let reply = api.get("/feed", &api.web.url(path), "");
        assert_eq!(reply.status, 422, "{path}: {reply:?}");
        assert!(reply.text().starts_with("Error fetching http://127.0.0.1:"), "{path}: {reply:?}");
    }
}
