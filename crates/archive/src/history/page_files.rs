//! Files of pages in a working tree: whose they are, and which are nobody's.
//!
//! A tree holds the pages of HEAD. Whatever else lies in it may be somebody's own work, so nothing is removed that is not
//! known to be what was written there: the body and the headers of a page, byte for byte and value for value.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::{Page, VersionFilter};
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::{BodyId, VersionId};
use varve_warc::digest::Algorithm;

use super::working_tree::{BODY, HEADERS, headers_json, tree_folder};
use super::{Holdings, Pages};
use crate::error::ArchiveError;

/// So many versions are read at a time.
const PIECE: usize = 500;

/// The SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> io::Result<BodyId> {
    struct Hash(varve_warc::digest::Hasher);
    impl io::Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Hash(Algorithm::Sha256.hasher());
    io::copy(&mut File::open(path)?, &mut hash)?;
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hash.0.finish().bytes());
    Ok(BodyId::new(bytes))
}

/// Whether these are the headers of a page, with secrets or without: that may have been decided otherwise since.
pub(crate) fn are_headers_of(page: &Capture, text: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let found = value(text);
    let both = [Redaction::On, Redaction::Off];
    found.is_some() && both.into_iter().any(|redaction| value(&headers_json(page, redaction)) == found)
}

/// Whether what lies in a folder is this page as it was written. A file that is not there speaks against nothing.
pub(crate) fn is_as_written(folder: &Path, page: &Capture) -> io::Result<bool> {
    let is_fit = |fits: io::Result<bool>| match fits {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        // Bytes that are no text are no headers.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        fits => fits,
    };
    let body = digest_of(&folder.join(BODY)).map(|is| is == page.body);
    let headers = fs::read_to_string(folder.join(HEADERS)).map(|text| are_headers_of(page, &text));
    Ok(is_fit(body)? && is_fit(headers)?)
}

/// Where Moku itself puts a page, which undoes dots instead of spelling them out; none where that leads out of the tree.
pub(crate) fn original_folder(path: &str) -> Option<PathBuf> {
    let mut folder = PathBuf::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                if !folder.pop() {
                    return None;
                }
            }
            name => folder.push(name),
        }
    }
    Some(folder)
}

/// The folders of a tree with files of a page that is none of `version`, sorted.
pub(crate) fn stray_folders(
    holdings: &dyn Holdings,
    root: &Path,
    version: VersionId,
) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut taken = HashSet::new();
    for page in Pages::new(holdings.catalog(), Some(version)) {
        let page = page?;
        taken.extend(original_folder(&page.path).map(|folder| root.join(folder)));
        taken.insert(tree_folder(root, &page.path));
    }
    let mut strays = folders_with_pages(root);
    strays.retain(|folder| !taken.contains(folder));
    Ok(strays)
}

/// The folders of a tree that hold a file of a page, sorted. No link is followed, and a folder that cannot be looked into is none
/// of ours.
fn folders_with_pages(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        let mut has_page = false;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && !(folder == root && name == ".moku") {
                waiting.push(entry.path());
            }
            has_page |= kind.is_file() && (name == BODY || name == HEADERS);
        }
        if has_page {
            found.push(folder);
        }
    }
    found.sort();
    found
}

/// Of some folders those that hold a page of any version, as it was written, each with that page.
pub(crate) fn known_pages(
    holdings: &dyn Holdings,
    root: &Path,
    folders: Vec<PathBuf>,
) -> Result<Vec<Capture>, ArchiveError> {
    let mut wanted: BTreeMap<PathBuf, BodyId> = BTreeMap::new();
    for folder in folders {
        // Without its body nobody can tell whose it is.
        wanted.extend(digest_of(&folder.join(BODY)).ok().map(|body| (folder, body)));
    }
    let mut known = Vec::new();
    let mut after = None;
    while !wanted.is_empty() {
        let piece = holdings.catalog().versions(&VersionFilter::default(), Page { after, limit: PIECE })?;
        let Some(last) = piece.last() else { break };
        after = Some(last.version.id);
        for info in &piece {
            for page in Pages::new(holdings.catalog(), Some(info.version.id)) {
                let page = page?;
                let folder = tree_folder(root, &page.path);
                let is_body = wanted.get(&folder) == Some(&page.body);
                if is_body && is_as_written(&folder, &page).unwrap_or(false) {
                    wanted.remove(&folder);
                    known.push(page);
                }
            }
        }
    }
    Ok(known)
}
