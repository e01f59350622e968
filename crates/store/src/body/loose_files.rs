//! Lists the files among loose bodies, and removes those that the caller names.

use std::path::PathBuf;

use varve_core::BodyId;
use varve_core::body::BodyError;

use super::loose_bodies::{LooseBodies, UNFINISHED_PREFIX};

/// A file among loose bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseFile {
    /// The id of the body; none for an unfinished file.
    pub id: Option<BodyId>,
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub length: u64,
}

impl LooseBodies {
    /// Every body and every unfinished body, by name. Foreign files are not listed.
    pub fn list(&self) -> Result<Vec<LooseFile>, BodyError> {
        let mut found = Vec::new();
        let (disk, root) = (self.disk(), self.folder());
        if disk.stat(root).map_err(BodyError::new)?.is_none() {
            return Ok(found);
        }
        for name in disk.list(root).map_err(BodyError::new)? {
            let path = root.join(&name);
            let name = name.to_string_lossy();
            let Some(stat) = disk.stat(&path).map_err(BodyError::new)? else { continue };
            if !stat.folder {
                if name.starts_with(UNFINISHED_PREFIX) {
                    found.push(LooseFile { id: None, path, length: stat.length });
                }
            } else if name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                for inner in disk.list(&path).map_err(BodyError::new)? {
                    let Ok(id) = inner.to_string_lossy().parse::<BodyId>() else { continue };
                    let path = path.join(&inner);
                    let Some(stat) = disk.stat(&path).map_err(BodyError::new)? else { continue };
                    if path == self.path(&id) && !stat.folder {
                        found.push(LooseFile { id: Some(id), path, length: stat.length });
                    }
                }
            }
        }
        Ok(found)
    }

    /// Removes a listed file. Succeeds when the file is gone.
    pub fn sweep(&self, file: &LooseFile) -> Result<(), BodyError> {
        match self.disk().remove(&file.path) {
            Err(error) if !error.is_absent() => Err(BodyError::new(error)),
            _ => Ok(()),
        }
    }
}
