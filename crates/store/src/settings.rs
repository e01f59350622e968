//! The settings of a store.

use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::date::Date;
use varve_warc::write::{DICTIONARY_MAGIC, Packing};

use crate::index::IndexOptions;
use crate::silo::name;

/// Where the files of a store are, and how the store is written.
#[derive(Clone)]
pub struct StoreSettings {
    /// A silo is sealed before it would grow beyond this.
    pub silo_size: u64,
    /// How records are packed.
    pub packing: Packing,
    /// The fields of every silo's `warcinfo` record.
    pub description: Vec<(String, String)>,
    /// The index.
    pub index: IndexOptions,
    /// The folder of the index.
    pub index_folder: PathBuf,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The clock that dates the `warcinfo` records of silos.
    pub clock: Arc<dyn Fn() -> Date + Send + Sync>,
}

impl StoreSettings {
    /// The file extension of silos with this packing.
    pub fn ending(&self) -> &'static str {
        match self.packing {
            Packing::Zstd { .. } => name::ZSTD_EXTENSION,
            _ => name::GZIP_EXTENSION,
        }
    }

    /// The number of leading bytes that [`Self::has_current_packing`] needs.
    pub(crate) fn packing_probe_length(&self) -> usize {
        self.packing.preamble().len().max(DICTIONARY_MAGIC.len())
    }

    /// Whether a silo with this extension and these leading bytes has the current packing. Records
    /// with another packing or another dictionary must not be appended to it.
    pub(crate) fn has_current_packing(&self, ending: &str, beginning: &[u8]) -> bool {
        let preamble = self.packing.preamble();
        let has_dictionary = beginning.starts_with(&DICTIONARY_MAGIC);
        ending == self.ending() && beginning.starts_with(&preamble) && has_dictionary != preamble.is_empty()
    }
}
