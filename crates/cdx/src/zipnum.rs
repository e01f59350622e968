//! ZipNum: a sorted index in blocks of lines, each block a gzip member, and a summary with the
//! first key of each block. A reader searches the summary and unpacks one block.
//!
//! Two forms of summaries are in use. That of web archives has lines of
//! `key time TAB part TAB offset TAB length TAB number`, and a `.loc` file that says where the parts
//! are. That of WACZ files begins with a line `!meta`, and its lines have a JSON object.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::entry::{CdxEntry, CdxEntryError, shown};
use crate::json_text::push_string;

/// The usual number of lines of a block.
pub const LINES_PER_BLOCK: usize = 3000;

/// The form of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZipNumStyle {
    /// Columns, as pywb and OpenWayback read them.
    Cluster,
    /// JSON objects, as in WACZ files.
    Wacz,
}

/// A block of lines in a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZipNumBlock {
    /// The key and usually the time of its first line.
    pub first: String,
    /// The file that it is in, or the name by which a `.loc` file has it.
    pub part: Option<String>,
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub length: u64,
    /// The digest of its bytes, with the label of the algorithm.
    pub digest: Option<String>,
}

/// A line of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZipNumSummaryLine {
    /// The first line in the form of WACZ files: the file with the blocks, if it says so.
    Meta {
        /// The file.
        part: Option<String>,
    },
    /// A block.
    Block(ZipNumBlock),
}

impl ZipNumSummaryLine {
    /// Parses a line of either form, without its line end.
    pub fn parse(line: &str) -> Result<Self, CdxEntryError> {
        if line.contains('\t') {
            return ZipNumBlock::parse_columns(line).map(Self::Block);
        }
        let Some(brace) = line.find('{') else {
            return Err(CdxEntryError::TooShort { found: line.split(' ').count(), wanted: 3 });
        };
        let (first, json) = line.split_at(brace);
        let object: Value =
            serde_json::from_str(json).map_err(|error| CdxEntryError::Json(error.to_string()))?;
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        if first.starts_with("!meta") {
            return Ok(Self::Meta { part: text("filename") });
        }
        let number = |name: &'static str| {
            let value = object.get(name);
            let number = value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
            let found = value.map(Value::to_string).unwrap_or_default();
            number.ok_or_else(|| CdxEntryError::Field {
                field: name,
                value: shown(&found),
                wanted: "a number",
            })
        };
        Ok(Self::Block(ZipNumBlock {
            first: first.trim_end().to_owned(),
            part: text("filename"),
            offset: number("offset")?,
            length: number("length")?,
            digest: text("digest"),
        }))
    }
}

impl ZipNumBlock {
    fn parse_columns(line: &str) -> Result<Self, CdxEntryError> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [first, part, offset, length, ..] = columns[..] else {
            return Err(CdxEntryError::TooShort { found: columns.len(), wanted: 4 });
        };
        let number = |field, text| {
            let missing = || CdxEntryError::Field { field, value: shown(text), wanted: "a number" };
            CdxEntry::number(field, text)?.ok_or_else(missing)
        };
        Ok(Self {
            first: first.to_owned(),
            part: Some(part.to_owned()),
            offset: number("offset", offset)?,
            length: number("length", length)?,
            digest: None,
        })
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZipNumWritten {
    /// Lines.
    pub lines: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
}

/// Writes sorted lines as blocks, and their summary.
pub struct ZipNumWriter<B, S> {
    blocks: B,
    summary: S,
    style: ZipNumStyle,
    part: String,
    lines_per_block: usize,
    first: String,
    block: Vec<u8>,
    lines: usize,
    written: ZipNumWritten,
}

impl<B: Write, S: Write> ZipNumWriter<B, S> {
    /// Writes blocks to `blocks`, which the summary calls `part`.
    pub fn new(blocks: B, summary: S, style: ZipNumStyle, part: &str) -> Self {
        Self {
            blocks,
            summary,
            style,
            part: part.to_owned(),
            lines_per_block: LINES_PER_BLOCK,
            first: String::new(),
            block: Vec::new(),
            lines: 0,
            written: ZipNumWritten::default(),
        }
    }

