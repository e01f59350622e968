//! Long rows of versions that hardly differ: they answer like any others, and cost what differs.

use varve_catalog::{Catalog, CatalogRead, CatalogRow, SqliteCatalog};
use varve_core::headers::HeaderView;
use varve_core::history::{Belongs, Capture, CaptureFilter, ListCursor, TimeOrder, Version, VersionFilter};
use varve_core::{BodyId, RecordId, VersionId};

use crate::compare;
use crate::histories::{moment, version_id};
use crate::model::Model;

const VERSIONS: u8 = 150;
const PAGES: u8 = 12;

fn url(page: u8) -> String {
    format!("https://example.com/{page}")
}

/// Page `version` modulo all changes with each version; the last page comes and goes.
fn pages(id: VersionId, version: u8) -> Vec<Capture> {
    let belongs = Belongs::Version(id);
    let is_there = |page: &u8| *page + 1 < PAGES || version % 10 < 5;
    let page = |page: u8| {
        let changes = (version + PAGES - page) / PAGES;
        let (url, time, record) = (url(page), moment(version / 2), RecordId::new([page * 16 + changes; 32]));
        Capture {
            id: Capture::derive_id(belongs, &url, time, &record),
            belongs,
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
    (0..PAGES).filter(is_there).map(page).collect()
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

fn told(folder: &std::path::Path) -> (SqliteCatalog, Model) {
    let catalog = SqliteCatalog::open_to_write(&folder.join("catalog.db")).unwrap();
    let mut model = Model::default();
    for number in 0..VERSIONS {
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
fn a_long_line_answers_as_the_fold_over_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = told(folder.path());
    assert_eq!(compare::lines(&catalog), compare::lines(&model));
    for number in 0..VERSIONS {
        let id = version_id(number);
        let whole = model.captures_in(&id, ListCursor::first(usize::MAX)).unwrap();
        assert_eq!(catalog.captures_in(&id, ListCursor::first(usize::MAX)).unwrap(), whole);
        let after = Some((whole[4].path.as_str(), whole[4].url.as_str()));
        assert_eq!(catalog.captures_in(&id, ListCursor { after, limit: 3 }).unwrap(), whole[5..8]);
        assert_eq!(catalog.captures_at_path(&id, "/3").unwrap(), model.captures_at_path(&id, "/3").unwrap());
    }
    for page in 0..PAGES {
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
fn where_two_versions_of_a_line_differ_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = told(folder.path());
    let mut known = 0;
    for number in 1..VERSIONS {
        for steps in [1, 7] {
            let (base, head) = (version_id(number.saturating_sub(steps)), version_id(number));
            compare::differ_there_alone(&catalog, &model, [&base, &head]);
            compare::differ_there_alone(&catalog, &model, [&head, &base]);
            let paths = catalog.paths_that_differ(&base, &head).unwrap();
            known += u32::from(paths.is_some_and(|paths| paths.len() < usize::from(PAGES)));
        }
    }
    assert!(known > u32::from(VERSIONS), "of {VERSIONS} versions, each with two others, only {known} times");
    let same = catalog.paths_that_differ(&version_id(1), &version_id(1)).unwrap();
    assert_eq!(same, Some(Vec::new()));
}

#[test]
fn what_stays_is_kept_once_and_seen_by_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, model) = told(folder.path());
    let mut captures = 0;
    for number in 0..VERSIONS {
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
fn a_line_that_is_undone_is_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, mut model) = told(folder.path());
    let mut alone = pages(version_id(40), 40)[0].clone();
    alone.url = "https://example.com/alone".to_owned();
    alone.id = Capture::derive_id(alone.belongs, &alone.url, alone.time, &alone.record.unwrap());
    for row in [
        CatalogRow::Capture(Box::new(alone)),
        CatalogRow::ForgetVersion(version_id(100)),
        CatalogRow::Capture(Box::new(pages(version_id(90), 90)[1].clone())),
    ] {
        model.apply(std::slice::from_ref(&row));
        catalog.apply(&mut std::iter::once(row)).unwrap();
        assert_eq!(compare::lines(&catalog), compare::lines(&model));
    }
    let rows = version_rows(VERSIONS, Some(VERSIONS - 1));
    model.apply(&rows);
    catalog.apply(&mut rows.into_iter()).unwrap();
    assert_eq!(compare::lines(&catalog), compare::lines(&model));
}
