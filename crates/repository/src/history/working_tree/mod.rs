//! Working trees: the pages of a version as files, for people to look at.
//!
//! Each page is a folder with its body in `.page_body` and its headers in `.page_headers.json`, as
//! in Moku. A page and a folder of pages therefore never need the same name. A tree can be rebuilt
//! at any time, and history is never read from it. Symbolic links in a tree are never followed,
//! because they could lead anywhere.
//!
//! A working tree is not a stored folder: those are objects, in [`crate::tree`].
//!
//! | question | file |
//! | --- | --- |
//! | how does a page become files in its folder? | this one |
//! | did a user change these files? | `page_files` |
//! | how does a tree get from one version to another? | `update` |

mod page_files;
mod update;

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use varve_core::body::BodyError;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_file::{EntryKind, RootedFiles};
use varve_moku::{BODY_FILE, HEADERS_FILE, headers_json};
use varve_store::steps::step;

use super::HistoryReader;
use crate::atomic_replace::{create, pour, replace, unfinished};
use crate::error::RepositoryError;
use crate::page_path::folder_of;
use page_files::is_as_written;

pub use page_files::{MAX_HEADERS_BYTES, digest_of};
pub use update::{
    CheckoutReport, CoveredPages, record_covered, remove_from_tree, update_tree, write_tree, write_tree_lossy,
};

/// The folder of a page in the tree at `root`.
pub fn tree_folder(root: &Path, path: &str) -> PathBuf {
    root.join(folder_of(path))
}

/// Maximum size of a body that is written from one buffer.
const IN_ONE_GO: u64 = 4 << 20;
/// Buffer size for copying longer bodies.
const COMPARE_BUFFER_BYTES: usize = 64 << 10;

/// A folder that pages are written to.
pub struct WorkingTree {
    root: PathBuf,
    files: RootedFiles,
    /// Paths already known to be folders.
    folders: HashSet<PathBuf>,
    /// The tree was empty at the start, so no file replaces another.
    is_new: bool,
    /// The last writer was interrupted, so files in the tree may be incomplete.
    is_unsure: bool,
    /// Buffer for a body.
    body: Vec<u8>,
}

/// The folder for the pages of one path.
pub struct PageFolder {
    folder: PathBuf,
    /// The files of the tree.
    tree: RootedFiles,
    /// The folder is empty, and no other thread or process writes to it.
    is_new: bool,
    /// The files in the folder may be incomplete.
    is_unsure: bool,
}

impl PageFolder {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the files of a page if they are unchanged since they were written, or if the tree
    /// may be incomplete.
    pub fn clear(&mut self, page: &Capture) -> Result<(), RepositoryError> {
        self.is_new = false;
        let failed = RepositoryError::read(&self.folder);
        if self.is_unsure || is_as_written(&self.tree, &self.folder, page).map_err(failed)? {
            remove_page(&self.tree, &self.folder)?;
        }
        Ok(())
    }

    /// Writes a page, replacing any page that is there. A small body is read into `buffer`.
    pub fn write(
        &mut self,
        history: &HistoryReader,
        capture: &Capture,
        buffer: &mut Vec<u8>,
    ) -> Result<(), RepositoryError> {
        // Opened here and not before: many folders may wait to be written.
        let files = self.tree.below(&self.folder).map_err(RepositoryError::write(&self.folder))?;
        let path = self.folder.join(BODY_FILE);
        let is_small = capture.length.is_some_and(|length| length <= IN_ONE_GO);
        // A body longer than its recorded length is streamed instead.
        if is_small && history.read_body(capture, IN_ONE_GO, buffer)? {
            self.put(&files, &path, &mut buffer.as_slice())?;
        } else {
            self.put_long(&files, &path, history.open_body(capture)?)?;
        }
        self.put(
            &files,
            &self.folder.join(HEADERS_FILE),
            &mut headers_json(capture, history.redaction()).as_bytes(),
        )?;
        self.is_new = false;
        Ok(())
    }

    /// Streams a body to a file. If the body cannot be read to its end, no file is left behind in a
    /// new folder, and the error is [`RepositoryError::Body`] rather than a write error.
    fn put_long(
        &self,
        files: &RootedFiles,
        path: &Path,
        body: Box<dyn Read + Send>,
    ) -> Result<(), RepositoryError> {
        let mut body = Noticing { body, failed: false };
        let written = self.put(files, path, &mut BufReader::with_capacity(COMPARE_BUFFER_BYTES, &mut body));
        match written {
            Err(RepositoryError::Write { source, .. }) if body.failed => {
                if self.is_new {
                    remove_page(files, &self.folder)?;
                }
                Err(RepositoryError::Body(BodyError::new(source)))
            }
            written => written,
        }
    }

    fn put(
        &self,
        files: &RootedFiles,
        path: &Path,
        content: &mut dyn BufRead,
    ) -> Result<(), RepositoryError> {
        let written = match self.is_new {
            true => write_new(files, path, content),
            false => replace(files, path, content, false),
        };
        written.map_err(RepositoryError::write(path))
    }
}

/// A body that records whether reading it failed.
struct Noticing {
    body: Box<dyn Read + Send>,
    failed: bool,
}

impl Read for Noticing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer);
        self.failed |= matches!(&read, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        read
    }
}

/// Writes a file where none exists.
fn write_new(files: &RootedFiles, path: &Path, content: &mut dyn BufRead) -> io::Result<()> {
    step("create", path);
    let mut file = create(files, path)?;
    step("write", path);
    pour(content, &mut file)
}

impl WorkingTree {
    /// The tree at `root`, which is created when the first page is written.
    pub fn new(root: &Path) -> Self {
        let (folders, body, files) = (HashSet::new(), Vec::new(), RootedFiles::new(root));
        Self { root: root.to_owned(), files, folders, is_new: false, is_unsure: false, body }
    }

