//! A tree of files as an object: its manifest, and the way back.
//!
//! A manifest is JSON lines. The first is `{"format":"varve-tree","number":1}`; each further line
//! is one entry:
//!
//! | key | of | value |
//! | --- | --- | --- |
//! | `path` | all | relative to the tree, parts divided by `/`; `.` for the tree itself |
//! | `kind` | all | `file`, `folder` or `link` |
//! | `mode` | files, folders | the permission bits, four octal digits |
//! | `mtime` | all | seconds since 1970 with nine decimals, as text |
//! | `size` | files | the length in bytes |
//! | `id` | files | the 64 hex digits of the object that holds the content |
//! | `target` | links | where it leads, as it is written in the link |
//!
//! A path or target that is not UTF-8 is stored as `path_base64` or `target_base64` instead.
//! Entries are sorted: the tree itself first, then by path, compared part by part as bytes. So each
//! folder is followed by its content, and a reader only has to remember the current folder. A
//! manifest does not depend on when, where or by whom it was made: the same tree has the same
//! manifest and therefore the same id.
//!
//! Owners, access lists, extended attributes and hard links between files are deliberately not
//! stored.

mod entry;
mod read;
mod restore;
mod walk;

pub use crate::tree_manifest_error::{FIRST_LINE, ManifestError, ManifestProblem};
pub use entry::{FileTime, TreeEntry, TreeEntryKind};
pub use read::ManifestReader;

pub use restore::{RestoredTree, TreeSurvey, require_empty, restore, survey};
pub use walk::{Exclude, Skipped};
pub use walk::{TreeWalk, WalkStep, modified, special};

/// The media type of a manifest.
pub const MEDIA_TYPE: &str = "application/vnd.varve.tree";

/// The path of the tree itself.
pub const ROOT_NAME: &[u8] = b".";
