//! The contract of saved extractions and of the settings of domains.

use std::collections::BTreeMap;

use varve_core::catalog::{Catalog, CatalogRow};
use varve_core::history::{
    DomainSettings, FetchMethod, KeyedUrl, ListCursor, StoredDomainSettings, StoredExtraction,
};
use varve_core::{Moment, UrlKey};

use super::apply;

/// A URL with a key that need not be its own.
fn keyed(key: u64, url: &str) -> KeyedUrl {
    KeyedUrl { key: UrlKey::new(key).expect("a small key"), url: url.to_owned() }
}

fn extraction(page: &KeyedUrl, requested: &KeyedUrl, text: &str) -> StoredExtraction {
    StoredExtraction {
        page: page.clone(),
        requested: requested.clone(),
        fetch_time: Moment::from_seconds(1_700_000_000),
        fetch_method: FetchMethod::Direct,
        expires: Moment::from_seconds(1_700_000_060),
        metadata: r#"{"title":"t"}"#.to_owned(),
        content_text: Some(text.to_owned()),
    }
}

fn save(catalog: &dyn Catalog, extraction: &StoredExtraction) {
    apply(catalog, &[CatalogRow::Extraction(Box::new(extraction.clone()))]).expect("applied");
}

fn find(catalog: &dyn Catalog, requested: &KeyedUrl) -> Option<StoredExtraction> {
    catalog.extraction(requested).expect("read")
}

/// Requested URLs lead to the page that was saved last; deleting the page deletes them.
pub(super) fn requests_lead_to_pages(catalog: &dyn Catalog) {
    let [page, one, two] = [(1, "https://e.org/"), (2, "https://e.org/?a=1"), (3, "https://m.e.org/")]
        .map(|(key, url)| keyed(key, url));
    assert_eq!(find(catalog, &page), None);
    save(catalog, &extraction(&page, &one, "first"));
    let second = extraction(&page, &two, "second");
    save(catalog, &second);
    for requested in [&page, &one, &two] {
        assert_eq!(find(catalog, requested).as_ref(), Some(&second), "{requested:?}");
    }
    assert_eq!(catalog.requests_of(&page).expect("read"), [one.clone(), two.clone()]);
    // The page of a request may change.
    let other = keyed(4, "https://other.e.org/");
    save(catalog, &extraction(&other, &one, "other"));
    assert_eq!(find(catalog, &one).map(|found| found.page), Some(other.clone()));
    assert_eq!(find(catalog, &page).map(|found| found.page), Some(page.clone()));
    let listed = catalog.extractions(ListCursor::first(9)).expect("read");
    assert_eq!(listed.iter().map(|one| one.page.clone()).collect::<Vec<_>>(), [page.clone(), other.clone()]);
    let cursor = ListCursor { after: Some(page.url.as_str()), limit: 9 };
    assert_eq!(catalog.extractions(cursor).expect("read").len(), 1);
    for _ in 0..2 {
        apply(catalog, &[CatalogRow::ForgetExtraction(page.clone())]).expect("applied");
        assert_eq!((find(catalog, &page), find(catalog, &two)), (None, None));
        assert_eq!(catalog.requests_of(&page).expect("read"), []);
    }
    assert!(find(catalog, &one).is_some(), "another page stays");
}

/// Two URLs with one key are two pages: neither is an answer for the other, nor replaces it.
pub(super) fn equal_keys_are_no_equal_pages(catalog: &dyn Catalog) {
    let [page, other, stranger] =
        ["https://e.org/a", "https://e.org/b", "https://e.org/c"].map(|url| keyed(77, url));
    save(catalog, &extraction(&page, &page, "a"));
    assert_eq!(find(catalog, &other), None);
    save(catalog, &extraction(&other, &other, "b"));
    let text = |requested| find(catalog, requested).and_then(|found| found.content_text);
    assert_eq!((text(&page).as_deref(), text(&other).as_deref()), (Some("a"), Some("b")));
    assert_eq!(find(catalog, &stranger), None);
    apply(catalog, &[CatalogRow::ForgetExtraction(other.clone())]).expect("applied");
    assert_eq!((text(&page).as_deref(), text(&other)), (Some("a"), None));
}

/// Settings of a domain replace those before.
pub(super) fn domains_have_settings(catalog: &dyn Catalog) {
    let stored = |domain: &str, ttl| StoredDomainSettings {
        domain: domain.to_owned(),
        settings: DomainSettings {
            sitename: Some("A site".to_owned()),
            fetch_client: Some(FetchMethod::ChromiumHeadless),
            user_agent: None,
            headers: BTreeMap::from([("X-A".to_owned(), "1".to_owned())]),
            ttl,
        },
    };
    let (one, again, two) = (stored("e.org", None), stored("e.org", Some(60)), stored("f.org", None));
    for settings in [&one, &two, &again] {
        apply(catalog, &[CatalogRow::DomainSettings(Box::new(settings.clone()))]).expect("applied");
    }
    assert_eq!(catalog.domain_settings("e.org").expect("read"), Some(again.clone()));
    assert_eq!(catalog.domain_settings("g.org").expect("read"), None);
    assert_eq!(catalog.all_domain_settings(ListCursor::first(9)).expect("read"), [again, two.clone()]);
    apply(catalog, &[CatalogRow::ForgetDomainSettings("e.org".to_owned())]).expect("applied");
    assert_eq!(catalog.all_domain_settings(ListCursor::first(9)).expect("read"), [two]);
}
