//! Where a project is: which folder a path means, what stands where in it, and whether that is a
//! project at all.
//!
//! Knows names only and opens nothing but the folder. A path may name the folder, the opener inside it, or a
//! project that is not there yet; the folder itself may be reached through links, but inside it
//! none is followed: a project may come from a stranger, and a link named `tmp` would have the
//! wrong folder emptied.

use std::fs;
use std::path::{Path, PathBuf};
use varve_file::{EntryKind, ExpectedKind, Folder, FolderError};

use crate::error::{Error, Result, io_at};

/// How the name of a project's folder ends.
pub const PROJECT_SUFFIX: &str = ".crystalproj";
/// How the name ends while the project is being copied.
pub const PARTIAL_SUFFIX: &str = ".crystalproj-partial";
/// How the name of the file that opens a project ends.
pub const OPENER_SUFFIX: &str = ".crystalopen";

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedPath {
    /// A folder of this name exists.
    There(PathBuf),
    /// Nothing has this name; a project could be created under it.
    Free(PathBuf),
}

/// Finds out which project a path means: the folder, its opener, or the name without its ending.
pub fn resolve(path: &Path) -> Result<ResolvedPath> {
    let path = without_trailing_slash(path);
    if path.exists() {
        return existing(&path).map(ResolvedPath::There);
    }
    let named = if ends_with(&path, PROJECT_SUFFIX) { path } else { with_suffix(&path) };
    if named.exists() {
        return existing(&named).map(ResolvedPath::There);
    }
    if ends_with(&named, &format!("{PARTIAL_SUFFIX}{PROJECT_SUFFIX}")) {
        return Err(Error::Absent { path: named });
    }
    Ok(ResolvedPath::Free(named))
}

/// Whether the path is a project's folder or opener, going by its name and by what every project
/// has.
pub fn is_project(path: &Path) -> bool {
    let Ok(ResolvedPath::There(dir)) = resolve(path) else { return false };
    ProjectLayout::open(dir).and_then(|layout| layout.check()).is_ok()
}

fn existing(path: &Path) -> Result<PathBuf> {
    let is_opener = ends_with(path, OPENER_SUFFIX) && !path.is_dir();
    let whole = fs::canonicalize(path).map_err(io_at("find", path))?;
    let dir = if is_opener { whole.parent().unwrap_or(&whole).to_owned() } else { whole };
    let named_so = !is_opener && ends_with(path, PROJECT_SUFFIX) || ends_with(&dir, PROJECT_SUFFIX);
    if ends_with(&dir, PARTIAL_SUFFIX) {
        return Err(Error::Partial { path: dir });
    }
    if named_so { Ok(dir) } else { Err(Error::NotNamedSo { path: dir }) }
}

fn without_trailing_slash(path: &Path) -> PathBuf {
    path.components().collect()
}

pub(crate) fn ends_with(path: &Path, suffix: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(suffix.as_bytes()))
}

fn with_suffix(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PROJECT_SUFFIX);
    name.into()
}

/// The folder in which a capture that is not finished keeps what it has still to do. Crystal leaves
/// folders alone that it does not know; it is there only while there is such a capture, and no copy
/// has it.
pub const CAPTURE_FOLDER: &str = "varve.capture";

/// The folder of what a writer of ours is working on. It is there only while one is at work, or was
/// killed. Crystal empties `tmp` when it opens a project, so nothing of ours may be there.
pub const DRAFT_FOLDER: &str = "varve.tmp";

/// The name of the database.
pub(crate) const DATABASE_FILE: &str = "database.sqlite";
/// The files that SQLite keeps beside the database.
pub(crate) const SIDE_FILES: [&str; 3] =
    ["database.sqlite-wal", "database.sqlite-shm", "database.sqlite-journal"];
/// The name of the lock.
pub(crate) const LOCK_FILE: &str = "varve.lock";
/// The name of the folder of what Crystal is working on.
pub(crate) const TMP_FOLDER: &str = "tmp";

/// The places inside a project's folder, and a handle of that folder.
#[derive(Debug, Clone)]
pub(crate) struct ProjectLayout {
    /// The project's folder.
    pub(crate) dir: PathBuf,
    folder: Folder,
}

impl ProjectLayout {
    /// Opens the folder of a project.
    pub(crate) fn open(dir: PathBuf) -> Result<Self> {
        match Folder::open(&dir) {
            Ok(folder) => Ok(Self { dir, folder }),
            Err(_) if !dir.is_dir() => Err(Error::Absent { path: dir }),
            Err(error) => Err(error.into()),
        }
    }

