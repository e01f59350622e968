//! The numbered rules, and a finding: one place where a file breaks one of them.
//!
//! Every rule has a code that never changes its meaning, a severity, and the clause of ISO
//! 28500:2017 (WARC 1.1) that it rests on; rules about other formats name their own text. A
//! *leniency* is something that the reader had to work around and is always reported. A
//! *conformance* rule is reported in strict mode only. Findings are data: nothing here prints,
//! counts or decides an exit code.

use std::collections::BTreeMap;

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSeverity {
    /// Unusual, harmless; readers need not agree.
    Notice,
    /// Against the standard, but everything was read.
    Warning,
    /// Bytes are missing, damaged, or could not be understood.
    Error,
}

/// When a rule is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportingMode {
    /// The reader had to work around it: always reported.
    Leniency,
    /// Only a matter of conformance: reported in strict mode.
    Conformance,
}

macro_rules! rules {
    ($($(#[doc = $title:literal])+ $name:ident = $code:literal, $kind:ident, $severity:ident, $clause:literal;)+) => {
        /// A rule that a file can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = $title])+ $name,)+
        }

        impl Rule {
            /// All rules, in order of their codes.
            pub const ALL: &[Rule] = &[$(Rule::$name),+];

            /// The code, which never changes its meaning.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)+ }
            }

            /// Whether it is always reported or only in strict mode.
            pub fn kind(self) -> ReportingMode {
                match self { $(Rule::$name => ReportingMode::$kind,)+ }
            }

            /// The severity of breaking it.
            pub fn severity(self) -> RuleSeverity {
                match self { $(Rule::$name => RuleSeverity::$severity,)+ }
            }

            /// The clause it rests on.
            pub fn clause(self) -> &'static str {
                match self { $(Rule::$name => $clause,)+ }
            }

            /// The rule in one sentence.
            pub fn title(self) -> &'static str {
                match self { $(Rule::$name => concat!($($title),+).trim_ascii(),)+ }
            }
        }
    };
}

