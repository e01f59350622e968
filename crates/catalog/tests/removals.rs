//! A page that was taken out is out of the versions that stand before its tombstone, however often its rows come.

use std::path::Path;

use varve_catalog::{Catalog, CatalogRead, CatalogRow, Removal, SqliteCatalog};
use varve_core::fact::{Tombstone, TombstoneKind};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, ListCursor, Version};
use varve_core::{BodyId, Moment, RecordId, VersionId};

const URL: &str = "https://e.org/page";
const BODY: [u8; 32] = [7; 32];

fn id(number: u128) -> VersionId {
    VersionId::new(uuid::Uuid::from_u128(number))
}

/// The rows of a version of one page.
fn version(number: u128) -> Vec<CatalogRow> {
    let (belongs, time) = (CaptureOwner::Version(id(number)), Moment::from_seconds(number as i64));
    let record = RecordId::new(BODY);
    let capture = Capture {
        id: Capture::derive_id(belongs, URL, time, &record),
        owner: belongs,
        url: URL.to_owned(),
        path: "page".to_owned(),
        time,
        status: 200,
        headers: HeaderView::from_pairs([("X-User", "SECRETHEADER"), ("ETag", "SECRETTAG")], Redaction::Off),
        body: BodyId::new(BODY),
        length: Some(1),
        record: Some(record),
        truncated: false,
    };
    let version = Version {
        id: id(number),
        parent: number.checked_sub(2).map(|_| id(number - 1)),
        message: String::new(),
        author: None,
        time,
        run: None,
        record: None,
    };
    vec![CatalogRow::Version(version), CatalogRow::Pages { version: id(number), captures: vec![capture] }]
}

fn removal() -> CatalogRow {
    let tombstone = Tombstone {
        record: RecordId::new(BODY),
        kind: TombstoneKind::Page,
        url: Some(URL.to_owned()),
        digest: None,
        run: None,
        version: None,
        replaced_by: None,
        who: "Ada".to_owned(),
        why: "asked for".to_owned(),
        time: Moment::from_seconds(9),
    };
    CatalogRow::Removal(Box::new(Removal { tombstone_record: RecordId::new([9; 32]), tombstone }))
}

/// Whether the page is out of a version, and how many headers it has there.
fn look(catalog: &dyn CatalogRead, number: u128) -> (bool, usize) {
    let captures = catalog.captures_in(&id(number), ListCursor::first(9)).expect("read");
    assert_eq!(captures.len(), 1);
    let is_out = catalog.removal_of_page(&captures[0]).expect("read").is_some();
    (is_out, captures[0].headers.iter().count())
}

fn holds_secret(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("read");
    bytes.windows(6).any(|window| window == b"SECRET")
}

#[test]
fn it_speaks_of_versions_before_it_and_erases_what_they_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalog.db");
    let catalog = SqliteCatalog::open_to_write(&path).expect("made");
    let before: Vec<CatalogRow> = [version(1), version(2)].concat();
    catalog.apply(&mut before.into_iter()).expect("kept");
    assert_eq!((look(&catalog, 1), look(&catalog, 2)), ((false, 2), (false, 2)));
    catalog.apply(&mut std::iter::once(removal())).expect("kept");
    assert_eq!((look(&catalog, 1), look(&catalog, 2)), ((true, 0), (true, 0)));
    drop(catalog);
    assert!(!holds_secret(&path), "nothing is left in free pages");
    let catalog = SqliteCatalog::open_to_write(&path).expect("opened");
    catalog.apply(&mut version(3).into_iter()).expect("kept");
    // The last rows may come again, from any one on.
    let again: Vec<CatalogRow> = [vec![removal()], version(3)].concat();
    for from in 0..again.len() {
        catalog.apply(&mut again[from..].iter().cloned()).expect("kept");
        assert_eq!(
            (look(&catalog, 1), look(&catalog, 2), look(&catalog, 3)),
            ((true, 0), (true, 0), (false, 2))
        );
    }
}
