//! Whether a header conforms to ISO 28500.
//!
//! Pure rules over one header: no file, no state. Leniencies are always reported, conformance rules
//! only when `strict`. A table says which record types may have which fields.

use std::collections::HashSet;
use std::net::IpAddr;
use std::str::FromStr;

use crate::date::{Date, Precision};
use crate::digest::DigestError;
use crate::record::{RecordHeader, RecordType, WarcVersion, decimal, is_reason, media_type, unbracketed};
use crate::rules::{Rule, WarcFinding, shown};
use varve_wire::{Headers, is_token};

use RecordType::{Continuation, Conversion, Metadata, Request, Resource, Response, Revisit, Warcinfo};

/// The known revisit profiles.
const KNOWN_PROFILES: [&str; 3] = [
    "/revisit/identical-payload-digest",
    "/revisit/server-not-modified",
    "/revisit/uri-agnostic-identical-payload-digest",
];

/// A profile of the identical-payload-digest family.
pub fn is_identical_payload(profile: &[u8]) -> bool {
    unbracketed(profile).ends_with(b"identical-payload-digest")
}

/// Fields with the record types that must not have them (clause 5).
const FORBIDDEN_FIELDS: [(&str, &[RecordType]); 11] = [
    ("WARC-Concurrent-To", &[Warcinfo, Conversion, Continuation]),
    ("WARC-Payload-Digest", &[Warcinfo, Metadata]),
    ("WARC-Identified-Payload-Type", &[Warcinfo, Metadata]),
    ("WARC-IP-Address", &[Warcinfo, Conversion, Continuation]),
    ("WARC-Refers-To", &[Warcinfo, Response, Resource, Request, Continuation]),
    ("WARC-Refers-To-Target-URI", &[Warcinfo, Response, Resource, Request, Continuation]),
    ("WARC-Refers-To-Date", &[Warcinfo, Response, Resource, Request, Continuation]),
    ("WARC-Target-URI", &[Warcinfo]),
    ("WARC-Warcinfo-ID", &[Warcinfo]),
    ("WARC-Filename", &[Response, Resource, Request, Metadata, Revisit, Conversion, Continuation]),
    ("WARC-Profile", &[Warcinfo, Response, Resource, Request, Metadata, Conversion, Continuation]),
];

/// Fields that belong to continuation records alone.
const CONTINUATION_ONLY: [&str; 2] = ["WARC-Segment-Origin-ID", "WARC-Segment-Total-Length"];

/// Fields that refer to other records.
const REFERENCE_FIELDS: [&str; 4] =
    ["WARC-Concurrent-To", "WARC-Refers-To", "WARC-Warcinfo-ID", "WARC-Segment-Origin-ID"];

/// Fields that may be repeated.
const REPEATABLE_FIELDS: [&str; 2] = ["WARC-Concurrent-To", "WARC-Protocol"];

/// Whether a record type may have a field.
pub(crate) fn may_have(record_type: RecordType, name: &str) -> bool {
    let forbidden = FORBIDDEN_FIELDS
        .iter()
        .any(|(field, types)| field.eq_ignore_ascii_case(name) && types.contains(&record_type));
    let misplaced = CONTINUATION_ONLY.iter().any(|field| field.eq_ignore_ascii_case(name))
        && !matches!(record_type, Continuation | RecordType::Other);
    !forbidden && !misplaced
}

