//! Finds the files to import below a folder.
//!
//! Web archive programs keep their files in folders of many shapes: the collections of pywb, the
//! folders of ArchiveBox, the output of Browsertrix, of wget and of Heritrix. All of them are found
//! by the names of the files. Symbolic links are not followed, so a loop of links is no loop here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ArchiveError;

/// The endings of names of files with records, in lower case. `.open` is that of a file that Heritrix
/// still wrote.
const WARC_ENDINGS: [&str; 9] = [
    ".wacz",
    ".warc",
    ".warc.gz",
    ".warc.zst",
    ".arc",
    ".arc.gz",
    ".warc.open",
    ".warc.gz.open",
    ".arc.gz.open",
];
/// Folders within folders that are entered.
const MAX_DEPTH: usize = 64;

/// The files at a path: the file itself, or those below a folder, in the order of their names.
pub fn files_at(path: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ArchiveError::ImportOpen { path, source }
    };
    if !fs::metadata(path).map_err(failed(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            let kind = entry.file_type().map_err(failed(&entry.path()))?;
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() && has_records(&entry.path()) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(ArchiveError::NotImportable(path.to_owned()));
    }
    Ok(files)
}

/// Whether the name of a file is that of a WARC, ARC or WACZ file.
fn has_records(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    WARC_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
