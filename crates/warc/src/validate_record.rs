//! Checks one record against its own header: fields, digests, form of the HTTP message.
//!
//! The caller pushes the bytes of the block while it reads or copies them, so a record is read
//! once.

use crate::digest::{Digest, DigestError, Hasher};
use crate::payload::{Payload, PayloadKind, PayloadTracker};
use crate::reader::{Error, Record};
use crate::rules::{Rule, WarcFinding};
use crate::validate_header;
use varve_wire::ChunkEnd;
use varve_wire::ReadAt;

/// The result of checking a digest field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestVerdict {
    /// There is none.
    Absent,
    /// Recomputed and equal.
    Right,
    /// Recomputed and different.
    Wrong,
    /// Unreadable, or not of these bytes.
    Unchecked,
}

/// The result of checking a record.
pub struct CheckedRecord {
    /// WARC-Block-Digest.
    pub block: DigestVerdict,
    /// WARC-Payload-Digest.
    pub payload: DigestVerdict,
    /// The payload digest matches only with the chunk framing included.
    pub framed: bool,
}

/// The state of a digest field before the block is read.
#[derive(Default)]
enum ExpectedDigest {
    #[default]
    Nothing,
    Unreadable,
    Of(Digest),
}

impl ExpectedDigest {
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

/// Checks records one after another and reuses its buffers.
#[derive(Default)]
pub struct RecordChecker {
    findings: Vec<WarcFinding>,
    tracker: PayloadTracker,
    block_expected: ExpectedDigest,
    payload_expected: ExpectedDigest,
    block_hasher: Option<Hasher>,
    /// The payload is the block and both fields use one algorithm: one digest serves both.
    payload_is_block: bool,
}

impl RecordChecker {
    /// Starts a record whose block is unread.
    pub fn begin<S: ReadAt>(&mut self, record: &Record<'_, S>, strict: bool) {
        let header = record.header();
        if record.arc_line().is_empty() {
            validate_header::header(header, record.offset(), strict, &mut self.findings);
        }
        self.block_expected = ExpectedDigest::new(header.block_digest());
        self.payload_expected = ExpectedDigest::new(header.payload_digest());
        self.block_hasher = self.block_expected.hasher();
        let kind = PayloadKind::of(header);
        self.payload_is_block =
            kind == PayloadKind::Block && self.block_expected.agrees(&self.payload_expected);
        let payload_hasher = if self.payload_is_block { None } else { self.payload_expected.hasher() };
        self.tracker.begin(kind, payload_hasher);
    }

    /// Reads a record to the end of its block and checks it.
    pub fn check<S: ReadAt>(
        &mut self,
        record: &mut Record<'_, S>,
        strict: bool,
    ) -> Result<CheckedRecord, Error> {
        let offset = record.offset();
        self.begin(record, strict);
        record.for_each_piece(|bytes| self.push(bytes)).map_err(|source| Error::Io { offset, source })?;
        Ok(self.finish(record))
    }

    /// The hash of the block so far, and the digest that the header gives, if there is one.
    pub(crate) fn block_hasher(&self) -> Option<(Hasher, Digest)> {
        match (&self.block_hasher, &self.block_expected) {
            (Some(hasher), ExpectedDigest::Of(expected)) => Some((hasher.clone(), *expected)),
            _ => None,
        }
    }

    /// Whether the block so far holds the complete head of its HTTP message, or is no HTTP message.
    pub(crate) fn is_past_head(&self) -> bool {
        self.tracker.is_past_head()
    }

    /// Takes bytes of the block.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.block_hasher {
            hasher.update(bytes);
        }
        self.tracker.push(bytes);
    }

    /// Ends the block.
    pub fn finish<S: ReadAt>(&mut self, record: &Record<'_, S>) -> CheckedRecord {
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
        CheckedRecord { block, payload: payload_verdict, framed }
    }

    /// The findings since they were last taken.
    pub fn take_findings(&mut self) -> std::vec::Drain<'_, WarcFinding> {
        self.findings.drain(..)
    }

    fn judge_block(&mut self, offset: u64, found: Option<Digest>) -> DigestVerdict {
        match (&self.block_expected, found) {
            (ExpectedDigest::Nothing, _) => DigestVerdict::Absent,
            (ExpectedDigest::Of(expected), Some(found)) if *expected == found => DigestVerdict::Right,
            (ExpectedDigest::Of(expected), Some(found)) => {
                let message = format!("the block's digest is {found}, the header says {expected}");
                self.findings.push(WarcFinding::new(Rule::BlockDigest, offset, message));
                DigestVerdict::Wrong
            }
            _ => DigestVerdict::Unchecked,
        }
    }

    fn judge_payload(&mut self, offset: u64, payload: &Payload, is_truncated: bool) -> (DigestVerdict, bool) {
        let expected = match self.payload_expected {
            ExpectedDigest::Nothing => return (DigestVerdict::Absent, false),
            ExpectedDigest::Unreadable => return (DigestVerdict::Unchecked, false),
            ExpectedDigest::Of(expected) => expected,
        };
        let Some(found) = payload.digest else { return (DigestVerdict::Unchecked, false) };
        // When the head cannot be parsed, the payload is a guess, so either digest is accepted.
        if found == expected || payload.unheaded_digest == Some(expected) {
            return (DigestVerdict::Right, false);
        }
        if payload.framed_digest == Some(expected) {
            let message = "the payload digest was taken with the chunk framing";
            self.findings.push(WarcFinding::new(Rule::PayloadDigestFramed, offset, message));
            return (DigestVerdict::Right, true);
        }
        if is_truncated {
            return (DigestVerdict::Unchecked, false);
        }
        let message = format!("the payload's digest is {found}, the header says {expected}");
        self.findings.push(WarcFinding::new(Rule::PayloadDigest, offset, message));
        (DigestVerdict::Wrong, false)
    }

    fn judge_http(&mut self, offset: u64, payload: &Payload) {
        if payload.not_http {
            let message = "the block is said to be HTTP but does not begin with an HTTP message";
            self.findings.push(WarcFinding::new(Rule::NotHttp, offset, message));
        }
        let (rule, message) = match payload.chunks {
            Some(ChunkEnd::NotChunked) => (Rule::NotChunked, "the head says chunked, the body is not"),
            Some(ChunkEnd::Malformed) => (Rule::NotChunked, "the body is chunked only in part"),
            Some(ChunkEnd::Cut) => (Rule::ChunksCut, "the chunked body ends before its last chunk"),
            Some(ChunkEnd::Complete) | None => return,
        };
        self.findings.push(WarcFinding::new(rule, offset, message));
    }
}
