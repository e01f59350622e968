//! Finds the record with a payload for a revisit of another program.
//!
//! Such a revisit names its original by an id or a payload digest of its own file. Both are in the
//! header that the imported original kept, and in the index.

use varve_core::RecordId;
use varve_warc::Extent;
use varve_warc::record::{RecordHeader, RecordType};

use super::RevisitOriginal;
use super::deduplication::original_of;
use crate::error::StoreError;
use crate::reader::{LocatedRecord, StoreReader};
use crate::record::{SourceKey, field, parse_id, record_and_body_ids, source_keys};

impl StoreReader {
    /// The record that holds the payload of an imported record. Only synced records are found.
    pub fn original_of_source(&self, key: &SourceKey) -> Result<Option<RevisitOriginal>, StoreError> {
        let prefix = key.prefix();
        let mut found = None;
        {
            let mut visitor = self.silos().random_access();
            for place in self.index().find(prefix)?.iter() {
                let Ok(header) = visitor.identified(prefix, place, Extent::Header)? else { continue };
                if source_keys(&header).any(|named| named == *key)
                    && let (Some(id), _) = record_and_body_ids(&header)
                {
                    found = Some(LocatedRecord { place, id, header });
                    break;
                }
            }
        }
        found.map_or(Ok(None), |located| self.original_with_payload(located))
    }

    /// The record that holds the payload of a capture.
    pub fn original_of_capture(&self, record: &RecordId) -> Result<Option<RevisitOriginal>, StoreError> {
        self.find(record)?.map_or(Ok(None), |located| self.original_with_payload(located))
    }

    /// The record itself, or the one that it refers to if it is a revisit. Revisits refer to responses
    /// only, so there is one step.
    fn original_with_payload(&self, located: LocatedRecord) -> Result<Option<RevisitOriginal>, StoreError> {
        let holder = match located.header.record_type() {
            RecordType::Revisit => match located.header.reference("WARC-Refers-To").and_then(parse_id) {
                Some(original) => self.find(&original)?,
                None => None,
            },
            _ => Some(located),
        };
        let holder = holder.filter(|holder| holder.header.record_type() == RecordType::Response);
        Ok(holder.and_then(|holder| original_of(&holder.header, holder.id, body_length(&holder.header)?)))
    }
}

fn body_length(header: &RecordHeader) -> Option<u64> {
    std::str::from_utf8(header.fields.get(field::BODY_LENGTH)?).ok()?.parse().ok()
}
