//! HEAD as a file that holds only the id of a version, and another file for the intended move.

use std::io;
use std::path::{Path, PathBuf};

use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadMove, HeadStore, IntendedHead};
use varve_file::RootedFiles;
use varve_store::steps::step;

use crate::atomic_replace::replace;

/// The word after the id, for the operation that moves HEAD.
const CHECKOUT_WORD: &str = "checkout";
const COMMIT_WORD: &str = "commit";
/// Maximum length of either file, in bytes: two ids and a word are far shorter.
const MAX_HEAD_BYTES: u64 = 4096;

/// HEAD in a file. After a power cut the file holds the old id or the new one.
///
/// A writer holds the lock of the archive, so no other writer moves HEAD between the check and the
/// move.
pub(crate) struct FileHead {
    files: RootedFiles,
    head: PathBuf,
    intended: PathBuf,
}

impl FileHead {
    /// HEAD is the file `head`, one of `files`. The file `intended` exists only while HEAD is being
    /// moved.
    pub(crate) fn new(files: RootedFiles, head: PathBuf, intended: PathBuf) -> Self {
        Self { files, head, intended }
    }
}

impl HeadStore for FileHead {
    /// `None` if the file is missing or empty.
    fn read(&self) -> Result<Option<VersionId>, HeadError> {
        let place = || self.head.clone();
        let text = match self.files.read_text(&self.head, MAX_HEAD_BYTES) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            // The bytes are not UTF-8. A file that cannot be read at all is a different error.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(HeadError::NotAnId { place: place(), source: error.into() });
            }
            Err(source) => return Err(HeadError::Read { place: place(), source }),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let not_an_id = |source| HeadError::NotAnId { place: place(), source: Box::new(source) };
        text.parse().map(Some).map_err(not_an_id)
    }

    fn advance(&self, from: Option<VersionId>, to: VersionId) -> Result<(), HeadError> {
        let found = self.read()?;
        if found != from {
            return Err(HeadError::Moved { expected: from, found });
        }
        self.write(&self.head, &to.to_string())
    }

    fn repair(&self, to: VersionId) -> Result<(), HeadError> {
        self.write(&self.head, &to.to_string())
    }

    fn clear(&self) -> Result<(), HeadError> {
        self.remove(&self.head)
    }

    /// A file that cannot be parsed is no intended move.
    fn intended(&self) -> Result<Option<IntendedHead>, HeadError> {
        match self.files.read(&self.intended, MAX_HEAD_BYTES) {
            Ok(read) => Ok(read.and_then(|bytes| parse_intended(str::from_utf8(&bytes).ok()?))),
            Err(source) => Err(HeadError::Read { place: self.intended.clone(), source }),
        }
    }

    fn intend(&self, intended: &IntendedHead) -> Result<(), HeadError> {
        let IntendedHead { to, by, from } = intended;
        let word = match by {
            HeadMove::Commit => COMMIT_WORD,
            HeadMove::Checkout => CHECKOUT_WORD,
        };
        let from = from.map(|from| from.to_string()).unwrap_or_default();
        self.write(&self.intended, format!("{to} {word} {from}").trim_end())
    }

    fn clear_intended(&self) -> Result<(), HeadError> {
        self.remove(&self.intended)
    }
}

impl FileHead {
    fn write(&self, path: &Path, text: &str) -> Result<(), HeadError> {
        let failed = |source| HeadError::Write { place: path.to_owned(), source };
        replace(&self.files, path, &mut text.as_bytes(), true).map_err(failed)
    }

    fn remove(&self, path: &Path) -> Result<(), HeadError> {
        step("remove", path);
        let failed = |source| HeadError::Write { place: path.to_owned(), source };
        self.files.remove(path).map_err(failed)
    }
}

fn parse_intended(text: &str) -> Option<IntendedHead> {
    let mut words = text.split_whitespace();
    let to = words.next()?.parse().ok()?;
    // Unless the word allows removing pages, they stay.
    let by = if words.next() == Some(CHECKOUT_WORD) { HeadMove::Checkout } else { HeadMove::Commit };
    Some(IntendedHead { to, by, from: words.next().and_then(|id| id.parse().ok()) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_fulfil_the_contract() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let files = RootedFiles::new(folder.path());
        let head = || FileHead::new(files.clone(), path("HEAD"), path("intended"));
        varve_testkit::contract::head(&|| Box::new(head()));
    }

    #[test]
    fn a_damaged_file_is_told_from_a_missing_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let head = FileHead::new(RootedFiles::new(folder.path()), path("HEAD"), path("intended"));
        for text in [b"no id".as_slice(), b"\xff\xfe"] {
            fs::write(path("HEAD"), text).expect("written");
            assert!(matches!(head.read(), Err(HeadError::NotAnId { .. })));
        }
        fs::write(path("intended"), "no id").expect("written");
        assert_eq!(head.intended().expect("read"), None);
        fs::write(path("HEAD"), " \n").expect("written");
        assert_eq!(head.read().expect("read"), None);
    }
}
