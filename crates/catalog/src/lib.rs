//! Which captures and versions are there?
//!
//! Owns rows and the SQL around them, and the seam by which they are read ([`CatalogRead`]) and written ([`Catalog`]).
//! A catalog is a fold over [`CatalogRow`]s: whoever has the same rows in the same order has the same catalog. It is a cache,
//! made from what the silos say; it knows no body, no WARC record and no file but its own database.
//!
//! Reading costs what the answer costs: lists come in pages, and nothing here reads all there is.

mod connect;
mod error;
mod every;
mod frontier;
mod moku;
mod problem;
mod read;
mod row;
mod sqlite;
mod verdict;

pub use error::CatalogError;
pub use every::each_row;
pub use frontier::{ClaimedUrl, Frontier, FrontierCounts, FrontierOutcome, NewUrl, OpenRun, PastUrl};
pub use moku::{DiffRow, MokuCatalog, MokuOptions, RowTrouble, SnapshotRow};
pub use read::CatalogRead;
pub use row::{Catalog, CatalogRow, LatestPageList, Removal};
pub use sqlite::SqliteCatalog;

/// A limit, as SQL takes it.
fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
