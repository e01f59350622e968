//! Records whose very bytes go to the new silo.
//!
//! A record that stays need not be packed again: a member means the same wherever it lies, so that who packed it small finds
//! it as small. Only what must say something else, is cut into segments, or lies in a silo that is packed in another way
//! is packed anew. What is copied was read to its end, and is what its header says.

use std::io::{self, BufReader, Read};
use std::ops::Range;

use varve_core::RecordId;
use varve_warc::Record;
use varve_warc::record::{Header, RecordType, Version};
use varve_warc::source::ReadAt;
use varve_warc::write::{BlockFacts, PackedRecord, Packing};

use super::copy::{CONCURRENT, odd};
use super::{Rewriting, original_of};
use crate::error::StoreError;
use crate::index::Place;
use crate::reader::follows;
use crate::record::parse_id;

impl Rewriting<'_> {
    /// Whether the records of a silo are packed as those of the new ones are.
    pub(super) fn is_packed_so(&self, silo: &dyn ReadAt, ending: &str) -> Result<bool, StoreError> {
        let settings = self.target.settings();
        let mut beginning = Vec::new();
        let length = settings.telling_length() as u64;
        Stretch { silo, range: 0..length }.read_to_end(&mut beginning).map_err(StoreError::Content)?;
        Ok(settings.begins_so(ending, &beginning))
    }

    /// Whether a record has nothing else to say in the new silos. To be asked before its block is read.
    pub(super) fn is_kept_as_it_is<S: ReadAt>(&self, record: &Record<'_, S>) -> bool {
        let header = record.header();
        let is_ours =
            matches!(self.target.settings().packing, Packing::Zstd { .. }) || record.has_our_gzip_header();
        let replaced =
            |id: &[u8]| parse_id(id).is_some_and(|id| self.replaced.contains_key(&RecordId::new(id)));
        let is_moved = header.record_type() == RecordType::Revisit
            && original_of(header).is_some_and(|original| self.dropped.contains(&original));
        is_ours
            && !is_moved
            && header.version == Version::V1_1
            && !header.is_segment()
            && !header.reference(CONCURRENT).is_some_and(replaced)
            && follows(header)
    }

    /// Copies the bytes of a record.
    pub(super) fn copy_bytes(
        &mut self,
        header: &Header,
        id: RecordId,
        silo: &dyn ReadAt,
        range: Range<u64>,
    ) -> Result<(), StoreError> {
        let (Some(Ok(digest)), Some(length)) = (header.block_digest(), header.content_length()) else {
            return Err(StoreError::Content(odd("a record does not say what its block is", id)));
        };
        let payload = header.payload_digest().and_then(Result::ok);
        let facts = BlockFacts { length, digest, payload };
        let temporary = &self.target.settings().temporary;
        let record = PackedRecord::adopt(header, facts, &mut Stretch { silo, range }, Some(temporary));
        self.target.keep(record.map_err(StoreError::Content)?)?;
        Ok(())
    }

    /// Packs a record anew that turned out not to be what it should: another of its id may be right, and if not, that is said.
    pub(super) fn record_again(
        &mut self,
        header: &Header,
        id: RecordId,
        place: Place,
    ) -> Result<(), StoreError> {
        let lost = || StoreError::Content(odd("a record cannot be read again", id));
        let mut block = BufReader::new(self.source.record_at(place)?.ok_or_else(lost)?);
        self.record(header, id, &mut block)
    }
}

/// Bytes of a silo, as something to read.
struct Stretch<'a> {
    silo: &'a dyn ReadAt,
    range: Range<u64>,
}

impl Read for Stretch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let count = self.silo.read_at(&mut buffer[..most], self.range.start)?;
        self.range.start += count as u64;
        Ok(count)
    }
}
