//! Writing WARC/1.1, and nothing but what is right.
//!
//! A record goes through three hands: the *draft* says what its maker knows, the *packer* hashes and compresses the
//! block, the *writer* appends to a file and knows offsets. They are apart so that many threads can pack while one
//! appends, and so that a store can put records where it wants.

mod adopt;
mod dictionary;
mod draft;
pub mod id;
mod ordered;
mod pack;

use std::io::{self, Write};

pub use crate::member::Dictionary;
pub use crate::member::zstd::DICTIONARY_MAGIC;
pub use dictionary::{DictionaryDraft, MadeDictionary, train_dictionary};
pub(crate) use draft::escaped;
pub use draft::{BlockFacts, Draft, DraftError, OWN_FIELDS, Profile};
pub use ordered::pack_in_order;
pub use pack::{
    BlockStream, FinishedBlock, GZIP_HEADER, HEADER_ROOM, PackError, PackedRecord, Packer, Packing,
    TRAILER_ROOM, pack_reader,
};

/// Where a record went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

/// Appends packed records to a file.
pub struct Writer<W> {
    output: W,
    offset: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file that is packed in that way.
    pub fn new(mut output: W, packing: &Packing) -> io::Result<Self> {
        let preamble = packing.preamble();
        output.write_all(&preamble)?;
        Ok(Self { output, offset: preamble.len() as u64 })
    }

    /// Appends one record.
    pub fn append(&mut self, record: PackedRecord) -> io::Result<Written> {
        let written = Written { offset: self.offset, length: record.length() };
        record.write_to(&mut self.output)?;
        self.offset += written.length;
        Ok(written)
    }

    /// Where the next record will go.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives back what was written to.
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
