//! The header of a record: its version, its fields, and the meaning of the fields.
//!
//! The getters are lenient: brackets around a target URI, case of a type and spaces in a length do
//! not matter to them. `validate` checks whether a header conforms to the standard.

use crate::date::Date;
use crate::digest::{Digest, DigestError};
use varve_wire::Headers;

/// The version line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WarcVersion {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl WarcVersion {
    /// WARC/1.0, ISO 28500:2009.
    pub const V1_0: WarcVersion = WarcVersion { major: 1, minor: 0 };
    /// WARC/1.1, ISO 28500:2017.
    pub const V1_1: WarcVersion = WarcVersion { major: 1, minor: 1 };

    /// Reads `WARC/1.1`, in any case; the line end is not part of it.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let (name, numbers) = line.split_at_checked(5)?;
        if !name.eq_ignore_ascii_case(b"WARC/") {
            return None;
        }
        let dot = memchr::memchr(b'.', numbers)?;
        Some(Self { major: small_number(&numbers[..dot])?, minor: small_number(&numbers[dot + 1..])? })
    }

    /// Whether it is a published version.
    pub fn is_known(self) -> bool {
        matches!((self.major, self.minor), (0, 17) | (0, 18) | (1, 0) | (1, 1))
    }
}

fn small_number(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() || digits.len() > 3 {
        return None;
    }
    digits.iter().try_fold(0u8, |value, byte| {
        byte.is_ascii_digit().then(|| value.checked_mul(10)?.checked_add(byte - b'0'))?
    })
}

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum RecordType {
    Warcinfo,
    Response,
    Resource,
    Request,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
    /// A type that the standard does not know.
    Other,
}

impl RecordType {
    /// The types of the standard.
    pub const KNOWN: [RecordType; 8] = [
        Self::Warcinfo,
        Self::Response,
        Self::Resource,
        Self::Request,
        Self::Metadata,
        Self::Revisit,
        Self::Conversion,
        Self::Continuation,
    ];

    /// The type of that name, without regard to case.
    pub fn parse(name: &[u8]) -> Self {
        let known = Self::KNOWN.into_iter();
        known
            .into_iter()
            .find(|known| name.eq_ignore_ascii_case(known.name().as_bytes()))
            .unwrap_or(Self::Other)
    }

    /// Its name in a header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Response => "response",
            Self::Resource => "resource",
            Self::Request => "request",
            Self::Metadata => "metadata",
            Self::Revisit => "revisit",
            Self::Conversion => "conversion",
            Self::Continuation => "continuation",
            Self::Other => "other",
        }
    }

    /// Whether its payload is stored in its block (clause 4). That of a revisit is elsewhere.
    pub fn holds_payload(self) -> bool {
        matches!(
            self,
            Self::Response | Self::Resource | Self::Request | Self::Conversion | Self::Continuation
        )
    }
}

/// The header of one record.
#[derive(Clone, Debug, Default)]
pub struct RecordHeader {
    /// The version of its first line; WARC/1.0 for a record of an ARC file.
    pub version: WarcVersion,
    /// Its fields. A record of an ARC file has the fields that its line is equivalent to.
    pub fields: Headers,
}

impl RecordHeader {
    /// WARC-Type.
    pub fn record_type(&self) -> RecordType {
        self.fields.get("WARC-Type").map_or(RecordType::Other, RecordType::parse)
    }

    /// WARC-Record-ID, without brackets.
    pub fn record_id(&self) -> Option<&[u8]> {
        self.reference("WARC-Record-ID")
    }

    /// WARC-Target-URI, without the brackets that WARC/1.0 writers put around it.
    pub fn target_uri(&self) -> Option<&[u8]> {
        self.reference("WARC-Target-URI")
    }

    /// A field that holds a URI, without brackets; none when it is empty.
    pub fn reference(&self, name: &str) -> Option<&[u8]> {
        self.fields.get(name).map(unbracketed).filter(|value| !value.is_empty())
    }

    /// Content-Length, when it is a number.
    pub fn content_length(&self) -> Option<u64> {
        decimal(self.fields.get("Content-Length")?)
    }

    /// WARC-Date, when it is one.
    pub fn date(&self) -> Option<Date> {
        Date::parse(self.fields.get("WARC-Date")?)
    }

    /// WARC-Block-Digest.
    pub fn block_digest(&self) -> Option<Result<Digest, DigestError>> {
        self.fields.get("WARC-Block-Digest").map(Digest::parse)
    }

    /// WARC-Payload-Digest.
    pub fn payload_digest(&self) -> Option<Result<Digest, DigestError>> {
        self.fields.get("WARC-Payload-Digest").map(Digest::parse)
    }

    /// Whether the block is an HTTP message.
    pub fn is_http(&self) -> bool {
        self.fields
            .get("Content-Type")
            .is_some_and(|value| media_type(value).eq_ignore_ascii_case(b"application/http"))
    }

    /// Whether it gives a reason why its block is not complete.
    pub fn is_truncated(&self) -> bool {
        self.fields.get("WARC-Truncated").is_some_and(is_reason)
    }

    /// Whether it is one segment of a larger object.
    pub fn is_segment(&self) -> bool {
        self.fields.get("WARC-Segment-Number").is_some() || self.record_type() == RecordType::Continuation
    }
}

/// Whether a text is a known reason.
pub(crate) fn is_reason(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_graphic)
}

/// `type/subtype` of a media type, without parameters.
pub fn media_type(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

pub(crate) fn unbracketed(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"<").and_then(|inner| inner.strip_suffix(b">")).unwrap_or(value)
}

/// A decimal number without sign; none when it is anything else or does not fit.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        byte.is_ascii_digit().then(|| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(WarcVersion::parse(b"WARC/0.17"), Some(WarcVersion { major: 0, minor: 17 }));
        assert_eq!(WarcVersion::parse(b"warc/1.1"), Some(WarcVersion::V1_1));
        for bad in
            ["WARC/", "WARC/1", "WARC/1.", "WARC/.1", "WARC/1.a", "WARC/1.1234", "WARC/999.0", "XARC/1.0"]
        {
            assert_eq!(WarcVersion::parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(!WarcVersion { major: 2, minor: 0 }.is_known());
    }

    #[test]
    fn numbers_never_overflow() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b"-1"), None);
        assert_eq!(decimal(b""), None);
    }

    #[test]
    fn lenient_getters() {
        let fields = Headers::parse(
            b"WARC-Type: RESPONSE\r\nWARC-Target-URI: <http://a/>\r\nContent-Type: application/http;msgtype=response\r\n",
            |_, _| {},
        );
        let header = RecordHeader { version: WarcVersion::V1_0, fields };
        assert_eq!(header.record_type(), RecordType::Response);
        assert_eq!(header.target_uri(), Some(b"http://a/".as_slice()));
        assert!(header.is_http());
    }
}
