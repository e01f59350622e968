//! The `warcinfo` record at the start of a silo, which names the file it is in.

use varve_warc::record::{RecordHeader, RecordType};

use super::name;

/// The field that distinguishes the description of a silo from other `warcinfo` records.
pub(crate) const FILE_NAME_FIELD: &str = "WARC-Filename";

/// Whether a record is the description that a silo begins with.
pub fn describes_silo(header: &RecordHeader) -> bool {
    header.record_type() == RecordType::Warcinfo && header.fields.get(FILE_NAME_FIELD).is_some()
}

/// Whether a record is the description of the silo of this number and extension.
pub(crate) fn is_description_of(header: &RecordHeader, number: u32, ending: &str) -> bool {
    let stated = header.fields.get(FILE_NAME_FIELD);
    header.record_type() == RecordType::Warcinfo
        && stated.is_some_and(|stated| stated == name::file_name(number, ending).as_bytes())
}
