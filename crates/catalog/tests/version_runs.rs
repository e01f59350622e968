//! Long version runs: they answer like other versions, and store only differences.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use varve_catalog::{Catalog, CatalogRead, CatalogRow, SqliteCatalog};
use varve_core::headers::HeaderView;
use varve_core::history::{
    Capture, CaptureFilter, CaptureOwner, ListCursor, TimeOrder, Version, VersionFilter,
};
use varve_core::{BodyId, RecordId, VersionId};

use varve_testkit::MemoryModel;
use varve_testkit::contract::catalog::compare;
use varve_testkit::contract::catalog::histories::{moment, version_id};

/// The number of versions.
const VERSION_COUNT: u8 = 150;
/// The number of pages of a version.
const PAGE_COUNT: u8 = 12;

fn url(page: u8) -> String {
    format!("https://example.com/{page}")
}

/// One page changes with each version, and the last page comes and goes.
fn pages(id: VersionId, version: u8) -> Vec<Capture> {
    let belongs = CaptureOwner::Version(id);
    let is_there = |page: &u8| *page + 1 < PAGE_COUNT || version % 10 < 5;
    let page = |page: u8| {
        let changes = (version + PAGE_COUNT - page) / PAGE_COUNT;
        let (url, time, record) = (url(page), moment(version / 2), RecordId::new([page * 16 + changes; 32]));
        Capture {
            id: Capture::derive_id(belongs, &url, time, &record),
            owner: belongs,
            path: format!("/{}", page % 5),
            url,
            time,
            status: 200,
            headers: HeaderView::default(),
            body: BodyId::new(*record.as_bytes()),
            length: Some(u64::from(page)),
            record: Some(record),
            truncated: false,
        }
    };
    (0..PAGE_COUNT).filter(is_there).map(page).collect()
}

fn version_rows(number: u8, parent: Option<u8>) -> Vec<CatalogRow> {
    let id = version_id(number);
    let version = Version {
        id,
        parent: parent.map(version_id),
        message: String::new(),
        author: None,
        // Two of them share each instant.
        time: moment(number / 2),
        run: None,
        record: None,
    };
    vec![CatalogRow::Version(version), CatalogRow::Pages { version: id, captures: pages(id, number) }]
}

fn written_history(folder: &std::path::Path) -> (SqliteCatalog, MemoryModel) {
    let catalog = SqliteCatalog::open_to_write(&folder.join("catalog.db")).unwrap();
    let mut model = MemoryModel::default();
    for number in 0..VERSION_COUNT {
        // A branch in the middle.
        let parent = if number == 70 { Some(30) } else { number.checked_sub(1) };
        let rows = version_rows(number, parent);
        model.apply(&rows);
        catalog.apply(&mut rows.into_iter()).unwrap();
    }
    (catalog, model)
}

fn captures_of_by_three(
    catalog: &dyn CatalogRead,
    url: &str,
    filter: &CaptureFilter,
    order: TimeOrder,
) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    loop {
        let page =
            catalog.captures_of(url, filter, order, ListCursor { after: all.last(), limit: 3 }).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

#[test]
fn a_long_version_run_answers_as_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = written_history(folder.path());
    assert_eq!(compare::dump(&catalog), compare::dump(&model));
    for number in 0..VERSION_COUNT {
        let id = version_id(number);
        let whole = model.captures_in(&id, ListCursor::first(usize::MAX)).unwrap();
        assert_eq!(catalog.captures_in(&id, ListCursor::first(usize::MAX)).unwrap(), whole);
        let after = Some((whole[4].path.as_str(), whole[4].url.as_str()));
        assert_eq!(catalog.captures_in(&id, ListCursor { after, limit: 3 }).unwrap(), whole[5..8]);
        assert_eq!(catalog.captures_at_path(&id, "/3").unwrap(), model.captures_at_path(&id, "/3").unwrap());
    }
    let urls: Vec<String> = (0..PAGE_COUNT).map(url).collect();
    compare::assert_same_one_by_one(&catalog, &urls.iter().map(String::as_str).collect::<Vec<_>>());
    for page in 0..PAGE_COUNT {
        let url = url(page);
        let wanted = VersionFilter { url: Some(url.clone()), ..VersionFilter::default() };
        let all = ListCursor::first(usize::MAX);
        assert_eq!(catalog.versions(&wanted, all).unwrap(), model.versions(&wanted, all).unwrap());
        let between =
            CaptureFilter { since: Some(moment(20)), until: Some(moment(50)), ..CaptureFilter::default() };
        for filter in [CaptureFilter::default(), between] {
            for order in [TimeOrder::NewestFirst, TimeOrder::OldestFirst] {
                // Among equals the one that was written last is the newest.
                let whole = model.captures_of(&url, &filter, order, ListCursor::first(usize::MAX)).unwrap();
                assert_eq!(
                    catalog.captures_of(&url, &filter, order, ListCursor::first(usize::MAX)).unwrap(),
                    whole
                );
                assert_eq!(captures_of_by_three(&catalog, &url, &filter, order), whole);
            }
        }
    }
}

