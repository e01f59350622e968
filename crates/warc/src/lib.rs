//! Read any WARC or ARC file, write only correct ones.

pub mod date;
pub mod digest;
pub mod encoded_word;
pub mod fields;
pub mod http;
pub mod inspect;
mod member;
pub mod parts;
pub mod payload;
mod reader;
pub mod record;
pub mod rule;
pub mod source;
pub mod validate;
pub mod write;

pub use member::Encoding;
pub use reader::{Error, Format, Limits, Reader, Record};
