//! Compares all answers of a catalog with those of another.

use varve_core::catalog::{CatalogRead, UrlMatch, dump_rows};
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder, VersionFilter, VersionInfo};
use varve_core::{RecordId, RunId, VersionId};

use super::histories::{PATHS, TAGS, URLS, check_id, moment, run_id, version_id};

/// Asserts that a catalog gives the same answers as the model.
pub fn assert_same_answers(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    assert_eq!(dump(catalog), dump(model));
    assert_eq!(catalog.head().expect("read"), model.head().expect("read"), "head");
    assert_eq!(catalog.tags().expect("read"), model.tags().expect("read"), "tags");
    assert_eq!(catalog.open_runs().expect("read"), model.open_runs().expect("read"), "open runs");
    assert_eq!(catalog.last_gc().expect("read"), model.last_gc().expect("read"), "last gc");
    assert_eq!(bodies(catalog), bodies(model), "bodies");
    for tag in TAGS {
        assert_eq!(catalog.tag(tag).expect("read"), model.tag(tag).expect("read"));
    }
    for run in 0..3 {
        let run = run_id(run);
        assert_eq!(catalog.captures_of_run(&run).expect("read"), model.captures_of_run(&run).expect("read"));
        assert_eq!(catalog.version_of_run(&run).expect("read"), model.version_of_run(&run).expect("read"));
        assert_eq!(records_of_run(catalog, &run), records_of_run(model, &run));
    }
    compare_versions(catalog, model);
    compare_versions_in_detail(catalog, model);
    compare_urls(catalog, model);
}

fn compare_checks(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for id in (0..4).map(check_id) {
        let check = model.check(&id).expect("read");
        assert_eq!(catalog.check(&id).expect("read"), check);
        if check.is_some() {
            let page = ListCursor { after: Some(id), limit: 2 };
            assert_eq!(catalog.checks(page).expect("read"), model.checks(page).expect("read"), "after {id}");
        }
        let prefix = &id.to_string()[..9];
        let found = catalog.checks_beginning(prefix, 1).expect("read");
        assert_eq!(found, model.checks_beginning(prefix, 1).expect("read"), "{prefix}");
    }
}

/// The rows as lines of JSON.
pub fn dump(catalog: &dyn CatalogRead) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    dump_rows(catalog, &mut push).expect("read");
    lines
}

fn records_of_run(catalog: &dyn CatalogRead, run: &RunId) -> Vec<RecordId> {
    let mut records = Vec::new();
    catalog.each_record_of_run(run, &mut |record| records.push(record)).expect("read");
    records.sort_unstable();
    records
}

fn bodies(catalog: &dyn CatalogRead) -> std::collections::BTreeSet<varve_core::BodyId> {
    let mut bodies = std::collections::BTreeSet::new();
    catalog
        .each_body(&mut |body| {
            bodies.insert(body);
            Ok(())
        })
        .expect("read");
    bodies
}

fn filters() -> Vec<VersionFilter> {
    let none = VersionFilter::default();
    vec![
        none.clone(),
        VersionFilter { since: Some(moment(1)), until: Some(moment(1)), ..none.clone() },
        VersionFilter { author: Some("\u{e4}RGER".to_owned()), ..none.clone() },
        VersionFilter { message: Some("version 3".to_owned()), ..none.clone() },
        VersionFilter { tag: Some(TAGS[1].to_owned()), ..none.clone() },
        VersionFilter { url: Some(URLS[0].to_owned()), ..none.clone() },
        VersionFilter { url: Some(URLS[1].to_owned()), tag: Some(TAGS[0].to_owned()), ..none.clone() },
        VersionFilter { url: Some("https://nowhere.example/".to_owned()), ..none },
    ]
}

