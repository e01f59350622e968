//! Core values of varve: ids, the identity of URLs, headers, history, and secrets.
//!
//! Owns plain values and pure functions on them. It uses no file, socket, database, clock, runtime
//! or terminal: every result depends only on the arguments. So every crate can use it in any
//! thread, and tests need no environment.
//!
//! Each parser accepts every input. Invalid text gives a typed error with the reason and the
//! position. No input panics, and time and memory are at most proportional to its length.

pub mod alias;
pub mod allowed_host;
pub mod body;
pub mod catalog;
pub mod exchange;
pub mod fact;
pub mod frontier;
pub mod head_store;
pub mod headers;
pub mod history;
pub mod id;
pub mod moku_json;
pub mod pattern;
pub mod receipt;
pub mod robots;
pub mod search_index;
pub mod secret;
pub mod time;
pub mod trap;
pub mod url;
pub mod writer_lock;

pub use id::{
    BodyId, CaptureId, CheckId, ManifestDigest, RecordId, RunId, SiloNo, UrlKey, VersionId, WorkerId,
};
pub use time::Moment;
