//! A repaired file conforms, holds every readable record, and records every correction.

mod made;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use varve_warc::date::Date;
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::repair::{RepairError, RepairReport, WarcRepair};
use varve_warc::rules::Rule;
use varve_warc::write::Packing;
use varve_warc::{Encoding, Error, WarcReader};

fn repaired(source: &[u8], packing: Packing) -> Result<(Vec<u8>, RepairReport), RepairError> {
    let repair = WarcRepair {
        software: "varve test",
        source_name: "broken.warc",
        target_name: "whole.warc.gz",
        date: Date::parse(b"2026-11-15T23:30:01Z").expect("a date"),
        packing,
        temporary: None,
    };
    let mut output = Vec::new();
    let done = repair.run(source, &mut output)?;
    Ok((output, done))
}

fn strict(file: &[u8]) -> InspectReport {
    inspect(file, InspectOptions { strict: true, threads: 1, ..InspectOptions::default() }, &|_| {})
        .expect("an archive")
}

/// Types and blocks of all records but those that the repair added.
fn records(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut reader = WarcReader::new(file).expect("an archive");
    let mut found = Vec::new();
    while let Some(mut record) = reader.next_record().expect("read") {
        let fields = &record.header().fields;
        let text = |name| String::from_utf8_lossy(fields.get(name).unwrap_or_default()).into_owned();
        let kind = text("WARC-Type");
        let mut block = Vec::new();
        record.read_to_end(&mut block).expect("read");
        let added =
            block.starts_with(b"software: varve test") || block.starts_with(b"{\"software\":\"varve test\"");
        if !added {
            found.push((kind, block));
        }
    }
    found
}

const GOOD: &str = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
    WARC-Target-URI: <http://a/>\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody\r\n\r\n";

#[test]
fn a_file_with_everything_wrong() {
    let source = [
        GOOD,
        // One CRLF too few, and LF line ends.
        "WARC/1.0\nWARC-Type: resource\nWARC-Date: 2020-01-02T00:00:00Z\nWARC-Target-URI: http://a/x y\nContent-Length: 3\n\nabc\r\n",
        "junk that nobody wrote\r\n",
        // A wrong digest, no id, no content type.
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: nonsense\r\nWARC-Target-URI: <http://b/>\r\n\
         WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\nContent-Length: 1\r\n\r\nz\r\n\r\n",
        // A wrong length: the next record begins inside.
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:2>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://c/\r\nContent-Type: text/plain\r\nContent-Length: 9000\r\n\r\nshort\r\n\r\n",
        &GOOD.replace("urn:x:1", "urn:x:3"),
        // Cut in its block.
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:4>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://d/\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\ncut",
    ]
    .concat();
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let (file, done) = repaired(source.as_bytes(), packing).expect("repaired");
        let report = strict(&file);
        assert_eq!(report.findings, [], "{}", String::from_utf8_lossy(&file));
        let kept = records(&file);
        let blocks: Vec<&[u8]> = kept.iter().map(|(_, block)| block.as_slice()).collect();
        assert_eq!(blocks.len(), 6);
        assert_eq!(blocks[..3], [b"body".as_slice(), b"abc", b"z"]);
        assert!(blocks[3].starts_with(b"short"));
        assert_eq!(blocks[4..], [b"body".as_slice(), b"cut"]);
        assert_eq!((done.records, done.mended, done.gaps), (6, 4, 1));
        for rule in
            [Rule::NotARecord, Rule::BlockDigest, Rule::BlockOverlap, Rule::BlockShort, Rule::LineEnding]
        {
            assert!(done.by_rule.contains_key(&rule), "{rule:?} in {:?}", done.by_rule);
        }
    }
}

#[test]
fn the_repair_record_holds_the_original_header() {
    let source = GOOD
        .replace("WARC/1.0", "WARC/1.1")
        .replace("Content-Length: 4\r\n", "Content-Length: 4\r\nX-Odd: \u{e9}\r\n");
    let (file, done) = repaired(source.as_bytes(), Packing::Plain).expect("repaired");
    assert_eq!(done.mended, 1);
    let mut reader = WarcReader::new(&file).expect("an archive");
    let mut traces = Vec::new();
    while let Some(mut record) = reader.next_record().expect("read") {
        let about = record.header().reference("WARC-Refers-To").map(<[u8]>::to_vec);
        let mut block = String::new();
        record.read_to_string(&mut block).expect("text");
        if about.as_deref() == Some(b"urn:x:1") {
            traces.push(serde_json::from_str::<serde_json::Value>(&block).expect("JSON"));
        }
    }
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0]["findings"][0]["rule"], "F05");
    let header = traces[0]["original_header"].as_str().expect("a header");
    assert!(
        header.contains("WARC-Target-URI: <http://a/>\n") && header.contains("X-Odd: \u{e9}\n"),
        "{header}"
    );
}

