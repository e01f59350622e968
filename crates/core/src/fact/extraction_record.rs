//! The facts about extracted pages: an extraction was saved or deleted, and the settings of a domain
//! were set or deleted.

use serde::{Deserialize, Serialize};

use crate::history::{DomainSettings, FetchMethod};
use crate::{Moment, RecordId};

/// An extraction was saved. The response that it was made from is evidence of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractionRecord {
    /// The canonical URL.
    pub url: String,
    /// The URL that was requested.
    pub requested_url: String,
    /// When the page was fetched.
    pub fetch_time: Moment,
    /// How it was fetched.
    pub fetch_method: FetchMethod,
    /// When the extraction is no longer an answer.
    pub expires: Moment,
    /// The record of the response that the page was read from.
    pub response: RecordId,
    /// The page object without the fields above and below. The crate that extracts defines it.
    pub metadata: serde_json::Value,
    /// The extracted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_text: Option<String>,
}

/// The saved extraction of a page was deleted. Its captures stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractionDeleted {
    /// The canonical URL.
    pub url: String,
    /// When it was deleted.
    pub time: Moment,
}

/// The settings of a domain were set or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainSettingsSet {
    /// The domain, in lower case.
    pub domain: String,
    /// The settings; `None` if they were deleted.
    pub settings: Option<DomainSettings>,
    /// When they were set.
    pub time: Moment,
}
