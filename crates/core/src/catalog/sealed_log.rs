//! Rows of the seal: leaves of the log, checkpoints and timestamps.

use crate::fact::{CheckpointSigned, CheckpointTimestamped};
use crate::history::ListCursor;
use crate::{ManifestDigest, VersionId};

use super::error::CatalogResult;

/// Reads the log of versions. The default is for layouts without one.
pub trait SealedLogRead {
    /// The number of the last leaf, plus one.
    fn log_size(&self) -> CatalogResult<u64> {
        Ok(0)
    }

    /// Leaves by number, from `first` on.
    fn log_leaves(&self, _first: u64, _limit: usize) -> CatalogResult<Vec<(u64, ManifestDigest)>> {
        Ok(Vec::new())
    }

    /// The number of the leaf of a version.
    fn leaf_of_version(&self, _version: &VersionId) -> CatalogResult<Option<u64>> {
        Ok(None)
    }

    /// The versions that are no leaves, in the order of writing. The cost is that of the answer.
    fn versions_without_leaf(&self, _limit: usize) -> CatalogResult<Vec<VersionId>> {
        Ok(Vec::new())
    }

    /// Versions in the order of writing, after one of them.
    fn versions_by_writing(&self, _cursor: ListCursor<VersionId>) -> CatalogResult<Vec<VersionId>> {
        Ok(Vec::new())
    }

    /// Checkpoints by size. The cursor holds a size.
    fn log_checkpoints(&self, _cursor: ListCursor<u64>) -> CatalogResult<Vec<CheckpointSigned>> {
        Ok(Vec::new())
    }

    /// The checkpoint with the greatest size.
    fn last_log_checkpoint(&self) -> CatalogResult<Option<CheckpointSigned>> {
        Ok(None)
    }

    /// The timestamps of the checkpoint with this size, by their answers.
    fn log_timestamps(&self, _size: u64) -> CatalogResult<Vec<CheckpointTimestamped>> {
        Ok(Vec::new())
    }
}
