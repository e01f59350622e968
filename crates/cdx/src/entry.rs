//! One line of an index as a value.

use serde_json::{Map, Value};

/// A capture in an index.
///
/// Of a foreign line, fields with a meaning here are in fields of their own, and all others in
/// `others`. An empty field and `-` both mean that the line does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CdxEntry {
    /// The key by which lines are sorted.
    pub key: String,
    /// When it was captured: 4 to 17 digits, usually 14.
    pub timestamp: String,
    /// The URL.
    pub url: String,
    /// The media type that the server gave, without parameters; `warc/revisit` for a revisit.
    pub mime: Option<String>,
    /// The status, as text.
    pub status: Option<String>,
    /// The digest of the payload, with or without the label of its algorithm.
    pub digest: Option<String>,
    /// The length of the record in the file.
    pub length: Option<u64>,
    /// Where the record begins in the file.
    pub offset: Option<u64>,
    /// The file.
    pub filename: Option<String>,
    /// The digest of the bytes of the record in the file.
    pub record_digest: Option<String>,
    /// The body of the request as it is in the key.
    pub request_body: Option<String>,
    /// The method of the request, if it was not GET.
    pub method: Option<String>,
    /// Everything else, in the order of the line.
    pub others: Map<String, Value>,
}

/// Why a line is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdxEntryError {
    /// It has fewer parts than its format.
    #[error("the line has {found} of {wanted} parts")]
    TooShort {
        /// The number of parts.
        found: usize,
        /// The number of parts of the format.
        wanted: usize,
    },
    /// It is not UTF-8.
    #[error("the line is not UTF-8")]
    Encoding,
    /// Its time is not 4 to 17 digits.
    #[error("`{0}` is not a time in 4 to 17 digits")]
    Time(String),
    /// What follows the time is not a JSON object.
    #[error("what follows the time is not a JSON object: {0}")]
    Json(String),
    /// A field does not have the form that its name requires.
    #[error("`{field}` is `{value}`, not {wanted}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The value.
        value: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A line is longer than the limit.
    #[error("the line is longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
}

/// Maximum number of characters of a value in an error.
const MAX_SHOWN_CHARS: usize = 60;

impl CdxEntry {
    /// Parses the number in a field; `-` and an empty text mean that there is none.
    pub(crate) fn number(field: &'static str, text: &str) -> Result<Option<u64>, CdxEntryError> {
        if text.is_empty() || text == "-" {
            return Ok(None);
        }
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_number => Ok(Some(number)),
            _ => Err(CdxEntryError::Field { field, value: shown(text), wanted: "a number" }),
        }
    }

    /// Checks and takes a time.
    pub(crate) fn time(text: &str) -> Result<String, CdxEntryError> {
        let is_time = (4..=17).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_time { Ok(text.to_owned()) } else { Err(CdxEntryError::Time(shown(text))) }
    }
}

/// The beginning of a text, for a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

/// A field of a line: `-` and an empty text mean that there is none.
pub(crate) fn said(text: &str) -> Option<String> {
    (!text.is_empty() && text != "-").then(|| text.to_owned())
}

/// A value that is one word of a line: white space and control characters are percent-encoded.
pub(crate) fn push_word(line: &mut Vec<u8>, word: &str) {
    if word.is_empty() {
        line.push(b'-');
        return;
    }
    for byte in word.bytes() {
        if byte.is_ascii_graphic() || !byte.is_ascii() {
            line.push(byte);
        } else {
            line.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}
