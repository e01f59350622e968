//! A right file from a wrong one.
//!
//! Every record that can be read is written again as WARC/1.1, a member each, with what was wrong put right: lengths,
//! separators, digests that do not fit, brackets, missing ids. Blocks are never changed: what a server sent, and what
//! an earlier tool made of it, stays as it is. For each record that had to be mended, a metadata record about it holds
//! the findings and the header as it was; for bytes that belong to no record, one says where they were. So nothing is
//! hidden by a repair, and the original header can be had back.
//!
//! ARC records become WARC records; their line is kept in the same way.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::check::{Checked, Checker, Verdict};
use crate::date::Date;
use crate::http::is_token;
use crate::payload::PayloadKind;
use crate::reader::{Error, Reader, Record};
use crate::record::{Header, RecordType, decimal, unbracketed};
use crate::rule::{Finding, Kind, Rule};
use crate::source::ReadAt;
use crate::validate;
use crate::write::{Draft, PackError, PackedRecord, Packer, Packing, Writer, escaped, warc_fields};

/// Blocks up to this length are packed in one go.
const IN_ONE_GO: u64 = 1 << 20;
/// The date of a record that has none and follows none.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

/// What the repair is called in the file it makes.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// Name and version of the program.
    pub software: &'a str,
    /// Name of the file that is repaired.
    pub source_name: &'a str,
    /// Name of the file that is made.
    pub target_name: &'a str,
    /// The time of the repair.
    pub date: Date,
    /// How to pack.
    pub packing: Packing,
    /// Where large blocks wait until their header is known.
    pub temporary: Option<PathBuf>,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records that were written again.
    pub records: u64,
    /// Those of them that had to be mended.
    pub mended: u64,
    /// Stretches of bytes that belong to no record.
    pub gaps: u64,
    /// How often each rule was broken.
    pub by_rule: BTreeMap<Rule, u64>,
    /// Bytes written.
    pub bytes: u64,
}

/// Why a repair failed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// A record could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The new file could not be written.
    #[error("cannot write the repaired file")]
    Write(#[source] io::Error),
}

impl Repair<'_> {
    /// Reads all of `source` and writes a right file to `output`.
    pub fn run<S: ReadAt>(&self, source: S, output: &mut impl Write) -> Result<Repaired, RepairError> {
        let mut reader = Reader::new(source)?;
        let packer = Packer::new(self.packing.clone(), self.temporary.clone()).map_err(PackError::from)?;
        let writer = Writer::new(output, &self.packing).map_err(RepairError::Write)?;
        let mut run = Run {
            repair: self,
            packer,
            writer,
            checker: Checker::default(),
            last_date: NO_DATE.to_owned(),
            repaired: Repaired::default(),
        };
        run.introduce()?;
        while let Some(mut record) = reader.next_record()? {
            let mended = run.rewrite(&mut record)?;
            reader.finish_record()?;
            run.explain(mended, reader.take_findings())?;
        }
        run.report_gaps(reader.take_findings())?;
        run.repaired.bytes = run.writer.offset();
        Ok(run.repaired)
    }
}

struct Run<'a, W> {
    repair: &'a Repair<'a>,
    packer: Packer,
    writer: Writer<&'a mut W>,
    checker: Checker,
    last_date: String,
    repaired: Repaired,
}

/// A record that was written again, and what was known before its end was.
struct Rewritten {
    id: String,
    offset: u64,
    /// The header, or the ARC line, as it was.
    original: String,
    is_arc: bool,
    findings: Vec<Finding>,
}

/// The trace of one repair.
#[derive(Serialize)]
struct Trace<'a> {
    software: &'a str,
    source: &'a str,
    offset: u64,
    findings: Vec<TraceFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_header: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_arc_line: Option<&'a str>,
}

#[derive(Serialize)]
struct TraceFinding<'a> {
    rule: &'static str,
    offset: u64,
    message: &'a str,
}

