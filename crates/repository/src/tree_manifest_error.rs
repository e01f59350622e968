//! The reasons why the manifest of a tree is rejected, and the format constants they mention.
//!
//! Apart from `tree`, so that `error` can name them without depending on the readers of trees.

use std::io;

/// The first line, without its line end.
pub const FIRST_LINE: &str = r#"{"format":"varve-tree","number":1}"#;

/// Maximum length of a line, far beyond that of a valid path.
pub const MAX_LINE_BYTES: u64 = 64 << 10;

/// The reason why a manifest is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The first line is not that of a manifest.
    #[error("it does not begin with `{FIRST_LINE}`")]
    Format,
    /// The format number is that of another varve.
    #[error("its format is number {0}, and this varve knows number 1")]
    Number(u64),
    /// An entry is invalid.
    #[error("line {line}: {problem}")]
    Line {
        /// The line number, from 1.
        line: u64,
        /// The problem.
        problem: ManifestProblem,
    },
    /// Reading failed.
    #[error("it cannot be read")]
    Read(#[source] io::Error),
}

/// A problem with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    /// The line exceeds the maximum length.
    #[error("it is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// The line is not the JSON of an entry.
    #[error("it is not an entry: {0}")]
    Json(String),
    /// A key is missing, or its value is invalid.
    #[error("it has no valid `{0}`")]
    Missing(&'static str),
    /// A value is not valid base64.
    #[error("it holds base64 that is none")]
    Base64,
    /// The path is empty or has an empty part.
    #[error("a path must not have an empty part")]
    EmptyPart,
    /// The path is absolute.
    #[error("the path is absolute")]
    Absolute,
    /// The path has a part `.` or `..`.
    #[error("the path climbs: it has a part `.` or `..`")]
    Climbs,
    /// The path or target contains NUL.
    #[error("a name holds a NUL")]
    Nul,
    /// The link has an empty target.
    #[error("the link has no target")]
    NoTarget,
    /// The first entry is not the tree itself.
    #[error("the first entry must be the folder `.`")]
    NoRoot,
    /// The entry is out of order or a duplicate.
    #[error("the entries are not in order, or one is there twice")]
    Order,
    /// The parent of the entry is not a folder of the tree.
    #[error("the path leads through something that is no folder of this tree")]
    NoFolder,
}
