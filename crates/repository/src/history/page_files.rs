//! Checks whether the files of a page in a working tree are unchanged since they were written.
//!
//! A file in a tree may be a user's own work, or the last good copy of a body. So varve removes
//! only files known to be those it wrote: the body must match byte for byte, the headers value for
//! value.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use varve_core::BodyId;
use varve_core::history::Capture;
use varve_moku::{BODY_FILE, HEADERS_FILE, are_headers_of};
use varve_warc::digest::Algorithm;

/// The SHA-256 of a file. Symbolic links are not followed, and special files such as pipes are
/// rejected without waiting for them.
pub fn digest_of(path: &Path) -> io::Result<BodyId> {
    must_be_file(path)?;
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

fn must_be_file(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file")),
    }
}

/// Whether the files in a folder are this page as it was written. A missing file does not count as
/// a change.
pub(super) fn is_as_written(folder: &Path, page: &Capture) -> io::Result<bool> {
    let is_fit = |fits: io::Result<bool>| match fits {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        // Bytes that are not UTF-8 are not headers, and varve writes only regular files.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        fits => fits,
    };
    let body = digest_of(&folder.join(BODY_FILE)).map(|is| is == page.body);
    let headers = folder.join(HEADERS_FILE);
    let headers = must_be_file(&headers).and_then(|()| fs::read_to_string(&headers));
    let headers = headers.map(|text| are_headers_of(page, &text));
    Ok(is_fit(body)? && is_fit(headers)?)
}