impl<W: Write> Run<'_, W> {
    /// The warcinfo that says where the file comes from.
    fn introduce(&mut self) -> Result<(), RepairError> {
        let description = format!("the records of {}, repaired", self.repair.source_name);
        let block = warc_fields([
            ("software", self.repair.software),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ("description", &description),
        ]);
        let draft = Draft::new(RecordType::Warcinfo, &self.repair.date)
            .field("WARC-Filename", &printable(self.repair.target_name))
            .content_type("application/warc-fields");
        let record = self.packer.pack(&draft, PayloadKind::None, &block)?;
        self.append(record)
    }

    fn append(&mut self, record: PackedRecord) -> Result<(), RepairError> {
        self.writer.append(record).map_err(RepairError::Write)?;
        Ok(())
    }

    fn rewrite<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> Result<Rewritten, RepairError> {
        let header = record.header().clone();
        let is_arc = !record.arc_line().is_empty();
        let original = if is_arc { lossless(record.arc_line()) } else { header_text(&header) };
        self.checker.begin(record, true);
        let draft = self.draft(&header);
        let offset = record.offset();
        let packed = if record.declared_length() <= IN_ONE_GO {
            self.pack_small(&draft, &header, record)?
        } else {
            self.pack_large(&draft, &header, record)?
        };
        let id = packed.id.clone();
        self.append(packed)?;
        self.repaired.records += 1;
        let findings = self.checker.take_findings().collect();
        Ok(Rewritten { id, offset, original, is_arc, findings })
    }

    fn pack_small<S: ReadAt>(
        &mut self,
        draft: &Draft,
        header: &Header,
        record: &mut Record<'_, S>,
    ) -> Result<PackedRecord, RepairError> {
        let mut block = Vec::new();
        let offset = record.offset();
        record.read_to_end(&mut block).map_err(|source| Error::Io { offset, source })?;
        self.checker.push(&block);
        let checked = self.checker.finish(record);
        let draft = mended(draft.clone(), header, &checked, record.is_cut());
        Ok(self.packer.pack(&draft, PayloadKind::of(header), &block)?)
    }

    fn pack_large<S: ReadAt>(
        &mut self,
        draft: &Draft,
        header: &Header,
        record: &mut Record<'_, S>,
    ) -> Result<PackedRecord, RepairError> {
        let offset = record.offset();
        let mut stream = self.packer.stream(PayloadKind::of(header));
        loop {
            let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
            if bytes.is_empty() {
                break;
            }
            self.checker.push(bytes);
            stream.write_all(bytes).map_err(PackError::from)?;
            let length = bytes.len();
            record.consume(length);
        }
        let checked = self.checker.finish(record);
        let draft = mended(draft.clone(), header, &checked, record.is_cut());
        let finished = stream.finish().map_err(PackError::from)?;
        Ok(finished.seal(&mut self.packer, &draft)?)
    }

    /// The header as it should be, but for what depends on the block.
    fn draft(&mut self, header: &Header) -> Draft {
        let date = header.date().unwrap_or_else(|| {
            Date::parse(self.last_date.as_bytes()).unwrap_or_else(|| Date::from_instant(Default::default()))
        });
        self.last_date = date.to_string();
        let record_type = header.record_type();
        let mut draft = Draft::new(record_type, &date);
        if record_type == RecordType::Other {
            draft = draft.type_name(&token(header.fields.get("WARC-Type").unwrap_or_default()));
        }
        if let Some(id) = header.record_id() {
            draft = draft.id(&uri(id));
        }
        if record_type != RecordType::Warcinfo {
            match header.target_uri() {
                Some(target) => draft = draft.target_uri(&uri(target)),
                None if needs_target(record_type) => draft = draft.target_uri("urn:unknown:target"),
                None => {}
            }
        }
        if let Some(refers_to) = header.reference("WARC-Refers-To")
            && validate::may_have(record_type, "WARC-Refers-To")
        {
            draft = draft.refers_to(&uri(refers_to));
        }
        match header.fields.get("Content-Type") {
            Some(content_type) if validate::is_media_type(content_type) => {
                draft = draft.content_type(&printable(&lossless(content_type)));
            }
            _ if record_type != RecordType::Continuation => {
                draft = draft.content_type("application/octet-stream")
            }
            _ => {}
        }
        if record_type == RecordType::Revisit && header.reference("WARC-Profile").is_none() {
            draft = draft.field("WARC-Profile", "urn:unknown:profile");
        }
        other_fields(draft, header)
    }

    /// Leaves a trace of what was mended.
    fn explain(&mut self, mut record: Rewritten, end: Vec<Finding>) -> Result<(), RepairError> {
        let (of_record, gaps): (Vec<_>, Vec<_>) = end.into_iter().partition(|finding| !is_gap(finding.rule));
        record.findings.extend(of_record);
        for finding in &record.findings {
            if finding.rule.kind() == Kind::Leniency || record.is_arc {
                *self.repaired.by_rule.entry(finding.rule).or_default() += 1;
            }
        }
        if !record.findings.is_empty() || record.is_arc {
            self.repaired.mended += u64::from(!record.findings.is_empty());
            self.write_trace(&record)?;
        }
        self.report_gaps(gaps)
    }

    fn write_trace(&mut self, record: &Rewritten) -> Result<(), RepairError> {
        let trace = Trace {
            software: self.repair.software,
            source: self.repair.source_name,
            offset: record.offset,
            findings: trace_findings(&record.findings),
            original_header: (!record.is_arc).then_some(record.original.as_str()),
            original_arc_line: record.is_arc.then_some(record.original.as_str()),
        };
        self.write_metadata(Some(&record.id), &trace)
    }

    /// Says where bytes were that belong to no record.
    fn report_gaps(&mut self, findings: Vec<Finding>) -> Result<(), RepairError> {
        for finding in &findings {
            *self.repaired.by_rule.entry(finding.rule).or_default() += 1;
        }
        if findings.is_empty() {
            return Ok(());
        }
        self.repaired.gaps += findings.len() as u64;
        let trace = Trace {
            software: self.repair.software,
            source: self.repair.source_name,
            offset: findings[0].offset,
            findings: trace_findings(&findings),
            original_header: None,
            original_arc_line: None,
        };
        self.write_metadata(None, &trace)
    }

    fn write_metadata(&mut self, about: Option<&str>, trace: &Trace<'_>) -> Result<(), RepairError> {
        let block = serde_json::to_vec(trace).map_err(|error| PackError::Io(io::Error::other(error)))?;
        let mut draft = Draft::new(RecordType::Metadata, &self.repair.date).content_type("application/json");
        if let Some(id) = about {
            draft = draft.refers_to(id);
        }
        let record = self.packer.pack(&draft, PayloadKind::None, &block)?;
        self.append(record)
    }
}

