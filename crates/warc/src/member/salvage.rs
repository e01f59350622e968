//! Finding the next readable member when the current one cannot say where it ends.
//!
//! The salvage reader owns the packed bytes and the streaming decoders. It searches for the next
//! member that begins a record, reports the skipped bytes, and keeps them for a repair. Other
//! damaged members may lie before the next one, so a finding also says how far the unreadable bytes
//! go. The same search splits a file into parts that are read in parallel.
//!
//! Reading again after damage costs time, and a hostile file could ask for it at every byte. So
//! going back is paid from a budget in proportion to the file, by the bytes that were decompressed
//! in vain as well as by those that are read again. When the budget is used up, the search goes on
//! from where decompression stopped.

use std::io;

use super::decoder_pool::FileDecoders;
use super::gzip::{self, GzipStream};
use super::record_start::looks_like_record;
use super::window::Window;
use super::zstd::{self, FrameDecoder};
use super::{Access, Encoding};
use crate::rules::{PendingFindings, Rule, WarcFinding};
use crate::stray_bytes::{MAX_STRAY_BYTES, Strays};
use varve_wire::ReadAt;

/// Packed bytes are searched in steps of this size.
const SEARCH_STEP_BYTES: usize = 64 << 10;
/// This many packed bytes of a gzip member show how its content begins.
const PROBE_BYTES: usize = 4096;
/// A zstd frame shows nothing before its first block is complete, which may have 128 KiB.
const MAX_PROBE_BYTES: usize = zstd::MAX_FRAME_HEADER_BYTES + 3 + (128 << 10);
/// This many decompressed bytes tell whether a record begins.
const PROBE_OUTPUT_BYTES: usize = 256;
/// Going back may cost this much beyond twice the size of the file.
const REWIND_ALLOWANCE_BYTES: u64 = 64 << 20;

/// Searches packed bytes for members.
pub(super) struct SalvageReader<S> {
    pub(super) window: Window<S>,
    pub(super) encoding: Encoding,
    pub(super) gzip_stream: Option<Box<GzipStream>>,
    pub(super) frame_decoder: Option<FrameDecoder>,
    /// Where the frame decoder is returned to.
    pub(super) shared_decoders: Option<FileDecoders>,
    rewind_budget: u64,
    pub(super) findings: PendingFindings,
    pub(super) strays: Strays,
}

impl<S> Drop for SalvageReader<S> {
    fn drop(&mut self) {
        if let (Some(shared), Some(decoder)) = (self.shared_decoders.take(), self.frame_decoder.take()) {
            shared.give_back(decoder);
        }
    }
}

/// A member that could not be read to its end.
#[derive(Clone, Copy)]
pub(super) struct FailedMember {
    pub(super) offset: u64,
    /// Decompressed bytes that were given out.
    pub(super) given: u64,
    /// Where the packed bytes end that they came from.
    pub(super) given_until: u64,
}

impl<S: ReadAt> SalvageReader<S> {
    pub(super) fn new(source: S, offset: u64, access: Access) -> io::Result<Self> {
        let mut window = Window::new(source, 0, access.first_step())?;
        window.seek(offset);
        let mut reader = Self {
            window,
            encoding: Encoding::Plain,
            gzip_stream: None,
            frame_decoder: None,
            shared_decoders: None,
            rewind_budget: 0,
            findings: PendingFindings::default(),
            strays: Strays::default(),
        };
        reader.reset_budget();
        Ok(reader)
    }

    /// Moves to `offset` and drops findings, strays and the spent part of the budget.
    pub(super) fn restart_at(&mut self, offset: u64, access: Access) {
        self.window.go_to(offset, access.first_step());
        self.findings = PendingFindings::default();
        self.strays = Strays::default();
        self.reset_budget();
    }

    fn reset_budget(&mut self) {
        self.rewind_budget = self.window.size().saturating_mul(2).saturating_add(REWIND_ALLOWANCE_BYTES);
    }

    /// The decoder of streamed gzip members.
    pub(super) fn gzip_stream(&mut self) -> &mut GzipStream {
        self.gzip_stream.get_or_insert_with(|| Box::new(GzipStream::new()))
    }

    /// Pays for reading `cost` bytes again. Returns false when the budget is used up.
    pub(super) fn spend(&mut self, cost: u64) -> bool {
        let is_enough = cost <= self.rewind_budget;
        if is_enough {
            self.rewind_budget -= cost;
        }
        is_enough
    }

    pub(super) fn report(&mut self, rule: Rule, offset: u64, message: impl Into<String>) {
        self.findings.push(WarcFinding::new(rule, offset, message));
    }

    /// Reports that the packed bytes from `from` to here are no member.
    pub(super) fn report_junk(&mut self, from: u64, what: &str) -> io::Result<()> {
        let length = self.window.position().saturating_sub(from);
        self.report(Rule::JunkBetweenMembers, from, format!("{length} bytes that are no {what}"));
        self.keep_strays_from(from)
    }

