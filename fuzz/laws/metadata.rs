//! Laws of the metadata of pages: dates in any text, linked data in any script, and whole pages.

use varve_extract::metadata::linked_data::LinkedData;
use varve_extract::metadata::written::{DayOrder, dates, machine_date};
use varve_extract::metadata::{MetadataInput, read};
use varve_page::dom::HtmlTree;

/// Any bytes as a date, as JSON-LD, and as a page.
pub(crate) fn metadata(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    written_dates(&text);
    let mut data = LinkedData::default();
    data.add(&text);
    data.items().main("https://a.example/");
    let tree = HtmlTree::parse(&text);
    let input = MetadataInput {
        tree: &tree,
        requested_url: "https://a.example/p",
        content_language: None,
        fetched: Some(varve_core::Moment::from_seconds(1_800_000_000)),
    };
    let page = read(&input);
    assert!(page.authors.len() <= 64 && page.tags.len() <= 64);
    assert!(page.date.is_none_or(|date| (1995..=2027).contains(&chrono_year(date.day))));
}

/// Dates are in order, do not overlap, and what was read is read alone as the same day.
fn written_dates(text: &str) {
    for order in [DayOrder::DayFirst, DayOrder::MonthFirst] {
        machine_date(text, order);
        let mut end = 0;
        for date in dates(text, order) {
            assert!(date.start >= end && date.start < date.end);
            end = date.end;
            let alone = dates(&text[date.start..date.end], order).next();
            assert_eq!(alone.map(|alone| alone.day), Some(date.day));
        }
    }
}

fn chrono_year(day: impl std::fmt::Display) -> i32 {
    day.to_string().split('-').next().and_then(|year| year.parse().ok()).unwrap_or(0)
}
