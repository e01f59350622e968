//! The verbs, one file each, paired with the file of the same name in the command line.
//!
//! A verb takes plain values and returns plain values. The words of the rooms below that it speaks in are exported
//! beside it, so that a caller needs this crate alone.

pub mod audit;
pub mod cat;
pub mod checkout;
pub mod commit;
pub mod crystal;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod filter;
pub mod get;
pub mod housekeeping;
pub mod import;
pub mod init;
pub mod key;
pub mod log;
pub mod rebuild;
pub mod show;
pub mod store;
pub mod stow;
pub mod tag;
pub mod urls;

use std::io;
use std::path::Path;

/// A file without its name yet, to be read by whom the user's settings allow.
pub(crate) fn new_file_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".varve-").tempfile_in(folder)
}