    /// The same writer with another number of lines in a block.
    #[must_use]
    pub fn with_lines_per_block(self, lines_per_block: usize) -> Self {
        Self { lines_per_block: lines_per_block.max(1), ..self }
    }

    /// Appends a CDXJ or CDX line, without its line end. Lines come in order.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lines == 0 {
            let words: Vec<_> = line.splitn(3, |byte| *byte == b' ').take(2).collect();
            self.first = String::from_utf8_lossy(&words.join(&b' ')).into_owned();
        }
        self.block.extend_from_slice(line);
        self.block.push(b'\n');
        self.lines += 1;
        if self.lines == self.lines_per_block { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&self.block)?;
        let packed = packer.finish()?;
        self.summarize(&packed)?;
        self.blocks.write_all(&packed)?;
        self.written.lines += self.lines as u64;
        self.written.blocks += 1;
        self.written.bytes += packed.len() as u64;
        self.lines = 0;
        self.block.clear();
        Ok(())
    }

    fn summarize(&mut self, packed: &[u8]) -> io::Result<()> {
        let (offset, length) = (self.written.bytes, packed.len());
        match self.style {
            ZipNumStyle::Cluster => {
                let number = self.written.blocks + 1;
                writeln!(self.summary, "{}\t{}\t{offset}\t{length}\t{number}", self.first, self.part)
            }
            ZipNumStyle::Wacz => {
                if self.written.blocks == 0 {
                    let mut name = Vec::new();
                    push_string(&mut name, &self.part);
                    self.summary.write_all(b"!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": ")?;
                    self.summary.write_all(&name)?;
                    self.summary.write_all(b"}\n")?;
                }
                let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(packed));
                let block =
                    json!({ "offset": offset, "length": length, "digest": format!("sha256:{digest}") });
                writeln!(self.summary, "{} {block}", self.first)
            }
        }
    }

    /// Ends the last block. Returns the outputs and what was written.
    pub fn finish(mut self) -> io::Result<(B, S, ZipNumWritten)> {
        if self.lines > 0 {
            self.end_block()?;
        }
        Ok((self.blocks, self.summary, self.written))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use proptest::prelude::*;

    fn write(style: ZipNumStyle) -> (Vec<u8>, String) {
        let mut writer = ZipNumWriter::new(Vec::new(), Vec::new(), style, "part-0").with_lines_per_block(2);
        for number in 0..5 {
            writer.line(format!("k{number} 2026 {{\"url\": \"u\"}}").as_bytes()).unwrap();
        }
        let (blocks, summary, written) = writer.finish().unwrap();
        assert_eq!((written.lines, written.blocks, written.bytes), (5, 3, blocks.len() as u64));
        (blocks, String::from_utf8(summary).unwrap())
    }

    #[test]
    fn each_block_is_found_by_the_summary() {
        for style in [ZipNumStyle::Cluster, ZipNumStyle::Wacz] {
            let (blocks, summary) = write(style);
            let mut number = 0;
            for line in summary.lines() {
                let block = match ZipNumSummaryLine::parse(line).unwrap() {
                    ZipNumSummaryLine::Meta { part } => {
                        assert_eq!((part.as_deref(), style, number), (Some("part-0"), ZipNumStyle::Wacz, 0));
                        continue;
                    }
                    ZipNumSummaryLine::Block(block) => block,
                };
                assert_eq!(block.first, format!("k{number} 2026"));
                let packed = &blocks[block.offset as usize..][..block.length as usize];
                let mut text = String::new();
                flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
                assert!(text.starts_with(&block.first), "{text}");
                assert_eq!(text.lines().count(), if number == 4 { 1 } else { 2 });
                number += 2;
            }
            assert_eq!(number, 6);
        }
    }

    #[test]
    fn other_lines_are_errors() {
        for line in ["", "k", "k\tp\t1", "k\tp\tx\t1", "k {", "k {\"offset\": 1}", "k []"] {
            assert!(ZipNumSummaryLine::parse(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "[a-z0-9\t {}:\",!]{0,40}") {
            let _ = ZipNumSummaryLine::parse(&line);
        }
    }
}