fn trace_findings(findings: &[Finding]) -> Vec<TraceFinding<'_>> {
    findings
        .iter()
        .map(|Finding { rule, offset, message }| TraceFinding { rule: rule.code(), offset: *offset, message })
        .collect()
}

/// Findings that concern no record, only what lies between.
fn is_gap(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::NotARecord
            | Rule::JunkBetweenMembers
            | Rule::HeaderCut
            | Rule::HeaderTooLarge
            | Rule::ArcLine
            | Rule::EmptyMember
    )
}

/// The header with what depends on the block: digests that fit, and a word when the block is not whole.
fn mended(mut draft: Draft, header: &Header, checked: &Checked, cut: bool) -> Draft {
    let payload = header.fields.get("WARC-Payload-Digest");
    let keeps_payload_digest = match checked.payload {
        Verdict::Right => !checked.framed,
        Verdict::Unchecked => {
            header.payload_digest().is_some_and(|digest| digest.is_ok()) && stays_segment(header)
        }
        Verdict::Wrong | Verdict::Absent => false,
    };
    let has_place = validate::may_have(header.record_type(), "WARC-Payload-Digest");
    if keeps_payload_digest
        && has_place
        && let Some(digest) = payload
    {
        draft = draft.field("WARC-Payload-Digest", &printable(&lossless(digest)));
    }
    if cut && !header.is_truncated() {
        draft = draft.truncated("unspecified");
    }
    draft
}

/// Whether a segment will still be known as one: a number that is none is left out, and with it goes what a digest is of.
fn stays_segment(header: &Header) -> bool {
    let number = header.fields.get("WARC-Segment-Number");
    header.record_type() == RecordType::Continuation || number.is_none_or(|number| decimal(number).is_some())
}

/// Fields that the draft has its own place for, or that are made anew.
const OWN_PLACE: [&str; 9] = [
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

/// All other fields that may stand where they stand, once each unless they may be repeated.
fn other_fields(mut draft: Draft, header: &Header) -> Draft {
    let record_type = header.record_type();
    let mut seen = validate::SeenNames::default();
    for (name, value) in header.fields.iter() {
        let Ok(text) = std::str::from_utf8(name) else { continue };
        let repeated = seen.has_or_adds(name) && !validate::may_repeat(name);
        let has_place = OWN_PLACE.iter().any(|own| own.eq_ignore_ascii_case(text));
        let is_blank = printable(&lossless(value)).trim().is_empty();
        if has_place || repeated || is_blank || !name.iter().all(|byte| is_token(*byte)) {
            continue;
        }
        if !validate::may_have(record_type, text) || !validate::is_value(text, value) {
            continue;
        }
        let value = if validate::is_reference(text) {
            format!("<{}>", uri(unbracketed(value)))
        } else {
            printable(&lossless(value))
        };
        draft = draft.field(text, &value);
    }
    draft
}

fn needs_target(record_type: RecordType) -> bool {
    !matches!(record_type, RecordType::Warcinfo | RecordType::Metadata | RecordType::Other)
}

/// Bytes as text: UTF-8, or else each byte a Latin-1 letter.
fn lossless(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A URI that a header can hold: absolute, without white space.
fn uri(bytes: &[u8]) -> String {
    let text = escaped(&lossless(bytes));
    if validate::has_scheme(bytes) { text } else { format!("urn:unknown:{text}") }
}

fn token(bytes: &[u8]) -> String {
    let token: String = bytes.iter().filter(|byte| is_token(**byte)).map(|byte| char::from(*byte)).collect();
    // What is left of a damaged name may be that of another type, whose rules this record does not keep.
    match RecordType::parse(token.as_bytes()) {
        RecordType::Other if !token.is_empty() => token,
        _ => format!("unknown{token}"),
    }
}

/// A header as text, for the trace.
fn header_text(header: &Header) -> String {
    let mut text = format!("WARC/{}.{}\n", header.version.major, header.version.minor);
    for (name, value) in header.fields.iter() {
        text.extend([&lossless(name), ": ", &lossless(value), "\n"].map(AsRef::<str>::as_ref));
    }
    text
}
