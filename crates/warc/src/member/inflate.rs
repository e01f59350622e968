//! Gzip members, unpacked: whole where they are small, streamed where they are not.

use std::io;

use super::gzip::{self, Inflater, Inflating, NotWhole, State};
use super::{Access, CHUNK, FIRST_VIEW, Inside, LARGEST_WHOLE, Promised, Unpacker, search};
use crate::rule::Rule;
use varve_wire::ReadAt;

impl<S: ReadAt> Unpacker<S> {
    pub(super) fn begin_gzip(&mut self) -> io::Result<bool> {
        let Some(header) = self.find_gzip_header()? else { return Ok(false) };
        self.member_offset = self.window.position();
        self.aardwarc = header.aardwarc;
        self.ours = header.ours;
        let is_large = self.expects_large && self.promise(header.length, FIRST_VIEW * 4)?;
        self.expects_large = is_large;
        if !is_large && !self.inflate_small()? && !self.promise(header.length, 0)? {
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

    /// Decompresses the member in one go when it is small. False when it is not, or is damaged.
    fn inflate_small(&mut self) -> io::Result<bool> {
        if !self.inflates_whole() {
            return Ok(false);
        }
        let mut view = self.access.first_step();
        let mut packed = self.window.fill(view)?.len();
        if self.output.is_empty() {
            // Text packs to a fifth or so; a small file needs no large buffer.
            self.output = vec![0; (packed * 8).clamp(4 << 10, FIRST_VIEW)];
        }
        loop {
            match self.inflate_view() {
                Ok(()) => return Ok(true),
                Err(NotWhole::Larger) if self.output.len() < FIRST_VIEW * 4 => {
                    self.enlarge_output(self.output.len() * 2);
                }
                Err(NotWhole::Unreadable) if view < FIRST_VIEW && packed >= view => {
                    view *= 4;
                    packed = self.window.fill(view)?.len();
                }
                Err(_) => return Ok(false),
            }
        }
    }

    /// Whether members are decompressed whole where they can be: who wants a header alone does not want that.
    fn inflates_whole(&mut self) -> bool {
        if self.access == Access::Random {
            return false;
        }
        if self.inflater.is_none() {
            self.inflater = Inflater::new();
        }
        self.inflater.is_some()
    }

    /// Decompresses the beginning of a large member whose record says how long it is: at least `least`, and not too
    /// long for one go. The rest may never be wanted: who shares a file with others looks where the next record begins.
    fn promise(&mut self, header: usize, least: usize) -> io::Result<bool> {
        if !self.inflates_whole() {
            return Ok(false);
        }
        let packed = self.window.fill(FIRST_VIEW)?;
        let inflating = self.inflating.get_or_insert_with(|| Box::new(Inflating::new()));
        self.beginning.resize(CHUNK, 0);
        let (taken, given) = inflating.beginning(packed, &mut self.beginning);
        self.beginning.truncate(given);
        let length = search::promised_length(&self.beginning).and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| (least..=LARGEST_WHOLE).contains(length)) else {
            return Ok(false);
        };
        self.promised = Promised { length, taken: header + taken };
        self.give_beginning();
        self.inside = Inside::Promised;
        self.expects_large = true;
        Ok(true)
    }

    fn give_beginning(&mut self) {
        let given = self.beginning.len();
        if self.output.len() < given {
            self.enlarge_output(given);
        }
        self.output[..given].copy_from_slice(&self.beginning);
        self.end = given;
        self.given = given as u64;
    }

    /// Decompresses all of a large member, in one go if it is what it says, else from its beginning on.
    pub(super) fn keep_promise(&mut self) -> io::Result<()> {
        let Promised { length, taken } = self.promised;
        if self.output.len() < length {
            self.enlarge_output(length);
        }
        // By how well its beginning packs, and then by how badly it could.
        let likely = length / self.beginning.len().max(1) * taken + length / 8;
        for view in [likely, length + length / 64] {
            let all_in_view = self.window.fill(view)?.len() < view;
            match self.inflate_view() {
                Ok(()) => return Ok(()),
                Err(NotWhole::Unreadable) if !all_in_view => {}
                Err(_) => break,
            }
        }
        self.give_beginning();
        self.window.consume(taken);
        self.given_until = self.window.position();
        self.inside = Inside::Gzip;
        Ok(())
    }

    /// Decompresses the member, if all of it is in view.
    fn inflate_view(&mut self) -> Result<(), NotWhole> {
        let Some(inflater) = &mut self.inflater else { return Err(NotWhole::Unreadable) };
        let (taken, given) = inflater.member(self.window.bytes(), &mut self.output)?;
        self.window.consume(taken);
        self.end = given;
        self.given = given as u64;
        self.inside = Inside::Whole;
        Ok(())
    }

    /// Nothing in the old one is wanted any more.
    pub(super) fn enlarge_output(&mut self, size: usize) {
        self.output = Vec::new();
        self.output = vec![0; size];
    }

    pub(super) fn inflate_more(&mut self) -> io::Result<bool> {
        let room = self.make_room();
        let packed = self.window.fill(1)?;
        if packed.is_empty() {
            self.cut_member()?;
            return Ok(false);
        }
        let Some(inflating) = &mut self.inflating else { return Ok(false) };
        let step = inflating.step(packed, &mut self.output[self.end..room]);
        self.window.consume(step.taken);
        if step.given > 0 {
            self.given_until = self.window.position();
        }
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
