//! The files below a folder, and their URLs.
//!
//! Files come in the order of their paths, one folder in memory for each level, so that they can be
//! read beside the cache of the last commit.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode};
use varve_core::headers::Headers;
use varve_core::secret::ShownUrl;

use super::new_page::normal_url;
use crate::error::ArchiveError;
use crate::site_files::MARK_FILE;

/// A folder of which each file is a page.
#[derive(Clone, Debug)]
pub struct FolderSource {
    /// The folder. Files unchanged since its last version are not read.
    pub folder: PathBuf,
    /// The URL of the folder.
    pub base_url: String,
    /// A file of this name stands for its folder, as with most servers.
    pub index: Option<String>,
    /// The status of all pages.
    pub status: u16,
    /// The response headers of all pages.
    pub headers: Headers,
}

impl FolderSource {
    /// A folder whose pages have status 200 and no headers of their own.
    pub fn new(folder: &Path, base_url: &str) -> Self {
        let (folder, base_url) = (folder.to_owned(), base_url.to_owned());
        Self { folder, base_url, index: None, status: 200, headers: Headers::default() }
    }

    /// Refuses a URL to which no file name can be appended.
    pub(super) fn check(&self) -> Result<(), ArchiveError> {
        normal_url(&self.base_url)?;
        match self.base_url.contains(['?', '#']) {
            true => Err(ArchiveError::NotAFolderUrl(ShownUrl(&self.base_url).to_string())),
            false => Ok(()),
        }
    }

    /// The URL of the file with a path relative to the folder.
    pub(super) fn url_of(&self, name: &Path) -> Result<String, ArchiveError> {
        let mut url = self.base_url.trim_end_matches('/').to_owned();
        let mut segments = name.iter().peekable();
        while let Some(segment) = segments.next() {
            url.push('/');
            let stands_for_folder = segments.peek().is_none()
                && self.index.as_ref().is_some_and(|index| segment == index.as_str());
            if !stands_for_folder {
                url.extend(percent_encode(segment));
            }
        }
        normal_url(&url)
    }

    /// All that decides which page a file with a given name is, besides its content.
    pub(super) fn page_settings(&self) -> String {
        let header = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
        let headers: Vec<_> = self.headers.iter().map(header).collect();
        serde_json::to_string(&(&self.base_url, &self.index, self.status, headers))
            .expect("plain values can be written as JSON")
    }
}

/// Percent-encodes a file name as a URL path segment.
fn percent_encode(name: &OsStr) -> PercentEncode<'_> {
    /// The characters allowed in a path segment (RFC 3986).
    const UNESCAPED_BYTES: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'!')
        .remove(b'$')
        .remove(b'&')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')')
        .remove(b'*')
        .remove(b'+')
        .remove(b',')
        .remove(b';')
        .remove(b'=')
        .remove(b':')
        .remove(b'@');
    percent_encoding::percent_encode(name.as_encoded_bytes(), UNESCAPED_BYTES)
}

/// An entry below a folder that is not a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub why: SkippedFileKind,
}

/// Why an entry is not a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedFileKind {
    /// A symbolic link. Links are not followed, because one may lead out of the folder or form a
    /// cycle.
    Link,
    /// A pipe, socket or device, which has no content to store.
    Special,
}

/// The paths of all files below a folder relative to it, in their order. The mark of a checkout is
/// left out. Links are not followed, except the folder itself, because the user named it.
pub(super) struct FolderWalk {
    root: PathBuf,
    /// The open folders, each with the entries that are left, last first.
    open: Vec<(PathBuf, Vec<WalkedEntry>)>,
    /// The entries that are not files, in the order of paths.
    pub(super) left_out: Vec<SkippedFile>,
}

struct WalkedEntry {
    name: OsString,
    kind: fs::FileType,
}

impl FolderWalk {
    pub(super) fn new(root: &Path) -> Result<Self, ArchiveError> {
        let mut walk = Self { root: root.to_owned(), open: Vec::new(), left_out: Vec::new() };
        walk.enter(PathBuf::new())?;
        Ok(walk)
    }

    fn enter(&mut self, name: PathBuf) -> Result<(), ArchiveError> {
        let folder = self.root.join(&name);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&folder).map_err(ArchiveError::read(&folder))? {
            let entry = entry.map_err(ArchiveError::read(&folder))?;
            let kind = entry.file_type().map_err(ArchiveError::read(&entry.path()))?;
            entries.push(WalkedEntry { name: entry.file_name(), kind });
        }
        if name.as_os_str().is_empty() {
            entries.retain(|entry| entry.name != MARK_FILE);
        }
        entries.sort_unstable_by(|one, other| other.name.cmp(&one.name));
        self.open.push((name, entries));
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<PathBuf>, ArchiveError> {
        while let Some((folder, entries)) = self.open.last_mut() {
            let Some(entry) = entries.pop() else {
                self.open.pop();
                continue;
            };
            let name = folder.join(&entry.name);
            if entry.kind.is_file() {
                return Ok(Some(name));
            }
            if entry.kind.is_dir() {
                self.enter(name)?;
                continue;
            }
            let why = if entry.kind.is_symlink() { SkippedFileKind::Link } else { SkippedFileKind::Special };
            self.left_out.push(SkippedFile { path: self.root.join(name), why });
        }
        Ok(None)
    }
}

impl Iterator for FolderWalk {
    type Item = Result<PathBuf, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
