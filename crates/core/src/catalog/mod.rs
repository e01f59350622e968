//! The seam to the rows of history: which captures and versions an archive holds.
//!
//! Owns the two traits, the rows that are written through them, and their error. A catalog is a
//! fold over [`CatalogRow`]s: the same rows in the same order give the same catalog. It is a cache
//! that can be made again from the silos, and knows neither bodies nor WARC records.
//!
//! `varve-catalog` and `varve-moku` implement the traits over SQLite; a Crystal project is read
//! through them. The traits live here so that none of these crates depends on another. Decision
//! 045 gives the reasons.
//!
//! Lists come in batches, and the cost of a query is proportional to its answer.

mod dump;
mod error;
mod read;
mod row;
mod sealed_log;

pub use dump::dump_rows;
pub use error::{CatalogError, CatalogResult};
pub use read::{CatalogRead, UrlMatch};
pub use row::{Catalog, CatalogRow, Removal};
pub use sealed_log::SealedLogRead;
