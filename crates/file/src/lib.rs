//! Files that appear under their name whole or not at all, and folders that nothing leads out of.
//!
//! [`NewFile`] is written first and named last. [`replace()`] puts new content in the place of an
//! existing file. Neither leaves a partial file when the process is killed. Both take any path and
//! follow links: they are for files that the user names.
//!
//! [`Folder`] is for files of a layout, which may come from someone else. It never follows a link
//! below the folder that the user named, and it opens regular files only. [`RootedFiles`] does the same
//! for callers that have full paths. [`TemporaryFolder`] makes files without a name in such a folder,
//! and [`SpooledFile`] is in memory until it is too long.

mod folder;
mod new_file;
mod replace;
mod rooted_files;
mod spooled_file;
mod temporary_folder;

pub use folder::{
    EntryInfo, EntryKind, ExpectedKind, Folder, FolderEntry, FolderError, FolderListing, PendingFile,
};
pub use new_file::{NewFile, NotNamed};
pub use replace::replace;
pub use rooted_files::RootedFiles;
pub use spooled_file::SpooledFile;
pub use temporary_folder::{TemporaryFolder, TemporarySubfolder};
