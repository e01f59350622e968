//! `crystal save-as`: makes a copy that is complete or absent.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use varve_crystal::{CopyProgress, Project, SaveAsOptions};

use crate::error::ArchiveError;

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its folder.
    pub path: PathBuf,
    /// Number of its files.
    pub files: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

/// Copies a project. `progress` is called with the number of bytes just copied.
pub fn save_as(source: &Path, target: &Path, progress: &dyn Fn(u64)) -> Result<Saved, ArchiveError> {
    let mut so_far = CopyProgress::default();
    let mut tell = |copied: CopyProgress| {
        progress(copied.bytes - so_far.bytes);
        so_far = copied;
        ControlFlow::Continue(())
    };
    let options = SaveAsOptions { on_progress: Some(&mut tell), watcher: None };
    let path = Project::open(source)?.save_as(target, options)?;
    Ok(Saved { path, files: so_far.files, bytes: so_far.bytes })
}
