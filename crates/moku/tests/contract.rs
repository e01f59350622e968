//! The database of a Moku site fulfils the contract of a catalog.

use varve_moku::{MokuCatalog, MokuOptions};
use varve_testkit::contract;

#[test]
fn the_moku_database_fulfils_the_contract() {
    contract::catalog(&|folder| {
        let database = folder.join("moku.db");
        Box::new(
            MokuCatalog::open_to_write(&database, &MokuOptions::default()).expect("opened").into_tables(),
        )
    });
}