rules! {
    /// A compressed member can be decompressed to its end.
    MemberDamaged = "C01", Leniency, Error, "ISO 28500 annex D; RFC 1952; RFC 8878";
    /// The file does not end inside a compressed member.
    MemberCut = "C02", Leniency, Error, "ISO 28500 annex D; RFC 1952; RFC 8878";
    /// Between compressed members there is nothing.
    JunkBetweenMembers = "C03", Leniency, Warning, "RFC 1952 2.2";
    /// Each record begins a compressed member of its own, so that it can be reached alone.
    RecordsShareMember = "C04", Leniency, Warning, "ISO 28500 annex D.2";
    /// A record is compressed as one member.
    RecordSpansMembers = "C05", Leniency, Warning, "ISO 28500 annex D.2";
    /// A compressed member holds something.
    EmptyMember = "C06", Leniency, Notice, "ISO 28500 annex D.2";
    /// A zstd frame gives its content size and a checksum.
    FrameUnchecked = "C07", Leniency, Warning, "IIPC warc-zstd 1.0";
    /// A zstd dictionary stands at the start of the file, whole and within 8 MiB.
    DictionaryUnusable = "C08", Leniency, Error, "IIPC warc-zstd 1.0";
    /// The file holds the zstd dictionary that its frames need.
    DictionaryMissing = "C09", Leniency, Error, "IIPC warc-zstd 1.0";
    /// A zstd frame needs a window of 8 MiB at most, as every reader must support.
    WindowTooLarge = "C10", Leniency, Error, "IIPC warc-zstd 1.0";

    /// Every byte of the file belongs to a record.
    NotARecord = "R01", Leniency, Error, "ISO 28500 4";
    /// A record ends with CRLF CRLF after its block.
    Separator = "R02", Leniency, Warning, "ISO 28500 4";
    /// The block has the length that Content-Length gives.
    BlockShort = "R03", Leniency, Error, "ISO 28500 5.3";
    /// No record begins inside the block of another.
    BlockOverlap = "R04", Leniency, Error, "ISO 28500 5.3";
    /// A record header is of a size that a reader can hold.
    HeaderTooLarge = "R05", Leniency, Error, "ISO 28500 4";
    /// A record header ends with an empty line.
    HeaderCut = "R06", Leniency, Error, "ISO 28500 4";
    /// A file holds at least one record.
    NoRecords = "R07", Leniency, Warning, "ISO 28500 4";

    /// The first line names a known version: WARC/0.17, 0.18, 1.0 or 1.1.
    Version = "F01", Leniency, Warning, "ISO 28500 4";
    /// A header line is a name, a colon and a value.
    FieldLine = "F02", Leniency, Warning, "ISO 28500 4";
    /// Header lines end with CRLF.
    LineEnding = "F03", Leniency, Warning, "ISO 28500 4";
    /// Content-Length is there once, as decimal digits.
    ContentLength = "F04", Leniency, Error, "ISO 28500 5.3";
    /// WARC-Target-URI is a URI, without white space and (from 1.1 on) without angle brackets.
    TargetUri = "F05", Leniency, Warning, "ISO 28500 5.14";
    /// WARC-Date is a UTC time in the W3C profile of ISO 8601.
    Date = "F06", Leniency, Warning, "ISO 28500 5.4";
    /// WARC-Type is there and is a token.
    Type = "F07", Leniency, Warning, "ISO 28500 5.5";
    /// WARC-Record-ID is there.
    RecordId = "F08", Leniency, Warning, "ISO 28500 5.2";

    /// The block has the WARC-Block-Digest that the header gives.
    BlockDigest = "D01", Leniency, Error, "ISO 28500 5.8";
    /// The payload has the WARC-Payload-Digest that the header gives.
    PayloadDigest = "D02", Leniency, Error, "ISO 28500 5.9";
    /// The payload digest is taken after the transfer coding is removed.
    PayloadDigestFramed = "D03", Leniency, Notice, "ISO 28500 6.3.2";
    /// A digest is written as algorithm, colon, value, and its algorithm is known.
    DigestForm = "D04", Leniency, Warning, "ISO 28500 5.8";

    /// A block of type application/http begins with an HTTP message head.
    NotHttp = "H01", Leniency, Warning, "ISO 28500 6.3.2";
    /// A body whose head declares it chunked is chunked.
    NotChunked = "H02", Leniency, Warning, "ISO 28500 6.3.2; RFC 9112 7.1";
    /// A chunked body ends with its last chunk.
    ChunksCut = "H03", Leniency, Warning, "RFC 9112 7.1; ISO 28500 5.15";

    /// An ARC record line has its columns: five in version 1, ten in version 2.
    ArcLine = "A01", Leniency, Error, "ARC 1.0";
    /// An ARC record line gives a length of zero or more.
    ArcLength = "A02", Leniency, Error, "ARC 1.0";
    /// An ARC date has 14 digits.
    ArcDate = "A03", Leniency, Warning, "ARC 1.0";
    /// ARC records are separated by one newline.
    ArcSeparator = "A04", Leniency, Warning, "ARC 1.0";

    /// WARC-Record-ID is a URI in angle brackets, without white space.
    RecordIdForm = "S01", Conformance, Warning, "ISO 28500 5.2";
    /// A field appears once, except WARC-Concurrent-To and WARC-Protocol.
    RepeatedField = "S02", Conformance, Warning, "ISO 28500 5.1";
    /// WARC-Type is one of the eight that the standard defines.
    UnknownType = "S03", Conformance, Notice, "ISO 28500 5.5";
    /// A record with a block, except a continuation, has a Content-Type.
    ContentTypeMissing = "S04", Conformance, Warning, "ISO 28500 5.6";
    /// Content-Type is a media type.
    ContentTypeForm = "S05", Conformance, Warning, "ISO 28500 5.6";
    /// WARC-Target-URI is there on response, resource, request, revisit, conversion and
    /// continuation records.
    TargetUriMissing = "S06", Conformance, Warning, "ISO 28500 5.14";
    /// A field stands only on record types that may have it.
    FieldMisplaced = "S07", Conformance, Warning, "ISO 28500 5";
    /// A revisit record has a WARC-Profile.
    ProfileMissing = "S08", Conformance, Warning, "ISO 28500 5.18";
    /// WARC-Profile is one that this reader knows.
    ProfileUnknown = "S09", Conformance, Notice, "ISO 28500 6.7.4";
    /// An identical-payload-digest revisit has a WARC-Payload-Digest.
    RevisitDigest = "S10", Conformance, Warning, "ISO 28500 6.7.2";
    /// WARC-IP-Address is a dotted quad or an IPv6 address.
    IpAddress = "S11", Conformance, Warning, "ISO 28500 5.10";
    /// WARC-Truncated is length, time, disconnect or unspecified.
    TruncatedReason = "S12", Conformance, Notice, "ISO 28500 5.15";
    /// WARC-Segment-Number is 1 on the first segment and greater on a continuation.
    SegmentNumber = "S13", Conformance, Warning, "ISO 28500 5.20; 7";
    /// A continuation record has WARC-Segment-Number and WARC-Segment-Origin-ID.
    SegmentFields = "S14", Conformance, Warning, "ISO 28500 6.9";
    /// Segment fields are decimal numbers.
    SegmentForm = "S15", Conformance, Warning, "ISO 28500 5.20; 5.22";
    /// A warcinfo record has the type application/warc-fields.
    WarcinfoType = "S16", Conformance, Notice, "ISO 28500 6.2";
    /// A field name is a token.
    FieldName = "S17", Conformance, Warning, "ISO 28500 4";
    /// A field value is UTF-8 without control characters.
    FieldValue = "S18", Conformance, Warning, "ISO 28500 4";
    /// A field that refers to a record is a URI in angle brackets.
    ReferenceForm = "S19", Conformance, Warning, "ISO 28500 5.7; 5.11; 5.16; 5.21";
    /// A WARC/1.0 date has whole seconds.
    DateFraction = "S20", Conformance, Notice, "ISO 28500:2009 5.4";
    /// WARC-Refers-To-Date is a date, WARC-Refers-To-Target-URI a URI.
    RefersToForm = "S21", Conformance, Warning, "ISO 28500 5.12; 5.13";
    /// Two records do not share one WARC-Record-ID.
    RecordIdRepeated = "S22", Conformance, Warning, "ISO 28500 5.2";
    /// A field has a value.
    EmptyField = "S23", Conformance, Warning, "ISO 28500 5";
    /// The msgtype of an HTTP request or response is that of its record.
    MessageType = "S24", Conformance, Notice, "ISO 28500 6.3.2; 6.5.2";
    /// Every WARC-Record-ID could be compared with those before it.
    RecordIdsUnchecked = "S25", Conformance, Notice, "ISO 28500 5.2";
}

