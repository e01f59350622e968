//! Recognises a file by its first record, never by its name.

use super::{Error, Format, MAX_LEADING_JUNK_BYTES, ReaderStage, WarcReader, warc_records};
use crate::member::{Encoding, looks_like_record};
use crate::rules::{PendingFindings, RuleSeverity, WarcFinding, shown};
use varve_wire::ReadAt;

impl<S: ReadAt> WarcReader<S> {
    /// Recognises the first record.
    pub(super) fn recognise(&mut self) -> Result<(), Error> {
        self.begin()?;
        if self.stage == ReaderStage::End {
            return Ok(());
        }
        let first = self.first_bytes(256)?;
        let text = first.trim_ascii_start();
        if warc_records::is_start_loosely(text) {
            return Ok(());
        }
        if first.starts_with(b"PK\x03\x04") {
            return Err(Error::Zip);
        }
        if looks_like_record(text) {
            self.format = Format::Arc { version: 1 };
            return Ok(());
        }
        let place = self.members.position();
        if self.located(|reader| reader.pass_junk(place, Some(MAX_LEADING_JUNK_BYTES)))? {
            return Ok(());
        }
        if self.recognise_behind_junk()? {
            return Ok(());
        }
        Err(self.not_an_archive(&first))
    }

    /// The error for bytes that are no archive. When there are none, the finding about the packing.
    pub(super) fn not_an_archive(&mut self, first: &[u8]) -> Error {
        let is_packing_trouble = |finding: &WarcFinding| {
            finding.rule.severity() == RuleSeverity::Error && finding.rule.code().starts_with('C')
        };
        let trouble = self.take_findings().into_iter().find(is_packing_trouble);
        match trouble {
            Some(finding) if first.is_empty() => Error::Packed(finding),
            _ => Error::NotAnArchive { beginning: shown(first) },
        }
    }

    /// Recognises a packed file with damaged first bytes by a sound member after them.
    fn recognise_behind_junk(&mut self) -> Result<bool, Error> {
        let limit = MAX_LEADING_JUNK_BYTES;
        if self.members.encoding() != Encoding::Plain
            || !self.located(|reader| reader.members.skip_leading_junk(limit))?
        {
            return Ok(false);
        }
        self.stage = ReaderStage::Start;
        self.begin()?;
        if self.stage == ReaderStage::End || self.members.has_failed() {
            return Ok(false);
        }
        if !warc_records::is_start_loosely(self.members.buffered()) {
            self.format = Format::Arc { version: 1 };
        }
        // The findings about a plain file do not apply.
        self.findings = PendingFindings::default();
        Ok(true)
    }
}
