//! Walks a folder in the order of a manifest, without following links.
//!
//! Names are sorted folder by folder, so memory holds only the names in the folders on the current
//! path.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::entry::{FileTime, TreeEntry, TreeEntryKind};
use crate::error::RepositoryError;

/// Patterns of paths to leave out.
#[derive(Clone, Debug)]
pub struct Exclude(GlobSet);

impl Exclude {
    /// Compiles the patterns. A pattern with `/` at its start or inside matches the path from the
    /// tree; any other matches a name at any depth. A `/` at the end is ignored.
    pub fn new(patterns: &[String]) -> Result<Self, RepositoryError> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let wrong = |source| RepositoryError::Pattern { pattern: pattern.clone(), source };
            let trimmed = pattern.strip_suffix('/').unwrap_or(pattern);
            let rooted = match trimmed.strip_prefix('/') {
                Some(rest) => rest.to_owned(),
                None if trimmed.contains('/') => trimmed.to_owned(),
                None => format!("**/{trimmed}"),
            };
            set.add(GlobBuilder::new(&rooted).literal_separator(true).build().map_err(wrong)?);
        }
        let wrong = |source| RepositoryError::Pattern { pattern: patterns.join(" "), source };
        Ok(Self(set.build().map_err(wrong)?))
    }

    fn matches(&self, relative: &Path) -> bool {
        self.0.is_match(relative)
    }
}

/// The reason why something in the folder is not in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// A device.
    Device,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// The archive itself.
    Archive,
    /// Neither file nor folder nor link.
    Other,
}

/// A step of the walk.
pub enum WalkStep {
    /// A folder or a link, complete.
    Known(TreeEntry),
    /// A file whose content is to be stored: its path in the tree, and its path on disk.
    File(Vec<u8>, PathBuf),
    /// A skipped path, with the reason.
    Skipped(PathBuf, Skipped),
    /// A path whose metadata could not be read.
    Failed(RepositoryError),
}

/// The walk.
pub struct TreeWalk<'a> {
    root: PathBuf,
    exclude: &'a Exclude,
    /// The archive's folder, by device and inode.
    archive: Option<(u64, u64)>,
    /// The remaining names in each open folder, the next one last, with whether the directory entry
    /// says that it is a file.
    open: Vec<Vec<(OsString, bool)>>,
    /// The path of the innermost open folder, relative to the root.
    folder: PathBuf,
    /// A step to return before the next name: the root, or the error of an unreadable folder.
    pending: Option<WalkStep>,
}

impl<'a> TreeWalk<'a> {
    /// Walks `root` without entering `archive`.
    pub fn new(root: &Path, exclude: &'a Exclude, archive: &Path) -> Result<Self, RepositoryError> {
        let metadata = fs::metadata(root).map_err(RepositoryError::read(root))?;
        if !metadata.is_dir() {
            return Err(RepositoryError::NotAFolder { path: root.to_owned() });
        }
        let archive = fs::metadata(archive).ok().map(|found| (found.dev(), found.ino()));
        let names = names(root).map_err(RepositoryError::read(root))?;
        let entry = folder_entry(super::ROOT_NAME.to_vec(), &metadata);
        Ok(Self {
            root: root.to_owned(),
            exclude,
            archive,
            open: vec![names],
            folder: PathBuf::new(),
            pending: Some(WalkStep::Known(entry)),
        })
    }

    fn look(&mut self, relative: PathBuf, is_file: bool) -> WalkStep {
        let path = self.root.join(&relative);
        // The caller examines the file again when it opens it.
        if is_file {
            return WalkStep::File(relative.into_os_string().into_vec(), path);
        }
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(source) => return WalkStep::Failed(RepositoryError::Read { path, source }),
        };
        let name = relative.as_os_str().as_bytes().to_vec();
        let kind = metadata.file_type();
        if kind.is_file() {
            WalkStep::File(name, path)
        } else if kind.is_dir() {
            if self.archive == Some((metadata.dev(), metadata.ino())) {
                return WalkStep::Skipped(path, Skipped::Archive);
            }
            self.enter(relative, &path);
            WalkStep::Known(folder_entry(name, &metadata))
        } else if kind.is_symlink() {
            match fs::read_link(&path) {
                Ok(target) => WalkStep::Known(link_entry(name, &metadata, target)),
                Err(source) => WalkStep::Failed(RepositoryError::Read { path, source }),
            }
        } else {
            WalkStep::Skipped(path, special(kind))
        }
    }

    fn enter(&mut self, relative: PathBuf, path: &Path) {
        match names(path) {
            Ok(names) => {
                self.open.push(names);
                self.folder = relative;
            }
            Err(source) => {
                self.pending =
                    Some(WalkStep::Failed(RepositoryError::Read { path: path.to_owned(), source }));
            }
        }
    }
}

