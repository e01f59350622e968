//! Writing WARC/1.1 that conforms to the standard.
//!
//! Three types share the work: the *draft* holds the fields that the caller gives, the *packer*
//! hashes and compresses the block, the *writer* appends to a file and knows offsets. They are
//! separate so that many threads can pack while one appends, and so that a store can place records
//! itself.

mod adopt;
mod dictionary;
mod draft;
mod pack;
mod record_uri;

use std::io::{self, Read, Write};

pub use crate::member::Dictionary;
pub use crate::member::gzip::GZIP_HEADER;
pub use crate::member::zstd::DICTIONARY_MAGIC;
pub use dictionary::{DictionaryDraft, MadeDictionary, train_dictionary};
pub(crate) use draft::escaped;
pub use draft::{BlockFacts, Draft, DraftError, OWN_FIELDS, Profile};
pub use pack::{
    BlockStream, FinishedBlock, HEADER_ROOM, PackedRecord, Packer, Packing, RecordPackError, TRAILER_ROOM,
    pack_reader,
};
pub use record_uri::{RecordUri, RecordUriError};

/// The place of a written record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenRecord {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

/// Appends packed records to a file.
pub struct WarcWriter<W> {
    output: W,
    offset: u64,
}

impl<W: Write> WarcWriter<W> {
    /// Starts a file with that packing.
    pub fn new(mut output: W, packing: &Packing) -> io::Result<Self> {
        let preamble = packing.preamble();
        output.write_all(&preamble)?;
        Ok(Self { output, offset: preamble.len() as u64 })
    }

    /// Appends one record.
    pub fn append(&mut self, record: PackedRecord) -> io::Result<WrittenRecord> {
        let written = WrittenRecord { offset: self.offset, length: record.length() };
        record.write_to(&mut self.output)?;
        self.offset += written.length;
        Ok(written)
    }

    /// Appends a record that is packed as this file is: `packed` gives exactly its bytes.
    pub fn append_packed(&mut self, packed: &mut impl Read) -> io::Result<WrittenRecord> {
        let length = io::copy(packed, &mut self.output)?;
        let written = WrittenRecord { offset: self.offset, length };
        self.offset += length;
        Ok(written)
    }

    /// The offset of the next record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The underlying output.
    pub fn into_inner(self) -> W {
        self.output
    }
}

/// A block of named fields, as in `application/warc-fields`. Line breaks in values become spaces.
pub fn warc_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = String::new();
    for (name, value) in fields {
        let value: String =
            value.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        block.extend([name, ": ", &value, "\r\n"]);
    }
    block.into_bytes()
}
