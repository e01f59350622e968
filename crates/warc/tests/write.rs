//! Written records read back, in every packing, and break no rule.

use std::io::{Read, Write};
use std::sync::Arc;

use proptest::prelude::*;
use varve_warc::date::Date;
use varve_warc::digest::Algorithm;
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{
    Dictionary, Draft, DraftError, Packer, Packing, Profile, RecordPackError, RecordUri, WarcWriter,
    pack_reader, warc_fields,
};
use varve_warc::{Encoding, WarcReader};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one layer a year</p>";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: lake.example\r\n\r\n";

fn date() -> Date {
    Date::parse(b"2026-11-15T23:30:01.123456Z").expect("a date")
}

fn dictionary() -> Arc<Dictionary> {
    let samples: Vec<Vec<u8>> = (0..2000)
        .map(|n| {
            format!(
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://lake.example/{n}\r\n\r\nlayer {n}"
            )
            .into_bytes()
        })
        .collect();
    Arc::new(Dictionary::new(zstd::dict::from_samples(&samples, 4096).expect("a dictionary")))
}

fn packings() -> Vec<Packing> {
    vec![
        Packing::Plain,
        Packing::Gzip,
        Packing::GzipLevel(12),
        Packing::Zstd { level: 3, dictionary: None },
        Packing::Zstd { level: 9, dictionary: Some(dictionary()) },
    ]
}

fn strict(file: &[u8], threads: usize) -> InspectReport {
    let options = InspectOptions { strict: true, threads, ..InspectOptions::default() };
    inspect(file, options, &|_| {}).expect("an archive")
}

/// One record of each kind that varve writes.
fn one_of_each(packer: &mut Packer) -> Vec<varve_warc::write::PackedRecord> {
    let target = "http://lake.example/a b";
    let info = warc_fields([("software", "varve"), ("format", "WARC File Format 1.1")]);
    let warcinfo = Draft::new(RecordType::Warcinfo, &date())
        .field("WARC-Filename", "00000000.warc.gz")
        .content_type("application/warc-fields");
    let warcinfo = packer.pack(&warcinfo, PayloadKind::None, &info).expect("packed");
    let response = Draft::new(RecordType::Response, &date())
        .target_uri(target)
        .ip_address([127, 0, 0, 1].into())
        .field("WARC-Warcinfo-ID", &format!("<{}>", warcinfo.id))
        .http();
    let response = packer.pack(&response, PayloadKind::Response, RESPONSE).expect("packed");
    let request =
        Draft::new(RecordType::Request, &date()).target_uri(target).concurrent_to(&response.id).http();
    let request = packer.pack(&request, PayloadKind::Request, REQUEST).expect("packed");
    let payload = response.block.payload.expect("a payload");
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let again = Draft::new(RecordType::Revisit, &date())
        .target_uri(target)
        .revisit_of(
            Profile::IdenticalPayloadDigest(payload),
            response.id.clone(),
            target,
            &date().to_string(),
        )
        .http();
    let again = packer.pack(&again, PayloadKind::Revisit, head).expect("packed");
    let unmodified = Draft::new(RecordType::Revisit, &date()).target_uri(target).revisit_of(
        Profile::ServerNotModified,
        response.id.clone(),
        target,
        &date().to_string(),
    );
    let unmodified = packer.pack(&unmodified, PayloadKind::Revisit, b"").expect("packed");
    let about = Draft::new(RecordType::Metadata, &date())
        .refers_to(response.id.clone())
        .content_type("application/json");
    let about = packer.pack(&about, PayloadKind::None, b"{}").expect("packed");
    let resource =
        Draft::new(RecordType::Resource, &date()).target_uri("file:///x").content_type("text/plain");
    let resource = packer.pack(&resource, PayloadKind::Block, b"stored").expect("packed");
    let conversion = Draft::new(RecordType::Conversion, &date())
        .target_uri(target)
        .refers_to(response.id.clone())
        .content_type("text/plain");
    let conversion = packer.pack(&conversion, PayloadKind::Block, b"one layer a year").expect("packed");
    vec![warcinfo, response, request, again, unmodified, about, resource, conversion]
}

#[test]
fn every_kind_of_record_conforms() {
    for packing in packings() {
        let mut packer = Packer::new(packing.clone(), None).expect("a packer");
        let mut writer = WarcWriter::new(Vec::new(), &packing).expect("memory");
        let mut places = Vec::new();
        for record in one_of_each(&mut packer) {
            let id = record.id.clone();
            places.push((writer.append(record).expect("memory"), id));
        }
        let file = writer.into_inner();
        let report = strict(&file, 1);
        assert_eq!(report.findings, [], "{packing:?}");
        assert_eq!(report.records, 8);
        assert_eq!((report.digests.ok, report.digests.bad, report.digests.unchecked), (12, 0, 1));
        assert_eq!(report.last_good_offset, file.len() as u64);
        // Each can be read alone.
        for (place, id) in places {
            let mut reader = WarcReader::at(&file, place.offset).expect("a record");
            let record = reader.next_record().expect("read").expect("a record");
            assert_eq!(record.header().record_id(), Some(id.as_str().as_bytes()));
            assert_eq!(record.offset(), place.offset);
        }
    }
}

