//! The catalog in SQLite fulfils the contract.

use varve_catalog::{SqliteCatalog, SqliteSearchIndex};
use varve_testkit::contract;

#[test]
fn the_sqlite_catalog_fulfils_the_contract() {
    contract::catalog(&|folder| {
        Box::new(SqliteCatalog::open_to_write(&folder.join("catalog.db")).expect("opened"))
    });
}

#[test]
fn the_sqlite_catalog_fulfils_the_contract_of_states() {
    contract::state_catalog(&|folder| {
        Box::new(SqliteCatalog::open_to_write(&folder.join("catalog.db")).expect("opened"))
    });
}

#[test]
fn the_sqlite_catalog_fulfils_the_contract_of_an_archive() {
    contract::silo_catalog(&|folder| {
        Box::new(SqliteCatalog::open_to_write(&folder.join("catalog.db")).expect("opened"))
    });
}

#[test]
fn the_search_index_fulfils_the_contract() {
    contract::search_index(&|folder| {
        Box::new(SqliteSearchIndex::open_to_write(&folder.join("search.db")).expect("opened"))
    });
}
