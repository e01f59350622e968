//! One contract, every catalog: random histories against a model that is a plain fold over rows.

mod compare;
mod histories;
mod model;

use std::path::Path;

use histories::{Step, Teller, histories};
use proptest::prelude::*;
use varve_catalog::{Catalog, MokuCatalog, MokuOptions, Row, SqliteCatalog};

/// Opens a catalog of one kind in a folder.
type Open = fn(&Path) -> Box<dyn Catalog>;

fn sqlite(folder: &Path) -> Box<dyn Catalog> {
    Box::new(SqliteCatalog::open_to_write(&folder.join("catalog.db")).unwrap())
}

fn moku(folder: &Path) -> Box<dyn Catalog> {
    Box::new(MokuCatalog::open_to_write(&folder.join("moku.db"), &MokuOptions::default()).unwrap())
}

const KINDS: [Open; 2] = [sqlite, moku];

fn apply(catalog: &dyn Catalog, rows: &[Row]) {
    catalog.apply(&mut rows.iter().cloned()).unwrap();
}

fn every_answer_is_the_models(open: Open, history: &[Vec<Step>]) {
    let folder = tempfile::tempdir().unwrap();
    let mut teller = Teller::default();
    let mut catalog = open(folder.path());
    for (place, steps) in history.iter().enumerate() {
        apply(&*catalog, &teller.tell(steps));
        if place % 3 == 1 {
            drop(catalog);
            catalog = open(folder.path());
        }
    }
    compare::same(catalog.as_read(), &teller.model);
}

fn the_last_rows_again_change_nothing(open: Open, history: &[Vec<Step>], from: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut teller = Teller::default();
    let batches: Vec<_> = history.iter().map(|steps| teller.tell(steps)).collect();
    let catalog = open(folder.path());
    batches.iter().for_each(|rows| apply(&*catalog, rows));
    batches.iter().skip(from % history.len()).for_each(|rows| apply(&*catalog, rows));
    assert_eq!(compare::lines(catalog.as_read()), compare::lines(&teller.model));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_catalog_answers_as_the_fold_over_its_rows(history in histories(true)) {
        KINDS.iter().for_each(|open| every_answer_is_the_models(*open, &history));
    }

    #[test]
    fn applying_the_last_rows_again_changes_nothing(history in histories(false), from: usize) {
        KINDS.iter().for_each(|open| the_last_rows_again_change_nothing(*open, &history, from));
    }
}
