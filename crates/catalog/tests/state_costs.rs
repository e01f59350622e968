//! Asking about one page, or about neighbouring versions, costs the same in a small and in a large
//! catalog. The cost is counted in database pages that SQLite looks at.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use varve_catalog::{Catalog, CatalogRead, CatalogRow, SqliteCatalog, UrlMatch};
use varve_core::headers::HeaderView;
use varve_core::history::{Capture, CaptureOwner, Version};
use varve_core::{BodyId, Moment, RecordId, VersionId};

/// The number of versions.
const VERSION_COUNT: u32 = 20;
/// A B-tree of more pages may be one level deeper, and each lookup then looks at one page more.
const MAX_GROWTH: f64 = 2.0;

fn version_id(number: u32) -> VersionId {
    VersionId::new(uuid::Uuid::from_u128(u128::from(number) + 1))
}

fn url(page: u32) -> String {
    format!("https://example.com/{page:06}")
}

fn capture(version: u32, page: u32) -> CatalogRow {
    let (owner, url) = (CaptureOwner::Version(version_id(version)), url(page));
    let mut record = [0; 32];
    record[..4].copy_from_slice(&version.to_be_bytes());
    record[4..8].copy_from_slice(&page.to_be_bytes());
    let (record, time) = (RecordId::new(record), Moment::from_seconds(i64::from(version)));
    CatalogRow::Capture(Box::new(Capture {
        id: Capture::derive_id(owner, &url, time, &record),
        owner,
        path: format!("/{page:06}"),
        url,
        time,
        status: 200,
        headers: HeaderView::default(),
        body: BodyId::new(*record.as_bytes()),
        length: Some(1),
        record: Some(record),
        truncated: false,
    }))
}

/// A catalog whose first version has all pages. Each further version changes one.
fn catalog(folder: &std::path::Path, pages: u32) -> SqliteCatalog {
    let catalog = SqliteCatalog::open_to_write(&folder.join("catalog.db")).unwrap();
    for number in 0..VERSION_COUNT {
        let version = CatalogRow::Version(Version {
            id: version_id(number),
            parent: number.checked_sub(1).map(version_id),
            message: String::new(),
            author: None,
            time: Moment::from_seconds(i64::from(number)),
            run: None,
            record: None,
            coverage: None,
        });
        let changed = if number == 0 { 0..pages } else { number..number + 1 };
        let captures = changed.map(|page| capture(number, page));
        let end = [CatalogRow::ScannedUpTo(u64::from(number))];
        catalog.apply(&mut std::iter::once(version).chain(captures).chain(end)).unwrap();
    }
    catalog
}

/// The number of database pages that the reader has looked at so far.
fn looked_at(catalog: &SqliteCatalog) -> i32 {
    let counters = [rusqlite::ffi::SQLITE_DBSTATUS_CACHE_HIT, rusqlite::ffi::SQLITE_DBSTATUS_CACHE_MISS];
    let read = |connection: &rusqlite::Connection| {
        Ok(counters.map(|counter| {
            let (mut now, mut most) = (0, 0);
            // SAFETY: the handle is that of an open connection, which this thread alone uses for the
            // time of the query, and both numbers outlive the call.
            unsafe {
                rusqlite::ffi::sqlite3_db_status(connection.handle(), counter, &mut now, &mut most, 0);
            }
            now
        }))
    };
    catalog.query(read).unwrap().into_iter().sum()
}

/// The number of database pages that a question looks at.
fn cost(catalog: &SqliteCatalog, question: impl Fn(&SqliteCatalog)) -> i32 {
    // Statements are prepared and the schema is read the first time.
    question(catalog);
    let before = looked_at(catalog);
    question(catalog);
    looked_at(catalog) - before
}

#[test]
fn one_page_and_neighbouring_versions_cost_the_same_in_a_large_catalog() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [small, large] = [catalog(folders[0].path(), 200), catalog(folders[1].path(), 20_000)];
    let last = version_id(VERSION_COUNT - 1);
    type Question = fn(&SqliteCatalog, VersionId);
    let questions: [(&str, Question); 4] = [
        ("the state of a URL", |catalog, last| {
            let found = catalog.states_of(&last, &[&url(7), &url(150)], UrlMatch::SamePage).unwrap();
            assert!(found.iter().all(Option::is_some));
        }),
        ("the state of a path", |catalog, last| {
            assert_eq!(catalog.states_at(&last, &["/000150"]).unwrap().len(), 1);
        }),
        ("the paths between neighbours", |catalog, last| {
            let mut paths = Vec::new();
            let each = &mut |path: &str, _: &str| paths.push(path.to_owned());
            assert!(catalog.each_page_that_differs(&version_id(VERSION_COUNT - 3), &last, each).unwrap());
            assert_eq!(paths, ["/000018", "/000019"]);
        }),
        ("the number of pages", |catalog, last| {
            assert!(catalog.state_counts(&last).unwrap().shown() >= 200);
        }),
    ];
    for (what, question) in questions {
        let [few, many] = [&small, &large].map(|catalog| cost(catalog, |catalog| question(catalog, last)));
        assert!(
            few > 0 && f64::from(many) <= f64::from(few) * MAX_GROWTH,
            "{what}: {few} pages, then {many}"
        );
    }
}
