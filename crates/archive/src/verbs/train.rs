//! `train`: makes a dictionary from what an archive holds, for the silos to come.
//!
//! Pages of a site say much the same. A dictionary says it once, at the beginning of each silo that is packed by zstd, and every
//! record is smaller for it. Silos that exist stay as they are. The one that grows is closed by the next who writes,
//! because what stands behind a beginning must be packed by it; so a silo is always read by itself alone.

use varve_store::samples::samples;
use varve_warc::write::train_dictionary;

use crate::archive::silo_files;
use crate::error::ArchiveError;
use crate::history::replace;
use crate::settings::PackingMethod;
use crate::writer::ArchiveWriter;

/// The size that zstd's own tools choose.
pub const USUAL_SIZE: usize = 112 << 10;
/// So many bytes of records are looked at.
const LOOKED_AT: u64 = 16 << 20;

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trained {
    /// Records that were looked at.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The size of the dictionary.
    pub size: u64,
}

/// Makes a dictionary of at most `size` bytes, and leaves it for the silos to come.
pub fn train(writer: &ArchiveWriter, size: usize) -> Result<Trained, ArchiveError> {
    if writer.settings().packing != PackingMethod::Zstd {
        return Err(ArchiveError::NotZstd);
    }
    let samples = samples(&silo_files(writer.layout()), LOOKED_AT)?;
    let (count, bytes) = (samples.len() as u64, samples.iter().map(|one| one.len() as u64).sum());
    let dictionary = train_dictionary(&samples, size)
        .map_err(|source| ArchiveError::NoDictionary { samples: count, source })?;
    let path = writer.layout().dictionary();
    replace(&path, &mut dictionary.as_slice(), true).map_err(ArchiveError::write(&path))?;
    Ok(Trained { samples: count, bytes, size: dictionary.len() as u64 })
}
