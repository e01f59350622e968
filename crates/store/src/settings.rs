//! How a store is written, as far as its owner decides.

use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::date::Date;
use varve_warc::write::{DICTIONARY_MAGIC, Packing};

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

    /// How much of a silo tells whether it [begins as one would](Self::begins_so) that is begun now.
    pub(crate) fn telling_length(&self) -> usize {
        self.packing.preamble().len().max(DICTIONARY_MAGIC.len())
    }

    /// Whether a silo with that ending and beginning begins as one would that is begun now: what is packed in another way, or
    /// with another dictionary, does not belong with what is packed so.
    pub(crate) fn begins_so(&self, ending: &str, beginning: &[u8]) -> bool {
        let preamble = self.packing.preamble();
        let has_dictionary = beginning.starts_with(&DICTIONARY_MAGIC);
        ending == self.ending() && beginning.starts_with(&preamble) && has_dictionary != preamble.is_empty()
    }
}
