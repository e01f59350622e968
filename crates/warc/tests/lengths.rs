//! A wrong Content-Length: the block ends where the record ends, the finding is about the record
//! with the wrong length, and a repair records every lost byte.

mod made;

use std::io::Read as _;

use made::{PACKINGS, codes, inspected, packed, record};
use serde_json::Value;
use varve_warc::date::Date;
use varve_warc::digest::Algorithm;
use varve_warc::repair::WarcRepair;
use varve_warc::write::Packing;
use varve_warc::{Encoding, WarcReader};
use varve_wire::ReadAt;

const DATE: &[u8] = b"2026-11-15T23:30:01Z";

/// A record that gives `length` for its block, with or without its digest.
fn lying(number: usize, block: &[u8], length: usize, with_digest: bool) -> Vec<u8> {
    let fields = "WARC-Target-URI: http://a/\r\nContent-Type: text/plain\r\n";
    let mut bytes = record("resource", number, fields, b"");
    bytes.truncate(bytes.len() - "Content-Length: 0\r\n\r\n\r\n\r\n".len());
    let text = String::from_utf8(bytes).expect("text");
    let (before, _) = text.split_once("WARC-Block-Digest").expect("a digest");
    let digest = match with_digest {
        true => format!("WARC-Block-Digest: {}\r\n", Algorithm::Sha1.digest(block)),
        false => String::new(),
    };
    let header = format!("{before}{digest}Content-Length: {length}\r\n\r\n");
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn right(number: usize, block: &[u8]) -> Vec<u8> {
    lying(number, block, block.len(), true)
}

/// Blocks of the records by number, and the repair records by the number of the record that they
/// are about.
struct Outcome {
    blocks: Vec<Vec<u8>>,
    traces: Vec<(Option<usize>, Value)>,
}

fn repaired(source: &[u8]) -> Outcome {
    let repair = WarcRepair {
        software: "varve test",
        source_name: "broken.warc",
        target_name: "whole.warc",
        date: Date::parse(DATE).expect("a date"),
        packing: Packing::Plain,
        temporary: None,
    };
    let mut file = Vec::new();
    repair.run(source, &mut file).expect("repaired");
    assert_eq!(codes(&inspected(&file)), [""; 0], "{}", String::from_utf8_lossy(&file));
    let mut reader = WarcReader::new(&file).expect("an archive");
    let mut outcome = Outcome { blocks: Vec::new(), traces: Vec::new() };
    while let Some(mut record) = reader.next_record().expect("memory") {
        let kind = record.header().record_type().name();
        let about = record
            .header()
            .reference("WARC-Refers-To")
            .map(|id| String::from_utf8_lossy(id).trim_start_matches("urn:uuid:").parse().expect("a number"));
        let mut block = Vec::new();
        record.read_to_end(&mut block).expect("memory");
        match kind {
            "metadata" => outcome.traces.push((about, serde_json::from_slice(&block).expect("JSON"))),
            "resource" => outcome.blocks.push(block),
            _ => {}
        }
    }
    outcome
}

impl Outcome {
    fn blocks(&self) -> Vec<String> {
        self.blocks.iter().map(|block| String::from_utf8_lossy(block).into_owned()).collect()
    }

    /// The rules of the repair record about a record, or about none, without those about members.
    fn rules(&self, about: Option<usize>) -> Vec<String> {
        let traces = self.traces.iter().filter(|(number, _)| *number == about);
        let findings = traces.flat_map(|(_, trace)| trace["findings"].as_array().expect("a list"));
        let codes = findings.map(|finding| finding["rule"].as_str().expect("a code").to_owned());
        codes.filter(|code| code != "C04").collect()
    }

    fn strays(&self) -> Vec<&Value> {
        self.traces.iter().filter_map(|(_, trace)| trace["stray"].as_array()).flatten().collect()
    }
}

/// Each record alone in a member, or all in one.
fn files(records: &[Vec<u8>]) -> Vec<(String, Vec<u8>)> {
    let alone = PACKINGS.map(|packing| {
        (format!("{packing:?}"), records.iter().flat_map(|record| packed(packing, record)).collect())
    });
    let shared = [Encoding::Gzip, Encoding::Zstd]
        .map(|packing| (format!("{packing:?}, shared"), packed(packing, &records.concat())));
    alone.into_iter().chain(shared).collect()
}

#[test]
fn a_length_that_is_too_large() {
    for with_digest in [true, false] {
        for length in [12, 100, 1 << 20, usize::MAX] {
            let records = [right(1, b"one"), lying(2, b"two", length, with_digest), right(3, b"three")];
            for (name, file) in files(&records) {
                let outcome = repaired(&file);
                let context = format!("{name}, length {length}, digest {with_digest}");
                assert_eq!(outcome.blocks(), ["one", "two", "three"], "{context}");
                let rules = outcome.rules(Some(2));
                assert!(rules == ["R04"] || rules == ["R03"], "{context}: {rules:?}");
                assert_eq!((outcome.rules(Some(3)), outcome.rules(None)), (vec![], vec![]), "{context}");
            }
        }
    }
}

/// At the end of a file no record follows the one with the wrong length.
#[test]
fn a_length_that_is_too_large_at_the_end() {
    for with_digest in [true, false] {
        let records = [right(1, b"one"), lying(2, b"two", 9000, with_digest)];
        for (name, file) in files(&records) {
            let outcome = repaired(&file);
            assert_eq!(outcome.blocks(), ["one", "two"], "{name}, digest {with_digest}");
            assert_eq!(outcome.rules(Some(2)), ["R03"], "{name}, digest {with_digest}");
        }
    }
}

#[test]
fn a_length_that_is_too_small() {
    let block = "the lake lays down one layer each year";
    for with_digest in [true, false] {
        for length in [0, 3, block.len() - 1] {
            let records =
                [right(1, b"one"), lying(2, block.as_bytes(), length, with_digest), right(3, b"three")];
            for (name, file) in files(&records) {
                let outcome = repaired(&file);
                let context = format!("{name}, length {length}, digest {with_digest}");
                assert_eq!(outcome.blocks(), ["one", block, "three"], "{context}");
                assert_eq!(outcome.rules(Some(2)), ["R03"], "{context}");
                assert_eq!((outcome.rules(Some(3)), outcome.rules(None)), (vec![], vec![]), "{context}");
            }
        }
    }
}

/// A block larger than memory buffers, with a length that was stored in too few bits.
#[test]
fn a_large_block_whose_length_is_too_small() {
    let block = b"0123456789abcde\n".repeat(3 << 16);
    for with_digest in [true, false] {
        let file = [lying(1, &block, 70_000, with_digest), right(2, b"two")].concat();
        let outcome = repaired(&file);
        assert_eq!(outcome.blocks.len(), 2);
        assert!(outcome.blocks[0] == block, "digest {with_digest}: {} bytes", outcome.blocks[0].len());
    }
}

/// When a separator follows the declared length, only the digest shows that the block goes on.
#[test]
fn a_separator_inside_a_block() {
    let block = "a head\r\n\r\nand a body";
    let lies = |with_digest| [lying(1, block.as_bytes(), 6, with_digest), right(2, b"two")].concat();
    assert_eq!(repaired(&lies(true)).blocks(), [block, "two"]);
    let outcome = repaired(&lies(false));
    assert_eq!(outcome.blocks(), ["a head", "two"]);
    assert_eq!(outcome.strays()[0]["text"], "and a body\r\n\r\n");
}

/// The digest matches the declared length: the bytes after it are stray, and a record inside the
/// block is part of it.
#[test]
fn a_matching_digest_decides() {
    let nested = [b"x\r\n\r\n".to_vec(), right(9, b"inside")].concat();
    for stray in [b"stray".as_slice(), b"\r\n\r\nstray\r\n", b"\xff\xfe stray \x00"] {
        let file = [&right(1, &nested)[..], stray, b"\n", &right(2, b"two")].concat();
        let report = inspected(&file);
        assert_eq!((report.records, report.digests.ok, report.digests.bad), (2, 2, 0));
        let outcome = repaired(&file);
        assert!(outcome.blocks == [nested.clone(), b"two".to_vec()], "{:?}", outcome.blocks());
        let strays = outcome.strays();
        let kept = match strays[0]["base64"].as_str() {
            Some(text) => data_encoding::BASE64.decode(text.as_bytes()).expect("Base64"),
            None => strays[0]["text"].as_str().expect("text").as_bytes().to_vec(),
        };
        assert_eq!(kept, [stray.trim_ascii_start(), b"\n"].concat());
        assert_eq!(strays[0]["length"], kept.len());
    }
}

#[test]
fn long_stray_ranges_are_only_counted() {
    let file = [right(1, b"one"), vec![b'x'; 100_000], b"\n".to_vec(), right(2, b"two")].concat();
    let outcome = repaired(&file);
    assert_eq!(outcome.blocks(), ["one", "two"]);
    assert_eq!(outcome.rules(None), ["R01"]);
    let strays = outcome.strays();
    assert_eq!(strays[0]["length"], 100_001);
    assert_eq!((strays[0].get("text"), strays[0].get("base64")), (None, None));
}

/// Many records, each with a block of some mebibytes and a length beyond the end of the file.
struct WrongLengths {
    headers: Vec<Vec<u8>>,
    block: u64,
}

impl WrongLengths {
    fn unit(&self) -> u64 {
        self.headers[0].len() as u64 + self.block
    }
}

impl ReadAt for WrongLengths {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let Some(header) = self.headers.get((offset / self.unit()) as usize) else { return Ok(0) };
        let at = offset % self.unit();
        if at < header.len() as u64 {
            return header.as_slice().read_at(buffer, at);
        }
        let length = buffer.len().min((self.unit() - at) as usize);
        buffer[..length].fill(b'\n');
        Ok(length)
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.headers.len() as u64 * self.unit())
    }
}

/// Resynchronising after a wrong length must not depend on how many there were.
#[test]
fn any_number_of_wrong_lengths_in_a_large_file() {
    let header = |number| {
        let record = lying(number, b"x", 99_999_999_999, false);
        record[..record.len() - 4].to_vec()
    };
    let source = WrongLengths { headers: (0..12).map(header).collect(), block: 16 << 20 };
    let report = inspected(&source);
    assert_eq!(report.records, 12);
    assert_eq!(report.by_rule.values().sum::<u64>(), 12, "{:?}", report.findings);
}
