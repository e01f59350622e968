//! A record before it is written: the fields that the caller gives. Length, digests and id follow
//! from the block.
//!
//! The draft writes its fields in one order, refuses values that would break the header, and
//! refuses fields that the standard forbids for the record type: the result passes `validate` in
//! strict mode.

use std::net::IpAddr;

use super::record_uri::RecordUri;
use crate::date::Date;
use crate::digest::Digest;
use crate::record::RecordType;

/// Why a record cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// A value with a line break or another control character.
    #[error("the value of {name} holds a control character")]
    Value {
        /// The field.
        name: String,
    },
    /// A record type that needs a field it was not given.
    #[error("a {record_type} record needs {name}")]
    Missing {
        /// The type.
        record_type: &'static str,
        /// The field.
        name: &'static str,
    },
    /// A record type that must not have this field.
    #[error("a {record_type} record must not have {name}")]
    Forbidden {
        /// The type.
        record_type: &'static str,
        /// The field.
        name: String,
    },
}

/// Fields that a draft has a method for, or computes.
pub const OWN_FIELDS: [&str; 9] = [
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "WARC-Target-URI",
    "WARC-Refers-To",
    "WARC-Block-Digest",
    "WARC-Payload-Digest",
    "Content-Type",
    "Content-Length",
];

/// Most headers are shorter.
const USUAL_HEADER_BYTES: usize = 1024;

/// The revisit profiles for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The same payload as before, of this digest.
    IdenticalPayloadDigest(Digest),
    /// The server answered 304.
    ServerNotModified,
}

impl Profile {
    /// Its URI.
    pub fn uri(self) -> &'static str {
        match self {
            Self::IdenticalPayloadDigest(_) => {
                "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            }
            Self::ServerNotModified => "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        }
    }
}

/// The position of a segment in a larger object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SegmentPosition {
    First { whole: Digest },
    Later { number: u32, origin: RecordUri, total: Option<u64> },
}

/// The fields of a record that do not depend on its block.
#[derive(Clone, Debug)]
pub struct Draft {
    record_type: RecordType,
    /// The name of a type that the standard does not know.
    type_name: Option<String>,
    date: String,
    target_uri: Option<String>,
    refers_to: Option<RecordUri>,
    id: Option<RecordUri>,
    segment: Option<SegmentPosition>,
    fields: Vec<(String, String)>,
    content_type: Option<String>,
}

/// Length and digests of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// Its length.
    pub length: u64,
    /// Its SHA-256.
    pub digest: Digest,
    /// The SHA-256 of the payload in it.
    pub payload: Option<Digest>,
}

impl Draft {
    /// A record of that type and date.
    pub fn new(record_type: RecordType, date: &Date) -> Self {
        Self {
            record_type,
            type_name: None,
            date: date.to_string(),
            target_uri: None,
            refers_to: None,
            id: None,
            segment: None,
            fields: Vec::new(),
            content_type: None,
        }
    }

    /// WARC-Target-URI. White space and control characters are percent-encoded, since the field
    /// cannot hold them.
    pub fn target_uri(mut self, uri: &str) -> Self {
        self.target_uri = Some(escaped(uri));
        self
    }

    /// Content-Type of the block.
    pub fn content_type(mut self, media_type: &str) -> Self {
        self.content_type = Some(media_type.to_owned());
        self
    }

    /// The block is an HTTP request or response.
    pub fn http(self) -> Self {
        let kind = if self.record_type == RecordType::Request { "request" } else { "response" };
        self.content_type(&format!("application/http; msgtype={kind}"))
    }

    /// WARC-Refers-To: the record that this one is about.
    pub fn refers_to(mut self, id: RecordUri) -> Self {
        self.refers_to = Some(id);
        self
    }

