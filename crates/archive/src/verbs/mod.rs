//! The verbs, one file each, paired with the file of the same name in the command line.
//!
//! A verb takes plain values and returns plain values. The words of the rooms below that it speaks in are exported
//! beside it, so that a caller needs this crate alone.

pub mod audit;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod filter;
pub mod get;
pub mod housekeeping;
pub mod import;
pub mod init;
pub mod key;
mod new_file;
pub mod rebuild;
pub mod store;
pub mod stow;

use std::io;
use std::path::Path;

use new_file::NewFile;

/// A file without its name yet, to be read by whom the user's settings allow.
fn new_file_in(folder: &Path) -> io::Result<NewFile> {
    NewFile::new_in(folder)
}
