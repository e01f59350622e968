//! The words of varve: what an id is, when two URLs are the same, what headers say, what must stay hidden.
//!
//! Owns plain values and pure rules over them. Deliberately knows no file, socket, database, clock, runtime or
//! terminal: everything here is a function of its arguments, so that every other crate can use it in any thread
//! and every test can run it without a world around it.
//!
//! Each parser is total. Invalid text gives a typed error that says what is wrong and
//! where; no input panics, and none costs more than time and memory proportional to its length.

pub mod alias;
pub mod allowed_host;
pub mod body;
pub mod catalog;
pub mod exchange;
pub mod fact;
pub mod frontier;
pub mod headers;
pub mod history;
pub mod id;
pub mod moku_json;
pub mod pattern;
pub mod receipt;
pub mod robots;
pub mod secret;
pub mod time;
pub mod trap;
pub mod url;

pub use id::{BodyId, CaptureId, RecordId, RunId, SiloNo, UrlKey, VersionId, WorkerId};
pub use time::Moment;
