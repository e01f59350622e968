//! Ids of records. The ids of written records are derived from the record: writing the same content
//! twice gives the same id.
//!
//! Derived ids are `urn:sha256:` and 64 lower-case hex digits. The hashed text depends on the
//! record:
//!
//! | record | SHA-256 of |
//! | --- | --- |
//! | resource, warcinfo, continuation | the block (for the first segment of an object, the whole object) |
//! | metadata | `<` refers-to `>` LF, hex SHA-256 of the block, LF |
//! | response, revisit, request, conversion | type LF, target URI LF, date LF, hex SHA-256 of the block, LF |
//!
//! The first two rows are AardWARC's, so that an object has the same number in both; the third must
//! tell apart two captures of the same bytes.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;

use super::draft::escaped;
use crate::digest::{Algorithm, Digest};
use crate::record::RecordType;

const SHA256_PREFIX: &str = "urn:sha256:";

/// The URI that identifies a record, without the angle brackets of its field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordUri(String);

/// Why a text cannot identify a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordUriError {
    /// It is empty.
    #[error("the URI of a record is empty")]
    Empty,
    /// A field of a header cannot hold it.
    #[error("`{}` is not the URI of a record: character {position} is a control character", text.escape_debug())]
    ControlCharacter {
        /// The text.
        text: String,
        /// The position of the character, from 0.
        position: usize,
    },
}

impl RecordUri {
    /// The URI of a record with that SHA-256.
    pub fn of_sha256(digest: &[u8; 32]) -> Self {
        let mut urn = String::with_capacity(SHA256_PREFIX.len() + 64);
        urn.push_str(SHA256_PREFIX);
        HEXLOWER.encode_append(digest, &mut urn);
        Self(urn)
    }

    /// The id of content that is identified by its bytes, whose SHA-256 is given.
    pub fn of_content(content: &Digest) -> Self {
        Self(format!("{SHA256_PREFIX}{}", HEXLOWER.encode_display(content.bytes())))
    }

    /// The id of metadata about another record.
    pub fn of_metadata(refers_to: &str, block: &Digest) -> Self {
        Self::of_text(&format!("<{refers_to}>\n{}\n", HEXLOWER.encode_display(block.bytes())))
    }

    /// The id of an event at a time.
    pub fn of_event(record_type: RecordType, target_uri: &str, date: &str, block: &Digest) -> Self {
        let name = record_type.name();
        Self::of_text(&format!("{name}\n{target_uri}\n{date}\n{}\n", HEXLOWER.encode_display(block.bytes())))
    }

    fn of_text(text: &str) -> Self {
        Self::of_content(&Algorithm::Sha256.digest(text.as_bytes()))
    }

    /// The URI that a text is closest to: white space, control characters and brackets are
    /// percent-encoded, since a field cannot hold them.
    pub fn escaped(text: &str) -> Self {
        Self(escaped(text))
    }

    /// The SHA-256 in a derived id; `None` for any other URI.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        HEXLOWER.decode(self.0.strip_prefix(SHA256_PREFIX)?.as_bytes()).ok()?.try_into().ok()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecordUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for RecordUri {
    type Err = RecordUriError;

    fn from_str(text: &str) -> Result<Self, RecordUriError> {
        if text.is_empty() {
            return Err(RecordUriError::Empty);
        }
        match text.chars().position(char::is_control) {
            Some(position) => Err(RecordUriError::ControlCharacter { text: text.to_owned(), position }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(text: &str) -> Digest {
        Algorithm::Sha256.digest(text.as_bytes())
    }

    /// The numbers that AardWARC itself gave, at 128 bits.
    #[test]
    fn object_ids_are_those_of_aardwarc() {
        let content = RecordUri::of_content(&sha256("x"));
        assert!(content.as_str().starts_with("urn:sha256:2d711642b726b04401627ca9fbac32f5"), "{content}");
        let about = RecordUri::of_metadata(
            "https://varve.example/aa/2d711642b726b04401627ca9fbac32f5",
            &sha256("{\"note\":\"one\"}\n"),
        );
        assert!(about.as_str().starts_with("urn:sha256:5c2aeb6d93602f966822bf7926792678"), "{about}");
    }

    #[test]
    fn events_differ_by_each_of_their_parts() {
        use RecordType::{Request, Response};
        let block = sha256("b");
        let base = RecordUri::of_event(Response, "http://a/", "2026", &block);
        assert_eq!(base, RecordUri::of_event(Response, "http://a/", "2026", &block));
        assert_ne!(base, RecordUri::of_event(Request, "http://a/", "2026", &block));
        assert_ne!(base, RecordUri::of_event(Response, "http://b/", "2026", &block));
        assert_ne!(base, RecordUri::of_event(Response, "http://a/", "2027", &block));
        assert_ne!(base, RecordUri::of_event(Response, "http://a/", "2026", &sha256("c")));
    }

    #[test]
    fn the_digest_of_a_derived_id_is_read_back() {
        let digest = sha256("x");
        assert_eq!(RecordUri::of_content(&digest).sha256(), digest.sha256());
        assert_eq!(Some(RecordUri::of_content(&digest)), digest.sha256().map(|it| RecordUri::of_sha256(&it)));
        assert_eq!(RecordUri::escaped("urn:uuid:1").sha256(), None);
        assert_eq!(RecordUri::escaped("urn:sha256:1").sha256(), None);
    }

    #[test]
    fn a_text_that_no_field_can_hold_is_refused() {
        assert_eq!("".parse::<RecordUri>(), Err(RecordUriError::Empty));
        let error = "urn:a\nb".parse::<RecordUri>().unwrap_err().to_string();
        assert_eq!(error, "`urn:a\\nb` is not the URI of a record: character 5 is a control character");
        assert_eq!("urn:a b".parse::<RecordUri>().map(|uri| uri.to_string()), Ok("urn:a b".to_owned()));
    }
}