#[test]
fn the_same_record_has_the_same_bytes_and_id() {
    for packing in packings() {
        let pack = || {
            let mut packer = Packer::new(packing.clone(), None).expect("a packer");
            let mut file = Vec::new();
            for record in one_of_each(&mut packer) {
                record.write_to(&mut file).expect("memory");
            }
            file
        };
        assert_eq!(pack(), pack());
    }
}

#[test]
fn streamed_blocks_become_one_member() {
    let body: Vec<u8> =
        (0..3_000_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
    for packing in packings() {
        let mut packer = Packer::new(packing.clone(), None).expect("a packer");
        let mut writer = WarcWriter::new(Vec::new(), &packing).expect("memory");
        for length in [0, 1, 70_000, body.len()] {
            let draft =
                Draft::new(RecordType::Resource, &date()).target_uri("file:///x").content_type("text/plain");
            let packed =
                pack_reader(&mut packer, &draft, PayloadKind::Block, &mut &body[..length]).expect("packed");
            let promised = packed.length();
            let whole = packer.pack(&draft, PayloadKind::Block, &body[..length]).expect("packed");
            assert_eq!((&packed.id, &packed.block), (&whole.id, &whole.block));
            let before = writer.offset();
            writer.append(packed).expect("memory");
            assert_eq!(writer.offset() - before, promised);
        }
        let file = writer.into_inner();
        let report = strict(&file, 1);
        assert_eq!(report.findings, [], "{packing:?}");
        assert_eq!(report.digests.ok, 8);
        assert_eq!(strict(&file, 3).records, 4);
    }
}

/// Large members are decompressed whole if their declared length is right, and give the same result
/// if it is not.
#[test]
fn large_records_are_the_same_whole_and_streamed() {
    let text = b"layer upon layer of sediment, ".repeat(100_000);
    let noise: Vec<u8> = (0..600_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut packer = Packer::new(Packing::Gzip, None).expect("a packer");
    let mut writer = WarcWriter::new(Vec::new(), &Packing::Gzip).expect("memory");
    let mut offsets = Vec::new();
    for body in [&text[..], &noise, b"small", &noise[1..], &text[1..]] {
        let draft =
            Draft::new(RecordType::Resource, &date()).target_uri("file:///x").content_type("text/plain");
        offsets.push(writer.offset() as usize);
        writer.append(packer.pack(&draft, PayloadKind::Block, body).expect("packed")).expect("memory");
    }
    let file = writer.into_inner();
    for threads in [1, 4] {
        let report = strict(&file, threads);
        assert_eq!(
            (report.records, report.digests.ok, report.findings.len()),
            (5, 10, 0),
            "{threads} threads"
        );
    }
    // In the middle of a large one, and in the end of another; what follows is read.
    for damaged in [offsets[1] + 900_000, offsets[4] - 6] {
        let mut file = file.clone();
        file[damaged] ^= 1;
        let (one, four) = (strict(&file, 1), strict(&file, 4));
        assert_eq!((one.records, one.findings.is_empty()), (5, false), "{:?}", one.findings);
        assert_eq!(one.findings, four.findings);
    }
    // A record whose declared length is too large or too small.
    let lying = |stated: &str| {
        let mut plain =
            format!("WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: {stated}\r\n\r\n").into_bytes();
        plain.extend_from_slice(&text);
        plain.extend_from_slice(b"\r\n\r\n");
        let mut encoder = flate2::write::GzEncoder::new(file.clone(), flate2::Compression::fast());
        encoder.write_all(&plain).expect("memory");
        strict(&encoder.finish().expect("memory"), 1)
    };
    for stated in ["30000000", "2000000", "20", "99999999999"] {
        let report = lying(stated);
        assert_eq!(
            (report.records, report.findings.is_empty()),
            (6, false),
            "{stated}: {:?}",
            report.findings
        );
    }
}

#[test]
fn gzip_tools_accept_streamed_members() {
    let mut packer = Packer::new(Packing::Gzip, None).expect("a packer");
    let draft = Draft::new(RecordType::Resource, &date()).target_uri("file:///x").content_type("text/plain");
    let body = b"sediment ".repeat(100_000);
    let mut file = Vec::new();
    pack_reader(&mut packer, &draft, PayloadKind::Block, &mut body.as_slice())
        .expect("packed")
        .write_to(&mut file)
        .expect("memory");
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(file.as_slice());
    decoder.read_to_end(&mut plain).expect("a valid member with a right CRC");
    assert!(plain.ends_with(b"sediment \r\n\r\n"));
    assert_eq!(decoder.into_inner().len(), 0, "one member, nothing behind it");
}

#[test]
fn segments_read_back_complete() {
    let object = b"0123456789".repeat(1000);
    let whole = Algorithm::Sha256.digest(&object);
    let mut packer = Packer::new(Packing::Gzip, None).expect("a packer");
    let draft =
        Draft::new(RecordType::Resource, &date()).target_uri("file:///big").content_type("text/plain");
    let parts: Vec<&[u8]> = object.chunks(4000).collect();
    let mut writer = WarcWriter::new(Vec::new(), &Packing::Gzip).expect("memory");
    let mut origin = RecordUri::of_content(&whole);
    for (index, part) in parts.iter().enumerate() {
        let segment = match index {
            0 => draft.clone().first_segment(whole),
            _ => {
                let total = (index + 1 == parts.len()).then_some(object.len() as u64);
                draft.next_segment(index as u32 + 1, &origin, total)
            }
        };
        let record = packer.pack(&segment, PayloadKind::Block, part).expect("packed");
        if index == 0 {
            origin = record.id.clone();
        }
        writer.append(record).expect("memory");
    }
    let file = writer.into_inner();
    let report = strict(&file, 1);
    assert_eq!(report.findings, []);
    assert_eq!(report.by_type, [("continuation".to_owned(), 2), ("resource".to_owned(), 1)].into());
    assert_eq!(origin.sha256(), whole.sha256());
    let mut reader = WarcReader::new(&file).expect("an archive");
    let mut together = Vec::new();
    while let Some(mut record) = reader.next_record().expect("read") {
        record.read_to_end(&mut together).expect("read");
    }
    assert_eq!(together, object);
}

#[test]
fn values_that_would_break_a_header_are_refused() {
    let mut packer = Packer::new(Packing::Plain, None).expect("a packer");
    let mut error = |draft: Draft| match packer.pack(&draft, PayloadKind::None, b"") {
        Err(RecordPackError::Draft(error)) => error,
        other => panic!("{:?}", other.map(|record| record.id)),
    };
    let metadata = || Draft::new(RecordType::Metadata, &date());
    assert!(matches!(error(metadata().field("X", "a\r\nWARC-Type: b")), DraftError::Value { .. }));
    assert!(matches!(error(Draft::new(RecordType::Response, &date())), DraftError::Missing { .. }));
    assert!(matches!(
        error(Draft::new(RecordType::Revisit, &date()).target_uri("a:b")),
        DraftError::Missing { .. }
    ));
    assert!(matches!(
        error(
            Draft::new(RecordType::Resource, &date())
                .target_uri("a:b")
                .refers_to("urn:x".parse().expect("a URI"))
        ),
        DraftError::Forbidden { .. }
    ));
    assert!(matches!(
        error(Draft::new(RecordType::Warcinfo, &date()).target_uri("a:b")),
        DraftError::Forbidden { .. }
    ));
}

#[test]
fn hostile_uris_cannot_leave_their_line() {
    let mut packer = Packer::new(Packing::Plain, None).expect("a packer");
    let draft = Draft::new(RecordType::Resource, &date())
        .target_uri("http://a/\r\nWARC-Type: warcinfo\r\n\r\n<b>\u{a0}")
        .content_type("text/plain");
    let mut file = Vec::new();
    packer.pack(&draft, PayloadKind::Block, b"x").expect("packed").write_to(&mut file).expect("memory");
    let report = strict(&file, 1);
    assert_eq!((report.records, report.findings.len()), (1, 0), "{:?}", report.findings);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_blocks_read_back(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 1..12),
        packing in 0usize..5,
        streamed in any::<bool>(),
    ) {
        let packing = &packings()[packing];
        let mut packer = Packer::new(packing.clone(), None).expect("a packer");
        let mut writer = WarcWriter::new(Vec::new(), packing).expect("memory");
        for block in &blocks {
            let draft = Draft::new(RecordType::Resource, &date()).target_uri("file:///x").content_type("a/b");
            let record = if streamed {
                let mut stream = packer.stream(PayloadKind::Block);
                for piece in block.chunks(700) {
                    stream.write_all(piece).expect("memory");
                }
                let finished = stream.finish().expect("memory");
                finished.seal(&mut packer, &draft).expect("packed")
            } else {
                packer.pack(&draft, PayloadKind::Block, block).expect("packed")
            };
            writer.append(record).expect("memory");
        }
        let file = writer.into_inner();
        let mut reader = WarcReader::new(&file).expect("an archive");
        let expected = match packing {
            Packing::Plain => Encoding::Plain,
            Packing::Gzip | Packing::GzipLevel(_) => Encoding::Gzip,
            Packing::Zstd { .. } => Encoding::Zstd,
        };
        prop_assert_eq!(reader.encoding(), expected);
        for block in &blocks {
            let mut record = reader.next_record().expect("read").expect("a record");
            let mut found = Vec::new();
            record.read_to_end(&mut found).expect("read");
            prop_assert_eq!(&found, block);
        }
        prop_assert!(reader.next_record().expect("read").is_none());
    }
}
