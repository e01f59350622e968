//! Laws of whole files.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use varve_warc::date::Date;
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::repair::{RepairError, WarcRepair};
use varve_warc::rules::{Rule, WarcFinding};
use varve_warc::write::Packing;
use varve_warc::{Encoding, Error, Format, WarcReader};
use varve_wire::ReadAt;

/// A record as it was read.
#[derive(Debug, PartialEq, Eq)]
struct Read1 {
    offset: u64,
    declared: u64,
    is_cut: bool,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    block: Vec<u8>,
}

/// All that reading a file gives.
#[derive(Debug, PartialEq, Eq)]
struct ReadAll {
    records: Vec<Read1>,
    findings: Vec<WarcFinding>,
    last_good: u64,
    is_warc: bool,
}

/// Gives a few bytes at a time and counts what it gives.
struct Stingy<'a> {
    bytes: &'a [u8],
    step: usize,
    given: AtomicU64,
}

impl ReadAt for Stingy<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len().min(self.step);
        let count = self.bytes.read_at(&mut buffer[..length], offset)?;
        self.given.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }
}

/// A WARC file, or what claims to be one.
pub(crate) fn warc(bytes: &[u8]) {
    let Some(read) = same_in_any_pieces(bytes) else { return };
    in_bounds(&read, bytes);
    alone_as_in_turn(&read, bytes);
    let report = same_in_any_parts(bytes);
    assert_eq!(report.records, read.records.len() as u64);
    assert_eq!(report.last_good_offset, read.last_good);
    assert_eq!(report.by_type.values().sum::<u64>(), report.records);
    assert_eq!(report.by_version.values().sum::<u64>(), report.records);
    assert_eq!(
        report.by_rule.values().sum::<u64>(),
        report.findings.iter().map(|finding| finding.times).sum::<u64>()
    );
    assert_eq!(report.last_good_offset == report.size, !report.has_loss || report.size == 0);
}

/// As `warc`, after the start of an ARC file.
pub(crate) fn arc(bytes: &[u8]) {
    let version = if bytes.first().is_some_and(|byte| byte & 1 == 1) { 2 } else { 1 };
    let description =
        format!("filedesc://x.arc 0.0.0.0 20080430204825 text/plain 14\n{version} 0 Varve\nURL\n\n");
    warc(&[description.as_bytes(), bytes].concat());
}

/// Bytes as the dictionary of a zstd file: frames that need none can be read.
pub(crate) fn zstd_dictionary(bytes: &[u8]) {
    let record = b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-11-15T12:00:00Z\r\n\
                   WARC-Target-URI: urn:x:y\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nlake\r\n\r\n";
    let (content, behind) = match bytes {
        [length, rest @ ..] => rest.split_at(usize::from(*length).saturating_mul(8).min(rest.len())),
        [] => (bytes, bytes),
    };
    let frame = zstd::bulk::compress(record, 1).expect("memory");
    let length = u32::try_from(content.len()).expect("a small input").to_le_bytes();
    let file = [&[0x5d, 0x2a, 0x4d, 0x18][..], &length, content, &frame, behind].concat();
    let read = same_in_any_pieces(&file).expect("an archive");
    assert_eq!(read.records[0].block, b"lake");
    warc(&file);
}

/// A repaired file is right, but for what a repair leaves as it is.
pub(crate) fn repair(bytes: &[u8]) {
    const MAY_REMAIN: [Rule; 12] = [
        Rule::NotHttp,
        Rule::NotChunked,
        Rule::ChunksCut,
        Rule::UnknownType,
        Rule::ProfileUnknown,
        Rule::TruncatedReason,
        Rule::WarcinfoType,
        Rule::MessageType,
        Rule::RecordIdRepeated,
        Rule::SegmentFields,
        Rule::SegmentNumber,
        Rule::RevisitDigest,
    ];
    let repair = WarcRepair {
        software: "varve",
        source_name: "source",
        target_name: "target",
        date: Date::parse(b"2026-11-15T12:00:00Z").expect("a date"),
        packing: Packing::Plain,
        temporary: None,
    };
    let mut output = Vec::new();
    let repaired = match repair.run(bytes, &mut output) {
        Ok(repaired) => repaired,
        Err(RepairError::Read(_)) => return,
        Err(error) => panic!("{error:?}"),
    };
    let options =
        InspectOptions { strict: true, threads: 1, findings: usize::MAX, ..InspectOptions::default() };
    let report = inspect(&output, options, &|_| {}).expect("an archive");
    let remaining = report.findings.iter().find(|finding| !MAY_REMAIN.contains(&finding.rule));
    assert!(remaining.is_none(), "{remaining:?}");
    assert!(report.records > repaired.records);
    assert_eq!(report.last_good_offset, output.len() as u64);
}

