//! Samples of a store's records, for training a dictionary.

use std::io::{self, Read};

use varve_core::RecordId;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::{Record, WarcReader};
use varve_wire::ReadAt;

use crate::error::StoreError;
use crate::purge::each_header;
use crate::record::parse_id;
use crate::silo::SiloFiles;

/// Maximum sample of one record. Pages resemble each other mostly at their beginning.
const MAX_SAMPLE_BYTES: usize = 128 << 10;

fn is_sample(header: &RecordHeader) -> bool {
    use RecordType::{Metadata, Resource, Response};
    matches!(header.record_type(), Resource | Response | Metadata)
}

/// About `most` bytes of unpacked records that are `wanted`, taken at equal intervals over the
/// whole store.
pub fn samples(
    files: &SiloFiles,
    most: u64,
    wanted: &dyn Fn(RecordId) -> bool,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut total = 0;
    each_header(files, &mut |header, id, _| {
        if is_sample(header) && wanted(id) {
            total += length(header).min(MAX_SAMPLE_BYTES as u64);
        }
    })?;
    let every = total.div_ceil(most).max(1);
    let (mut samples, mut number) = (Vec::new(), 0u64);
    for silo in files.list()?.into_keys() {
        let source = files.open(silo)?;
        let failed = |error| StoreError::read(silo, error);
        let mut reader = WarcReader::new(&*source).map_err(failed)?;
        while let Some(mut record) = reader.next_record().map_err(failed)? {
            let id = record.header().record_id().and_then(parse_id);
            if is_sample(record.header()) && id.is_some_and(wanted) {
                number += 1;
                if number.is_multiple_of(every) {
                    samples.push(beginning(&mut record).map_err(StoreError::Content)?);
                }
            }
            reader.finish_record().map_err(failed)?;
        }
    }
    Ok(samples)
}

fn length(header: &RecordHeader) -> u64 {
    let text = header.fields.get("Content-Length").and_then(|text| std::str::from_utf8(text).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The beginning of a record with its header, unpacked.
fn beginning<S: ReadAt>(record: &mut Record<'_, S>) -> io::Result<Vec<u8>> {
    let mut bytes = b"WARC/1.1\r\n".to_vec();
    for (name, value) in record.header().fields.iter() {
        bytes.extend([name, b": ", value, b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    record.take(MAX_SAMPLE_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
