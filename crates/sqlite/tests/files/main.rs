//! One contract, every catalog: random histories against a model that is a plain fold over rows.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

mod compare;
mod histories;
mod kill;
mod lines;
mod model;
mod trouble;

use std::path::Path;

use histories::{Step, Teller, histories};
use proptest::prelude::*;
use varve_catalog::{Catalog, CatalogError, CatalogRead, CatalogRow, SqliteCatalog};
use varve_moku::{MokuCatalog, MokuOptions};

/// A kind of catalog.
pub(crate) struct Kind {
    /// The name of its file.
    pub(crate) file: &'static str,
    write: fn(&Path) -> Result<Box<dyn Catalog>, CatalogError>,
    read: fn(&Path) -> Result<Box<dyn Catalog>, CatalogError>,
}

impl Kind {
    pub(crate) fn try_open(&self, folder: &Path) -> Result<Box<dyn Catalog>, CatalogError> {
        (self.write)(&folder.join(self.file))
    }

    pub(crate) fn open(&self, folder: &Path) -> Box<dyn Catalog> {
        self.try_open(folder).unwrap()
    }

    pub(crate) fn open_to_read(&self, folder: &Path) -> Result<Box<dyn Catalog>, CatalogError> {
        (self.read)(&folder.join(self.file))
    }
}

/// Every implementation of the seam.
pub(crate) const KINDS: [Kind; 2] = [
    Kind {
        file: "catalog.db",
        write: |path| Ok(Box::new(SqliteCatalog::open_to_write(path)?)),
        read: |path| Ok(Box::new(SqliteCatalog::open_to_read(path)?)),
    },
    Kind {
        file: "moku.db",
        write: |path| Ok(Box::new(MokuCatalog::open_to_write(path, &MokuOptions::default())?)),
        read: |path| Ok(Box::new(MokuCatalog::open_to_read(path)?)),
    },
];

fn apply(catalog: &dyn Catalog, rows: &[CatalogRow]) {
    catalog.apply(&mut rows.iter().cloned()).unwrap();
}

fn every_answer_is_the_models(kind: &Kind, history: &[Vec<Step>]) {
    let folder = tempfile::tempdir().unwrap();
    let mut teller = Teller::default();
    let mut catalog = kind.open(folder.path());
    for (place, steps) in history.iter().enumerate() {
        apply(&*catalog, &teller.tell(steps));
        if place % 3 == 1 {
            drop(catalog);
            catalog = kind.open(folder.path());
        }
    }
    compare::same(catalog.as_read(), &teller.model);
}

fn the_last_rows_again_change_nothing(kind: &Kind, history: &[Vec<Step>], from: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut teller = Teller::default();
    let batches: Vec<_> = history.iter().map(|steps| teller.tell(steps)).collect();
    let catalog = kind.open(folder.path());
    batches.iter().for_each(|rows| apply(&*catalog, rows));
    batches.iter().skip(from % history.len()).for_each(|rows| apply(&*catalog, rows));
    assert_eq!(catalog.last_gc().unwrap(), teller.model.last_gc().unwrap());
    assert_eq!(compare::lines(catalog.as_read()), compare::lines(&teller.model));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_catalog_answers_as_the_fold_over_its_rows(history in histories(true)) {
        KINDS.iter().for_each(|kind| every_answer_is_the_models(kind, &history));
    }

    #[test]
    fn applying_the_last_rows_again_changes_nothing(history in histories(false), from: usize) {
        KINDS.iter().for_each(|kind| the_last_rows_again_change_nothing(kind, &history, from));
    }
}
