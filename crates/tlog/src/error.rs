//! The error of the log: which rule the input breaks, and where.

use std::io;

/// Why a log, a note, a proof or a timestamp cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A tile could not be read or written.
    #[error("{tile}: the tile cannot be used")]
    Storage {
        /// The path of the tile in the log.
        tile: String,
        /// The cause.
        source: io::Error,
    },
    /// A tile that the log must have does not exist.
    #[error("{tile}: the tile is missing")]
    NoTile {
        /// The path of the tile in the log.
        tile: String,
    },
    /// A tile is not as long as its name says.
    #[error("{tile}: the tile has {found} bytes, not {expected}")]
    TileLength {
        /// The path of the tile in the log.
        tile: String,
        /// The length in bytes.
        found: usize,
        /// The length that follows from the name.
        expected: usize,
    },
    /// The tiles are not those of the checkpoint.
    #[error("the tiles of the log have the root {found} at size {size}, and the checkpoint says {expected}")]
    OtherRoot {
        /// The number of leaves.
        size: u64,
        /// The root of the tiles, in base64.
        found: String,
        /// The root of the checkpoint, in base64.
        expected: String,
    },
    /// An entry does not fit an entry bundle.
    #[error("an entry of {0} bytes is too long for a log, which allows 65535")]
    EntryLength(usize),
    /// A position or size is outside of the tree.
    #[error("{0}")]
    Range(String),
    /// A note breaks a rule of c2sp.org/signed-note.
    #[error("not a signed note: {0}")]
    Note(&'static str),
    /// A key breaks a rule of c2sp.org/signed-note.
    #[error("not a key for signed notes: {0}")]
    Key(&'static str),
    /// The text of a note is no checkpoint.
    #[error("not a checkpoint: {0}")]
    Checkpoint(&'static str),
    /// A signature of a known key is wrong.
    #[error("the signature of `{name}` is wrong")]
    WrongSignature {
        /// The name of the key.
        name: String,
    },
    /// None of the known keys signed the note.
    #[error("not signed by `{name}`")]
    NotSigned {
        /// The name of the key.
        name: String,
    },
    /// A proof does not show what it should.
    #[error("{0}")]
    Proof(&'static str),
    /// The answer of a timestamp authority cannot be read.
    #[error("not an RFC 3161 answer: {message} (byte {offset})")]
    Der {
        /// The broken rule.
        message: &'static str,
        /// The offset in the answer, or in the part of it that is encoded separately.
        offset: usize,
    },
    /// The answer of a timestamp authority was read, and does not hold.
    #[error("{0}")]
    Timestamp(&'static str),
    /// The authority refused the request.
    #[error("the authority did not grant the timestamp: status {0}")]
    TimestampRefused(u64),
}
