//! How many bytes of its silo a record takes, packed as it is.
//!
//! The index knows where records begin, in the order of their ids and not of their places, and a gzip member does not say
//! where it ends. So the packed bytes are looked through for where the next record begins, without unpacking them. What is
//! found is believed if the index knows a record there and nothing in the packed form speaks against it: bytes that somebody
//! chose, and that only look like a record, are known to no index. In doubt the record is unpacked.

use std::sync::Arc;

use varve_warc::source::ReadAt;
use varve_warc::{Encoding, Extent, Format, Reader};

use crate::error::StoreError;
use crate::index::{Place, Prefix};
use crate::silo::ids;
use crate::store::Store;

impl Store {
    /// How many bytes of its silo the record at a place takes, packed as it is. None when no record begins there.
    pub fn packed_length(&self, place: Place) -> Result<Option<u64>, StoreError> {
        match self.end_by_looking(place)? {
            Some(end) => Ok(end.checked_sub(place.offset())),
            None => self.length_by_unpacking(place),
        }
    }

    /// Where a record ends, as far as that can be told without unpacking it.
    fn end_by_looking(&self, place: Place) -> Result<Option<u64>, StoreError> {
        let failed = |error| StoreError::read(place.silo(), error);
        let io_failed = |source| failed(varve_warc::Error::Io { offset: place.offset(), source });
        let source = self.silo(place.silo())?;
        let size = source.size().map_err(io_failed)?;
        let mut reader = Reader::visiting(Arc::clone(&source)).map_err(failed)?;
        if reader.visit(place.offset(), Extent::Header).is_err() {
            return Ok(None);
        }
        let Some(record) = reader.next_record().map_err(failed)? else { return Ok(None) };
        if !record.has_our_gzip_header() {
            return Ok(None);
        }
        let end = match self.next_known(source, place, size)? {
            Next::At(offset) => offset,
            Next::None => size,
            Next::Doubtful => return Ok(None),
        };
        Ok(reader.may_end_at(end).map_err(failed)?.then_some(end))
    }

    /// The first record behind a place that can be seen without unpacking what lies between.
    fn next_known(&self, source: Arc<dyn ReadAt>, place: Place, size: u64) -> Result<Next, StoreError> {
        let failed = |error| StoreError::read(place.silo(), error);
        let found = Reader::find(source, Encoding::Gzip, Format::Warc, place.offset() + 1, size);
        let Some(mut reader) = found.map_err(failed)? else { return Ok(Next::None) };
        let Ok(Some(record)) = reader.next_record() else { return Ok(Next::Doubtful) };
        let (offset, (own, _)) = (record.offset(), ids(record.header()));
        let (Some(own), Ok(next)) = (own, Place::new(place.silo(), offset)) else {
            return Ok(Next::Doubtful);
        };
        let is_known = self.index().find(Prefix::of(&own))?.iter().any(|known| known == next);
        Ok(if is_known { Next::At(offset) } else { Next::Doubtful })
    }

    fn length_by_unpacking(&self, place: Place) -> Result<Option<u64>, StoreError> {
        let failed = |error| StoreError::read(place.silo(), error);
        let mut reader = Reader::at(self.silo(place.silo())?, place.offset()).map_err(failed)?;
        if reader.next_record().map_err(failed)?.is_none() {
            return Ok(None);
        }
        let next = reader.next_record().map_err(failed)?.map(|record| record.offset());
        Ok(next.unwrap_or_else(|| reader.position()).checked_sub(place.offset()))
    }
}

/// What follows a record.
enum Next {
    /// A record that the index knows.
    At(u64),
    /// Nothing.
    None,
    /// Something that may be one.
    Doubtful,
}