/// Whether a field may appear more than once.
pub(crate) fn may_repeat(name: &[u8]) -> bool {
    REPEATABLE_FIELDS.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Up to this number, names are compared one by one, which is faster for few.
const MAX_COMPARED_NAMES: usize = 24;

/// The field names seen so far, without regard to case. Many names are hashed, since a header may
/// hold thousands.
#[derive(Default)]
pub(crate) struct SeenNames<'a> {
    few: [&'a [u8]; MAX_COMPARED_NAMES],
    count: usize,
    others: HashSet<Vec<u8>>,
}

impl<'a> SeenNames<'a> {
    /// Adds a name. Returns whether it was there before.
    pub(crate) fn has_or_adds(&mut self, name: &'a [u8]) -> bool {
        if self.few[..self.count].iter().any(|seen| seen.eq_ignore_ascii_case(name)) {
            return true;
        }
        if self.count < MAX_COMPARED_NAMES {
            self.few[self.count] = name;
            self.count += 1;
            return false;
        }
        !self.others.insert(name.to_ascii_lowercase())
    }
}

/// Whether a field refers to another record.
pub(crate) fn is_reference(name: &str) -> bool {
    REFERENCE_FIELDS.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether a value has the form that the standard requires for its field.
pub(crate) fn is_value(name: &str, value: &[u8]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if is("WARC-IP-Address") {
        is_ip_address(value)
    } else if is("WARC-Refers-To-Date") {
        Date::parse(value).is_some()
    } else if is("WARC-Refers-To-Target-URI") {
        has_scheme(unbracketed(value))
    } else if is("WARC-Segment-Number") || is("WARC-Segment-Total-Length") {
        decimal(value).is_some()
    } else if is("WARC-Truncated") {
        is_reason(value)
    } else {
        true
    }
}

/// Checks one header. `offset` is where its record begins.
pub fn header(header: &RecordHeader, offset: u64, strict: bool, findings: &mut Vec<WarcFinding>) {
    let mut check = HeaderCheck { header, fields: &header.fields, offset, findings };
    check.leniencies();
    if strict {
        check.identity();
        check.names_and_values();
        check.content_type();
        check.places();
        check.references();
        check.revisit();
        check.values();
        check.segments();
    }
}

struct HeaderCheck<'a> {
    header: &'a RecordHeader,
    fields: &'a Headers,
    offset: u64,
    findings: &'a mut Vec<WarcFinding>,
}

impl HeaderCheck<'_> {
    fn report(&mut self, rule: Rule, message: impl Into<String>) {
        self.findings.push(WarcFinding::new(rule, self.offset, message));
    }

    fn leniencies(&mut self) {
        match self.fields.get("WARC-Type") {
            None => self.report(Rule::Type, "there is no WARC-Type"),
            Some(name) if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) => {
                self.report(Rule::Type, format!("WARC-Type `{}` is no token", shown(name)));
            }
            Some(_) => {}
        }
        if self.header.record_id().is_none() {
            self.report(Rule::RecordId, "there is no WARC-Record-ID");
        }
        match (self.fields.get("WARC-Date"), self.header.date()) {
            (None, _) => self.report(Rule::Date, "there is no WARC-Date"),
            (Some(text), None) => self.report(Rule::Date, format!("`{}` is no date", shown(text))),
            (Some(text), Some(date)) if !date.well_formed => {
                self.report(
                    Rule::Date,
                    format!("`{}` is not written as the W3C profile wants it", shown(text)),
                );
            }
            _ => {}
        }
        self.target_uri();
        for (name, digest) in [
            ("WARC-Block-Digest", self.header.block_digest()),
            ("WARC-Payload-Digest", self.header.payload_digest()),
        ] {
            if let Some(Err(error)) = digest {
                self.digest_form(name, &error);
            }
        }
    }

    fn digest_form(&mut self, name: &str, error: &DigestError) {
        self.report(Rule::DigestForm, format!("{name}: {error}"));
    }

    fn target_uri(&mut self) {
        let Some(text) = self.fields.get("WARC-Target-URI") else { return };
        let bare = unbracketed(text);
        if bare.len() != text.len() && self.header.version >= WarcVersion::V1_1 {
            self.report(
                Rule::TargetUri,
                format!("WARC-Target-URI `{}` stands in angle brackets", shown(text)),
            );
        }
        if bare.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
            self.report(Rule::TargetUri, format!("WARC-Target-URI `{}` holds white space", shown(bare)));
        } else if !has_scheme(bare) {
            self.report(Rule::TargetUri, format!("WARC-Target-URI `{}` is no absolute URI", shown(bare)));
        }
    }

    fn identity(&mut self) {
        if let Some(id) = self.fields.get("WARC-Record-ID")
            && !is_bracketed_uri(id)
        {
            self.report(
                Rule::RecordIdForm,
                format!("WARC-Record-ID `{}` is no URI in angle brackets", shown(id)),
            );
        }
        if let Some(name) = self.fields.get("WARC-Type")
            && self.header.record_type() == RecordType::Other
        {
            self.report(
                Rule::UnknownType,
                format!("record type `{}` is none of the standard's", shown(name)),
            );
        }
    }

    fn names_and_values(&mut self) {
        let mut seen = SeenNames::default();
        for (name, value) in self.fields.iter() {
            let repeated = seen.has_or_adds(name);
            if repeated && !may_repeat(name) && is_standard(name) {
                self.findings.push(WarcFinding::new(
                    Rule::RepeatedField,
                    self.offset,
                    format!("{} appears more than once", shown(name)),
                ));
            }
            if !name.iter().all(|byte| is_token(*byte)) {
                let message = format!("field name `{}` is no token", shown(name));
                self.findings.push(WarcFinding::new(Rule::FieldName, self.offset, message));
            }
            // Without a branch for each byte, the compiler compares many at once.
            let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
            let has_control = value.iter().fold(false, |found, byte| found | is_control(byte));
            if has_control || std::str::from_utf8(value).is_err() {
                let message = format!("{}: `{}` is no UTF-8 text", shown(name), shown(value));
                self.findings.push(WarcFinding::new(Rule::FieldValue, self.offset, message));
            }
            if value.is_empty() && is_standard(name) {
                let message = format!("{} has no value", shown(name));
                self.findings.push(WarcFinding::new(Rule::EmptyField, self.offset, message));
            }
        }
    }

    fn content_type(&mut self) {
        let record_type = self.header.record_type();
        let has_block = self.header.content_length().is_some_and(|length| length > 0);
        match self.fields.get("Content-Type") {
            None if has_block && record_type != Continuation => {
                self.report(Rule::ContentTypeMissing, "there is a block but no Content-Type");
            }
            Some(value) if !is_media_type(value) => {
                self.report(
                    Rule::ContentTypeForm,
                    format!("Content-Type `{}` is no media type", shown(value)),
                );
            }
            Some(value)
                if record_type == Warcinfo
                    && !media_type(value).eq_ignore_ascii_case(b"application/warc-fields") =>
            {
                let message = format!("a warcinfo record of type `{}`", shown(value));
                self.report(Rule::WarcinfoType, message);
            }
            Some(value)
                if matches!(record_type, Request | Response)
                    && message_type(value)
                        .is_some_and(|said| !said.eq_ignore_ascii_case(record_type.name().as_bytes())) =>
            {
                let message = format!("a {} record of type `{}`", record_type.name(), shown(value));
                self.report(Rule::MessageType, message);
            }
            _ => {}
        }
    }

    fn places(&mut self) {
        let record_type = self.header.record_type();
        let needs_target =
            matches!(record_type, Response | Resource | Request | Revisit | Conversion | Continuation);
        if needs_target && self.header.target_uri().is_none() {
            let message = format!("a {} record without WARC-Target-URI", record_type.name());
            self.report(Rule::TargetUriMissing, message);
        }
        // The first segment of metadata has the digest of the whole object, which has no other
        // place.
        let is_of_whole = |name: &str| name == "WARC-Payload-Digest" && self.header.is_segment();
        let names = FORBIDDEN_FIELDS.iter().map(|(name, _)| *name).chain(CONTINUATION_ONLY);
        let misplaced: Vec<&str> = names
            .filter(|name| self.fields.get(name).is_some() && !may_have(record_type, name))
            .filter(|name| !is_of_whole(name))
            .collect();
        for name in misplaced {
            self.misplaced(name, record_type);
        }
    }

    fn misplaced(&mut self, name: &str, record_type: RecordType) {
        self.report(
            Rule::FieldMisplaced,
            format!("{name} does not belong on a {} record", record_type.name()),
        );
    }

    fn references(&mut self) {
        for name in REFERENCE_FIELDS {
            for value in self.fields.get_all(name) {
                if !is_bracketed_uri(value) {
                    let message = format!("{name} `{}` is no URI in angle brackets", shown(value));
                    self.findings.push(WarcFinding::new(Rule::ReferenceForm, self.offset, message));
                }
            }
        }
        if let Some(value) = self.fields.get("WARC-Refers-To-Date")
            && Date::parse(value).is_none()
        {
            self.report(Rule::RefersToForm, format!("WARC-Refers-To-Date `{}` is no date", shown(value)));
        }
        if let Some(value) = self.fields.get("WARC-Refers-To-Target-URI")
            && !has_scheme(unbracketed(value))
        {
            self.report(
                Rule::RefersToForm,
                format!("WARC-Refers-To-Target-URI `{}` is no URI", shown(value)),
            );
        }
    }

    fn revisit(&mut self) {
        if self.header.record_type() != Revisit {
            return;
        }
        let Some(profile) = self.fields.get("WARC-Profile") else {
            self.report(Rule::ProfileMissing, "a revisit record without WARC-Profile");
            return;
        };
        let text = unbracketed(profile);
        if !KNOWN_PROFILES.iter().any(|known| text.ends_with(known.as_bytes())) {
            self.report(Rule::ProfileUnknown, format!("unknown revisit profile `{}`", shown(profile)));
        } else if is_identical_payload(profile) && self.fields.get("WARC-Payload-Digest").is_none() {
            self.report(
                Rule::RevisitDigest,
                "an identical-payload-digest revisit without WARC-Payload-Digest",
            );
        }
    }

    fn values(&mut self) {
        if let Some(address) = self.fields.get("WARC-IP-Address")
            && !is_ip_address(address)
        {
            self.report(Rule::IpAddress, format!("`{}` is no IP address", shown(address)));
        }
        if let Some(reason) = self.fields.get("WARC-Truncated") {
            const KNOWN: [&[u8]; 4] = [b"length", b"time", b"disconnect", b"unspecified"];
            if !KNOWN.iter().any(|known| reason.eq_ignore_ascii_case(known)) {
                self.report(Rule::TruncatedReason, format!("unknown reason `{}`", shown(reason)));
            }
        }
        let has_fraction =
            self.header.date().is_some_and(|date| matches!(date.precision, Precision::Fraction(_)));
        if has_fraction && self.header.version <= WarcVersion::V1_0 {
            self.report(Rule::DateFraction, "a fraction of a second in a WARC/1.0 date");
        }
    }

    fn segments(&mut self) {
        let is_continuation = self.header.record_type() == Continuation;
        let number = self.fields.get("WARC-Segment-Number");
        for name in ["WARC-Segment-Number", "WARC-Segment-Total-Length"] {
            if let Some(value) = self.fields.get(name)
                && decimal(value).is_none()
            {
                self.report(Rule::SegmentForm, format!("{name} `{}` is no number", shown(value)));
            }
        }
        if is_continuation {
            for name in ["WARC-Segment-Number", "WARC-Segment-Origin-ID"] {
                if self.fields.get(name).is_none() {
                    self.report(Rule::SegmentFields, format!("a continuation record without {name}"));
                }
            }
        }
        if let Some(value) = number.and_then(decimal)
            && (value > 1) != is_continuation
        {
            let kind = self.header.record_type().name();
            self.report(Rule::SegmentNumber, format!("WARC-Segment-Number {value} on a {kind} record"));
        }
    }
}

