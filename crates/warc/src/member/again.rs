//! Another member of the same file, with the buffers that are there.
//!
//! Who reads one record here and one there, thousands of them, would spend most of the time on making decompressors.

use std::io;

use super::{Access, CHUNK, Encoding, FREE_REWIND, Inside, Promised, Unpacker};
use crate::rule::Pending;
use crate::stray::Strays;
use varve_wire::ReadAt;

impl<S: ReadAt> Unpacker<S> {
    /// Begins anew at `offset`, as if it had just been made there.
    pub(crate) fn go_to(&mut self, offset: u64, access: Access) -> io::Result<()> {
        self.begin_anew(offset, access);
        let encoding = Encoding::of(self.window.fill(8)?);
        if encoding != self.encoding {
            self.encoding = encoding;
            self.prepare()?;
        }
        self.chunk = if encoding == Encoding::Zstd { CHUNK } else { access.first_chunk() };
        Ok(())
    }

    /// Begins anew at the first member at or after `offset` that begins a record, of the encoding that was seen before. False
    /// when there is none before `until`.
    pub(crate) fn find_again(&mut self, offset: u64, until: u64) -> io::Result<bool> {
        self.begin_anew(offset, Access::Sequential);
        self.chunk = CHUNK;
        self.search(offset, until)
    }

    fn begin_anew(&mut self, offset: u64, access: Access) {
        self.access = access;
        self.window.go_to(offset, access.first_step());
        self.inside = Inside::Outside;
        self.promised = Promised::default();
        self.expects_large = false;
        (self.start, self.end) = (0, 0);
        (self.member_offset, self.left_at) = (offset, offset);
        (self.consumed, self.given, self.given_before) = (0, 0, 0);
        (self.aardwarc, self.ours, self.failed, self.careful) = (false, false, false, false);
        self.plain_begun = false;
        self.frame_promised = true;
        self.dictionary_missed = false;
        self.rewind_budget = self.window.size().saturating_mul(2).saturating_add(FREE_REWIND);
        self.findings = Pending::default();
        self.strays = Strays::default();
    }

    /// Forgets what was read ahead.
    pub(crate) fn forget(&mut self) {
        self.window.forget();
    }
}
