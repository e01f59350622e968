//! `catalog.db`: which captures and versions an archive holds, and what a crawl has still to fetch.
//!
//! Owns the tables in SQLite and the SQL around them, and implements the seams of
//! [`varve_core::catalog`] and [`varve_core::frontier`]. The catalog is a cache that `rebuild`
//! makes again from the silos. It knows no body, no WARC record and no file but its own databases.
//! `search.db` is the index for full text search, behind the seam of [`varve_core::search_index`].

mod frontier;
mod search;
mod sqlite;

pub use frontier::SqliteFrontierStore;
pub use search::SqliteSearchIndex;
pub use sqlite::SqliteCatalog;
pub use varve_core::catalog::{
    Catalog, CatalogError, CatalogRead, CatalogRow, Removal, SealedLogRead, UrlMatch, dump_rows,
};
pub use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, FetchReason, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl,
    OpenRun, PastUrl,
};
pub use varve_sqlite::DatabasePath;
