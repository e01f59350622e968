//! Read any WARC or ARC file, write only correct ones.
//!
//! This crate owns ISO 28500 and its predecessor ARC: records, the members they are packed in, and
//! the rules that files break. HTTP messages belong to `varve-wire`. It knows nothing of archives,
//! catalogs or networks and is useful alone.
//!
//! Reading is lenient: everything readable is given, and each defect is a [`rules::WarcFinding`].
//! Writing is strict: the output breaks no rule. [`inspect`] reports on a file, and [`repair`]
//! writes a conforming file from a defective one.
//!
//! ```
//! use std::io::Read;
//! use varve_warc::date::Date;
//! use varve_warc::payload::PayloadKind;
//! use varve_warc::record::RecordType;
//! use varve_warc::write::{Draft, Packer, Packing, WarcWriter};
//! use varve_warc::WarcReader;
//!
//! let mut packer = Packer::new(Packing::Gzip, None)?;
//! let mut writer = WarcWriter::new(Vec::new(), &Packing::Gzip)?;
//! let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
//! let draft = Draft::new(RecordType::Resource, &date);
//! let draft = draft.target_uri("https://lake.example/").content_type("text/plain");
//! writer.append(packer.pack(&draft, PayloadKind::Block, b"one layer a year")?)?;
//! let file = writer.into_inner();
//!
//! let mut reader = WarcReader::new(&file)?;
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
//! Bounds that hold for any input: no panic, no endless loop, memory of a few fixed buffers
//! (headers up to 1 MiB, windows and dictionaries up to 8 MiB, content in steps), time in
//! proportion to the file and its decompressed size.

pub mod date;
pub mod digest;
pub mod encoded_word;
pub mod inspect;
mod member;
pub mod parallel;
pub mod payload;
mod reader;
pub mod record;
pub mod repair;
pub mod rules;
mod stray_bytes;
pub mod validate_header;
pub mod validate_record;
pub mod write;

pub use member::{DecoderPool, Encoding, FileDecoders};
pub use reader::{Error, Extent, Format, OwnedRecord, Record, WarcReader};
