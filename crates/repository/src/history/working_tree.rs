//! Working trees: the pages of a version as files, for people to look at.
//!
//! Each page is a folder with its body in `.page_body` and its headers in `.page_headers.json`, as
//! in Moku. A page and a folder of pages therefore never need the same name. A tree can be rebuilt
//! at any time, and history is never read from it. Symbolic links in a tree are never followed,
//! because they could lead anywhere.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use varve_core::body::BodyError;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_moku::{BODY_FILE, HEADERS_FILE, headers_json};
use varve_store::steps::step;

use super::HistoryReader;
use super::atomic_replace::{create, pour, replace, unfinished};
use super::page_files::is_as_written;
use crate::error::RepositoryError;
use crate::page_path::folder_of;

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
        if self.is_unsure || is_as_written(&self.folder, page).map_err(RepositoryError::read(&self.folder))? {
            remove_page(&self.folder)?;
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
        let path = self.folder.join(BODY_FILE);
        let is_small = capture.length.is_some_and(|length| length <= IN_ONE_GO);
        // A body longer than its recorded length is streamed instead.
        if is_small && history.read_body(capture, IN_ONE_GO, buffer)? {
            self.put(&path, &mut buffer.as_slice())?;
        } else {
            self.put_long(&path, history.open_body(capture)?)?;
        }
        self.put(
            &self.folder.join(HEADERS_FILE),
            &mut headers_json(capture, history.redaction()).as_bytes(),
        )?;
        self.is_new = false;
        Ok(())
    }

    /// Streams a body to a file. If the body cannot be read to its end, no file is left behind in a
    /// new folder, and the error is [`RepositoryError::Body`] rather than a write error.
    fn put_long(&self, path: &Path, body: Box<dyn Read + Send>) -> Result<(), RepositoryError> {
        let mut body = Noticing { body, failed: false };
        let written = self.put(path, &mut BufReader::with_capacity(COMPARE_BUFFER_BYTES, &mut body));
        match written {
            Err(RepositoryError::Write { source, .. }) if body.failed => {
                if self.is_new {
                    remove_page(&self.folder)?;
                }
                Err(RepositoryError::Body(BodyError::new(source)))
            }
            written => written,
        }
    }

    fn put(&self, path: &Path, content: &mut dyn BufRead) -> Result<(), RepositoryError> {
        let written = if self.is_new { write_new(path, content) } else { replace(path, content, false) };
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
fn write_new(path: &Path, content: &mut dyn BufRead) -> io::Result<()> {
    step("create", path);
    let mut file = create(path)?;
    step("write", path);
    pour(content, &mut file)
}

impl WorkingTree {
    /// The tree at `root`, which is created when the first page is written.
    pub fn new(root: &Path) -> Self {
        let (folders, body) = (HashSet::new(), Vec::new());
        Self { root: root.to_owned(), folders, is_new: false, is_unsure: false, body }
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
        Ok(PageFolder { folder, is_new: self.is_new && was_made, is_unsure: self.is_unsure })
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
        if self.has_link(&relative)? || fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        let json = headers_json(capture, history.redaction());
        replace(&path, &mut json.as_bytes(), false).map_err(RepositoryError::write(&path))
    }

    /// Whether the files of a page are there with the lengths that writing it would give them. Reads
    /// none of them.
    pub fn holds(&self, capture: &Capture, redaction: Redaction) -> Result<bool, RepositoryError> {
        let Some(length) = capture.length else { return Ok(false) };
        let relative = folder_of(&capture.path);
        if self.has_link(&relative)? {
            return Ok(false);
        }
        let folder = self.root.join(&relative);
        let has = |name: &str, length: u64| {
            let found = fs::symlink_metadata(folder.join(name));
            found.is_ok_and(|found| found.is_file() && found.len() == length)
        };
        Ok(has(BODY_FILE, length) && has(HEADERS_FILE, headers_json(capture, redaction).len() as u64))
    }

    /// Removes a page and the folders that become empty. Returns whether it was removed; a page
    /// that a user changed stays.
    pub fn remove(&mut self, capture: &Capture) -> Result<bool, RepositoryError> {
        let relative = folder_of(&capture.path);
        let folder = self.root.join(&relative);
        if self.has_link(&relative)? {
            return Ok(false);
        }
        if !self.is_unsure && !is_as_written(&folder, capture).map_err(RepositoryError::read(&folder))? {
            return Ok(false);
        }
        remove_page(&folder)?;
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
            match fs::remove_dir(empty) {
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
            fs::create_dir_all(&folder).map_err(RepositoryError::write(&folder))?;
            self.folders.insert(folder.clone());
        }
        for name in relative {
            folder.push(name);
            was_made = false;
            if self.folders.contains(&folder) {
                continue;
            }
            // In a new tree nothing can be in the way, so the folder is created without a check.
            match if self.is_new { None } else { fs::symlink_metadata(&folder).ok() } {
                Some(found) if found.is_dir() => {}
                Some(_) => return Err(RepositoryError::InTheWay { path: folder }),
                None => {
                    step("make a folder", &folder);
                    fs::create_dir(&folder).map_err(RepositoryError::write(&folder))?;
                    was_made = true;
                }
            }
            self.folders.insert(folder.clone());
        }
        Ok((folder, was_made))
    }

    fn has_link(&self, relative: &Path) -> Result<bool, RepositoryError> {
        let mut folder = self.root.clone();
        for name in relative {
            folder.push(name);
            match fs::symlink_metadata(&folder) {
                Ok(found) if !found.is_dir() => return Ok(true),
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(RepositoryError::Read { path: folder, source: error });
                }
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Removes the files of a page. The body goes last: if this is interrupted, the body still
/// identifies the page that the other files belong to.
fn remove_page(folder: &Path) -> Result<(), RepositoryError> {
    let files = [HEADERS_FILE, BODY_FILE].map(|name| folder.join(name));
    for path in files.into_iter().flat_map(|path| [unfinished(&path), path]) {
        step("remove", &path);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RepositoryError::Write { path, source: error });
            }
            _ => {}
        }
    }
    Ok(())
}