fn compare_versions(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for limit in [0, 1, 3, u64::MAX] {
        assert_eq!(catalog.count_versions(limit).expect("read"), model.count_versions(limit).expect("read"));
    }
    for filter in filters() {
        let whole = model.versions(&filter, ListCursor::first(usize::MAX)).expect("read");
        assert_eq!(
            catalog.versions(&filter, ListCursor::first(usize::MAX)).expect("read"),
            whole,
            "{filter:?}"
        );
        assert_eq!(versions_by_two(catalog, &filter), whole, "{filter:?} in pages");
    }
    for prefix in ["", "1", "1000", "3000-0000", "30000000", "zz", "4000000000000000000000000000000000"] {
        assert_eq!(
            catalog.versions_beginning(prefix, 3).expect("read"),
            model.versions_beginning(prefix, 3).expect("read"),
            "{prefix}"
        );
    }
}

fn versions_by_two(catalog: &dyn CatalogRead, filter: &VersionFilter) -> Vec<VersionInfo> {
    let mut all: Vec<VersionInfo> = Vec::new();
    loop {
        let after = all.last().map(|info| info.version.id);
        let page = catalog.versions(filter, ListCursor { after, limit: 2 }).expect("read");
        assert!(page.len() <= 2);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn compare_versions_in_detail(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for which in 0..6 {
        let id = version_id(which);
        assert_eq!(catalog.version(&id).expect("read"), model.version(&id).expect("read"));
        assert_eq!(catalog.children(&id).expect("read"), model.children(&id).expect("read"));
        assert_eq!(catalog.diffs_with(&id).expect("read"), model.diffs_with(&id).expect("read"));
        assert_eq!(catalog.scores(&id).expect("read"), model.scores(&id).expect("read"));
        let whole = in_total_order(model.captures_in(&id, ListCursor::first(usize::MAX)).expect("read"));
        let found = catalog.captures_in(&id, ListCursor::first(usize::MAX)).expect("read");
        assert_eq!(in_total_order(found.clone()), whole);
        assert_eq!(captures_in_by_two(catalog, &id), found);
        for path in PATHS.into_iter().chain(["/else", "/nowhere"]) {
            let found = in_total_order(catalog.captures_at_path(&id, path).expect("read"));
            assert_eq!(found, in_total_order(model.captures_at_path(&id, path).expect("read")), "{path}");
        }
        for urls in [&URLS[..1], &URLS[1..4], &[URLS[5], URLS[0], URLS[0]]] {
            let found = catalog.captures_of_any_in(&id, urls).expect("read");
            assert!(found.is_sorted_by_key(|capture| capture.time), "{found:?}");
            assert_eq!(
                in_total_order(found),
                in_total_order(model.captures_of_any_in(&id, urls).expect("read")),
                "{urls:?}"
            );
        }
        for base in std::iter::once(None).chain((0..6).map(|which| Some(version_id(which)))) {
            let base = base.as_ref();
            assert_eq!(catalog.diff(base, &id).expect("read"), model.diff(base, &id).expect("read"));
        }
    }
}

fn captures_in_by_two(catalog: &dyn CatalogRead, id: &VersionId) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    loop {
        let after = all.last().map(|capture| (&*capture.path, &*capture.url));
        let page = catalog.captures_in(id, ListCursor { after, limit: 2 }).expect("read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn compare_urls(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for prefix in ["", "https://example.com/", "https://example.com/a?x=1", "nowhere"] {
        let whole = model.urls(prefix, ListCursor::first(usize::MAX)).expect("read");
        assert_eq!(catalog.urls(prefix, ListCursor::first(usize::MAX)).expect("read"), whole);
        let mut all: Vec<String> = Vec::new();
        loop {
            let page = catalog
                .urls(prefix, ListCursor { after: all.last().map(String::as_str), limit: 1 })
                .expect("read");
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_eq!(all, whole);
    }
    for limit in [1, 3, usize::MAX] {
        let found = in_total_order(captures_by_url(catalog, limit));
        assert_eq!(found, in_total_order(captures_by_url(model, usize::MAX)), "{limit} at a time");
    }
    compare_checks(catalog, model);
    let page = ListCursor { after: Some(URLS[1]), limit: 2 };
    assert_eq!(catalog.last_verdicts(page).expect("read"), model.last_verdicts(page).expect("read"));
    for url in URLS {
        assert_eq!(catalog.verdicts_of(url, 2).expect("read"), model.verdicts_of(url, 2).expect("read"));
        compare_captures_of(catalog, model, &[url]);
    }
    compare_captures_of(catalog, model, &URLS[1..4]);
    compare_captures_of(catalog, model, &[URLS[5], URLS[0], URLS[0]]);
    assert_same_one_by_one(catalog, &[&URLS[..], &["https://nowhere.example/", URLS[0]]].concat());
}

/// Asserts that looking up many URLs at once gives the captures that each of them gives alone.
pub fn assert_same_one_by_one(catalog: &dyn CatalogRead, urls: &[&str]) {
    for (limit, matching) in [1, 2, 7, usize::MAX]
        .into_iter()
        .flat_map(|limit| [(limit, UrlMatch::Exact), (limit, UrlMatch::SamePage)])
    {
        let found = catalog.newest_captures(urls, matching, limit).expect("read");
        assert_eq!(found.len(), urls.len());
        for (url, found) in urls.iter().zip(found) {
            let mut same = match matching {
                UrlMatch::Exact => Vec::new(),
                UrlMatch::SamePage => catalog.spellings_of(url).expect("read"),
            };
            same.retain(|other| other != url);
            let all: Vec<&str> = std::iter::once(*url).chain(same.iter().map(String::as_str)).collect();
            let (filter, cursor) = (CaptureFilter::default(), ListCursor::first(limit));
            let alone = catalog.captures_of_any(&all, &filter, TimeOrder::NewestFirst, cursor);
            assert_eq!(found, alone.expect("read"), "{url} {matching:?} {limit}");
        }
    }
}

fn captures_by_url(catalog: &dyn CatalogRead, limit: usize) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    loop {
        let after = all.last().map(|capture| capture.url.as_str());
        let batch = catalog.captures_by_url(ListCursor { after, limit }).expect("read");
        assert!(batch.iter().all(|capture| Some(capture.url.as_str()) > after));
        assert!(batch.is_sorted_by_key(|capture| capture.url.clone()));
        if batch.is_empty() {
            return all;
        }
        all.extend(batch);
    }
}

fn compare_captures_of(catalog: &dyn CatalogRead, model: &dyn CatalogRead, urls: &[&str]) {
    let none = CaptureFilter::default();
    let filters = [
        none.clone(),
        CaptureFilter { since: Some(moment(1)), ..none.clone() },
        CaptureFilter { until: Some(moment(2)), committed_only: true, ..none },
    ];
    for filter in &filters {
        for order in [TimeOrder::NewestFirst, TimeOrder::OldestFirst] {
            let whole =
                model.captures_of_any(urls, filter, order, ListCursor::first(usize::MAX)).expect("read");
            let found =
                catalog.captures_of_any(urls, filter, order, ListCursor::first(usize::MAX)).expect("read");
            assert_eq!(in_total_order(found.clone()), in_total_order(whole), "{urls:?} {filter:?} {order:?}");
            let times: Vec<_> = found.iter().map(|capture| capture.time).collect();
            let sorted = match order {
                TimeOrder::OldestFirst => times.is_sorted(),
                TimeOrder::NewestFirst => times.iter().rev().is_sorted(),
            };
            assert!(sorted, "{times:?}");
            assert_eq!(captures_of_by_one(catalog, urls, filter, order), found);
        }
    }
}

fn captures_of_by_one(
    catalog: &dyn CatalogRead,
    urls: &[&str],
    filter: &CaptureFilter,
    order: TimeOrder,
) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    loop {
        let page = ListCursor { after: all.last(), limit: 1 };
        let page = catalog.captures_of_any(urls, filter, order, page).expect("read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// Captures in an order that does not depend on the order of writing.
fn in_total_order(mut captures: Vec<Capture>) -> Vec<Capture> {
    captures.sort_by(|a, b| (&a.path, &a.url, a.time, a.id).cmp(&(&b.path, &b.url, b.time, b.id)));
    captures
}