    /// The folder, below which no link is followed.
    pub(crate) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What a path below the folder is called in it.
    pub(crate) fn name<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.dir).unwrap_or(path)
    }

    /// Whether there is a folder at a path below this one.
    pub(crate) fn has_folder(&self, path: &Path) -> Result<bool> {
        let found = self.folder.entry(self.name(path))?;
        Ok(found.is_some_and(|found| found.kind == EntryKind::Folder))
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join(DATABASE_FILE)
    }

    /// A file that SQLite keeps beside the database: `wal`, `shm` or `journal`.
    pub(crate) fn beside_database(&self, kind: &str) -> PathBuf {
        self.dir.join(format!("database.sqlite-{kind}"))
    }

    pub(crate) fn revisions(&self) -> PathBuf {
        self.dir.join("revisions")
    }

    /// The tree that a migration fills.
    pub(crate) fn in_progress(&self) -> PathBuf {
        self.dir.join("revisions.inprogress")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.join(TMP_FOLDER)
    }

    /// What a writer of ours is working on.
    pub(crate) fn drafts(&self) -> PathBuf {
        self.dir.join(DRAFT_FOLDER)
    }

    /// Where Crystal puts the emptied flat folder at the end of a migration, to be deleted.
    pub(crate) fn discarded(&self) -> PathBuf {
        self.dir.join("tmp").join("revisions")
    }

    /// Where bytes go that no row claims. Crystal leaves folders alone that it does not know.
    pub(crate) fn salvage(&self) -> PathBuf {
        self.dir.join("salvage")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join(LOCK_FILE)
    }

    /// Whether this is the least that a project is: a database, and bodies in one of the places
    /// where an interrupted migration may have left them.
    pub(crate) fn check(&self) -> Result<()> {
        self.refuse_links()?;
        self.refuse_other_kinds()?;
        let incomplete = |part| Error::Incomplete { path: self.dir.clone(), part };
        if self.folder.entry(DATABASE_FILE)?.is_none() {
            return Err(incomplete("file `database.sqlite`"));
        }
        for place in [self.revisions(), self.in_progress(), self.discarded()] {
            if self.has_folder(&place)? {
                return Ok(());
            }
        }
        Err(incomplete("folder `revisions`"))
    }

    fn refuse_links(&self) -> Result<()> {
        let files = SIDE_FILES.into_iter().chain([DATABASE_FILE, LOCK_FILE]);
        let folders = [
            "revisions",
            "revisions.inprogress",
            TMP_FOLDER,
            "tmp/revisions",
            "salvage",
            "icons",
            CAPTURE_FOLDER,
            DRAFT_FOLDER,
        ];
        for name in files.chain(folders) {
            let found = match self.folder.entry(name) {
                // A folder on the way is of another kind, which is refused next.
                Err(FolderError::WrongKind { found, .. }) if found != EntryKind::SymbolicLink => None,
                found => found?,
            };
            if found.is_some_and(|found| found.kind == EntryKind::SymbolicLink) {
                return Err(Error::Link { path: self.dir.join(name) });
            }
        }
        Ok(())
    }

    /// SQLite waits for ever on a named pipe, and bodies are only in folders.
    fn refuse_other_kinds(&self) -> Result<()> {
        for name in SIDE_FILES.into_iter().chain([DATABASE_FILE, LOCK_FILE]) {
            self.folder.checked_path(name)?;
        }
        for name in ["revisions", "revisions.inprogress", TMP_FOLDER, DRAFT_FOLDER] {
            match self.folder.entry(name)?.map(|found| found.kind) {
                None | Some(EntryKind::Folder) => {}
                Some(found) => {
                    let (path, expected) = (self.dir.join(name), ExpectedKind::Folder);
                    return Err(FolderError::WrongKind { path, found, expected }.into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn project_at(parent: &Path, name: &str) -> PathBuf {
        let dir = parent.join(name);
        fs::create_dir_all(dir.join("revisions")).unwrap();
        fs::write(dir.join("database.sqlite"), "").unwrap();
        fs::write(dir.join("OPEN ME.crystalopen"), "CrOp").unwrap();
        fs::canonicalize(dir).unwrap()
    }

    #[test]
    fn folder_opener_slash_and_bare_name_mean_the_same_project() {
        let home = TempDir::new().unwrap();
        let dir = project_at(home.path(), "x.crystalproj");
        for path in ["x.crystalproj", "x.crystalproj/", "x.crystalproj/OPEN ME.crystalopen", "x"] {
            assert_eq!(resolve(&home.path().join(path)).unwrap(), ResolvedPath::There(dir.clone()), "{path}");
            assert!(is_project(&home.path().join(path)));
        }
    }

    #[test]
    fn other_names_are_refused_or_free() {
        let home = TempDir::new().unwrap();
        project_at(home.path(), "x.crystalproj-partial");
        project_at(home.path(), "museum");
        let at = |name: &str| resolve(&home.path().join(name));
        assert!(matches!(at("x.crystalproj-partial"), Err(Error::Partial { .. })));
        assert!(matches!(at("museum"), Err(Error::NotNamedSo { .. })));
        assert!(matches!(at("museum/OPEN ME.crystalopen"), Err(Error::NotNamedSo { .. })));
        assert_eq!(at("y").unwrap(), ResolvedPath::Free(home.path().join("y.crystalproj")));
        assert_eq!(at("y.crystalproj/").unwrap(), ResolvedPath::Free(home.path().join("y.crystalproj")));
    }

    #[test]
    fn a_project_is_recognised_by_its_required_files() {
        let home = TempDir::new().unwrap();
        let dir = project_at(home.path(), "x.crystalproj");
        let layout = ProjectLayout::open(dir.clone()).unwrap();
        layout.check().unwrap();
        fs::remove_dir(dir.join("revisions")).unwrap();
        assert!(matches!(layout.check(), Err(Error::Incomplete { part: "folder `revisions`", .. })));
        fs::create_dir(dir.join("revisions.inprogress")).unwrap();
        layout.check().unwrap();
        fs::remove_file(dir.join("database.sqlite")).unwrap();
        assert!(matches!(layout.check(), Err(Error::Incomplete { .. })));
        assert!(!is_project(&dir));
    }

    #[test]
    fn links_inside_are_refused_and_links_to_it_are_not() {
        let home = TempDir::new().unwrap();
        let dir = project_at(home.path(), "x.crystalproj");
        std::os::unix::fs::symlink(&dir, home.path().join("link")).unwrap();
        assert_eq!(resolve(&home.path().join("link")).unwrap(), ResolvedPath::There(dir.clone()));
        std::os::unix::fs::symlink(home.path(), dir.join("tmp")).unwrap();
        assert!(matches!(ProjectLayout::open(dir).unwrap().check(), Err(Error::Link { .. })));
    }
}
