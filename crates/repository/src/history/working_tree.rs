//! Working trees: the pages of a version as files, for people to look at.
//!
//! Each page is a folder with its body in `.page_body` and its headers in `.page_headers.json`, as Moku lays them out, so
//! a page and a folder of pages never want the same name. All of it can be made again, and nothing is ever read from it.
//! A link in a tree is never followed: it could lead anywhere.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use varve_core::body::BodyError;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_store::steps::step;

use super::HistoryReader;
use super::atomic_replace::{create, pour, replace, unfinished};
use super::page_files::is_as_written;
use crate::error::RepositoryError;
use crate::page_path::folder_of;

/// The file that holds the body of a page.
pub const BODY_FILE: &str = ".page_body";
/// The file that holds its headers.
pub const HEADERS_FILE: &str = ".page_headers.json";
/// The name under which the status stands among the headers.
const STATUS_HEADER: &str = "Status-Code";

/// The folder of a page in the tree at `root`.
pub fn tree_folder(root: &Path, path: &str) -> PathBuf {
    root.join(folder_of(path))
}

/// Bodies up to this size are written in one go.
const IN_ONE_GO: u64 = 4 << 20;
/// Of longer ones so much at a time.
const COMPARE_BUFFER_BYTES: usize = 64 << 10;

/// A folder that pages are written to.
pub struct WorkingTree {
    root: PathBuf,
    /// Folders that are known to be folders.
    folders: HashSet<PathBuf>,
    /// Nothing was in it when this began, so that no file is in the place of another.
    is_new: bool,
    /// Whoever wrote to it last was stopped, so that files in it may be half of what they should be.
    is_unsure: bool,
    /// A body on its way.
    body: Vec<u8>,
}

/// Where pages of one path go.
pub struct PageFolder {
    folder: PathBuf,
    /// Nothing is there yet, and nobody else will write there.
    is_new: bool,
    /// What is there may be half of something.
    is_unsure: bool,
}

impl PageFolder {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what is there of a page, if it is as it was written.
    pub fn clear(&mut self, page: &Capture) -> Result<(), RepositoryError> {
        self.is_new = false;
        if self.is_unsure || is_as_written(&self.folder, page).map_err(RepositoryError::read(&self.folder))? {
            remove_page(&self.folder)?;
        }
        Ok(())
    }

    /// Writes a page, in the place of any that is there. Its body goes through `buffer`, if it is small.
    pub fn write(
        &mut self,
        holdings: &dyn HistoryReader,
        capture: &Capture,
        buffer: &mut Vec<u8>,
    ) -> Result<(), RepositoryError> {
        let path = self.folder.join(BODY_FILE);
        let is_small = capture.length.is_some_and(|length| length <= IN_ONE_GO);
        // One that is longer than it should be is opened after all.
        if is_small && holdings.read_body(capture, IN_ONE_GO, buffer)? {
            self.put(&path, &mut buffer.as_slice())?;
        } else {
            self.put_long(&path, holdings.open_body(capture)?)?;
        }
        self.put(
            &self.folder.join(HEADERS_FILE),
            &mut headers_json(capture, holdings.redaction()).as_bytes(),
        )?;
        self.is_new = false;
        Ok(())
    }

    /// Writes a body as it is read. One that cannot be read to its end leaves nothing behind, and is told from a file that cannot be
    /// written.
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

/// A body that remembers whether reading it failed.
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

/// Writes a file where none is.
fn write_new(path: &Path, content: &mut dyn BufRead) -> io::Result<()> {
    step("create", path);
    let mut file = create(path)?;
    step("write", path);
    pour(content, &mut file)
}

impl WorkingTree {
    /// The tree at `root`, which is made when the first page is written.
    pub fn new(root: &Path) -> Self {
        let (folders, body) = (HashSet::new(), Vec::new());
        Self { root: root.to_owned(), folders, is_new: false, is_unsure: false, body }
    }

