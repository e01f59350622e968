//! The ids, index entries and own header fields of a record.
//!
//! Pure functions of a header. Nothing here reads a file.

mod expected_id;
pub mod field;
mod record_ids;
mod source_header;

pub use expected_id::expected_record_id;
pub(crate) use record_ids::body_of_digest;
pub use record_ids::{
    FOREIGN_ID_FIELD, ForeignId, foreign_id, foreign_id_digits, index_entries, index_prefixes, parse_id,
    record_and_body_ids, record_uri,
};
pub(crate) use source_header::source_keys;
pub use source_header::{
    MAX_SOURCE_HEADER_BYTES, SourceKey, source_header, source_header_field, source_line_field,
};
