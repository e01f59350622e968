//! HEAD as a file that holds only the id of a version.

use std::io;
use std::path::PathBuf;

use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadStore};
use varve_file::RootedFiles;
use varve_store::steps::step;

use crate::atomic_replace::replace;

/// Maximum length of the file, in bytes: an id is far shorter.
const MAX_HEAD_BYTES: u64 = 4096;

/// HEAD in a file. After a power cut the file holds the old id or the new one.
///
/// A writer holds the lock of the archive, so no other writer moves HEAD between the check and the
/// move.
pub(crate) struct FileHead {
    files: RootedFiles,
    head: PathBuf,
}

impl FileHead {
    /// HEAD is the file `head`, one of `files`.
    pub(crate) fn new(files: RootedFiles, head: PathBuf) -> Self {
        Self { files, head }
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
        self.write(to)
    }

    fn repair(&self, to: VersionId) -> Result<(), HeadError> {
        self.write(to)
    }

    fn clear(&self) -> Result<(), HeadError> {
        step("remove", &self.head);
        let failed = |source| HeadError::Write { place: self.head.clone(), source };
        self.files.remove(&self.head).map_err(failed)
    }
}

impl FileHead {
    fn write(&self, to: VersionId) -> Result<(), HeadError> {
        let failed = |source| HeadError::Write { place: self.head.clone(), source };
        replace(&self.files, &self.head, &mut to.to_string().as_bytes(), true).map_err(failed)
    }
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
        let head = || FileHead::new(files.clone(), path("HEAD"));
        varve_testkit::contract::head(&|| Box::new(head()));
    }

    #[test]
    fn a_damaged_file_is_told_from_a_missing_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let head = FileHead::new(RootedFiles::new(folder.path()), path("HEAD"));
        for text in [b"no id".as_slice(), b"\xff\xfe"] {
            fs::write(path("HEAD"), text).expect("written");
            assert!(matches!(head.read(), Err(HeadError::NotAnId { .. })));
        }
        fs::write(path("HEAD"), " \n").expect("written");
        assert_eq!(head.read().expect("read"), None);
    }
}
