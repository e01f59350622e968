//! Read any WARC or ARC file, write only correct ones.
//!
//! This crate owns ISO 28500 and its older relative ARC: records, the members they are packed in, the HTTP messages
//! inside them, and the rules that files break. It knows nothing of archives, catalogs or networks and is useful alone.
//!
//! Reading is lenient: everything that can be read is given, and what had to be overlooked is a [`rule::Finding`].
//! Writing is strict: what comes out breaks no rule. In between stand [`inspect`], which says all that can be said
//! about a file, and [`repair`], which makes a right file of a wrong one.
//!
//! ```
//! use std::io::Read;
//! use varve_warc::date::Date;
//! use varve_warc::payload::PayloadKind;
//! use varve_warc::record::RecordType;
//! use varve_warc::write::{Draft, Packer, Packing, Writer};
//! use varve_warc::Reader;
//!
//! let mut packer = Packer::new(Packing::Gzip, None)?;
//! let mut writer = Writer::new(Vec::new(), &Packing::Gzip)?;
//! let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
//! let draft = Draft::new(RecordType::Resource, &date).target_uri("https://lake.example/").content_type("text/plain");
//! writer.append(packer.pack(&draft, PayloadKind::Block, b"one layer a year")?)?;
//! let file = writer.into_inner();
//!
//! let mut reader = Reader::new(&file)?;
//! while let Some(mut record) = reader.next_record()? {
//!     assert_eq!(record.header().target_uri(), Some(b"https://lake.example/".as_slice()));
//!     let mut block = String::new();
//!     record.read_to_string(&mut block)?;
//!     assert_eq!(block, "one layer a year");
//! }
//! assert!(reader.take_findings().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bounds that hold for any input: no panic, no endless loop, memory of a few fixed buffers (headers up to 1 MiB,
//! windows and dictionaries up to 8 MiB, content in steps), time in proportion to the file and to what it unpacks to.

pub mod check;
pub mod date;
pub mod digest;
pub mod encoded_word;
pub mod inspect;
mod member;
pub mod parts;
pub mod payload;
mod reader;
pub mod record;
pub mod repair;
pub mod rule;
mod stray;
pub mod validate;
pub mod write;

pub use member::{DecoderPool, Encoding, FileDecoders};
pub use reader::{Error, Extent, Format, Limits, OwnedRecord, Reader, Record};
