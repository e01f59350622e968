//! Records to be copied elsewhere: read to their end and verified first.

use std::io::{BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use varve_core::RecordId;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::{Extent, Format, WarcReader};
use varve_wire::{ReadAt, ReadAtCursor};

use super::verify::damaged_record;
use super::{LocatedRecord, StoreReader};
use crate::error::StoreError;
use crate::index::{IndexPrefix, SiloPlace};
use crate::record::parse_id;

/// A request is looked for among this number of records after its response. Workers that write at the
/// same time put theirs between the two.
const MAX_RECORDS_TO_REQUEST: usize = 64;

/// A record that was read to its end and verified.
pub struct VerifiedRecord {
    located: LocatedRecord,
    source: Arc<dyn ReadAt>,
    /// Its bytes in the silo, if they are a gzip member that can stand in any file.
    member: Option<Range<u64>>,
}

impl VerifiedRecord {
    /// Its id.
    pub fn id(&self) -> RecordId {
        self.located.id
    }

    /// Its header.
    pub fn header(&self) -> &RecordHeader {
        &self.located.header
    }

    /// Its bytes as a gzip member; `None` if it is packed differently in its silo.
    pub fn gzip_member(&self) -> Option<impl Read + use<>> {
        let range = self.member.clone()?;
        Some(ReadAtCursor::new(Arc::clone(&self.source), range.start).take(range.end - range.start))
    }
}

impl StoreReader {
    /// Reads the record with this id to its end and verifies it. A damaged record is an error.
    pub fn verified_record(&self, id: &RecordId) -> Result<Option<VerifiedRecord>, StoreError> {
        self.find(id)?.map(|located| self.verify(located)).transpose()
    }

    fn verify(&self, located: LocatedRecord) -> Result<VerifiedRecord, StoreError> {
        let place = located.place;
        if let Some(fault) = self.silos().corruption(place)? {
            return Err(damaged_record(IndexPrefix::of(&located.id), place, &fault));
        }
        let is_member = {
            let mut visitor = self.silos().random_access();
            visitor.record(place, Extent::Header)?.is_some_and(|record| record.has_our_gzip_header())
        };
        let length = if is_member { self.packed_length(place)? } else { None };
        let member = length.map(|length| place.offset()..place.offset() + length);
        Ok(VerifiedRecord { source: self.silo(place.silo())?, located, member })
    }

    /// The block of a verified record.
    pub fn block_of(
        &self,
        record: &VerifiedRecord,
    ) -> Result<Option<impl BufRead + Send + use<>>, StoreError> {
        self.record_at(record.located.place)
    }

    /// The request that belongs to a response, if it was stored after it.
    pub fn request_of(&self, response: &VerifiedRecord) -> Result<Option<VerifiedRecord>, StoreError> {
        let number = response.located.place.silo();
        let failed = |error| StoreError::read(number, error);
        let source = self.silo(number)?;
        let mut reader =
            WarcReader::resume(source, response.located.place.offset(), Format::Warc).map_err(failed)?;
        for _ in 0..=MAX_RECORDS_TO_REQUEST {
            let Some(record) = reader.next_record().map_err(failed)? else { break };
            let header = record.header();
            let concurrent_to = header.reference("WARC-Concurrent-To").and_then(parse_id);
            if header.record_type() == RecordType::Request
                && concurrent_to == Some(response.located.id)
                && let Some(id) = header.record_id().and_then(parse_id)
            {
                let place = SiloPlace::new(number, record.offset())?;
                return self.verify(LocatedRecord { place, id, header: header.clone() }).map(Some);
            }
        }
        Ok(None)
    }
}