/// Reads with pieces of several sizes, which must not show. None when it is no archive.
fn same_in_any_pieces(bytes: &[u8]) -> Option<ReadAll> {
    let whole = read_all(bytes, usize::MAX);
    let stingy = Stingy { bytes, step: 1 + bytes.len() % 13, given: AtomicU64::new(0) };
    let in_pieces = read_all(&stingy, 1);
    let most = 100 * bytes.len() as u64 + (1 << 20);
    assert!(stingy.given.into_inner() < most, "more was read than is in proportion");
    match (whole, in_pieces) {
        (Ok(whole), Ok(in_pieces)) => {
            assert_eq!((&whole.findings, whole.last_good), (&in_pieces.findings, in_pieces.last_good));
            assert_eq!(whole.records, in_pieces.records);
            Some(whole)
        }
        (Err(whole), Err(in_pieces)) => {
            assert!(!matches!(whole, Error::Io { .. }), "memory can be read");
            assert_eq!(whole.to_string(), in_pieces.to_string());
            None
        }
        (whole, in_pieces) => panic!("{whole:?} but in pieces {in_pieces:?}"),
    }
}

/// Reads all records, their blocks `step` bytes at a time.
fn read_all(source: impl ReadAt, step: usize) -> Result<ReadAll, Error> {
    let mut reader = WarcReader::new(source)?;
    let mut all = ReadAll { records: Vec::new(), findings: Vec::new(), last_good: 0, is_warc: true };
    while let Some(mut record) = reader.next_record()? {
        let mut block = Vec::new();
        loop {
            let piece = record.fill_buf().expect("memory");
            let length = piece.len().min(step);
            block.extend_from_slice(&piece[..length]);
            record.consume(length);
            if length == 0 {
                break;
            }
        }
        let fields =
            record.header().fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        let (offset, declared, is_cut) = (record.offset(), record.declared_length(), record.is_cut());
        all.records.push(Read1 { offset, declared, is_cut, fields, block });
        reader.finish_record()?;
        all.findings.extend(reader.take_findings());
    }
    all.findings.extend(reader.take_findings());
    all.last_good = reader.undamaged_until();
    all.is_warc = reader.format() == Format::Warc;
    Ok(all)
}

/// Lengths, places and numbers are what they can be.
fn in_bounds(read: &ReadAll, bytes: &[u8]) {
    let size = bytes.len() as u64;
    for record in &read.records {
        assert!(record.offset < size);
        let length = record.block.len() as u64;
        assert!(length == record.declared || record.is_cut && length < record.declared, "{record:?}");
    }
    let is_plain = Encoding::of(bytes) == Encoding::Plain;
    for pair in read.records.windows(2) {
        assert!(pair[0].offset <= pair[1].offset, "places go forward");
    }
    if is_plain && read.records.iter().all(|record| !record.is_cut) {
        let held: u64 = read.records.iter().map(|record| record.block.len() as u64).sum();
        let overlaps = read.findings.iter().any(|finding| finding.rule == Rule::BlockOverlap);
        assert!(overlaps || held <= size * 200, "{held} bytes of blocks in a file of {size}");
    }
    assert!(read.last_good <= size);
    assert!(read.findings.iter().all(|finding| finding.offset <= size), "{:?}", read.findings);
    assert!(read.findings.len() as u64 <= 16 + 4 * size, "{} findings", read.findings.len());
}

/// A record that begins a member, or stands in a plain file, is the same when it is read alone.
fn alone_as_in_turn(read: &ReadAll, bytes: &[u8]) {
    let packed = Encoding::of(bytes) != Encoding::Plain;
    let mut last = None;
    for record in read.records.iter().take(20) {
        let begins = last != Some(record.offset);
        last = Some(record.offset);
        if !begins || !read.is_warc || packed && !read.findings.is_empty() {
            continue;
        }
        let Ok(mut reader) = WarcReader::at(bytes, record.offset) else { continue };
        let mut alone = reader.next_record().expect("memory").expect("a record");
        let mut block = Vec::new();
        alone.read_to_end(&mut block).expect("memory");
        assert_eq!((alone.offset(), &block), (record.offset, &record.block));
    }
}

/// Inspects with one thread and with several, leniently and strictly.
fn same_in_any_parts(bytes: &[u8]) -> InspectReport {
    let run = |strict, threads, part_size| {
        let options = InspectOptions { strict, threads, part_size, findings: usize::MAX };
        inspect(bytes, options, &|_| {}).expect("an archive")
    };
    let part_size = Some(1 + bytes.len() as u64 / 5);
    let strict = run(true, 1, None);
    assert_eq!(format!("{strict:?}"), format!("{:?}", run(true, 3, part_size)));
    let lenient = run(false, 1, None);
    for (rule, count) in &lenient.by_rule {
        assert_eq!(strict.by_rule.get(rule), Some(count), "{rule:?}");
    }
    lenient
}
