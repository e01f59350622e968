//! What becomes of a member that cannot be read to its end: it is said, and the next is looked for.
//!
//! The next is one that begins a record, so others may lie between that are damaged as well. So it is also said how far the bytes go of which
//! nothing could be read.

use std::io;

use super::{Encoding, Inside, Unpacker};
use crate::rule::Rule;
use varve_wire::ReadAt;

impl<S: ReadAt> Unpacker<S> {
    /// The packed bytes ran out inside the member: the file was cut here, or damage made this member swallow others.
    pub(super) fn cut_member(&mut self) -> io::Result<()> {
        self.leave_failed();
        let read = self.given;
        let stopped = self.window.position();
        let (rule, message) = if self.search_again()? {
            let passed = self.passed(stopped, true);
            let message = format!("a compressed member has no end, {read} bytes of it could be read{passed}");
            (Rule::MemberDamaged, message)
        } else {
            let message =
                format!("the file ends inside a compressed member, {read} bytes of it could be read");
            (Rule::MemberCut, message)
        };
        self.report(rule, self.member_offset, message);
        self.put_unread_aside()
    }

    /// The member cannot be read on: says so and looks for the next.
    pub(super) fn fail(&mut self, rule: Rule, message: &str) -> io::Result<()> {
        self.leave_failed();
        let stopped = self.window.position();
        let found = self.search_again()?;
        let passed = self.passed(stopped, found);
        self.report(rule, self.member_offset, format!("{message}{passed}"));
        if self.has_passed(stopped) {
            self.put_unread_aside()?;
        }
        Ok(())
    }

    pub(super) fn leave_failed(&mut self) {
        self.failed = true;
        self.inside = Inside::Outside;
    }

    /// Whether bytes were passed that gave nothing: not where unpacking `stopped` just at the next member, as it does when only a checksum is
    /// wrong.
    fn has_passed(&self, stopped: u64) -> bool {
        self.given == 0 || self.window.position() != stopped
    }

    /// How many bytes it is to the next member, which was `found`, or to the end of the file.
    fn passed(&self, stopped: u64, found: bool) -> String {
        if !self.has_passed(stopped) {
            return String::new();
        }
        let here = self.window.position();
        let length = here.saturating_sub(self.member_offset);
        let end = if found { format!("byte {here}") } else { "the end of the file".to_owned() };
        format!("; nothing else could be read of the {length} bytes up to {end}")
    }

    /// Puts aside what was not read of the failed member, and what was passed behind it.
    fn put_unread_aside(&mut self) -> io::Result<()> {
        self.put_aside(if self.given == 0 { self.member_offset } else { self.given_until })
    }

    /// Looks for the next member: where a zstd frame ends as its blocks say, so that one behind it that is damaged as well is told for itself;
    /// else right behind the start of the failed one, as far as the budget allows.
    fn search_again(&mut self) -> io::Result<bool> {
        if self.encoding == Encoding::Zstd
            && let Some(end) = self.end_by_account(self.member_offset)?
        {
            self.window.seek(end);
            return Ok(!self.window.fill(1)?.is_empty());
        }
        let stopped = self.window.position();
        let cost = stopped.saturating_sub(self.member_offset).max(self.given);
        let from = if self.spend(cost) { self.member_offset + 1 } else { stopped };
        self.search(from, u64::MAX)
    }
}
