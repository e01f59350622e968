//! Archives made by the tests: conforming ones, whose every byte is known, for tests that then
//! damage them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write as _;
use std::ops::Range;

use varve_warc::Encoding;
use varve_warc::digest::Algorithm;
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::rules::WarcFinding;
use varve_wire::ReadAt;

/// A file, and the start and end of each record in it.
pub(crate) struct Archive {
    pub(crate) bytes: Vec<u8>,
    pub(crate) places: Vec<Range<usize>>,
}

/// Every way a file can be packed.
pub(crate) const PACKINGS: [Encoding; 3] = [Encoding::Plain, Encoding::Gzip, Encoding::Zstd];

/// One record, with the digest of its block.
pub(crate) fn record(kind: &str, number: usize, fields: &str, block: &[u8]) -> Vec<u8> {
    let digest = Algorithm::Sha1.digest(block);
    let length = block.len();
    let mut record = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number:08}>\r\n\
         WARC-Date: 2026-11-15T23:30:00Z\r\n{fields}WARC-Block-Digest: {digest}\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes();
    record.extend_from_slice(block);
    record.extend_from_slice(b"\r\n\r\n");
    record
}

/// A response whose body is `body`.
pub(crate) fn response(number: usize, body: &[u8]) -> Vec<u8> {
    let mut block = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    block.extend_from_slice(body);
    let fields = format!(
        "WARC-Target-URI: http://varve.example/{number}\r\nContent-Type: application/http; msgtype=response\r\n\
         WARC-Payload-Digest: {}\r\n",
        Algorithm::Sha256.digest(body)
    );
    record("response", number, &fields, &block)
}

/// Eight records of several kinds and sizes, one without a block.
pub(crate) fn some_records() -> Vec<Vec<u8>> {
    let uri = "WARC-Target-URI: http://varve.example/\r\n";
    let http = |kind: &str| format!("{uri}Content-Type: application/http; msgtype={kind}\r\n");
    let profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n";
    vec![
        record(
            "warcinfo",
            0,
            "Content-Type: application/warc-fields\r\n",
            b"software: varve\r\nformat: WARC 1.1\r\n",
        ),
        record("request", 1, &http("request"), b"GET / HTTP/1.1\r\nHost: varve.example\r\n\r\n"),
        response(2, b"<p>The lake lays down one layer each year, and the layers are read."),
        record("revisit", 3, &format!("{}{profile}", http("response")), b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        response(4, b""),
        record("resource", 5, &format!("{uri}Content-Type: text/plain\r\n"), b""),
        record(
            "metadata",
            6,
            &format!("{uri}Content-Type: application/warc-fields\r\n"),
            b"via: http://a.example/\r\n",
        ),
        response(7, b"0123456789\nabcdefghijklmnopq\n"),
    ]
}

/// Eight records, with those of `hit` damaged near their start, so that nothing of them can be
/// decompressed.
pub(crate) fn with_neighbours_hit(packing: Encoding, hit: Range<usize>) -> Archive {
    let words = |number: usize| -> String {
        (0..300).map(|at| format!("layer{} ", (at * at + number * 7) % 97)).collect()
    };
    let records: Vec<_> = (0..8).map(|number| response(number, words(number).as_bytes())).collect();
    let mut file = archive(packing, &records);
    for number in hit {
        // The first byte after the header of the member, and of the block in a zstd frame.
        file.bytes[file.places[number].start + 10] = 0xff;
    }
    file
}

/// Packs each record as a member of its own.
pub(crate) fn archive(packing: Encoding, records: &[Vec<u8>]) -> Archive {
    let mut archive = Archive { bytes: Vec::new(), places: Vec::new() };
    for record in records {
        let start = archive.bytes.len();
        archive.bytes.extend(packed(packing, record));
        archive.places.push(start..archive.bytes.len());
    }
    archive
}

/// One member.
pub(crate) fn packed(packing: Encoding, content: &[u8]) -> Vec<u8> {
    match packing {
        Encoding::Plain => content.to_vec(),
        Encoding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).expect("memory");
            encoder.finish().expect("memory")
        }
        Encoding::Zstd => {
            let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
            compressor.include_checksum(true).expect("a parameter");
            compressor.compress(content).expect("memory")
        }
    }
}

/// The report that one thread gives.
pub(crate) fn inspected(source: &(impl ReadAt + ?Sized)) -> InspectReport {
    let options = InspectOptions { threads: 1, ..InspectOptions::default() };
    inspect(source, options, &|_| {}).expect("a readable file")
}

/// The codes of a report's findings, in order of the file.
pub(crate) fn codes(report: &InspectReport) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.rule.code()).collect()
}

/// A record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) offset: u64,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) block: Vec<u8>,
}

impl Read {
    /// Whether it is the other record, at any place.
    pub(crate) fn is(&self, other: &Read) -> bool {
        self.fields == other.fields && self.block == other.block
    }
}

/// The result of reading.
#[derive(Default)]
pub(crate) struct ReadAll {
    pub(crate) records: Vec<Read>,
    pub(crate) findings: Vec<WarcFinding>,
    pub(crate) last_good_offset: u64,
}

pub(crate) fn read_all(file: &[u8]) -> Result<ReadAll, varve_warc::Error> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut reader = varve_warc::WarcReader::new(file)?;
    let mut read = ReadAll::default();
    while let Some(mut record) = reader.next_record()? {
        let fields = record.header().fields.iter().map(|(name, value)| (text(name), text(value))).collect();
        let offset = record.offset();
        let mut block = Vec::new();
        std::io::Read::read_to_end(&mut record, &mut block).expect("memory");
        read.records.push(Read { offset, fields, block });
    }
    read.findings = reader.take_findings();
    read.last_good_offset = reader.last_good_offset();
    Ok(read)
}
