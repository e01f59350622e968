//! A transparency log: an append-only list of entries whose checkpoints commit to all of it.
//!
//! Owns the hashes of RFC 6962, the tiles of [c2sp.org/tlog-tiles], inclusion and consistency
//! proofs, [signed notes] with Ed25519, checkpoints, and RFC 3161 timestamps. Everything is a
//! function of bytes: it knows neither archives, versions nor files. Tiles are read and written
//! through [`TileStorage`], so a caller can count what an operation reads.
//!
//! All input may come from an attacker. Notes, proofs and timestamps have a maximum length, and a
//! tree has at most [`MAX_LEAVES`] leaves. DER is parsed strictly, by a reader for the few
//! structures of a timestamp: a general parser of X.509 and CMS would be many times this crate.
//!
//! The crates `tlog_tiles` and `signed_note` were declined: they bring second versions of `sha2`,
//! `base64`, `thiserror` and `syn`. `ring` is in the program for TLS already.
//!
//! [c2sp.org/tlog-tiles]: https://c2sp.org/tlog-tiles
//! [signed notes]: https://c2sp.org/signed-note

mod checkpoint;
mod compact_range;
mod error;
mod note;
mod note_key;
mod proof;
mod tile_name;
mod tile_tree;
mod timestamp;
mod tree_hash;
mod tree_writer;

pub use checkpoint::TreeCheckpoint;
pub use compact_range::CompactRange;
pub use error::LogError;
pub use note::{MAX_NOTE_BYTES, NoteSignature, SignedNote};
pub use note_key::{NoteSigner, NoteVerifier};
pub use proof::{verify_consistency, verify_inclusion};
pub use tile_name::{TILE_WIDTH, TileKind, TileName};
pub use tile_tree::{TileStorage, TileTree};
pub use timestamp::{MAX_TIMESTAMP_BYTES, VerifiedTimestamp, request_timestamp, verify_timestamp};
pub use tree_hash::{TreeHash, decode_base64, encode_base64, hash_leaf, hash_node};
pub use tree_writer::{MAX_ENTRY_BYTES, TreeWriter};

/// Maximum number of leaves of a log.
pub const MAX_LEAVES: u64 = 1 << 40;
