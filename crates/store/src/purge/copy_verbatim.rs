//! Copies the packed bytes of records to the new silo.
//!
//! A kept record need not be packed again: a member is position-independent. Only a record with
//! changed fields, segments or another packing is repacked. A copied record was read to its end and
//! verified.

use std::io::{BufReader, Read};
use std::ops::Range;

use varve_core::RecordId;
use varve_warc::Record;
use varve_warc::record::{RecordHeader, RecordType, WarcVersion};
use varve_warc::write::{BlockFacts, PackedRecord, Packing};
use varve_wire::{ReadAt, ReadAtCursor};

use super::copy_record::{CONCURRENT_TO_FIELD, invalid_record};
use super::{SiloRewriter, original_of};
use crate::error::StoreError;
use crate::index::SiloPlace;
use crate::reader::id_matches_header;
use crate::record::parse_id;

impl SiloRewriter<'_> {
    /// Whether a silo has the packing of the new silos.
    pub(super) fn has_target_packing(&self, silo: &dyn ReadAt, ending: &str) -> Result<bool, StoreError> {
        let settings = self.target.settings();
        let mut beginning = Vec::new();
        let length = settings.packing_probe_length() as u64;
        ReadAtCursor::new(silo, 0).take(length).read_to_end(&mut beginning).map_err(StoreError::Content)?;
        Ok(settings.has_current_packing(ending, &beginning))
    }

    /// Whether the packed bytes of a record can be copied unchanged. To be called before its block
    /// is read.
    pub(super) fn can_copy_verbatim<S: ReadAt>(&self, record: &Record<'_, S>) -> bool {
        let header = record.header();
        let is_ours =
            matches!(self.target.settings().packing, Packing::Zstd { .. }) || record.has_our_gzip_header();
        let replaced = |id: &[u8]| parse_id(id).is_some_and(|id| self.replaced.contains_key(&id));
        let is_moved = header.record_type() == RecordType::Revisit
            && original_of(header).is_some_and(|original| self.dropped.contains(&original));
        is_ours
            && !is_moved
            && header.version == WarcVersion::V1_1
            && !header.is_segment()
            && !header.reference(CONCURRENT_TO_FIELD).is_some_and(replaced)
            && id_matches_header(header)
    }

    /// Copies the packed bytes of a record.
    pub(super) fn copy_bytes(
        &mut self,
        header: &RecordHeader,
        id: RecordId,
        silo: &dyn ReadAt,
        range: Range<u64>,
    ) -> Result<(), StoreError> {
        let (Some(Ok(digest)), Some(length)) = (header.block_digest(), header.content_length()) else {
            return Err(StoreError::Content(invalid_record("a record does not say what its block is", id)));
        };
        let payload = header.payload_digest().and_then(Result::ok);
        let facts = BlockFacts { length, digest, payload };
        let temporary = self.target.temporary();
        let record = PackedRecord::adopt(
            header,
            facts,
            &mut ReadAtCursor::new(silo, range.start).take(range.end - range.start),
            Some(temporary),
        );
        self.target.keep(record.map_err(StoreError::Content)?)?;
        Ok(())
    }

    /// Repacks a record that is corrupt: another record with its id may be intact, and if not, that
    /// is an error.
    pub(super) fn repack_record(
        &mut self,
        header: &RecordHeader,
        id: RecordId,
        place: SiloPlace,
    ) -> Result<(), StoreError> {
        let lost = || StoreError::Content(invalid_record("a record cannot be read again", id));
        let mut block = BufReader::new(self.source.record_at(place)?.ok_or_else(lost)?);
        self.record(header, id, &mut block)
    }
}