    /// The tree at `root` after an interrupted write. Any file in the place of a page counts as
    /// that page.
    pub fn unfinished_at(root: &Path) -> Self {
        Self { is_unsure: true, ..Self::new(root) }
    }

    /// The tree at `root`, which is empty. Files get their final name before they are complete, so
    /// the caller must mark the tree as unfinished elsewhere until all pages are written.
    pub fn new_at(root: &Path) -> Self {
        Self { is_new: true, ..Self::new(root) }
    }

    /// The folder of a page.
    pub fn folder(&self, capture: &Capture) -> PathBuf {
        tree_folder(&self.root, &capture.path)
    }

    /// Writes a page.
    pub fn write(&mut self, history: &HistoryReader, capture: &Capture) -> Result<(), RepositoryError> {
        self.place(capture)?.write(history, capture, &mut self.body)
    }

    /// Creates the folder of a page, which may then be written on any thread.
    pub fn place(&mut self, capture: &Capture) -> Result<PageFolder, RepositoryError> {
        let (folder, was_made) = self.enter(&folder_of(&capture.path))?;
        let tree = self.files.clone();
        Ok(PageFolder { folder, tree, is_new: self.is_new && was_made, is_unsure: self.is_unsure })
    }

    /// Rewrites the headers of a page if the file exists: the redaction setting may have changed
    /// since.
    pub fn rewrite_headers(
        &mut self,
        history: &HistoryReader,
        capture: &Capture,
    ) -> Result<(), RepositoryError> {
        let relative = folder_of(&capture.path);
        let path = self.root.join(&relative).join(HEADERS_FILE);
        if self.has_link(&relative)?
            || self.files.entry(&path).map_err(RepositoryError::read(&path))?.is_none()
        {
            return Ok(());
        }
        let json = headers_json(capture, history.redaction());
        replace(&self.files, &path, &mut json.as_bytes(), false).map_err(RepositoryError::write(&path))
    }

    /// Whether the files of a page are there with the lengths that writing it would give them. Opens
    /// the folder of the page and none of its files. A folder that cannot be opened holds nothing.
    pub fn holds(&self, capture: &Capture, redaction: Redaction) -> bool {
        let Some(length) = capture.length else { return false };
        let folder = self.folder(capture);
        let Ok(files) = self.files.below(&folder) else { return false };
        let has = |name: &str, length: u64| {
            let found = files.entry(&folder.join(name)).ok().flatten();
            found.is_some_and(|found| found.kind == EntryKind::File && found.length == length)
        };
        has(BODY_FILE, length) && has(HEADERS_FILE, headers_json(capture, redaction).len() as u64)
    }

    /// Removes a page and the folders that become empty. Returns whether it was removed; a page
    /// that a user changed stays.
    pub fn remove(&mut self, capture: &Capture) -> Result<bool, RepositoryError> {
        let relative = folder_of(&capture.path);
        let folder = self.root.join(&relative);
        if self.has_link(&relative)? {
            return Ok(false);
        }
        if !self.is_unsure
            && !is_as_written(&self.files, &folder, capture).map_err(RepositoryError::read(&folder))?
        {
            return Ok(false);
        }
        remove_page(&self.files, &folder)?;
        self.remove_empty(&folder);
        Ok(true)
    }

    /// Removes the folder of a page that could not be written, and its parent folders, as far as
    /// they are empty.
    pub fn give_up(&mut self, capture: &Capture) -> Result<(), RepositoryError> {
        if !self.has_link(&folder_of(&capture.path))? {
            self.remove_empty(&self.folder(capture));
        }
        Ok(())
    }

    fn remove_empty(&mut self, folder: &Path) {
        for empty in folder.ancestors().take_while(|folder| **folder != *self.root) {
            step("remove a folder", empty);
            match self.files.remove_folder(empty) {
                // An interrupted run may have removed this folder and not those above it.
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => {}
            }
            self.folders.remove(empty);
        }
    }

    /// Creates a folder below the root. Returns its path and whether it was created.
    fn enter(&mut self, relative: &Path) -> Result<(PathBuf, bool), RepositoryError> {
        let mut folder = self.root.clone();
        let mut was_made = false;
        if self.folders.is_empty() {
            self.files.make_folders(&folder).map_err(RepositoryError::write(&folder))?;
            self.folders.insert(folder.clone());
        }
        for name in relative {
            folder.push(name);
            was_made = false;
            if self.folders.contains(&folder) {
                continue;
            }
            step("make a folder", &folder);
            was_made = match self.files.create_folder(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                created => created.map(|()| true).map_err(RepositoryError::write(&folder))?,
            };
            if !was_made && !self.files.is_folder(&folder).map_err(RepositoryError::write(&folder))? {
                return Err(RepositoryError::InTheWay { path: folder });
            }
            self.folders.insert(folder.clone());
        }
        Ok((folder, was_made))
    }

    fn has_link(&self, relative: &Path) -> Result<bool, RepositoryError> {
        let mut folder = self.root.clone();
        for name in relative {
            folder.push(name);
            let found = self.files.entry(&folder).map_err(RepositoryError::read(&folder))?;
            if found.is_some_and(|found| found.kind != EntryKind::Folder) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Removes the files of a page. The body goes last: if this is interrupted, the body still
/// identifies the page that the other files belong to.
fn remove_page(files: &RootedFiles, folder: &Path) -> Result<(), RepositoryError> {
    let names = [HEADERS_FILE, BODY_FILE].map(|name| folder.join(name));
    for path in names.into_iter().flat_map(|path| [unfinished(&path), path]) {
        step("remove", &path);
        files.remove(&path).map_err(RepositoryError::write(&path))?;
    }
    Ok(())
}
