//! The packed length of a record in its silo.
//!
//! The index is sorted by id, not by place, and a gzip member does not state its length. So the
//! packed bytes are searched for the header of the next member. A hit counts if the index has a
//! record there and the packed form allows it: crafted bytes that look like a member are not in the
//! index. In doubt the record is unpacked.

use std::io;

use varve_warc::write::GZIP_HEADER;
use varve_warc::{Extent, WarcReader};
use varve_wire::ReadAt;

use super::StoreReader;
use super::random_access::RandomAccessReader;
use crate::error::StoreError;
use crate::index::{IndexPrefix, SiloPlace};
use crate::record::record_and_body_ids;

/// Bytes searched at a time.
const SEARCH_CHUNK_BYTES: usize = 16 << 10;

impl StoreReader {
    /// The packed length of the record at a place; `None` when no record begins there.
    pub fn packed_length(&self, place: SiloPlace) -> Result<Option<u64>, StoreError> {
        match self.end_by_search(place)? {
            Some(end) => Ok(end.checked_sub(place.offset())),
            None => self.length_by_unpacking(place),
        }
    }

    /// The end of a record, if it can be found without unpacking.
    fn end_by_search(&self, place: SiloPlace) -> Result<Option<u64>, StoreError> {
        let failed =
            |source| StoreError::read(place.silo(), varve_warc::Error::Io { offset: place.offset(), source });
        let source = self.silo(place.silo())?;
        let mut visitor = self.silos().random_access();
        let end = match next_member(&*source, place.offset() + 1).map_err(failed)? {
            None => source.size().map_err(failed)?,
            Some(next) if self.is_indexed(&mut visitor, place.silo(), next)? => next,
            Some(_) => return Ok(None),
        };
        match visitor.record(place, Extent::Header)? {
            Some(record) if record.has_our_gzip_header() => {}
            _ => return Ok(None),
        }
        Ok(visitor.may_end_at(end)?.then_some(end))
    }

    /// Whether the index has the record at this offset.
    fn is_indexed(
        &self,
        visitor: &mut RandomAccessReader<'_>,
        silo: u32,
        offset: u64,
    ) -> Result<bool, StoreError> {
        let place = SiloPlace::new(silo, offset)?;
        let Some(record) = visitor.record(place, Extent::Header)? else { return Ok(false) };
        let (Some(own), _) = record_and_body_ids(record.header()) else { return Ok(false) };
        Ok(self.index().find(IndexPrefix::of(&own))?.iter().any(|known| known == place))
    }

    fn length_by_unpacking(&self, place: SiloPlace) -> Result<Option<u64>, StoreError> {
        let failed = |error| StoreError::read(place.silo(), error);
        let mut reader = WarcReader::at(self.silo(place.silo())?, place.offset()).map_err(failed)?;
        if reader.next_record().map_err(failed)?.is_none() {
            return Ok(None);
        }
        let next = reader.next_record().map_err(failed)?.map(|record| record.offset());
        Ok(next.unwrap_or_else(|| reader.position()).checked_sub(place.offset()))
    }
}

/// The offset of the next byte sequence that looks like a gzip member header as varve writes it.
fn next_member(source: &dyn ReadAt, from: u64) -> io::Result<Option<u64>> {
    let finder = memchr::memmem::Finder::new(&GZIP_HEADER);
    let mut buffer = vec![0; SEARCH_CHUNK_BYTES];
    let mut offset = from;
    loop {
        let count = read_up_to(source, &mut buffer, offset)?;
        if let Some(at) = finder.find(&buffer[..count]) {
            return Ok(Some(offset + at as u64));
        }
        if count < buffer.len() {
            return Ok(None);
        }
        // A header may span two chunks.
        offset += (count - (GZIP_HEADER.len() - 1)) as u64;
    }
}

fn read_up_to(source: &dyn ReadAt, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use varve_warc::date::Date;
    use varve_warc::write::Packing;

    use crate::disk::LocalDisk;
    use crate::index::IndexOptions;
    use crate::silo::SiloFiles;
    use crate::{NewObject, StoreSettings, StoreWriter};

    fn date() -> Date {
        Date::parse(b"2026-11-15T12:00:00Z").expect("a date")
    }

    fn open(root: &Path) -> StoreWriter {
        let settings = StoreSettings {
            silo_size: 1 << 30,
            packing: Packing::Gzip,
            description: Vec::new(),
            index: IndexOptions::default(),
            index_folder: root.join("index"),
            temporary: root.join("tmp"),
            clock: Arc::new(date),
        };
        let files = SiloFiles::new(Arc::new(LocalDisk::new(root)), root.join("warc"), None);
        StoreWriter::open(files, settings).expect("opened").0
    }

    #[test]
    fn the_length_of_a_record_by_varve_is_found_without_unpacking() {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path());
        let mut packer = writer.packer().expect("a packer");
        let object =
            NewObject { date: date(), content_type: "text/plain".into(), refers_to: None, known: None };
        let store =
            |packer: &mut _, bytes: &[u8]| writer.store_bytes(packer, &object, bytes).expect("stored").id;
        let ids: Vec<_> = (0..200)
            .map(|number: u64| store(&mut packer, &[b'x'; 3000].map(|byte| byte ^ number as u8)))
            .collect();
        writer.sync().expect("synced");
        let reader = writer.reader();
        for id in ids {
            let place = reader.find(&id).expect("read").expect("there").place;
            let seen = reader.end_by_search(place).expect("read").expect("it can be seen");
            let unpacked = reader.length_by_unpacking(place).expect("read");
            assert_eq!(Some(seen - place.offset()), unpacked);
        }
    }
}
