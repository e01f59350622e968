//! Checks whether the files of a page in a working tree are unchanged since they were written.
//!
//! A file in a tree may be a user's own work, or the last good copy of a body. So varve removes
//! only files known to be those it wrote: the body must match byte for byte, the headers value for
//! value.

use std::io::{self, Read};
use std::path::Path;

use varve_core::BodyId;
use varve_core::history::Capture;
use varve_file::RootedFiles;
use varve_moku::{BODY_FILE, HEADERS_FILE, are_headers_of};
use varve_warc::digest::Algorithm;

/// Maximum length of a file of headers, in bytes.
pub const MAX_HEADERS_BYTES: u64 = 16 << 20;

/// The SHA-256 of a file. Symbolic links are not followed, and special files such as pipes are
/// rejected without waiting for them. `None` if its length is none of `lengths`: then it is not
/// read, since it may be of any length. `lengths` that are unknown allow every length.
pub fn digest_of(files: &RootedFiles, path: &Path, lengths: &[Option<u64>]) -> io::Result<Option<BodyId>> {
    let file = files.open_to_read(path)?;
    let length = file.metadata()?.len();
    if !lengths.iter().any(|allowed| allowed.is_none_or(|allowed| allowed == length)) {
        return Ok(None);
    }
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
    io::copy(&mut file.take(length), &mut hash)?;
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hash.0.finish().bytes());
    Ok(Some(BodyId::new(bytes)))
}

/// Whether the files in a folder are this page as it was written. A missing file does not count as
/// a change.
pub(super) fn is_as_written(files: &RootedFiles, folder: &Path, page: &Capture) -> io::Result<bool> {
    use io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput};
    let is_fit = |fits: io::Result<bool>| match fits {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        // Bytes that are not UTF-8 are not headers, and varve writes only regular files. A file of
        // headers of any length is not one of varve either.
        Err(error) if matches!(error.kind(), InvalidData | InvalidInput | FileTooLarge) => Ok(false),
        fits => fits,
    };
    let body = digest_of(files, &folder.join(BODY_FILE), &[page.length]).map(|is| is == Some(page.body));
    let headers = files.read_text(&folder.join(HEADERS_FILE), MAX_HEADERS_BYTES);
    let headers = headers.map(|text| text.is_none_or(|text| are_headers_of(page, &text)));
    Ok(is_fit(body)? && is_fit(headers)?)
}
