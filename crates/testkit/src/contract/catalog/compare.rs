//! Asks a catalog and the model everything, and expects the same answers.

use varve_catalog::{CatalogRead, dump_rows};
use varve_core::VersionId;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder, VersionFilter, VersionInfo};

use crate::histories::{PATHS, TAGS, URLS, moment, run_id, version_id};

/// Every answer of the catalog is the model's.
pub(crate) fn same(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    assert_eq!(lines(catalog), lines(model));
    assert_eq!(catalog.head().unwrap(), model.head().unwrap(), "head");
    assert_eq!(catalog.tags().unwrap(), model.tags().unwrap(), "tags");
    assert_eq!(catalog.open_runs().unwrap(), model.open_runs().unwrap(), "open runs");
    assert_eq!(catalog.last_gc().unwrap(), model.last_gc().unwrap(), "last gc");
    assert_eq!(bodies(catalog), bodies(model), "bodies");
    for tag in TAGS {
        assert_eq!(catalog.tag(tag).unwrap(), model.tag(tag).unwrap());
    }
    for run in 0..3 {
        let run = run_id(run);
        assert_eq!(catalog.captures_of_run(&run).unwrap(), model.captures_of_run(&run).unwrap());
    }
    same_versions(catalog, model);
    same_of_each_version(catalog, model);
    same_urls(catalog, model);
}

/// The rows as lines.
pub(crate) fn lines(catalog: &dyn CatalogRead) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    dump_rows(catalog, &mut push).unwrap();
    lines
}