    /// What a revisit repeats: id, target URI and date of the record that holds the payload.
    pub fn revisit_of(self, profile: Profile, id: RecordUri, target_uri: &str, date: &str) -> Self {
        let draft = self
            .refers_to(id)
            .field("WARC-Refers-To-Target-URI", &escaped(target_uri))
            .field("WARC-Refers-To-Date", date)
            .field("WARC-Profile", profile.uri());
        match profile {
            // The block is a response without its payload, and the standard requires a field for
            // that (6.7.2).
            Profile::IdenticalPayloadDigest(payload) => {
                draft.field("WARC-Payload-Digest", &payload.to_string()).truncated("length")
            }
            Profile::ServerNotModified => draft,
        }
    }

    /// WARC-Concurrent-To: another record of the same capture.
    pub fn concurrent_to(self, id: &RecordUri) -> Self {
        self.field("WARC-Concurrent-To", &format!("<{id}>"))
    }

    /// WARC-IP-Address.
    pub fn ip_address(self, address: IpAddr) -> Self {
        self.field("WARC-IP-Address", &address.to_string())
    }

    /// WARC-Truncated: length, time, disconnect or unspecified.
    pub fn truncated(self, reason: &str) -> Self {
        self.field("WARC-Truncated", reason)
    }

    /// The payload digest of the whole object, on the first of several segments.
    pub fn first_segment(mut self, whole: Digest) -> Self {
        self.segment = Some(SegmentPosition::First { whole });
        self
    }

    /// The next segment of an object. The last one gives the total length. A segment must have a
    /// target. Metadata has none: its segments name the record that they are part of.
    pub fn next_segment(&self, number: u32, origin: &RecordUri, total: Option<u64>) -> Self {
        let mut next = self.clone();
        next.target_uri.get_or_insert_with(|| origin.to_string());
        next.record_type = RecordType::Continuation;
        next.refers_to = None;
        next.id = None;
        next.fields.clear();
        next.content_type = None;
        next.segment = Some(SegmentPosition::Later { number, origin: origin.clone(), total });
        next
    }

    /// The name of a record type that the standard does not know.
    pub fn type_name(mut self, name: &str) -> Self {
        self.type_name = Some(name.to_owned());
        self
    }

    /// An id chosen by the caller.
    pub fn id(mut self, id: RecordUri) -> Self {
        self.id = Some(id);
        self
    }

    /// Any other field, at the end of those added so far.
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The type of the record.
    pub fn record_type(&self) -> RecordType {
        self.record_type
    }

    /// The id that the record has with such a block.
    pub fn record_id(&self, block: &BlockFacts) -> RecordUri {
        if let Some(id) = &self.id {
            return id.clone();
        }
        let target = self.target_uri.as_deref().unwrap_or_default();
        match (self.record_type, &self.segment) {
            (RecordType::Metadata, segment) => {
                let content =
                    if let Some(SegmentPosition::First { whole }) = segment { whole } else { &block.digest };
                RecordUri::of_metadata(self.refers_to.as_ref().map_or("", RecordUri::as_str), content)
            }
            (_, Some(SegmentPosition::First { whole })) => RecordUri::of_content(whole),
            (RecordType::Resource | RecordType::Warcinfo | RecordType::Continuation, _) => {
                RecordUri::of_content(&block.digest)
            }
            (other, _) => RecordUri::of_event(other, target, &self.date, &block.digest),
        }
    }