impl Rule {
    /// Whether bytes are lost where the rule is broken: they belong to no record, or to one that is
    /// not complete.
    pub fn loses_bytes(self) -> bool {
        matches!(
            self,
            Self::MemberDamaged
                | Self::MemberCut
                | Self::JunkBetweenMembers
                | Self::WindowTooLarge
                | Self::NotARecord
                | Self::BlockShort
                | Self::BlockOverlap
                | Self::HeaderTooLarge
                | Self::HeaderCut
                | Self::ArcLine
                | Self::ArcLength
        )
    }
}

/// One place where a file breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarcFinding {
    /// The rule.
    pub rule: Rule,
    /// The byte of the file to look at.
    pub offset: u64,
    /// A description.
    pub message: String,
    /// The number of places it stands for: more than one when further findings of a rule are only
    /// counted.
    pub times: u64,
}

impl WarcFinding {
    /// A finding of `rule` at `offset`.
    pub fn new(rule: Rule, offset: u64, message: impl Into<String>) -> Self {
        Self { rule, offset, message: message.into(), times: 1 }
    }
}

/// Maximum number of findings that are kept until they are taken.
const MAX_PENDING_FINDINGS: usize = 4096;

/// Findings that were not taken yet. A damaged file may hold many without a record between, so
/// further ones are only counted.
#[derive(Debug, Default)]
pub(crate) struct PendingFindings {
    kept: Vec<WarcFinding>,
    /// How many were only counted, and the offset of the last.
    beyond: BTreeMap<Rule, (u64, u64)>,
    /// A finding so far, taken or not, means that bytes are lost.
    has_loss: bool,
}

