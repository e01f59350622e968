//! The `warcinfo` record at the start of a silo, which names the file it is in.

use varve_warc::record::{Header, RecordType};

/// The field that only the description of a silo has.
pub(crate) const FILE_NAME: &str = "WARC-Filename";

/// Whether a record is what a silo begins with.
pub fn describes_silo(header: &Header) -> bool {
    header.record_type() == RecordType::Warcinfo && header.fields.get(FILE_NAME).is_some()
}
