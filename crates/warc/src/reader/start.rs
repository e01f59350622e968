//! Finding out what a file is, by its first record and never by its name.

use super::{Error, Format, Reader, Stage, warc};
use crate::member::{Encoding, looks_like_record};
use crate::rule::{Finding, Pending, Severity, shown};
use varve_wire::ReadAt;

impl<S: ReadAt> Reader<S> {
    /// Finds out what the first record is.
    pub(super) fn recognise(&mut self) -> Result<(), Error> {
        self.begin()?;
        if self.stage == Stage::End {
            return Ok(());
        }
        let first = self.first_bytes(256)?;
        let text = first.trim_ascii_start();
        if warc::is_start_loosely(text) {
            return Ok(());
        }
        if first.starts_with(b"PK\x03\x04") {
            return Err(Error::Zip);
        }
        if looks_like_record(text) {
            self.format = Format::Arc { version: 1 };
            return Ok(());
        }
        let place = self.unpacker.position();
        if self.located(|reader| reader.pass_junk(place, Some(reader.limits.search)))? {
            return Ok(());
        }
        if self.recognise_behind_junk()? {
            return Ok(());
        }
        Err(self.not_an_archive(&first))
    }

    /// Why nothing can be made of bytes that begin so: where there are none, what is wrong with the packing.
    pub(super) fn not_an_archive(&mut self, first: &[u8]) -> Error {
        let is_packing_trouble = |finding: &Finding| {
            finding.rule.severity() == Severity::Error && finding.rule.code().starts_with('C')
        };
        let trouble = self.take_findings().into_iter().find(is_packing_trouble);
        match trouble {
            Some(finding) if first.is_empty() => Error::Packed(finding),
            _ => Error::NotAnArchive { beginning: shown(first) },
        }
    }

    /// A packed file whose first bytes are damaged is known by a sound member behind them.
    fn recognise_behind_junk(&mut self) -> Result<bool, Error> {
        let limit = self.limits.search;
        if self.unpacker.encoding() != Encoding::Plain
            || !self.located(|reader| reader.unpacker.unpack_behind_junk(limit))?
        {
            return Ok(false);
        }
        self.stage = Stage::Start;
        self.begin()?;
        if self.stage == Stage::End || self.unpacker.has_failed() {
            return Ok(false);
        }
        if !warc::is_start_loosely(self.unpacker.buffered()) {
            self.format = Format::Arc { version: 1 };
        }
        // What was said about the file as a plain one does not hold.
        self.findings = Pending::default();
        Ok(true)
    }
}
