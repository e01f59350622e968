//! Gzip members, unpacked: whole where they are small, streamed where they are not.

use std::io;

use super::gzip::{self, Inflating, NotWhole, State};
use super::{Inside, LARGEST_WHOLE, Unpacker, VIEWS};
use crate::rule::Rule;
use crate::source::ReadAt;

impl<S: ReadAt> Unpacker<S> {
    pub(super) fn begin_gzip(&mut self) -> io::Result<bool> {
        let Some(header) = self.find_gzip_header()? else { return Ok(false) };
        self.member_offset = self.window.position();
        self.aardwarc = header.aardwarc;
        if !self.inflate_whole()? {
            self.window.consume(header.length);
            self.inflating.get_or_insert_with(|| Box::new(Inflating::new())).reset();
            self.inside = Inside::Gzip;
        }
        Ok(true)
    }

    /// The header at this place or, past junk, at the next place that looks like one.
    fn find_gzip_header(&mut self) -> io::Result<Option<gzip::Header>> {
        let view = self.window.fill(64)?;
        if view.is_empty() {
            return Ok(None);
        }
        if view.starts_with(&gzip::MAGIC) {
            let found = match gzip::header(view) {
                Some(header) => Some(header),
                None => gzip::header(self.window.fill(gzip::LONGEST_HEADER)?),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        let from = self.window.position();
        let found = self.search(from, u64::MAX)?;
        self.report_junk(from, "gzip member")?;
        if !found {
            return Ok(None);
        }
        Ok(gzip::header(self.window.fill(gzip::LONGEST_HEADER)?))
    }

    /// Decompresses the member in one go when it is small enough. False when it must be streamed.
    fn inflate_whole(&mut self) -> io::Result<bool> {
        let Some(inflater) = &mut self.inflater else { return Ok(false) };
        for view in VIEWS {
            let packed = self.window.fill(view)?;
            if self.output.is_empty() {
                // Text packs to a fifth or so; a small file needs no large buffer.
                self.output = vec![0; (packed.len() * 8).clamp(4 << 10, VIEWS[0])];
            }
            let all_in_view = packed.len() < view;
            loop {
                match inflater.member(packed, &mut self.output) {
                    Ok((taken, given)) => {
                        self.window.consume(taken);
                        self.end = given;
                        self.given = given as u64;
                        self.inside = Inside::Whole;
                        return Ok(true);
                    }
                    Err(NotWhole::Larger) if self.output.len() < LARGEST_WHOLE => {
                        let larger = self.output.len() * 2;
                        self.output = Vec::new();
                        self.output = vec![0; larger];
                    }
                    Err(NotWhole::Larger) => return Ok(false),
                    Err(NotWhole::Unreadable) => break,
                }
            }
            if all_in_view {
                break;
            }
        }
        Ok(false)
    }

    pub(super) fn inflate_more(&mut self) -> io::Result<bool> {
        self.make_room();
        let packed = self.window.fill(1)?;
        if packed.is_empty() {
            self.cut_member()?;
            return Ok(false);
        }
        let Some(inflating) = &mut self.inflating else { return Ok(false) };
        let step = inflating.step(packed, &mut self.output[self.end..]);
        self.window.consume(step.taken);
        self.end += step.given;
        self.given += step.given as u64;
        match step.state {
            State::Going if step.taken == 0 && step.given == 0 => {
                self.fail_gzip("the deflate data is damaged")?
            }
            State::Going => return Ok(true),
            State::Ended => self.end_gzip()?,
            State::Damaged => self.fail_gzip("the deflate data is damaged")?,
        }
        Ok(step.given > 0)
    }

    fn end_gzip(&mut self) -> io::Result<()> {
        let Some(trailer) = self.window.fill(8)?.first_chunk::<8>().copied() else {
            return self.cut_member();
        };
        let agrees = self.inflating.as_ref().is_some_and(|inflating| inflating.agrees(trailer));
        if agrees {
            self.window.consume(8);
            self.inside = Inside::Outside;
            return Ok(());
        }
        // When another member follows, only the content is wrong; otherwise the end was found at a wrong place.
        let after = self.window.fill(16)?;
        if after.len() == 8 || after[8..].starts_with(&gzip::MAGIC) {
            self.window.consume(8);
            self.failed = true;
            self.inside = Inside::Outside;
            self.report(
                Rule::MemberDamaged,
                self.member_offset,
                "checksum or length of a gzip member is wrong",
            );
            return Ok(());
        }
        self.fail_gzip("checksum or length of a gzip member is wrong")
    }

    fn fail_gzip(&mut self, what: &str) -> io::Result<()> {
        self.fail(Rule::MemberDamaged, &format!("{what}, {} bytes of it could be read", self.given))
    }
}
