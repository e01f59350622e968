//! One record held against its own header: its fields, its digests, the form of its HTTP message.
//!
//! Pushed the block's bytes while somebody else reads or copies them, so a record is read once whoever needs it.

use std::io::BufRead;

use crate::digest::{Digest, DigestError, Hasher};
use crate::payload::{Payload, PayloadKind, PayloadTracker};
use crate::reader::{Error, Record};
use crate::rule::{Finding, Rule};
use crate::validate;
use varve_wire::ChunkEnd;
use varve_wire::ReadAt;

/// What became of a digest field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is none.
    Absent,
    /// Recomputed and equal.
    Right,
    /// Recomputed and different.
    Wrong,
    /// Unreadable, or not of these bytes.
    Unchecked,
}

/// What became of a record.
pub struct Checked {
    /// WARC-Block-Digest.
    pub block: Verdict,
    /// WARC-Payload-Digest.
    pub payload: Verdict,
    /// The payload digest is right only when the chunk framing is taken along.
    pub framed: bool,
}

/// What is known of a digest field.
#[derive(Default)]
enum Expected {
    #[default]
    Nothing,
    Unreadable,
    Of(Digest),
}

impl Expected {
    fn new(digest: Option<Result<Digest, DigestError>>) -> Self {
        match digest {
            None => Self::Nothing,
            Some(Err(_)) => Self::Unreadable,
            Some(Ok(digest)) => Self::Of(digest),
        }
    }

    fn hasher(&self) -> Option<Hasher> {
        match self {
            Self::Of(digest) => Some(digest.algorithm().hasher()),
            _ => None,
        }
    }

    /// Whether both are digests, of one algorithm.
    fn agrees(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Of(one), Self::Of(other)) if one.algorithm() == other.algorithm())
    }
}

/// Checks records one after another, with buffers that are used again.
#[derive(Default)]
pub struct Checker {
    findings: Vec<Finding>,
    tracker: PayloadTracker,
    block_expected: Expected,
    payload_expected: Expected,
    block_hasher: Option<Hasher>,
    /// The payload is the block, and of the same algorithm: one digest judges both.
    payload_is_block: bool,
}

impl Checker {
    /// Begins with a record whose block was not read yet.
    pub fn begin<S: ReadAt>(&mut self, record: &Record<'_, S>, strict: bool) {
        let header = record.header();
        if record.arc_line().is_empty() {
            validate::header(header, record.offset(), strict, &mut self.findings);
        }
        self.block_expected = Expected::new(header.block_digest());
        self.payload_expected = Expected::new(header.payload_digest());
        self.block_hasher = self.block_expected.hasher();
        let kind = PayloadKind::of(header);
        self.payload_is_block =
            kind == PayloadKind::Block && self.block_expected.agrees(&self.payload_expected);
        let payload_hasher = if self.payload_is_block { None } else { self.payload_expected.hasher() };
        self.tracker.begin(kind, payload_hasher);
    }

    /// Reads a record to the end of its block and checks it.
    pub fn check<S: ReadAt>(&mut self, record: &mut Record<'_, S>, strict: bool) -> Result<Checked, Error> {
        let offset = record.offset();
        self.begin(record, strict);
        loop {
            let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
            if bytes.is_empty() {
                return Ok(self.finish(record));
            }
            self.push(bytes);
            let length = bytes.len();
            record.consume(length);
        }
    }

    /// What was hashed of the block so far, and the digest that the header gives, when there is one to hold it against.
    pub(crate) fn block_hasher(&self) -> Option<(Hasher, Digest)> {
        match (&self.block_hasher, &self.block_expected) {
            (Some(hasher), Expected::Of(expected)) => Some((hasher.clone(), *expected)),
            _ => None,
        }
    }

    /// Whether the block so far holds the whole head of its HTTP message, or is none.
    pub(crate) fn is_past_head(&self) -> bool {
        self.tracker.is_past_head()
    }

    /// Takes in bytes of the block.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.block_hasher {
            hasher.update(bytes);
        }
        self.tracker.push(bytes);
    }

    /// The block is at its end.
    pub fn finish<S: ReadAt>(&mut self, record: &Record<'_, S>) -> Checked {
        let mut payload = self.tracker.finish();
        let offset = record.offset();
        let found = self.block_hasher.take().map(Hasher::finish);
        if self.payload_is_block {
            payload.digest = found;
        }
        let block = self.judge_block(offset, found);
        let is_truncated = record.header().is_truncated();
        let (payload_verdict, framed) = self.judge_payload(offset, &payload, is_truncated);
        if !record.is_cut() {
            self.judge_http(offset, &payload);
        }
        Checked { block, payload: payload_verdict, framed }
    }

    /// The findings since they were last taken.
    pub fn take_findings(&mut self) -> std::vec::Drain<'_, Finding> {
        self.findings.drain(..)
    }

    fn judge_block(&mut self, offset: u64, found: Option<Digest>) -> Verdict {
        match (&self.block_expected, found) {
            (Expected::Nothing, _) => Verdict::Absent,
            (Expected::Of(expected), Some(found)) if *expected == found => Verdict::Right,
            (Expected::Of(expected), Some(found)) => {
                let message = format!("the block's digest is {found}, the header says {expected}");
                self.findings.push(Finding::new(Rule::BlockDigest, offset, message));
                Verdict::Wrong
            }
            _ => Verdict::Unchecked,
        }
    }

    fn judge_payload(&mut self, offset: u64, payload: &Payload, is_truncated: bool) -> (Verdict, bool) {
        let expected = match self.payload_expected {
            Expected::Nothing => return (Verdict::Absent, false),
            Expected::Unreadable => return (Verdict::Unchecked, false),
            Expected::Of(expected) => expected,
        };
        let Some(found) = payload.digest else { return (Verdict::Unchecked, false) };
        // Where the head cannot be understood, what the payload is remains a guess: either will do.
        if found == expected || payload.unheaded_digest == Some(expected) {
            return (Verdict::Right, false);
        }
        if payload.framed_digest == Some(expected) {
            let message = "the payload digest was taken with the chunk framing";
            self.findings.push(Finding::new(Rule::PayloadDigestFramed, offset, message));
            return (Verdict::Right, true);
        }
        if is_truncated {
            return (Verdict::Unchecked, false);
        }
        let message = format!("the payload's digest is {found}, the header says {expected}");
        self.findings.push(Finding::new(Rule::PayloadDigest, offset, message));
        (Verdict::Wrong, false)
    }

    fn judge_http(&mut self, offset: u64, payload: &Payload) {
        if payload.not_http {
            let message = "the block is said to be HTTP but does not begin with an HTTP message";
            self.findings.push(Finding::new(Rule::NotHttp, offset, message));
        }
        let (rule, message) = match payload.chunks {
            Some(ChunkEnd::NotChunked) => (Rule::NotChunked, "the head says chunked, the body is not"),
            Some(ChunkEnd::Malformed) => (Rule::NotChunked, "the body is chunked only in part"),
            Some(ChunkEnd::Cut) => (Rule::ChunksCut, "the chunked body ends before its last chunk"),
            Some(ChunkEnd::Complete) | None => return,
        };
        self.findings.push(Finding::new(rule, offset, message));
    }
}
