//! Reading gzip members: small ones are decompressed whole, large ones are streamed.

use std::io;

use super::gzip::{self, GzipHeader, InflateState, Inflater, NotWhole};
use super::record_start::declared_record_length;
use super::{Access, FIRST_VIEW_BYTES, MAX_WHOLE_BYTES, MemberReader, MemberStage, STREAM_CHUNK_BYTES};
use crate::rules::Rule;
use varve_wire::ReadAt;

/// A member that decompresses to more is not decompressed whole without a declared length.
const MAX_SMALL_BYTES: usize = FIRST_VIEW_BYTES * 4;

/// What the reader remembers of gzip members.
#[derive(Default)]
pub(super) struct GzipState {
    inflater: Option<Inflater>,
    /// The decompressed prefix of a large member.
    pub(super) prefix: Vec<u8>,
    /// Packed bytes of that prefix, with the member's header.
    prefix_packed: usize,
    /// The decompressed length of the large member, as its record declares it.
    declared_length: usize,
    /// The member before was large, so this one may be.
    pub(super) expects_large: bool,
}

impl<S: ReadAt> MemberReader<S> {
    pub(super) fn begin_gzip(&mut self) -> io::Result<bool> {
        let Some(header) = self.find_gzip_header()? else { return Ok(false) };
        self.member.offset = self.salvage.window.position();
        self.member.aardwarc = header.aardwarc;
        self.member.ours = header.ours;
        let is_large = self.gzip.expects_large && self.inflate_prefix(header.length, MAX_SMALL_BYTES)?;
        self.gzip.expects_large = is_large;
        if !is_large && !self.inflate_small()? && !self.inflate_prefix(header.length, 0)? {
            self.salvage.window.consume(header.length);
            self.salvage.gzip_stream().reset();
            self.stage = MemberStage::Gzip;
        }
        Ok(true)
    }

