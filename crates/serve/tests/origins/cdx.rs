//! The CDX API, with pywb's parameters.

use serde_json::{Value, json};

use super::{Museum, TestOrigins, page, resource};

fn three_months() -> (Museum, TestOrigins) {
    let museum = Museum::new(true);
    for month in 1..=3 {
        let time = format!("2026-0{month}-01T00:00:00Z");
        let lines = [
            page("http://e.org/", &time, &format!("<p>{month}")),
            resource("http://e.org/a.css", &time, "text/css", "a{}"),
            page("https://sub.e.org/x", &time, "x"),
            json!({ "url": "http://other.org/", "time": time, "status": 404, "body": "no" }),
        ];
        museum.commit(&lines, "m");
    }
    let origins = museum.serve();
    (museum, origins)
}

fn rows(origins: &TestOrigins, query: &str) -> Vec<Value> {
    let reply = origins.page(&format!("/cdx?output=json&{query}"));
    let text = reply.text();
    assert_eq!(reply.status, 200, "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn times(origins: &TestOrigins, query: &str) -> Vec<String> {
    let months =
        rows(origins, query).into_iter().map(|row| row["timestamp"].as_str().unwrap()[4..6].to_owned());
    months.collect()
}

#[test]
fn lines_have_the_fields_of_pywb() {
    let (_museum, origins) = three_months();
    let text = origins.page("/cdx?url=http://e.org/&limit=1").text();
    let (key, rest) = text.trim_end().split_once(' ').unwrap();
    let (time, object) = rest.split_once(' ').unwrap();
    let object: Value = serde_json::from_str(object).unwrap();
    assert_eq!((key, time), ("org,e)/", "20260101000000"));
    assert_eq!(object["url"], "http://e.org/");
    assert_eq!((&object["mime"], &object["status"]), (&json!("text/html"), &json!("200")));
    assert!(object["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(object.get("bodylength"), None, "only if it is named");
    let named = rows(&origins, "url=http://e.org/&fl=bodylength,mimetype&limit=1");
    assert_eq!(named, [json!({ "bodylength": "4", "mimetype": "text/html" })]);
    assert_eq!(origins.page("/cdx?url=http://e.org/&output=text&fl=bodylength&limit=1").text(), "4\n");
    let text = origins.page("/cdx?url=http://e.org/&output=text&fl=timestamp,statuscode,nonsense").text();
    assert_eq!(text, "20260101000000 200 -\n20260201000000 200 -\n20260301000000 200 -\n");
    let only = &rows(&origins, "url=http://e.org/&fl=url,status&limit=1")[0];
    assert_eq!(*only, json!({ "url": "http://e.org/", "status": "200" }));
}

#[test]
fn queries_select_and_order_captures() {
    let (_museum, origins) = three_months();
    assert_eq!(times(&origins, "url=http://e.org/"), ["01", "02", "03"]);
    assert_eq!(times(&origins, "url=e.org"), ["01", "02", "03"]);
    assert_eq!(times(&origins, "url=https://www.e.org/"), ["01", "02", "03"]);
    assert_eq!(times(&origins, "url=http://e.org/&sort=reverse&limit=2"), ["03", "02"]);
    assert_eq!(times(&origins, "url=http://e.org/&from=202602&to=202602"), ["02"]);
    assert_eq!(times(&origins, "url=http://e.org/&sort=closest&closest=20260225"), ["03", "02", "01"]);
    assert_eq!(times(&origins, "url=http://e.org/&closest=20260201&limit=1"), ["02"]);
    let count = |query: &str| rows(&origins, query).len();
    assert_eq!(count("url=http://e.org/*"), 6);
    assert_eq!(count("url=http://e.org/a&matchType=prefix"), 3);
    assert_eq!(count("url=e.org&matchType=host"), 6);
    assert_eq!(count("url=*.e.org"), 9);
    assert_eq!(count("url=e.org&matchType=domain&filter=mime:css"), 3);
    assert_eq!(count("url=e.org&matchType=domain&filter=!mime:css"), 6);
    assert_eq!(count("url=http://other.org/&filter==status:404"), 3);
    assert_eq!(count("url=http://other.org/&filter=~status:[23].."), 0);
    assert_eq!(count("url=http://nowhere.example/"), 0);
    assert_eq!(origins.page("/cdx").status, 400);
    assert_eq!(origins.page("/cdx?url=x&sort=nonsense").status, 400);
}

/// As pywb's pages over an index of blocks: 3,000 lines a block, `pageSize` blocks a page, and
/// filters within a page.
#[test]
fn pages_divide_the_matching_captures() {
    let museum = Museum::new(true);
    let lines: Vec<Value> = (0..6500)
        .map(|number| {
            let kind = if number % 2 == 0 { "text/css" } else { "text/html" };
            resource(&format!("http://e.org/{number:04}"), "2026-01-01T00:00:00Z", kind, "x")
        })
        .collect();
    museum.commit(&lines, "many");
    let origins = museum.serve();
    let count = |query: &str| {
        let reply = origins.page(&format!("/cdx?url=http://e.org/*&showNumPages=true{query}"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        serde_json::from_str::<Value>(&reply.text()).unwrap()
    };
    assert_eq!(count(""), json!({ "pages": 1, "pageSize": 10, "blocks": 3 }));
    assert_eq!(count("&pageSize=1"), json!({ "pages": 3, "pageSize": 1, "blocks": 3 }));
    assert_eq!(count("&pageSize=2"), json!({ "pages": 2, "pageSize": 2, "blocks": 3 }));
    assert_eq!(count("&from=2027"), json!({ "pages": 0, "pageSize": 10, "blocks": 0 }));
    let urls = |query: &str| -> Vec<String> {
        let rows = rows(&origins, &format!("url=http://e.org/*&fl=url{query}"));
        rows.iter().map(|row| row["url"].as_str().unwrap()[13..].to_owned()).collect()
    };
    let all = urls("");
    let pages: Vec<Vec<String>> = (0..3).map(|page| urls(&format!("&pageSize=1&page={page}"))).collect();
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3000, 3000, 500]);
    assert_eq!(pages.concat(), all);
    assert_eq!(urls("&pageSize=1"), pages[0]);
    assert_eq!(urls("&page=0"), all);
    assert_eq!(urls("&pageSize=1&page=1&limit=2"), ["3000", "3001"]);
    assert_eq!(urls("&pageSize=1&page=1&filter=mime:css&limit=2"), ["3000", "3002"]);
    assert_eq!(urls("&pageSize=1&page=2&filter=mime:none"), Vec::<String>::new());
    let beyond = origins.page("/cdx?url=http://e.org/*&pageSize=1&page=3");
    assert_eq!(beyond.status, 400);
    assert_eq!(beyond.text(), "Page 3 invalid: First Page is 0, Last Page is 2\n");
    assert_eq!(origins.page("/cdx?url=http://nowhere.example/&page=0").status, 200);
    assert_eq!(origins.page("/cdx?url=http://e.org/*&page=18446744073709551615").status, 400);
}