/// The repair records, each with the id of the record it is about.
fn traces(file: &[u8]) -> Vec<(Option<String>, serde_json::Value)> {
    let mut reader = WarcReader::new(file).expect("an archive");
    let mut traces = Vec::new();
    while let Some(mut record) = reader.next_record().expect("read") {
        let about = record.header().reference("WARC-Refers-To");
        let about = about.map(|id| String::from_utf8_lossy(id).into_owned());
        let mut block = String::new();
        let is_text = record.read_to_string(&mut block).is_ok();
        if is_text && block.starts_with("{\"software\":\"varve test\"") {
            traces.push((about, serde_json::from_str(&block).expect("JSON")));
        }
    }
    traces
}

/// The ranges in a repair record, as offset and length.
fn strays(trace: &serde_json::Value) -> Vec<(u64, u64)> {
    let stray = |stray: &serde_json::Value| {
        (stray["offset"].as_u64().expect("a number"), stray["length"].as_u64().expect("a number"))
    };
    trace["stray"].as_array().into_iter().flatten().map(stray).collect()
}

#[test]
fn damaged_neighbours_are_left_out_and_the_record_before_them_is_unchanged() {
    for (packing, hit, stretches) in [
        (Encoding::Gzip, 2..5, 1),
        (Encoding::Zstd, 2..5, 3),
        (Encoding::Gzip, 5..8, 1),
        (Encoding::Zstd, 5..8, 3),
    ] {
        let source = made::with_neighbours_hit(packing, hit.clone());
        let (file, done) = repaired(&source.bytes, Packing::Plain).expect("repaired");
        assert_eq!((done.records, done.mended, done.gaps), (5, 0, stretches), "{packing:?}");
        let traces = traces(&file);
        assert!(traces.iter().all(|(about, _)| about.is_none()), "{traces:?}");
        // Every lost byte is in one of the ranges.
        let mut place = source.places[hit.start].start as u64;
        for (offset, length) in traces.iter().flat_map(|(_, trace)| strays(trace)) {
            assert_eq!(offset, place, "{packing:?}");
            place += length;
        }
        assert_eq!(place, source.places[hit.end - 1].end as u64, "{packing:?}");
    }
}

#[test]
fn a_range_counts_once_for_several_findings() {
    let [before, behind] =
        [0, 1].map(|number| made::packed(Encoding::Zstd, &made::response(number, b"body")));
    // Its content is no record, and its checksum is wrong.
    let mut junk = made::packed(Encoding::Zstd, b"nothing that anybody would take for a record");
    *junk.last_mut().expect("a checksum") ^= 1;
    // It needs a dictionary that is not here.
    let samples: Vec<Vec<u8>> = (0..400).map(|number| made::response(number, b"the lake")).collect();
    let dictionary = zstd::dict::from_samples(&samples, 4096).expect("a dictionary");
    let mut packer = zstd::bulk::Compressor::with_dictionary(3, &dictionary).expect("a compressor");
    packer.include_checksum(true).expect("a parameter");
    let foreign = packer.compress(&samples[7]).expect("memory");
    for odd in [junk, foreign] {
        let source = [before.as_slice(), &odd, &behind].concat();
        let (_, done) = repaired(&source, Packing::Plain).expect("repaired");
        assert_eq!((done.records, done.mended, done.gaps), (2, 0, 1), "{:?}", done.by_rule);
        assert!(done.by_rule.values().sum::<u64>() > 1, "{:?}", done.by_rule);
    }
}

/// A member whose second half begins a block of its own, and where.
fn in_two_blocks(packing: Encoding, plain: &[u8]) -> (Vec<u8>, usize) {
    let (first, second) = plain.split_at(plain.len() / 2);
    if packing == Encoding::Gzip {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(first).expect("memory");
        encoder.flush().expect("memory");
        let boundary = encoder.get_ref().len();
        encoder.write_all(second).expect("memory");
        return (encoder.finish().expect("memory"), boundary);
    }
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.include_checksum(true).expect("a parameter");
    encoder.write_all(first).expect("memory");
    encoder.flush().expect("memory");
    let boundary = encoder.get_ref().len();
    encoder.write_all(second).expect("memory");
    (encoder.finish().expect("memory"), boundary)
}