    /// The tree at `root`, of which nobody knows how far it came: all that lies in the place of a page is taken for that page.
    pub fn unfinished_at(root: &Path) -> Self {
        Self { is_unsure: true, ..Self::new(root) }
    }

    /// The tree at `root`, in which nothing is yet. A file gets its name before it is whole: whoever uses this says so
    /// elsewhere, until all is done.
    pub fn new_at(root: &Path) -> Self {
        Self { is_new: true, ..Self::new(root) }
    }

    /// The folder of a page.
    pub fn folder(&self, capture: &Capture) -> PathBuf {
        tree_folder(&self.root, &capture.path)
    }

    /// Writes a page.
    pub fn write(&mut self, holdings: &dyn HistoryReader, capture: &Capture) -> Result<(), RepositoryError> {
        self.place(capture)?.write(holdings, capture, &mut self.body)
    }

    /// Makes room for a page, which may then be written on any thread.
    pub fn place(&mut self, capture: &Capture) -> Result<PageFolder, RepositoryError> {
        let (folder, was_made) = self.enter(&folder_of(&capture.path))?;
        Ok(PageFolder { folder, is_new: self.is_new && was_made, is_unsure: self.is_unsure })
    }

    /// Writes the headers of a page again, where they are: what may be shown of them may have been decided otherwise since.
    pub fn rewrite_headers(
        &mut self,
        holdings: &dyn HistoryReader,
        capture: &Capture,
    ) -> Result<(), RepositoryError> {
        let relative = folder_of(&capture.path);
        let path = self.root.join(&relative).join(HEADERS_FILE);
        if self.has_link(&relative)? || fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        let json = headers_json(capture, holdings.redaction());
        replace(&path, &mut json.as_bytes(), false).map_err(RepositoryError::write(&path))
    }

    /// Removes a page, and the folders that are empty without it; whether it is gone. One that somebody changed stays.
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

    /// Removes the folder of a page that could not be written, and those above it, as far as nothing is in them.
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
                // Whoever was stopped here removed that one, and maybe not those above it.
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => {}
            }
            self.folders.remove(empty);
        }
    }

    /// Makes a folder below the root; whether it was not there.
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
            // In a new tree nothing is in the way: made without looking first.
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

/// Removes the files of a page. The body goes last: by it whoever is stopped in between still knows whose the rest is.
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

/// The headers with the status among them, as Moku writes them: sorted, indented, without a line end, and with the
/// characters that mean something in HTML spelled out.
pub(super) fn headers_json(capture: &Capture, redaction: Redaction) -> String {
    let status = vec![capture.status.to_string()];
    let headers = capture.headers.shown(redaction);
    let mut all: BTreeMap<&str, &[String]> = headers.iter().collect();
    all.insert(STATUS_HEADER, &status);
    let text = serde_json::to_string_pretty(&all).expect("texts can be written as JSON");
    varve_core::moku_json::escaped(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::HeaderView;
    use varve_core::history::CaptureOwner;
    use varve_core::{BodyId, CaptureId, Moment, VersionId};

    #[test]
    fn headers_are_written_as_moku_writes_them() {
        let id = uuid::Uuid::nil();
        let capture = Capture {
            id: CaptureId::new(id),
            owner: CaptureOwner::Version(VersionId::new(id)),
            url: String::new(),
            path: String::new(),
            time: Moment::from_seconds(0),
            status: 200,
            headers: HeaderView::from_pairs([("Link", "</a>; x&y")], Redaction::On),
            body: BodyId::new([0; 32]),
            length: None,
            record: None,
            truncated: false,
        };
        let text = "{\n  \"Status-Code\": [\n    \"200\"\n  ],\n  \"link\": [\n    \"\\u003c/a\\u003e; x\\u0026y\"\n  ]\n}";
        assert_eq!(headers_json(&capture, Redaction::On), text);
    }
}