    /// Keeps the packed bytes from `from` to here, if the caller wants bytes that belong to no
    /// record.
    pub(super) fn keep_strays_from(&mut self, from: u64) -> io::Result<()> {
        let length = self.window.position().saturating_sub(from);
        if self.strays.are_wanted() && length > 0 {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(MAX_STRAY_BYTES)];
            let count = self.window.peek(from, &mut bytes)?;
            self.strays.push(from, length, &bytes[..count]);
        }
        Ok(())
    }

    /// Moves to the first member that begins a record, from `from` on and before `until`. Returns
    /// false when there is none; the position is then at the end or past `until`.
    pub(super) fn search(&mut self, from: u64, until: u64) -> io::Result<bool> {
        self.window.seek(from);
        loop {
            let here = self.window.position();
            let view = self.window.fill(SEARCH_STEP_BYTES)?;
            if view.is_empty() || here >= until {
                return Ok(false);
            }
            match self.encoding.find_candidate(view) {
                None => {
                    // The last bytes may be the first of a magic number.
                    let passed = if view.len() < SEARCH_STEP_BYTES { view.len() } else { view.len() - 5 };
                    self.window.consume(passed);
                }
                Some(at) => {
                    self.window.consume(at);
                    if self.begins_record()? {
                        return Ok(self.window.position() < until);
                    }
                    self.window.consume(1);
                }
            }
        }
    }

    fn begins_record(&mut self) -> io::Result<bool> {
        // A large probe is paid for: a hostile file asks for one everywhere.
        match self.probe_record(PROBE_BYTES)? {
            None if self.encoding == Encoding::Zstd && self.spend(MAX_PROBE_BYTES as u64) => {
                Ok(self.probe_record(MAX_PROBE_BYTES)? == Some(true))
            }
            begins => Ok(begins == Some(true)),
        }
    }

    /// Whether a record begins here, by at most `limit` packed bytes. None when they decompress to
    /// nothing.
    fn probe_record(&mut self, limit: usize) -> io::Result<Option<bool>> {
        let mut prefix = [0; PROBE_OUTPUT_BYTES];
        let view = self.window.fill(limit)?;
        let view = &view[..view.len().min(limit)];
        let length = match self.encoding {
            Encoding::Gzip => {
                let stream = self.gzip_stream.get_or_insert_with(|| Box::new(GzipStream::new()));
                stream.inflate_prefix(view, &mut prefix).1
            }
            Encoding::Zstd => {
                self.frame_decoder.as_mut().map_or(0, |decoder| decoder.decode_prefix(view, &mut prefix))
            }
            Encoding::Plain => {
                let length = view.len().min(prefix.len());
                prefix[..length].copy_from_slice(&view[..length]);
                length
            }
        };
        Ok((length > 0).then(|| looks_like_record(&prefix[..length])))
    }

    /// The packed bytes ran out inside a member: the file is cut there, or damage made the member
    /// swallow others.
    pub(super) fn recover_from_cut(&mut self, failed: FailedMember) -> io::Result<()> {
        let read = failed.given;
        let stopped = self.window.position();
        let (rule, message) = if self.search_after(failed)? {
            let skipped = self.describe_skipped(failed, stopped, true);
            let message =
                format!("a compressed member has no end, {read} bytes of it could be read{skipped}");
            (Rule::MemberDamaged, message)
        } else {
            let message =
                format!("the file ends inside a compressed member, {read} bytes of it could be read");
            (Rule::MemberCut, message)
        };
        self.report(rule, failed.offset, message);
        self.keep_unread(failed)
    }

    /// A member cannot be read further: reports that and moves to the next one.
    pub(super) fn recover_from_damage(
        &mut self,
        failed: FailedMember,
        rule: Rule,
        message: &str,
    ) -> io::Result<()> {
        let stopped = self.window.position();
        let found = self.search_after(failed)?;
        let skipped = self.describe_skipped(failed, stopped, found);
        self.report(rule, failed.offset, format!("{message}{skipped}"));
        if self.has_skipped(failed, stopped) {
            self.keep_unread(failed)?;
        }
        Ok(())
    }

    /// Whether bytes were skipped that gave nothing. When only a checksum is wrong, decompression
    /// `stopped` at the next member.
    fn has_skipped(&self, failed: FailedMember, stopped: u64) -> bool {
        failed.given == 0 || self.window.position() != stopped
    }

    fn describe_skipped(&self, failed: FailedMember, stopped: u64, found: bool) -> String {
        if !self.has_skipped(failed, stopped) {
            return String::new();
        }
        let here = self.window.position();
        let length = here.saturating_sub(failed.offset);
        let end = if found { format!("byte {here}") } else { "the end of the file".to_owned() };
        format!("; nothing else could be read of the {length} bytes up to {end}")
    }

    /// Keeps the unread bytes of a failed member and those that were skipped after it.
    fn keep_unread(&mut self, failed: FailedMember) -> io::Result<()> {
        self.keep_strays_from(if failed.given == 0 { failed.offset } else { failed.given_until })
    }

    /// Moves to the next member. A zstd frame ends where its block headers say, so that a damaged
    /// frame after it is reported on its own. Otherwise the search starts after the first byte of
    /// the failed member, if the budget allows.
    fn search_after(&mut self, failed: FailedMember) -> io::Result<bool> {
        if self.encoding == Encoding::Zstd
            && let Some(end) = self.frame_end_by_headers(failed.offset)?
        {
            self.window.seek(end);
            return Ok(!self.window.fill(1)?.is_empty());
        }
        let stopped = self.window.position();
        let cost = stopped.saturating_sub(failed.offset).max(failed.given);
        let from = if self.spend(cost) { failed.offset + 1 } else { stopped };
        self.search(from, u64::MAX)
    }
}

impl Encoding {
    /// The first place in `view` where a member may begin.
    fn find_candidate(self, view: &[u8]) -> Option<usize> {
        match self {
            Self::Gzip => memchr::memmem::find(view, &gzip::GZIP_MAGIC),
            Self::Zstd => memchr::memmem::find(view, &zstd::FRAME_MAGIC),
            Self::Plain => memchr::memmem::find(view, b"\nWARC/").map(|newline| newline + 1),
        }
    }
}