fn bodies(catalog: &dyn CatalogRead) -> std::collections::BTreeSet<varve_core::BodyId> {
    let mut bodies = std::collections::BTreeSet::new();
    catalog
        .each_body(&mut |body| {
            bodies.insert(body);
            Ok(())
        })
        .unwrap();
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

fn same_versions(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for most in [0, 1, 3, u64::MAX] {
        assert_eq!(catalog.count_versions(most).unwrap(), model.count_versions(most).unwrap(), "{most}");
    }
    for filter in filters() {
        let whole = model.versions(&filter, ListCursor::first(usize::MAX)).unwrap();
        assert_eq!(catalog.versions(&filter, ListCursor::first(usize::MAX)).unwrap(), whole, "{filter:?}");
        assert_eq!(versions_by_two(catalog, &filter), whole, "{filter:?} in pages");
    }
    for prefix in ["", "1", "1000", "3000-0000", "30000000", "zz", "4000000000000000000000000000000000"] {
        assert_eq!(
            catalog.versions_beginning(prefix, 3).unwrap(),
            model.versions_beginning(prefix, 3).unwrap(),
            "{prefix}"
        );
    }
}

fn versions_by_two(catalog: &dyn CatalogRead, filter: &VersionFilter) -> Vec<VersionInfo> {
    let mut all: Vec<VersionInfo> = Vec::new();
    loop {
        let after = all.last().map(|info| info.version.id);
        let page = catalog.versions(filter, ListCursor { after, limit: 2 }).unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn same_of_each_version(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for which in 0..6 {
        let id = version_id(which);
        assert_eq!(catalog.version(&id).unwrap(), model.version(&id).unwrap());
        assert_eq!(catalog.children(&id).unwrap(), model.children(&id).unwrap());
        assert_eq!(catalog.diffs_with(&id).unwrap(), model.diffs_with(&id).unwrap());
        assert_eq!(catalog.scores(&id).unwrap(), model.scores(&id).unwrap());
        let whole = settled(model.captures_in(&id, ListCursor::first(usize::MAX)).unwrap());
        let found = catalog.captures_in(&id, ListCursor::first(usize::MAX)).unwrap();
        assert_eq!(settled(found.clone()), whole);
        assert_eq!(captures_in_by_two(catalog, &id), found);
        for path in PATHS.into_iter().chain(["/else", "/nowhere"]) {
            let found = settled(catalog.captures_at_path(&id, path).unwrap());
            assert_eq!(found, settled(model.captures_at_path(&id, path).unwrap()), "{path}");
        }
        for urls in [&URLS[..1], &URLS[1..4], &[URLS[5], URLS[0], URLS[0]]] {
            let found = catalog.captures_of_any_in(&id, urls).unwrap();
            assert!(found.is_sorted_by_key(|capture| capture.time), "{found:?}");
            assert_eq!(settled(found), settled(model.captures_of_any_in(&id, urls).unwrap()), "{urls:?}");
        }
        for base in std::iter::once(None).chain((0..6).map(|which| Some(version_id(which)))) {
            let base = base.as_ref();
            assert_eq!(catalog.diff(base, &id).unwrap(), model.diff(base, &id).unwrap());
            base.inspect(|base| differ_there_alone(catalog, model, [base, &id]));
        }
    }
}

/// What a catalog says of where two versions differ leaves nothing out.
pub(crate) fn differ_there_alone(
    catalog: &dyn CatalogRead,
    model: &dyn CatalogRead,
    [base, head]: [&VersionId; 2],
) {
    let Some(paths) = catalog.paths_that_differ(base, head).unwrap() else { return };
    assert!(paths.is_sorted());
    let elsewhere = |id: &VersionId| {
        let captures = model.captures_in(id, ListCursor::first(usize::MAX)).unwrap().into_iter();
        let same = captures.filter(|capture| !paths.contains(&capture.path));
        same.map(|page| (page.url, page.path, page.status, page.body, page.headers)).collect::<Vec<_>>()
    };
    assert_eq!(elsewhere(base), elsewhere(head));
}

fn captures_in_by_two(catalog: &dyn CatalogRead, id: &VersionId) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    loop {
        let after = all.last().map(|capture| (&*capture.path, &*capture.url));
        let page = catalog.captures_in(id, ListCursor { after, limit: 2 }).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn same_urls(catalog: &dyn CatalogRead, model: &dyn CatalogRead) {
    for prefix in ["", "https://example.com/", "https://example.com/a?x=1", "nowhere"] {
        let whole = model.urls(prefix, ListCursor::first(usize::MAX)).unwrap();
        assert_eq!(catalog.urls(prefix, ListCursor::first(usize::MAX)).unwrap(), whole);
        let mut all: Vec<String> = Vec::new();
        loop {
            let page =
                catalog.urls(prefix, ListCursor { after: all.last().map(String::as_str), limit: 1 }).unwrap();
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_eq!(all, whole);
    }
    let page = ListCursor { after: Some(URLS[1]), limit: 2 };
    assert_eq!(catalog.last_verdicts(page).unwrap(), model.last_verdicts(page).unwrap());
    for url in URLS {
        assert_eq!(catalog.verdicts_of(url, 2).unwrap(), model.verdicts_of(url, 2).unwrap());
        same_captures_of(catalog, model, &[url]);
    }
    same_captures_of(catalog, model, &URLS[1..4]);
    same_captures_of(catalog, model, &[URLS[5], URLS[0], URLS[0]]);
}

fn same_captures_of(catalog: &dyn CatalogRead, model: &dyn CatalogRead, urls: &[&str]) {
    let none = CaptureFilter::default();
    let filters = [
        none.clone(),
        CaptureFilter { since: Some(moment(1)), ..none.clone() },
        CaptureFilter { until: Some(moment(2)), committed_only: true, ..none },
    ];
    for filter in &filters {
        for order in [TimeOrder::NewestFirst, TimeOrder::OldestFirst] {
            let whole = model.captures_of_any(urls, filter, order, ListCursor::first(usize::MAX)).unwrap();
            let found = catalog.captures_of_any(urls, filter, order, ListCursor::first(usize::MAX)).unwrap();
            assert_eq!(settled(found.clone()), settled(whole), "{urls:?} {filter:?} {order:?}");
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
        let page = catalog.captures_of_any(urls, filter, order, page).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// Captures whose order among equals does not matter.
fn settled(mut captures: Vec<Capture>) -> Vec<Capture> {
    captures.sort_by(|a, b| (&a.path, &a.url, a.time, a.id).cmp(&(&b.path, &b.url, b.time, b.id)));
    captures
}
