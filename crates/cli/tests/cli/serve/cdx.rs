//! The CDX API, with pywb's parameters.

use serde_json::{Value, json};

use super::{Served, commit, page, part};
use crate::history::Place;

fn museum() -> (Place, Served) {
    let place = Place::new(true);
    for month in 1..=3 {
        let time = format!("2026-0{month}-01T00:00:00Z");
        let lines = [
            page("http://e.org/", &time, &format!("<p>{month}")),
            part("http://e.org/a.css", &time, "text/css", "a{}"),
            page("https://sub.e.org/x", &time, "x"),
            json!({ "url": "http://other.org/", "time": time, "status": 404, "body": "no" }),
        ];
        commit(&place, &lines, "m");
    }
    let served = Served::start(&place.path("museum"));
    (place, served)
}

fn rows(served: &Served, query: &str) -> Vec<Value> {
    let reply = served.page(&format!("/cdx?output=json&{query}"));
    let text = reply.text();
    assert_eq!(reply.status, 200, "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn times(served: &Served, query: &str) -> Vec<String> {
    let months =
        rows(served, query).into_iter().map(|row| row["timestamp"].as_str().unwrap()[4..6].to_owned());
    months.collect()
}

#[test]
fn lines_have_the_fields_that_tools_expect() {
    let (place, served) = museum();
    let text = served.page("/cdx?url=http://e.org/&limit=1").text();
    let (key, rest) = text.trim_end().split_once(' ').unwrap();
    let (time, object) = rest.split_once(' ').unwrap();
    let object: Value = serde_json::from_str(object).unwrap();
    assert_eq!((key, time), ("org,e)/", "20260101000000"));
    assert_eq!(object["url"], "http://e.org/");
    assert_eq!((&object["mime"], &object["status"]), (&json!("text/html"), &json!("200")));
    assert!(object["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(object.get("bodylength"), None, "only if it is named");
    let named = rows(&served, "url=http://e.org/&fl=bodylength,mimetype&limit=1");
    assert_eq!(named, [json!({ "bodylength": "4", "mimetype": "text/html" })]);
    assert_eq!(served.page("/cdx?url=http://e.org/&output=text&fl=bodylength&limit=1").text(), "4\n");
    every_line_says_where_its_record_lies(&place, &served);
    let text = served.page("/cdx?url=http://e.org/&output=text&fl=timestamp,statuscode,nonsense").text();
    assert_eq!(text, "20260101000000 200 -\n20260201000000 200 -\n20260301000000 200 -\n");
    let only = &rows(&served, "url=http://e.org/&fl=url,status&limit=1")[0];
    assert_eq!(*only, json!({ "url": "http://e.org/", "status": "200" }));
}

/// The bytes that a line names are a file with that one record, whether others follow it or not.
fn every_line_says_where_its_record_lies(place: &Place, served: &Served) {
    let rows = rows(served, "url=*.org&matchType=domain&fl=filename,offset,length,record");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let number = |name: &str| row[name].as_str().unwrap().parse::<usize>().unwrap();
        let (offset, length) = (number("offset"), number("length"));
        let silo = place.path("museum/warc/0").join(row["filename"].as_str().unwrap());
        let bytes = std::fs::read(silo).unwrap();
        std::fs::write(place.path("one.warc.gz"), &bytes[offset..offset + length]).unwrap();
        let told = crate::stdout(&place.run(&["doctor", "--json", "one.warc.gz"]));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["records"], &told["digests"]["bad"]), (&json!(1), &json!(0)), "{told}");
        assert_eq!(told["last_good_offset"], length, "{told}");
    }
}

#[test]
fn queries_choose_and_order() {
    let (_place, served) = museum();
    assert_eq!(times(&served, "url=http://e.org/"), ["01", "02", "03"]);
    assert_eq!(times(&served, "url=e.org"), ["01", "02", "03"]);
    assert_eq!(times(&served, "url=https://www.e.org/"), ["01", "02", "03"]);
    assert_eq!(times(&served, "url=http://e.org/&sort=reverse&limit=2"), ["03", "02"]);
    assert_eq!(times(&served, "url=http://e.org/&from=202602&to=202602"), ["02"]);
    assert_eq!(times(&served, "url=http://e.org/&sort=closest&closest=20260225"), ["03", "02", "01"]);
    assert_eq!(times(&served, "url=http://e.org/&closest=20260201&limit=1"), ["02"]);
    let count = |query: &str| rows(&served, query).len();
    assert_eq!(count("url=http://e.org/*"), 6);
    assert_eq!(count("url=http://e.org/a&matchType=prefix"), 3);
    assert_eq!(count("url=e.org&matchType=host"), 6);
    assert_eq!(count("url=*.e.org"), 9);
    assert_eq!(count("url=e.org&matchType=domain&filter=mime:css"), 3);
    assert_eq!(count("url=e.org&matchType=domain&filter=!mime:css"), 6);
    assert_eq!(count("url=http://other.org/&filter==status:404"), 3);
    assert_eq!(count("url=http://other.org/&filter=~status:[23].."), 0);
    assert_eq!(count("url=http://nowhere.example/"), 0);
    assert_eq!(served.page("/cdx").status, 400);
    assert_eq!(served.page("/cdx?url=x&sort=nonsense").status, 400);
}

/// As pywb's pages over an index of blocks: 3,000 lines a block, `pageSize` blocks a page, and filters within a page.
#[test]
fn pages_divide_what_is_asked_for() {
    let place = Place::new(true);
    let lines: Vec<Value> = (0..6500)
        .map(|number| {
            let kind = if number % 2 == 0 { "text/css" } else { "text/html" };
            part(&format!("http://e.org/{number:04}"), "2026-01-01T00:00:00Z", kind, "x")
        })
        .collect();
    commit(&place, &lines, "many");
    let served = Served::start(&place.path("museum"));
    let count = |query: &str| {
        let reply = served.page(&format!("/cdx?url=http://e.org/*&showNumPages=true{query}"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        serde_json::from_str::<Value>(&reply.text()).unwrap()
    };
    assert_eq!(count(""), json!({ "pages": 1, "pageSize": 10, "blocks": 3 }));
    assert_eq!(count("&pageSize=1"), json!({ "pages": 3, "pageSize": 1, "blocks": 3 }));
    assert_eq!(count("&pageSize=2"), json!({ "pages": 2, "pageSize": 2, "blocks": 3 }));
    assert_eq!(count("&from=2027"), json!({ "pages": 0, "pageSize": 10, "blocks": 0 }));
    let urls = |query: &str| -> Vec<String> {
        let rows = rows(&served, &format!("url=http://e.org/*&fl=url{query}"));
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
    let beyond = served.page("/cdx?url=http://e.org/*&pageSize=1&page=3");
    assert_eq!(beyond.status, 400);
    assert_eq!(beyond.text(), "Page 3 invalid: First Page is 0, Last Page is 2\n");
    assert_eq!(served.page("/cdx?url=http://nowhere.example/&page=0").status, 200);
    assert_eq!(served.page("/cdx?url=http://e.org/*&page=18446744073709551615").status, 400);
}