/// A field that the standard defines.
fn is_standard(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"Content-Length")
        || name.eq_ignore_ascii_case(b"Content-Type")
        || name.len() > 5 && name[..5].eq_ignore_ascii_case(b"WARC-")
}

fn is_ip_address(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| IpAddr::from_str(text).is_ok())
}

fn is_bracketed_uri(value: &[u8]) -> bool {
    let bare = unbracketed(value);
    bare.len() + 2 == value.len() && has_scheme(bare) && !bare.iter().any(u8::is_ascii_whitespace)
}

/// Begins with a URI scheme and a colon.
pub fn has_scheme(uri: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', uri) else { return false };
    let scheme = &uri[..colon];
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
}

/// The `msgtype` of an `application/http` media type.
fn message_type(value: &[u8]) -> Option<&[u8]> {
    let mut parameters = value.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let (_, value) = parameters.find_map(|parameter| {
        parameter.split_at_checked(8).filter(|(name, _)| name.eq_ignore_ascii_case(b"msgtype="))
    })?;
    Some(value.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(value))
}

/// Whether a value begins with `type/subtype`.
pub fn is_media_type(value: &[u8]) -> bool {
    let mut parts = media_type(value).splitn(2, |byte| *byte == b'/');
    let is_part = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(|byte| is_token(*byte)))
    };
    is_part(parts.next()) && is_part(parts.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(version: WarcVersion, lines: &str) -> Vec<&'static str> {
        let text = lines.replace('\n', "\r\n");
        let fields = Headers::parse(text.as_bytes(), |_, _| {});
        let mut findings = Vec::new();
        header(&RecordHeader { version, fields }, 0, true, &mut findings);
        findings.iter().map(|finding| finding.rule.code()).collect()
    }

    const GOOD: &str = "WARC-Type: response\nWARC-Record-ID: <urn:uuid:1>\nWARC-Date: 2020-01-01T00:00:00Z\n\
                        WARC-Target-URI: http://a/\nContent-Type: application/http;msgtype=response\nContent-Length: 1\n";

    const IDENTICAL_DIGEST_PROFILE: &str =
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

    #[test]
    fn a_good_header_has_no_findings() {
        assert_eq!(codes(WarcVersion::V1_1, GOOD), [""; 0]);
    }

    #[test]
    fn each_rule_fires_alone() {
        let cases = [
            (GOOD.replace("<urn:uuid:1>", "urn:uuid:1"), "S01"),
            (format!("{GOOD}WARC-Type: response\n"), "S02"),
            (format!("{GOOD}warc-type: response\n"), "S02"),
            (GOOD.replace("response\nWARC-R", "thing\nWARC-R"), "S03"),
            (GOOD.replace("Content-Type: application/http;msgtype=response\n", ""), "S04"),
            (GOOD.replace("application/http;", "nonsense;"), "S05"),
            (GOOD.replace("WARC-Target-URI: http://a/\n", ""), "S06"),
            (format!("{GOOD}WARC-Filename: x\n"), "S07"),
            (format!("{GOOD}WARC-Segment-Origin-ID: <urn:x:1>\n"), "S07"),
            (GOOD.replace("response\nWARC-R", "revisit\nWARC-R"), "S08"),
            (GOOD.replace("response\nWARC-R", "revisit\nWARC-Profile: x:y\nWARC-R"), "S09"),
            (
                GOOD.replace("response\nWARC-R", &format!("revisit\n{IDENTICAL_DIGEST_PROFILE}\nWARC-R")),
                "S10",
            ),
            (format!("{GOOD}WARC-IP-Address: 1.2.3\n"), "S11"),
            (format!("{GOOD}WARC-Truncated: boredom\n"), "S12"),
            (format!("{GOOD}WARC-Segment-Number: 2\n"), "S13"),
            (format!("{GOOD}WARC-Segment-Number: two\n"), "S15"),
            (format!("{GOOD}W C: x\n"), "S17"),
            (format!("{GOOD}X: a\u{1}b\n"), "S18"),
            (format!("{GOOD}WARC-Warcinfo-ID: urn:uuid:2\n"), "S19"),
            (format!("{GOOD}WARC-Identified-Payload-Type:\n"), "S23"),
            (GOOD.replace("msgtype=response", "msgtype=request"), "S24"),
            (GOOD.replace("msgtype=response", "version=1.1; MsgType=\"custom\""), "S24"),
            (GOOD.replace("http://a/", "http://a/ b"), "F05"),
            (GOOD.replace("http://a/", "<http://a/>"), "F05"),
            (GOOD.replace("http://a/", "a/b"), "F05"),
            (GOOD.replace("2020-01-01T00:00:00Z", "blue monday"), "F06"),
            (GOOD.replace("2020-01-01T00:00:00Z", "2020-01-01t00:00:00Z"), "F06"),
            (GOOD.replace("WARC-Record-ID: <urn:uuid:1>\n", ""), "F08"),
            (format!("{GOOD}WARC-Block-Digest: sha1:x\n"), "D04"),
        ];
        for (lines, code) in cases {
            assert_eq!(codes(WarcVersion::V1_1, &lines), [code], "{lines}");
        }
    }

    #[test]
    fn version_1_0_allows_more() {
        assert_eq!(codes(WarcVersion::V1_0, &GOOD.replace("http://a/", "<http://a/>")), [""; 0]);
        assert_eq!(codes(WarcVersion::V1_0, &GOOD.replace("00Z", "00.5Z")), ["S20"]);
        assert_eq!(codes(WarcVersion::V1_1, &GOOD.replace("00Z", "00.5Z")), [""; 0]);
    }

    #[test]
    fn an_empty_header_lacks_required_fields() {
        assert_eq!(codes(WarcVersion::V1_1, ""), ["F07", "F08", "F06"]);
    }

    #[test]
    fn an_unknown_type_needs_an_id_too() {
        assert_eq!(codes(WarcVersion::V1_1, "WARC-Type: monkeys\n"), ["F08", "F06", "S03"]);
    }

    #[test]
    fn continuation_needs_its_fields() {
        let lines = GOOD.replace("response\nWARC-R", "continuation\nWARC-R");
        assert_eq!(codes(WarcVersion::V1_1, &lines), ["S14", "S14"]);
    }
}