impl PendingFindings {
    pub(crate) fn push(&mut self, finding: WarcFinding) {
        self.has_loss |= finding.rule.loses_bytes();
        if self.kept.len() < MAX_PENDING_FINDINGS {
            self.kept.push(finding);
        } else {
            self.count(finding.rule, 1, finding.offset);
        }
    }

    fn count(&mut self, rule: Rule, more: u64, last: u64) {
        let (count, place) = self.beyond.entry(rule).or_default();
        *count += more;
        *place = last;
    }

    /// Whether bytes are lost, as far as is known.
    pub(crate) fn has_loss(&self) -> bool {
        self.has_loss
    }

    /// Notes a loss of bytes that the rule alone does not imply.
    pub(crate) fn note_loss(&mut self) {
        self.has_loss = true;
    }

    /// Moves the findings of `other` here.
    pub(crate) fn append(&mut self, other: &mut PendingFindings) {
        self.has_loss |= other.has_loss;
        other.kept.drain(..).for_each(|finding| self.push(finding));
        for (rule, (more, last)) in std::mem::take(&mut other.beyond) {
            self.count(rule, more, last);
        }
    }

    /// Takes all findings; those that were only counted become one finding for each rule.
    pub(crate) fn take(&mut self) -> Vec<WarcFinding> {
        let mut findings = std::mem::take(&mut self.kept);
        for (rule, (count, last)) in std::mem::take(&mut self.beyond) {
            let message = format!("{count} more of this rule up to here, which are not listed");
            findings.push(WarcFinding { times: count, ..WarcFinding::new(rule, last, message) });
        }
        findings
    }
}

/// Maximum number of characters of foreign text in a message.
const MAX_SHOWN_BYTES: usize = 80;

/// Foreign bytes for a message: control characters escaped, length limited.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_SHOWN_BYTES * 4)]);
    let mut shown: String = text.chars().take(MAX_SHOWN_BYTES).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_SHOWN_BYTES).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique() {
        let codes: HashSet<_> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        assert_eq!(codes.len(), Rule::ALL.len());
    }

    #[test]
    fn titles_are_sentences() {
        for rule in Rule::ALL {
            assert!(rule.title().ends_with('.'), "{rule:?}");
            assert!(!rule.clause().is_empty(), "{rule:?}");
        }
    }

    #[test]
    fn pending_findings_are_bounded() {
        let mut pending = PendingFindings::default();
        for offset in 0..2 * MAX_PENDING_FINDINGS as u64 {
            pending.push(WarcFinding::new(Rule::EmptyMember, offset, "empty"));
        }
        let mut all = PendingFindings::default();
        all.push(WarcFinding::new(Rule::MemberCut, 0, "cut"));
        all.append(&mut pending);
        let taken = all.take();
        assert_eq!(taken.len(), MAX_PENDING_FINDINGS + 1);
        let last = taken.last().expect("the count");
        assert_eq!((last.rule, last.offset), (Rule::EmptyMember, 2 * MAX_PENDING_FINDINGS as u64 - 1));
        assert!(last.message.starts_with("4097 more"), "{}", last.message);
        assert_eq!(
            taken.iter().map(|finding| finding.times).sum::<u64>(),
            2 * MAX_PENDING_FINDINGS as u64 + 1
        );
        assert!(all.take().is_empty());
    }

    #[test]
    fn foreign_text_is_escaped_and_cut() {
        assert_eq!(shown(b"a\r\n\x1b[31m"), "a\\r\\n\\u{1b}[31m");
        assert!(shown(&[b'x'; 500]).chars().count() <= MAX_SHOWN_BYTES + 1);
    }
}