#[test]
fn paths_that_differ_within_a_version_run_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = written_history(folder.path());
    let mut known = 0;
    for number in 1..VERSION_COUNT {
        for steps in [1, 7] {
            let (base, head) = (version_id(number.saturating_sub(steps)), version_id(number));
            compare::assert_same_elsewhere(&catalog, &model, [&base, &head]);
            compare::assert_same_elsewhere(&catalog, &model, [&head, &base]);
            let paths = catalog.paths_that_differ(&base, &head).unwrap();
            known += u32::from(paths.is_some_and(|paths| paths.len() < usize::from(PAGE_COUNT)));
        }
    }
    assert!(
        known > u32::from(VERSION_COUNT),
        "of {VERSION_COUNT} versions, each with two others, only {known} times"
    );
    let same = catalog.paths_that_differ(&version_id(1), &version_id(1)).unwrap();
    assert_eq!(same, Some(Vec::new()));
}

#[test]
fn unchanged_pages_are_stored_once_and_listed_in_each_version() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = written_history(folder.path());
    let mut captures = 0;
    for number in 0..VERSION_COUNT {
        captures += model.version(&version_id(number)).unwrap().unwrap().captures;
    }
    drop(catalog);
    let database = rusqlite::Connection::open(folder.path().join("catalog.db")).unwrap();
    let count = |table: &str| -> u64 {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("snapshots"), captures);
    assert!(count("captures") * 5 < captures, "{} rows for {captures} captures", count("captures"));
    assert_eq!(count("spans"), count("captures"));
    let (url, body): (String, String) = database
        .query_row(
            "SELECT url, blob_id FROM snapshots WHERE version_id = ?1 AND file_path = '/3' ORDER BY url LIMIT 1",
            [version_id(100).to_string()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let whole = model.captures_at_path(&version_id(100), "/3").unwrap();
    assert_eq!((url, body), (whole[0].url.clone(), whole[0].body.to_string()));
}

#[test]
fn a_dissolved_version_run_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, mut model) = written_history(folder.path());
    let mut alone = pages(version_id(40), 40)[0].clone();
    alone.url = "https://example.com/alone".to_owned();
    alone.id = Capture::derive_id(alone.owner, &alone.url, alone.time, &alone.record.unwrap());
    for row in [
        CatalogRow::Capture(Box::new(alone)),
        CatalogRow::ForgetVersion(version_id(100)),
        CatalogRow::Capture(Box::new(pages(version_id(90), 90)[1].clone())),
    ] {
        model.apply(std::slice::from_ref(&row));
        catalog.apply(&mut std::iter::once(row)).unwrap();
        assert_eq!(compare::dump(&catalog), compare::dump(&model));
    }
    let rows = version_rows(VERSION_COUNT, Some(VERSION_COUNT - 1));
    model.apply(&rows);
    catalog.apply(&mut rows.into_iter()).unwrap();
    assert_eq!(compare::dump(&catalog), compare::dump(&model));
}
