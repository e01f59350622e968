//! The contract of the log of versions: leaves, checkpoints and timestamps.

use varve_core::catalog::{Catalog, CatalogRow};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped, LeavesAdded};
use varve_core::history::{ListCursor, Version};
use varve_core::{ManifestDigest, Moment};

use super::apply;

fn manifest(number: u8) -> ManifestDigest {
    ManifestDigest::new([number; 32])
}

fn leaves(first: u64, numbers: &[u8]) -> CatalogRow {
    let manifests = numbers.iter().map(|number| manifest(*number)).collect();
    CatalogRow::LogLeaves(Box::new(LeavesAdded { first, manifests }))
}

fn version(number: u8) -> CatalogRow {
    CatalogRow::Version(Version {
        id: manifest(number).version(),
        parent: None,
        message: String::new(),
        author: None,
        // Versions are written in another order than that of their times.
        time: Moment::from_seconds(1_000 - i64::from(number)),
        run: None,
        record: None,
        coverage: None,
    })
}

/// Rows that exist stay, and lists go on after their cursors.
pub(super) fn the_log_is_only_appended_to(catalog: &dyn Catalog) {
    assert_eq!(catalog.log_size().expect("read"), 0);
    let time = Moment::from_seconds(7);
    let checkpoint = |size: u64, note: &str| CheckpointSigned {
        size,
        note: note.to_owned(),
        keys: vec!["one".to_owned(), "two".to_owned()],
        time,
    };
    let stamped = |answer: &str| CheckpointTimestamped { size: 2, answer: answer.to_owned(), time };
    for _ in 0..2 {
        apply(catalog, &[leaves(0, &[1, 2]), leaves(2, &[3])]).expect("applied");
        let signed = [checkpoint(2, "a"), checkpoint(3, "b"), checkpoint(3, "c")];
        let rows: Vec<_> = signed.into_iter().map(|row| CatalogRow::LogCheckpoint(Box::new(row))).collect();
        apply(catalog, &rows).expect("applied");
        let rows: Vec<_> =
            ["y", "x", "y"].map(|row| CatalogRow::LogTimestamp(Box::new(stamped(row)))).into_iter().collect();
        apply(catalog, &rows).expect("applied");
        apply(catalog, &[leaves(1, &[9])]).expect("applied");
        assert_eq!(catalog.log_size().expect("read"), 3);
        assert_eq!(catalog.log_leaves(1, 1).expect("read"), [(1, manifest(2))]);
        assert_eq!(catalog.log_leaves(3, 9).expect("read"), []);
        assert_eq!(catalog.leaf_of_version(&manifest(3).version()).expect("read"), Some(2));
        assert_eq!(catalog.leaf_of_version(&manifest(9).version()).expect("read"), None);
        let cursor = ListCursor { after: Some(2), limit: 9 };
        assert_eq!(catalog.log_checkpoints(cursor).expect("read"), [checkpoint(3, "b")]);
        assert_eq!(catalog.log_checkpoints(ListCursor::first(1)).expect("read"), [checkpoint(2, "a")]);
        assert_eq!(catalog.last_log_checkpoint().expect("read"), Some(checkpoint(3, "b")));
        assert_eq!(catalog.log_timestamps(2).expect("read"), [stamped("x"), stamped("y")]);
        assert_eq!(catalog.log_timestamps(3).expect("read"), []);
    }
}

/// Versions become leaves in the order of writing.
pub(super) fn versions_without_leaf_are_the_last_ones(catalog: &dyn Catalog) {
    let ids = |numbers: &[u8]| numbers.iter().map(|number| manifest(*number).version()).collect::<Vec<_>>();
    apply(catalog, &[version(1), version(2), version(3), version(4)]).expect("applied");
    assert_eq!(catalog.versions_without_leaf(3).expect("read"), ids(&[1, 2, 3]));
    apply(catalog, &[leaves(0, &[1, 2])]).expect("applied");
    assert_eq!(catalog.versions_without_leaf(9).expect("read"), ids(&[3, 4]));
    let cursor = |after: Option<u8>| ListCursor { after: after.map(|one| manifest(one).version()), limit: 3 };
    assert_eq!(catalog.versions_by_writing(cursor(None)).expect("read"), ids(&[1, 2, 3]));
    assert_eq!(catalog.versions_by_writing(cursor(Some(2))).expect("read"), ids(&[3, 4]));
    // The leaf of a removed version stays, and the version before it is still a leaf.
    apply(catalog, &[CatalogRow::ForgetVersion(manifest(2).version())]).expect("applied");
    assert_eq!(catalog.versions_without_leaf(9).expect("read"), ids(&[3, 4]));
    assert_eq!(catalog.leaf_of_version(&manifest(2).version()).expect("read"), Some(1));
}
