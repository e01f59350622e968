//! What becomes of a member that cannot be read to its end: it is said, and the next is looked for.

use std::io;

use super::{Inside, Unpacker};
use crate::rule::{Finding, Rule};
use crate::source::ReadAt;

impl<S: ReadAt> Unpacker<S> {
    /// The packed bytes ran out inside the member: the file was cut here, or damage made this member swallow others.
    pub(super) fn cut_member(&mut self) -> io::Result<()> {
        self.leave_failed();
        let read = self.given;
        let at = self.findings.len();
        if self.search_again()? {
            let message = format!("a compressed member has no end, {read} bytes of it could be read");
            self.findings.insert(at, Finding::new(Rule::MemberDamaged, self.member_offset, message));
        } else {
            let message =
                format!("the file ends inside a compressed member, {read} bytes of it could be read");
            self.findings.insert(at, Finding::new(Rule::MemberCut, self.member_offset, message));
        }
        Ok(())
    }

    /// The member cannot be read on: says so and looks for the next.
    pub(super) fn fail(&mut self, rule: Rule, message: &str) -> io::Result<()> {
        self.leave_failed();
        self.report(rule, self.member_offset, message);
        self.search_again()?;
        Ok(())
    }

    pub(super) fn leave_failed(&mut self) {
        self.failed = true;
        self.inside = Inside::Outside;
    }

    /// Looks for the next member right behind the start of the failed one, as far as the budget allows.
    fn search_again(&mut self) -> io::Result<bool> {
        let stopped = self.window.position();
        let cost = stopped.saturating_sub(self.member_offset).max(self.given);
        let from = if self.spend(cost) { self.member_offset + 1 } else { stopped };
        self.search(from, u64::MAX)
    }
}
