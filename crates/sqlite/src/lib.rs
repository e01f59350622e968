//! How varve opens a SQLite database: settings, a pool of readers, and errors that name the file.
//!
//! `catalog.db` and `moku.db` hold different tables and need the same care: readers that change
//! nothing, also on a disk that is read-only or full, and errors that say whether the file is
//! damaged, locked, foreign or out of reach. This crate owns that care. It knows no table but
//! `verdicts`, which both databases have under different names; each caller checks its own schema.

pub mod column;
mod error;
mod open;
mod reader_pool;
pub mod verdicts;

pub use error::UnlocatedError;
pub use open::{configure_writer, open_to_write};
pub use reader_pool::ReaderPool;

/// Converts a limit to the signed number that SQL takes.
pub fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
