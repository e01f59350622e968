//! Receipts: what the store answers when it keeps an exchange, and yields again when a silo is scanned.
//!
//! A receipt holds all that a catalog row is made from, and nothing that is not in the record's own header or in the
//! head of the answer: so rebuilding needs no body, and gives the same rows.

use crate::headers::Headers;
use crate::{BodyId, Moment, RecordId, RunId};

/// What was kept of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The record: a response, or the revisit that says that nothing changed.
    pub record: RecordId,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The URL that was asked.
    pub url: String,
    /// When.
    pub time: Moment,
    /// The status of the answer.
    pub status: u16,
    /// The headers of the answer, as they were. A 304 answers with few; the rest is in what it refers to.
    pub headers: Headers,
    /// The body: the entity with its codings undone.
    pub body: BodyId,
    /// Its length.
    pub length: u64,
    /// Why the answer was cut short, if it was.
    pub truncated: Option<String>,
    /// For a revisit, the record that holds the bytes.
    pub revisit_of: Option<RecordId>,
    /// Whether the server itself said that nothing changed.
    pub not_modified: bool,
}
