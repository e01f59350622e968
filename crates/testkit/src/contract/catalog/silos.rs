//! The contract of the catalog of an archive, beyond that of every catalog: values that only silos
//! have, and removals from them.

use std::path::Path;

use varve_core::catalog::{CatalogRead, CatalogRow, Removal};
use varve_core::fact::{Tombstone, TombstoneKind};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, ListCursor, Version};
use varve_core::{BodyId, Moment, RecordId, VersionId};

use super::histories::{moment, version_id};
use super::{OpenCatalog, TestFolder, apply, extractions, sealed_log};

/// The URL of the only page.
const PAGE_URL: &str = "https://e.org/page";
/// The record and the body of the page.
const PAGE_RECORD: [u8; 32] = [7; 32];

/// Runs the suite. `open` opens the catalog in a folder to write, and creates it if the folder is
/// empty.
pub fn silo_catalog(open: &OpenCatalog<'_>) {
    for law in [positions_are_kept, removals_are_listed, removed_pages_are_hidden_in_earlier_versions] {
        let folder = TestFolder::new();
        law(open, folder.path());
    }
    for law in [
        extractions::requests_lead_to_pages,
        extractions::equal_keys_are_no_equal_pages,
        extractions::domains_have_settings,
        sealed_log::the_log_is_only_appended_to,
        sealed_log::versions_without_leaf_are_the_last_ones,
    ] {
        let folder = TestFolder::new();
        law(&*open(folder.path()));
    }
}

/// The rows of a version with one page, which has two headers.
pub fn version_with_headers(number: u8) -> Vec<CatalogRow> {
    let id = version_id(number);
    let (owner, time, record) = (CaptureOwner::Version(id), moment(number), RecordId::new(PAGE_RECORD));
    let capture = Capture {
        id: Capture::derive_id(owner, PAGE_URL, time, &record),
        owner,
        url: PAGE_URL.to_owned(),
        path: "page".to_owned(),
        time,
        status: 200,
        headers: HeaderView::from_pairs([("X-User", "SECRETHEADER"), ("ETag", "SECRETTAG")], Redaction::Off),
        body: BodyId::new(PAGE_RECORD),
        length: Some(1),
        record: Some(record),
        truncated: false,
    };
    let parent = number.checked_sub(2).map(|_| version_id(number - 1));
    let version = Version {
        id,
        parent,
        message: String::new(),
        author: None,
        time,
        run: None,
        record: None,
        coverage: None,
    };
    vec![CatalogRow::Version(version), CatalogRow::Capture(Box::new(capture))]
}

/// A tombstone with this number: of the page, or of the response that holds it.
fn removal(number: u8, kind: TombstoneKind) -> Removal {
    let tombstone = Tombstone {
        url: Some(PAGE_URL.to_owned()),
        who: "Ada".to_owned(),
        why: "asked for".to_owned(),
        time: Moment::from_seconds(i64::from(number)),
        ..Tombstone::new(RecordId::new(PAGE_RECORD), kind)
    };
    Removal { tombstone_record: RecordId::new([number; 32]), tombstone }
}

/// The row of the tombstone of the page.
pub fn page_removal() -> CatalogRow {
    CatalogRow::Removal(Box::new(removal(9, TombstoneKind::Page)))
}

fn positions_are_kept(open: &OpenCatalog<'_>, folder: &Path) {
    let catalog = open(folder);
    assert_eq!(catalog.scanned_up_to().expect("read"), None);
    for number in [1, 2] {
        apply(&*catalog, &[CatalogRow::ScannedUpTo(u64::MAX - number)]).expect("applied");
    }
    drop(catalog);
    let catalog = open(folder);
    assert_eq!(catalog.scanned_up_to().expect("read"), Some(u64::MAX - 2));
}

fn removals_are_listed(open: &OpenCatalog<'_>, folder: &Path) {
    let catalog = open(folder);
    let (older, newer, page) = (
        removal(5, TombstoneKind::Response),
        removal(6, TombstoneKind::Revisit),
        removal(7, TombstoneKind::Page),
    );
    let rows = [&newer, &older, &page].map(|removal| CatalogRow::Removal(Box::new(removal.clone())));
    apply(&*catalog, &rows).expect("applied");
    let record = RecordId::new(PAGE_RECORD);
    assert_eq!(catalog.removals_of(&record).expect("read"), [page.clone(), newer.clone(), older.clone()]);
    assert_eq!(catalog.removals_of(&RecordId::new([1; 32])).expect("read"), []);
    assert_eq!(catalog.removals_at(PAGE_URL, 1).expect("read"), std::slice::from_ref(&newer));
    assert_eq!(catalog.removals_at(PAGE_URL, 9).expect("read"), [newer.clone(), older.clone()]);
    assert_eq!(catalog.removals(ListCursor::first(2)).expect("read"), [older.clone(), newer]);
    let cursor = ListCursor { after: Some(RecordId::new([6; 32])), limit: 2 };
    assert_eq!(catalog.removals(cursor).expect("read"), [page]);
}

/// Whether the page is hidden in each version, and the number of its headers there.
fn page_states<const N: usize>(catalog: &dyn CatalogRead, versions: [u8; N]) -> [(bool, usize); N] {
    versions.map(|number| {
        let version: VersionId = version_id(number);
        let captures = catalog.captures_in(&version, ListCursor::first(9)).expect("read");
        assert_eq!(captures.len(), 1);
        let is_hidden = catalog.removal_of_page(&captures[0]).expect("read").is_some();
        assert_eq!(catalog.are_removed_pages(&[&captures[0]]).expect("read"), [is_hidden]);
        (is_hidden, captures[0].headers.iter().count())
    })
}

fn removed_pages_are_hidden_in_earlier_versions(open: &OpenCatalog<'_>, folder: &Path) {
    let catalog = open(folder);
    apply(&*catalog, &[version_with_headers(1), version_with_headers(2)].concat()).expect("applied");
    assert_eq!(page_states(catalog.as_read(), [1, 2]), [(false, 2); 2]);
    apply(&*catalog, &[page_removal()]).expect("applied");
    assert_eq!(page_states(catalog.as_read(), [1, 2]), [(true, 0); 2]);
    apply(&*catalog, &version_with_headers(3)).expect("applied");
    // The last rows may be applied again, from any one to the end.
    let again = [vec![page_removal()], version_with_headers(3)].concat();
    for from in 0..again.len() {
        apply(&*catalog, &again[from..]).expect("applied");
        assert_eq!(page_states(catalog.as_read(), [1, 2, 3]), [(true, 0), (true, 0), (false, 2)]);
    }
}
