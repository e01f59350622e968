//! Where a database is: the folder that the user named, and the name below it.
//!
//! Links on the way to the folder are followed, because the user chose it. Nothing below it is: a
//! layout may come from someone else. SQLite takes paths and no handles. So it gets a canonical path,
//! and refuses one with a link in it itself.

use std::path::{Path, PathBuf};

use varve_core::catalog::CatalogError;
use varve_file::Folder;

use crate::SqlResult;
use crate::error::UnlocatedError;

/// The endings of the files that SQLite keeps beside a database, and of the database itself.
const FILE_ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// The place of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabasePath {
    root: PathBuf,
    full: PathBuf,
}

impl DatabasePath {
    /// The database `name` below the folder `root` of a layout. The name may have several components.
    pub fn below(root: &Path, name: impl AsRef<Path>) -> Self {
        Self { root: root.to_owned(), full: root.join(name) }
    }

    /// The path, for messages.
    pub fn as_path(&self) -> &Path {
        &self.full
    }

    /// The canonical path of the database. Fails if a folder on the way from the root, the database,
    /// or a file that SQLite keeps beside it is a link or of another kind.
    pub(crate) fn checked(&self) -> SqlResult<PathBuf> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            UnlocatedError::Callback(CatalogError::Unreachable { path: self.full.clone(), source })
        };
        let name = self.full.strip_prefix(&self.root).unwrap_or(&self.full);
        let folder = match Folder::open(&self.root) {
            // SQLite words that nothing is there.
            Err(error) if error.is_absent() => return Ok(self.full.clone()),
            opened => opened.map_err(|error| failed(error.into()))?,
        };
        for ending in FILE_ENDINGS {
            folder.checked_path(sibling_file(name, ending)).map_err(|error| failed(error.into()))?;
        }
        let root = if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root };
        Ok(root.canonicalize().map_err(|error| failed(error.into()))?.join(name))
    }
}

/// A database directly in a folder that the user named.
impl From<&Path> for DatabasePath {
    fn from(path: &Path) -> Self {
        Self { root: path.parent().unwrap_or(Path::new("")).to_owned(), full: path.to_owned() }
    }
}

/// As for [`Path`].
impl From<&PathBuf> for DatabasePath {
    fn from(path: &PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

/// The name of a file that SQLite keeps beside a database.
pub(crate) fn sibling_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_below_the_root_is_refused_and_one_above_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (place.path().join("root"), place.path().join("elsewhere"));
        std::fs::create_dir_all(root.join("below")).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink("root", place.path().join("link")).unwrap();
        let database = DatabasePath::below(&place.path().join("link"), "below/a.db");
        let expected = root.canonicalize().unwrap().join("below/a.db");
        assert_eq!(database.checked().unwrap(), expected);
        std::fs::remove_dir(root.join("below")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("below")).unwrap();
        assert!(database.checked().is_err());
        assert!(crate::open_to_write(&database).is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        // A folder that is swapped for a link after the check is refused by SQLite.
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_NOFOLLOW | rusqlite::OpenFlags::default();
        assert!(rusqlite::Connection::open_with_flags(&expected, flags).is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
