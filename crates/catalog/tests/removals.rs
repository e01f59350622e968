//! The headers of a removed page are erased from the file, also from free pages of SQLite.

use varve_catalog::{Catalog as _, SqliteCatalog};
use varve_testkit::contract::catalog::silos::{page_removal, version_with_headers};

#[test]
fn headers_of_a_removed_page_are_erased_from_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalog.db");
    let holds_secret = || {
        let bytes = std::fs::read(&path).expect("read");
        bytes.windows(6).any(|window| window == b"SECRET")
    };
    let catalog = SqliteCatalog::open_to_write(&path).expect("made");
    catalog.apply(&mut version_with_headers(1).into_iter()).expect("applied");
    drop(catalog);
    assert!(holds_secret());
    let catalog = SqliteCatalog::open_to_write(&path).expect("opened");
    catalog.apply(&mut std::iter::once(page_removal())).expect("applied");
    drop(catalog);
    assert!(!holds_secret(), "nothing is left in free pages");
}