    /// The header at this place or, past junk, at the next place that looks like one.
    fn find_gzip_header(&mut self) -> io::Result<Option<GzipHeader>> {
        let window = &mut self.salvage.window;
        let view = window.fill(64)?;
        if view.is_empty() {
            return Ok(None);
        }
        if view.starts_with(&gzip::GZIP_MAGIC) {
            let found = match gzip::parse_header(view) {
                Some(header) => Some(header),
                None => gzip::parse_header(window.fill(gzip::MAX_GZIP_HEADER_BYTES)?),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        let from = self.salvage.window.position();
        let found = self.salvage.search(from, u64::MAX)?;
        self.salvage.report_junk(from, "gzip member")?;
        if !found {
            return Ok(None);
        }
        Ok(gzip::parse_header(self.salvage.window.fill(gzip::MAX_GZIP_HEADER_BYTES)?))
    }

    /// Decompresses a small member whole. Returns false when it is large or damaged.
    fn inflate_small(&mut self) -> io::Result<bool> {
        if !self.can_inflate_whole() {
            return Ok(false);
        }
        let mut view = self.access.first_step();
        let mut packed = self.salvage.window.fill(view)?.len();
        if self.output.bytes.is_empty() {
            // Text compresses to about a fifth; a small file needs no large buffer.
            self.output.replace((packed * 8).clamp(4 << 10, FIRST_VIEW_BYTES));
        }
        loop {
            match self.inflate_view() {
                Ok(()) => return Ok(true),
                Err(NotWhole::Larger) if self.output.bytes.len() < MAX_SMALL_BYTES => {
                    self.output.replace(self.output.bytes.len() * 2);
                }
                Err(NotWhole::Unreadable) if view < FIRST_VIEW_BYTES && packed >= view => {
                    view *= 4;
                    packed = self.salvage.window.fill(view)?.len();
                }
                Err(_) => return Ok(false),
            }
        }
    }

    /// Whether members are decompressed whole where possible. A caller that wants a header only
    /// does not want that.
    fn can_inflate_whole(&mut self) -> bool {
        if self.access == Access::Random {
            return false;
        }
        if self.gzip.inflater.is_none() {
            self.gzip.inflater = Inflater::new();
        }
        self.gzip.inflater.is_some()
    }

    /// Decompresses the prefix of a large member whose record declares a length of at least `least`
    /// that is small enough for one pass. The rest may never be wanted: a reader of one part of a
    /// file only looks where the next record begins.
    fn inflate_prefix(&mut self, header: usize, least: usize) -> io::Result<bool> {
        if !self.can_inflate_whole() {
            return Ok(false);
        }
        self.salvage.gzip_stream();
        let packed = self.salvage.window.fill(FIRST_VIEW_BYTES)?;
        let Some(stream) = &mut self.salvage.gzip_stream else { return Ok(false) };
        let gzip = &mut self.gzip;
        gzip.prefix.resize(STREAM_CHUNK_BYTES, 0);
        let (taken, given) = stream.inflate_prefix(packed, &mut gzip.prefix);
        gzip.prefix.truncate(given);
        let declared = declared_record_length(&gzip.prefix).and_then(|length| usize::try_from(length).ok());
        let Some(length) = declared.filter(|length| (least..=MAX_WHOLE_BYTES).contains(length)) else {
            return Ok(false);
        };
        (gzip.declared_length, gzip.prefix_packed) = (length, header + taken);
        gzip.expects_large = true;
        self.give_prefix();
        self.stage = MemberStage::Prefix;
        Ok(true)
    }

    fn give_prefix(&mut self) {
        let given = self.gzip.prefix.len();
        self.output.reserve_without_content(given);
        self.output.bytes[..given].copy_from_slice(&self.gzip.prefix);
        self.output.end = given;
        self.member.given = given as u64;
    }

    /// Decompresses all of a large member: in one pass if its declared length is right, else by
    /// streaming.
    pub(super) fn inflate_whole(&mut self) -> io::Result<()> {
        let (length, taken) = (self.gzip.declared_length, self.gzip.prefix_packed);
        self.output.reserve_without_content(length);
        // First a guess by how well the prefix compresses, then the worst case.
        let likely = length / self.gzip.prefix.len().max(1) * taken + length / 8;
        for view in [likely, length + length / 64] {
            let all_in_view = self.salvage.window.fill(view)?.len() < view;
            match self.inflate_view() {
                Ok(()) => return Ok(()),
                Err(NotWhole::Unreadable) if !all_in_view => {}
                Err(_) => break,
            }
        }
        self.give_prefix();
        self.salvage.window.consume(taken);
        self.member.given_until = self.salvage.window.position();
        self.stage = MemberStage::Gzip;
        Ok(())
    }

    /// Decompresses the member, if all of it is in view.
    fn inflate_view(&mut self) -> Result<(), NotWhole> {
        let Some(inflater) = &mut self.gzip.inflater else { return Err(NotWhole::Unreadable) };
        let (taken, given) = inflater.inflate_member(self.salvage.window.bytes(), &mut self.output.bytes)?;
        self.salvage.window.consume(taken);
        self.output.end = given;
        self.member.given = given as u64;
        self.stage = MemberStage::Whole;
        Ok(())
    }

    pub(super) fn inflate_more(&mut self) -> io::Result<bool> {
        let room = self.output.make_room();
        let packed = self.salvage.window.fill(1)?;
        if packed.is_empty() {
            self.cut_member()?;
            return Ok(false);
        }
        let Some(stream) = &mut self.salvage.gzip_stream else { return Ok(false) };
        let step = stream.step(packed, &mut self.output.bytes[self.output.end..room]);
        self.salvage.window.consume(step.taken);
        if step.given > 0 {
            self.member.given_until = self.salvage.window.position();
        }
        self.output.end += step.given;
        self.member.given += step.given as u64;
        match step.state {
            InflateState::Going if step.taken == 0 && step.given == 0 => {
                self.fail_gzip("the deflate data is damaged")?
            }
            InflateState::Going => return Ok(true),
            InflateState::Ended => self.end_gzip()?,
            InflateState::Damaged => self.fail_gzip("the deflate data is damaged")?,
        }
        Ok(step.given > 0)
    }

    fn end_gzip(&mut self) -> io::Result<()> {
        let Some(trailer) = self.salvage.window.fill(8)?.first_chunk::<8>().copied() else {
            return self.cut_member();
        };
        if self.salvage.gzip_stream().matches_trailer(trailer) {
            self.salvage.window.consume(8);
            self.stage = MemberStage::Outside;
            return Ok(());
        }
        // When another member follows, only the content is wrong; otherwise the end was found at a
        // wrong place.
        let after = self.salvage.window.fill(16)?;
        if after.len() == 8 || after[8..].starts_with(&gzip::GZIP_MAGIC) {
            self.salvage.window.consume(8);
            self.leave_failed();
            let message = "checksum or length of a gzip member is wrong";
            self.salvage.report(Rule::MemberDamaged, self.member.offset, message);
            return Ok(());
        }
        self.fail_gzip("checksum or length of a gzip member is wrong")
    }

    fn fail_gzip(&mut self, what: &str) -> io::Result<()> {
        let message = format!("{what}, {} bytes of it could be read", self.member.given);
        self.fail_member(Rule::MemberDamaged, &message)
    }
}