    /// The header with its empty line.
    pub fn header(&self, block: &BlockFacts) -> Result<Vec<u8>, DraftError> {
        self.check()?;
        let mut lines = HeaderLines(String::with_capacity(USUAL_HEADER_BYTES));
        lines.0.push_str("WARC/1.1\r\n");
        lines.add("WARC-Type", self.type_name.as_deref().unwrap_or(self.record_type.name()))?;
        lines.add_reference("WARC-Record-ID", &self.record_id(block))?;
        lines.add("WARC-Date", &self.date)?;
        if let Some(uri) = &self.target_uri {
            lines.add("WARC-Target-URI", uri)?;
        }
        if let Some(id) = &self.refers_to {
            lines.add_reference("WARC-Refers-To", id)?;
        }
        for (name, value) in &self.fields {
            lines.add(name, value)?;
        }
        if let Some(segment) = &self.segment {
            segment.write(&mut lines)?;
        }
        lines.add("WARC-Block-Digest", &block.digest.to_string())?;
        if let (Some(payload), None) = (&block.payload, &self.segment)
            && self.record_type.holds_payload()
            && !self.has("WARC-Payload-Digest")
        {
            lines.add("WARC-Payload-Digest", &payload.to_string())?;
        }
        if let (Some(content_type), true) = (&self.content_type, block.length > 0) {
            lines.add("Content-Type", content_type)?;
        }
        lines.add("Content-Length", &block.length.to_string())?;
        lines.0.push_str("\r\n");
        Ok(lines.0.into_bytes())
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    fn check(&self) -> Result<(), DraftError> {
        use RecordType::{Metadata, Other, Revisit, Warcinfo};
        let record_type = self.record_type.name();
        let missing = |name| Err(DraftError::Missing { record_type, name });
        match self.record_type {
            Warcinfo if self.target_uri.is_some() => {
                return Err(DraftError::Forbidden { record_type, name: "WARC-Target-URI".into() });
            }
            Warcinfo | Metadata | Other => {}
            _ if self.target_uri.is_none() => return missing("WARC-Target-URI"),
            _ => {}
        }
        if self.record_type == Revisit && !self.has("WARC-Profile") {
            return missing("WARC-Profile");
        }
        let may_refer = matches!(self.record_type, Metadata | Revisit | RecordType::Conversion | Other);
        if self.refers_to.is_some() && !may_refer {
            return Err(DraftError::Forbidden { record_type, name: "WARC-Refers-To".into() });
        }
        Ok(())
    }
}

impl SegmentPosition {
    fn write(&self, lines: &mut HeaderLines) -> Result<(), DraftError> {
        match self {
            Self::First { whole } => {
                lines.add("WARC-Segment-Number", "1")?;
                lines.add("WARC-Payload-Digest", &whole.to_string())
            }
            Self::Later { number, origin, total } => {
                lines.add("WARC-Segment-Number", &number.to_string())?;
                lines.add_reference("WARC-Segment-Origin-ID", origin)?;
                total.map_or(Ok(()), |total| lines.add("WARC-Segment-Total-Length", &total.to_string()))
            }
        }
    }
}

struct HeaderLines(String);

impl HeaderLines {
    fn add(&mut self, name: &str, value: &str) -> Result<(), DraftError> {
        self.add_within(name, ["", value, ""])
    }

    /// A value that stands in angle brackets.
    fn add_reference(&mut self, name: &str, id: &RecordUri) -> Result<(), DraftError> {
        self.add_within(name, ["<", id.as_str(), ">"])
    }

    fn add_within(&mut self, name: &str, [before, value, behind]: [&str; 3]) -> Result<(), DraftError> {
        // Without a branch for each byte, the compiler compares many at once; other letters are
        // checked one by one.
        let is_odd = value.bytes().fold(false, |odd, byte| odd | !(b' '..=b'~').contains(&byte));
        if is_odd && value.chars().any(char::is_control) {
            return Err(DraftError::Value { name: name.to_owned() });
        }
        for part in [name, ": ", before, value, behind, "\r\n"] {
            self.0.push_str(part);
        }
        Ok(())
    }
}

pub(crate) fn escaped(uri: &str) -> String {
    let is_odd = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'<' | b'>');
    if !uri.bytes().fold(false, |odd, byte| odd | is_odd(byte)) {
        return uri.to_owned();
    }
    let mut escaped = String::with_capacity(uri.len());
    let mut bytes = [0; 4];
    for character in uri.chars() {
        if character.is_control() || character.is_whitespace() || matches!(character, '<' | '>') {
            for byte in character.encode_utf8(&mut bytes).as_bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}
