//! How a store is written, as far as its owner decides.

use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::date::Date;
use varve_warc::write::Packing;

use crate::index::IndexOptions;
use crate::silo::name;

/// Where the parts of a store lie, and how it is written.
#[derive(Clone)]
pub struct Settings {
    /// A silo is sealed before it would grow beyond this.
    pub silo_size: u64,
    /// How records are packed.
    pub packing: Packing,
    /// What every silo says of itself, as named fields.
    pub description: Vec<(String, String)>,
    /// The index.
    pub index: IndexOptions,
    /// The folder of the index.
    pub index_folder: PathBuf,
    /// Where things lie that are not finished.
    pub temporary: PathBuf,
    /// The present, for the descriptions of silos.
    pub clock: Arc<dyn Fn() -> Date + Send + Sync>,
}

impl Settings {
    /// The ending of silos written so.
    pub fn ending(&self) -> &'static str {
        match self.packing {
            Packing::Zstd { .. } => name::ZSTD,
            _ => name::GZIP,
        }
    }
}