#[test]
fn unreadable_bytes_of_a_record_are_in_its_repair_record() {
    for packing in [Encoding::Gzip, Encoding::Zstd] {
        let members = [made::response(0, b"one"), Vec::new(), made::response(2, b"three")];
        let mut members = members.map(|record| made::packed(packing, &record));
        let (mut damaged, boundary) = in_two_blocks(packing, &made::response(1, &b"two ".repeat(50_000)));
        // Neither a block of deflate data nor the content of a zstd block begins so.
        let at = boundary + if packing == Encoding::Zstd { 3 } else { 0 };
        damaged[at] = 0xff;
        members[1] = damaged;
        let source = members.concat();
        let place = members[0].len()..members[0].len() + members[1].len();
        let (file, done) = repaired(&source, Packing::Plain).expect("repaired");
        assert_eq!((done.records, done.mended, done.gaps), (3, 1, 1), "{packing:?}");
        let traces = traces(&file);
        assert_eq!(traces.len(), 1, "{packing:?} {traces:#?}");
        assert_eq!(traces[0].0.as_deref(), Some("urn:uuid:00000001"), "{packing:?}");
        let strays = strays(&traces[0].1);
        assert_eq!(strays.len(), 1, "{packing:?}");
        let (offset, length) = strays[0];
        assert!(
            (place.start + boundary..=place.start + at + 8).contains(&(offset as usize)),
            "{packing:?}: {strays:?}"
        );
        assert_eq!(offset + length, place.end as u64, "{packing:?}");
    }
}

#[test]
fn repairing_twice_changes_no_record() {
    let (once, _) = repaired(GOOD.as_bytes(), Packing::Gzip).expect("repaired");
    let (twice, done) = repaired(&once, Packing::Gzip).expect("repaired");
    assert_eq!(done.mended, 0);
    assert_eq!(records(&once), records(&twice));
}

#[test]
fn arc_becomes_warc_with_its_lines_kept() {
    let source = "filedesc://x.arc 0.0.0.0 20010101000000 text/plain 75\n1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n\n\n\n\n\n\n\n\n\n\n\n\n\
                  http://a/b c 1.2.3.4 20010102030405 text/html 24\nHTTP/1.0 200 OK\r\n\r\nhello\n";
    let (file, done) = repaired(source.as_bytes(), Packing::Gzip).expect("repaired");
    assert_eq!(done.records, 2);
    // The description of an ARC file is no list of fields.
    let codes: Vec<_> = strict(&file).findings.iter().map(|finding| finding.rule.code()).collect();
    assert_eq!(codes, ["S16"]);
    let text = {
        let mut plain = String::new();
        flate2::read::MultiGzDecoder::new(file.as_slice()).read_to_string(&mut plain).expect("gzip");
        plain
    };
    assert!(
        text.contains("\"original_arc_line\":\"http://a/b c 1.2.3.4 20010102030405 text/html 24\""),
        "{text}"
    );
    assert!(text.contains("WARC-Target-URI: http://a/b%20c\r\n"));
    assert!(text.contains("WARC-Date: 2001-01-02T03:04:05Z\r\n"));
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

/// Rules about the bytes of blocks, which a repair does not change, and about the meaning of whole
/// collections.
const MAY_REMAIN: [Rule; 9] = [
    Rule::NotHttp,
    Rule::NotChunked,
    Rule::ChunksCut,
    Rule::UnknownType,
    Rule::ProfileUnknown,
    Rule::TruncatedReason,
    Rule::WarcinfoType,
    Rule::MessageType,
    Rule::RecordIdRepeated,
];

#[test]
fn every_archive_of_the_corpus_can_be_repaired() {
    let Some(folder) = varve_testkit::fixtures("") else { return };
    let mut files = Vec::new();
    files_below(&folder.join("warc"), &mut files);
    files_below(&folder.join("aardwarc"), &mut files);
    let mut repaired_files = 0;
    for path in files {
        let source = std::fs::read(&path).expect("a fixture");
        let (file, done) = match repaired(&source, Packing::Gzip) {
            Ok(result) => result,
            Err(RepairError::Read(Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_))) => continue,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        repaired_files += 1;
        let before =
            inspect(source.as_slice(), InspectOptions { threads: 1, ..InspectOptions::default() }, &|_| {})
                .expect("read");
        assert_eq!(done.records, before.records, "{}", path.display());
        for finding in strict(&file).findings {
            let segment_without_origin =
                finding.rule == Rule::SegmentFields || finding.rule == Rule::SegmentNumber;
            let profile = finding.rule == Rule::ProfileMissing || finding.rule == Rule::RevisitDigest;
            assert!(
                MAY_REMAIN.contains(&finding.rule) || segment_without_origin || profile,
                "{}: {} {}",
                path.display(),
                finding.rule.code(),
                finding.message
            );
        }
    }
    assert!(repaired_files > 150, "{repaired_files} files of the corpus were repaired");
}
