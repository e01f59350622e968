//! CDX lines locate records: each is a WARC file of its own.

use serde_json::{Value, json};

use super::{Place, Served, page, serving};

#[test]
fn the_bytes_of_a_cdx_line_are_a_warc_file() {
    let pages = ["http://e.org/", "http://e.org/a", "https://sub.e.org/x"]
        .map(|url| page(url, "2026-01-01T00:00:00Z", &format!("<p>{url}")));
    let (place, served) = serving(true, &pages);
    every_line_says_where_its_record_lies(&place, &served);
}

/// The bytes of a CDX line are a file with that one record, whether others follow it or not.
fn every_line_says_where_its_record_lies(place: &Place, served: &Served) {
    let lines =
        served.page("/cdx?output=json&url=*.org&matchType=domain&fl=filename,offset,length,record").text();
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
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
