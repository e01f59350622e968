//! An object of an AardWARC store, joined from its segments.
//!
//! As with varve's own objects, reading all of it verifies it, and a range is returned only after
//! the segments that contain it were verified.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::{OwnedRecord, WarcReader};

use super::folder::AardwarcSilo;

/// An object of an AardWARC store.
pub struct AardwarcObject {
    header: RecordHeader,
    parts: Vec<AardwarcPart>,
}

/// One segment of it.
#[derive(Clone, Debug)]
pub(super) struct AardwarcPart {
    pub(super) silo: AardwarcSilo,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl AardwarcObject {
    pub(super) fn new(header: RecordHeader, parts: Vec<AardwarcPart>) -> Self {
        Self { header, parts }
    }

    /// The header of its first record.
    pub fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// The silo and offset of its first segment.
    pub fn place(&self) -> (&Path, u64) {
        self.parts.first().map_or((Path::new(""), 0), |part| (part.silo.path(), part.offset))
    }

    /// Its length.
    pub fn length(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.length))
    }

    /// Reads all of it and verifies its digest at the end.
    pub fn read(&self) -> AardwarcContent {
        self.reader(0, self.length(), self.expected_digest())
    }

    /// Reads the bytes `start..end` after verifying the segments that contain them.
    pub fn read_range(&self, start: u64, end: u64) -> io::Result<AardwarcContent> {
        let end = end.min(self.length());
        let start = start.min(end);
        if start == 0 && end == self.length() {
            return Ok(self.read());
        }
        let mut from = 0;
        for part in &self.parts {
            let until = from + part.length;
            if from < end && start < until && start < end {
                part.check()?;
            }
            from = until;
        }
        Ok(self.reader(start, end, None))
    }

    fn reader(&self, start: u64, end: u64, expected: Option<Digest>) -> AardwarcContent {
        let mut skip = start;
        let mut waiting = VecDeque::new();
        for part in &self.parts {
            if skip >= part.length && part.length > 0 {
                skip -= part.length;
            } else {
                waiting.push_back((part.clone(), std::mem::take(&mut skip)));
            }
        }
        let hasher = expected.map(|expected| (expected, expected.algorithm().hasher()));
        AardwarcContent { waiting, current: None, remaining: end - start, hasher }
    }

    /// The expected digest of all bytes.
    fn expected_digest(&self) -> Option<Digest> {
        let is_first = self.header.is_segment() && self.header.record_type() != RecordType::Continuation;
        let digest = if is_first { self.header.payload_digest() } else { self.header.block_digest() };
        digest.and_then(Result::ok).filter(|digest| digest.algorithm() == Algorithm::Sha256)
    }
}

impl AardwarcPart {
    fn open(&self) -> io::Result<OwnedRecord<File>> {
        let file = self.silo.open()?;
        let record = WarcReader::at(file, self.offset).and_then(WarcReader::into_record);
        record.map_err(io::Error::other)?.ok_or_else(|| self.damaged("no record begins there"))
    }

    /// Reads it to its end and verifies its digest.
    fn check(&self) -> io::Result<()> {
        let mut record = self.open()?;
        let mut hasher = Algorithm::Sha256.hasher();
        loop {
            let bytes = record.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(bytes);
            let length = bytes.len();
            record.consume(length);
        }
        let expected = record.header().block_digest().and_then(Result::ok);
        let found = hasher.finish();
        if record.as_record().is_cut() {
            return Err(self.damaged("its block ends early"));
        }
        match expected {
            Some(expected) if expected != found => {
                Err(self.damaged(&format!("its digest is {found}, not {expected}")))
            }
            _ => Ok(()),
        }
    }

    fn damaged(&self, what: &str) -> io::Error {
        let (silo, offset) = (self.silo.path().display(), self.offset);
        let message = format!("the record at byte {offset} of `{silo}` is damaged: {what}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// Reads an object of an AardWARC store. A block that ends early or a wrong digest is an error.
pub struct AardwarcContent {
    /// The remaining parts, each with the number of bytes to skip.
    waiting: VecDeque<(AardwarcPart, u64)>,
    current: Option<OpenAardwarcPart>,
    remaining: u64,
    hasher: Option<(Digest, Hasher)>,
}

struct OpenAardwarcPart {
    part: AardwarcPart,
    record: OwnedRecord<File>,
    left: u64,
}

impl AardwarcContent {
    /// Opens the next part. Returns false when there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let Some((part, skip)) = self.waiting.pop_front() else { return Ok(false) };
        let mut record = part.open()?;
        let passed = io::copy(&mut (&mut record).take(skip), &mut io::sink())?;
        if passed < skip {
            return Err(part.damaged("its block ends early"));
        }
        self.current = Some(OpenAardwarcPart { left: part.length - skip, part, record });
        Ok(true)
    }

    /// Verifies the digest after the last byte.
    fn conclude(&mut self, part: &AardwarcPart) -> io::Result<()> {
        let Some((expected, hasher)) = self.hasher.take() else { return Ok(()) };
        let found = hasher.finish();
        if found == expected {
            return Ok(());
        }
        Err(part.damaged(&format!("the digest of the object is {found}, not {expected}")))
    }
}

impl Read for AardwarcContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.remaining > 0 && !buffer.is_empty() {
            let Some(current) = &mut self.current else {
                if !self.advance()? {
                    break;
                }
                continue;
            };
            let most = usize::try_from(current.left.min(self.remaining)).unwrap_or(usize::MAX);
            let most = most.min(buffer.len());
            let count = if most == 0 { 0 } else { current.record.read(&mut buffer[..most])? };
            if count == 0 && current.left > 0 {
                return Err(current.part.damaged("its block ends early"));
            }
            current.left -= count as u64;
            self.remaining -= count as u64;
            if let Some((_, hasher)) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
            let is_done = current.left == 0;
            let done = if is_done { self.current.take() } else { None };
            if let Some(OpenAardwarcPart { part, .. }) = done.filter(|_| self.remaining == 0) {
                self.conclude(&part)?;
            }
            if count > 0 {
                return Ok(count);
            }
        }
        Ok(0)
    }
}