impl Iterator for TreeWalk<'_> {
    type Item = WalkStep;

    fn next(&mut self) -> Option<WalkStep> {
        if let Some(step) = self.pending.take() {
            return Some(step);
        }
        loop {
            match self.open.last_mut()?.pop() {
                Some((name, is_file)) => {
                    let relative = self.folder.join(name);
                    if !self.exclude.matches(&relative) {
                        return Some(self.look(relative, is_file));
                    }
                }
                None => {
                    self.open.pop();
                    self.folder.pop();
                }
            }
        }
    }
}

/// The names in a folder in reverse order, with whether each is a file.
fn names(folder: &Path) -> io::Result<Vec<(OsString, bool)>> {
    let named = |entry: fs::DirEntry| {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        (entry.file_name(), is_file)
    };
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(named(entry?))).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable_by(|(one, _), (other, _)| other.as_bytes().cmp(one.as_bytes()));
    Ok(names)
}

fn folder_entry(path: Vec<u8>, metadata: &Metadata) -> TreeEntry {
    TreeEntry {
        path,
        modified: modified(metadata),
        kind: TreeEntryKind::Folder { mode: metadata.mode() & 0o7777 },
    }
}

fn link_entry(path: Vec<u8>, metadata: &Metadata, target: PathBuf) -> TreeEntry {
    let target = target.into_os_string().as_bytes().to_vec();
    TreeEntry { path, modified: modified(metadata), kind: TreeEntryKind::Link { target } }
}

/// The modification time of the file.
pub fn modified(metadata: &Metadata) -> FileTime {
    let nanoseconds = u32::try_from(metadata.mtime_nsec()).unwrap_or(0);
    FileTime { seconds: metadata.mtime(), nanoseconds }
}

/// The kind of a path that is neither file, folder nor link.
pub fn special(kind: fs::FileType) -> Skipped {
    if kind.is_fifo() {
        Skipped::Pipe
    } else if kind.is_socket() {
        Skipped::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        Skipped::Device
    } else {
        Skipped::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(root: &Path, exclude: &[&str]) -> Vec<String> {
        let exclude = Exclude::new(&exclude.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).unwrap();
        let walk = TreeWalk::new(root, &exclude, Path::new("/nowhere")).unwrap();
        let path = |step| match step {
            WalkStep::Known(entry) => entry.path,
            WalkStep::File(path, _) => path,
            WalkStep::Skipped(path, why) => panic!("{path:?} {why:?}"),
            WalkStep::Failed(error) => panic!("{error:?}"),
        };
        walk.map(|step| String::from_utf8(path(step)).unwrap()).collect()
    }

    #[test]
    fn the_walk_is_in_the_order_of_a_manifest_and_leaves_out_what_it_is_told() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["a/b", "a-b", "keep/node_modules/x", "node_modules"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in ["a/b/c.txt", "a/z.tmp", "a.tmp", "node_modules/y"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("/", root.path().join("loop")).unwrap();
        assert_eq!(
            paths(root.path(), &[]),
            [
                ".",
                "a",
                "a/b",
                "a/b/c.txt",
                "a/z.tmp",
                "a-b",
                "a.tmp",
                "keep",
                "keep/node_modules",
                "keep/node_modules/x",
                "loop",
                "node_modules",
                "node_modules/y"
            ]
        );
        assert_eq!(paths(root.path(), &["*.tmp", "node_modules/", "a/b"]), [".", "a", "a-b", "keep", "loop"]);
        assert_eq!(paths(root.path(), &["/node_modules", "/a*", "keep/**"]), [".", "keep", "loop"]);
        assert!(matches!(Exclude::new(&["a[".to_owned()]), Err(RepositoryError::Pattern { .. })));
    }
}
