//! Keys and cleaned URLs against what scrape answers.

use crate::json_list;
use varve_core::url::{KeyReport, Reference, clean, key};

#[test]
fn keys_and_clean_urls() {
    let Some(cases) = json_list("vectors/scrape_key_vectors.json") else { return };
    assert_eq!(cases.len(), 52);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap().to_owned();
        let url = text("in");
        let reference = Reference::parse(&url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(reference.to_string(), text("parsed"), "{url}");
        assert_eq!(String::from_utf8_lossy(&reference.hostname()), text("host"), "{url}");
        assert_eq!(key(&url).unwrap().to_string(), text("key"), "{url}");
        assert_eq!(clean(&url).unwrap(), text("clean"), "{url}");
        assert_eq!(key(&clean(&url).unwrap()).unwrap().to_string(), text("clean_key"), "{url}");
        assert_eq!(KeyReport::of(&url).unwrap().clean_key.to_string(), text("clean_key"), "{url}");
    }
}
