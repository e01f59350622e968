//! Defects of real files and the findings about them: one small file for each.

mod made;

use made::{archive, codes, inspected, packed, record, response, some_records};
use varve_warc::Encoding;
use varve_warc::digest::Algorithm;
use varve_warc::inspect::{InspectOptions, inspect};
use varve_warc::rules::Rule;

#[test]
fn conforming_files_have_no_findings() {
    for packing in made::PACKINGS {
        let file = archive(packing, &some_records()).bytes;
        for threads in [1, 3] {
            let options =
                InspectOptions { strict: true, threads, part_size: Some(100), ..InspectOptions::default() };
            let report = inspect(&file, options, &|_| {}).expect("readable");
            assert_eq!(codes(&report), [""; 0], "{packing:?}");
            assert_eq!((report.records, report.digests.ok), (8, 11));
            assert_eq!(report.last_good_offset, file.len() as u64);
        }
    }
}

#[test]
fn a_request_without_a_version_still_has_its_payload() {
    let fields = |digest| {
        format!(
            "WARC-Target-URI: http://a/\r\nContent-Type: application/http; msgtype=request\r\n\
             WARC-Payload-Digest: {digest}\r\n"
        )
    };
    let block = b"GET /\r\naccept: */*\r\n\r\nbody";
    for right in [&b"body"[..], block] {
        let report = inspected(&record("request", 1, &fields(Algorithm::Sha1.digest(right)), block));
        assert_eq!((codes(&report), report.digests.ok), (vec!["H01"], 2));
    }
    let report = inspected(&record("request", 1, &fields(Algorithm::Sha1.digest(b"other")), block));
    assert_eq!((codes(&report), report.digests.bad), (vec!["D02", "H01"], 1));
}

#[test]
fn the_payload_digest_of_a_continuation_is_of_the_whole_object() {
    let digest = Algorithm::Sha1.digest(b"all segments together");
    let fields = format!("WARC-Target-URI: http://a/\r\nWARC-Payload-Digest: {digest}\r\n");
    let report = inspected(&record("continuation", 1, &fields, b"one segment"));
    assert_eq!((codes(&report), report.digests.unchecked), (vec![], 1));
}

#[test]
fn version_lines_in_any_case() {
    let lower = String::from_utf8(response(1, b"x")).expect("text").replace("WARC/1.1", "warc/1.1");
    assert_eq!(codes(&inspected(lower.as_bytes())), [""; 0]);
    let unknown = lower.replace("warc/1.1", "WARC/3.1");
    assert_eq!(codes(&inspected(unknown.as_bytes())), ["F01"]);
}

const ARC: &str = "filedesc://x.arc 0.0.0.0 20080430204825 text/plain 19\n1 0 Varve\nURL IP-ad\n\n";

fn arc_record(after: &str) -> String {
    format!("http://a/ 1.2.3.4 20080430204825 text/html 4\nbody{after}")
}

#[test]
fn an_arc_record_followed_by_blank_lines_is_complete() {
    for after in ["\n", "\n\n\n", "\r\n\r\n"] {
        for packing in [Encoding::Plain, Encoding::Gzip] {
            let file =
                [packed(packing, ARC.as_bytes()), packed(packing, arc_record(after).as_bytes())].concat();
            let report = inspected(&file);
            assert_eq!((report.records, report.last_good_offset), (2, file.len() as u64), "{after:?}");
        }
    }
}

#[test]
fn bytes_after_the_last_arc_record_are_not_good() {
    let good = format!("{ARC}{}", arc_record("\n"));
    let report = inspected(format!("{good}no record line\n").as_bytes());
    assert_eq!((codes(&report), report.last_good_offset), (vec!["A01"], good.len() as u64));
}

/// The maximum size of a header does not depend on the packing.
#[test]
fn the_limit_of_a_header_is_the_same_for_every_packing() {
    let with_header_of = |size: usize| {
        let record = record("resource", 1, "WARC-Target-URI: http://a/\r\nX: \r\n", b"");
        let header = record.len() - 4;
        String::from_utf8(record).expect("text").replace("X: ", &format!("X: {}", "x".repeat(size - header)))
    };
    let limit = 1 << 20;
    for packing in made::PACKINGS {
        let largest = inspected(&packed(packing, with_header_of(limit).as_bytes()));
        assert_eq!((largest.records, codes(&largest)), (1, vec![]), "{packing:?}");
        let larger = inspected(&packed(packing, with_header_of(limit + 1).as_bytes()));
        let mut found = codes(&larger);
        found.sort();
        assert_eq!((larger.records, found), (0, vec!["R01", "R05", "R07"]), "{packing:?}");
        assert!(larger.findings.iter().any(|finding| finding.message == "5 bytes that belong to no record"));
    }
}

#[test]
fn a_record_that_claims_its_neighbours_is_not_good() {
    let liar = String::from_utf8(response(1, b"x")).expect("text");
    let (header, _) = liar.split_once("Content-Length: ").expect("a length");
    let first = response(0, b"x");
    let rest: Vec<u8> = (2..5).flat_map(|number| response(number, b"x")).collect();
    let block = liar.len() - header.len() - "Content-Length: 39\r\n\r\n\r\n\r\n".len();
    let liar = liar.replace(&format!("Content-Length: {block}"), "Content-Length: 600");
    let good = first.len() as u64;
    let report = inspected(&[first.clone(), liar.clone().into_bytes(), rest[..300].to_vec()].concat());
    assert_eq!(report.last_good_offset, good);
    let report = inspected(&[first, liar.into_bytes(), rest].concat());
    assert_eq!((report.records, report.digests.bad, report.last_good_offset), (5, 0, good));
}

/// The last good byte is the end of the last complete record before the first lost bytes, or the
/// end of the file when none are lost.
#[test]
fn the_last_good_byte_lies_before_the_first_damage() {
    for packing in made::PACKINGS {
        let records: Vec<Vec<u8>> = (0..4).map(|number| packed(packing, &response(number, b"x"))).collect();
        let second_end = (records[0].len() + records[1].len()) as u64;
        let mut damaged = records.clone();
        let at = damaged[2].len() - 9;
        damaged[2].truncate(at);
        let cases = [
            (
                "junk",
                [&records[..2], &[b"junk that nobody wrote\n".to_vec()], &records[2..]].concat(),
                second_end,
            ),
            ("a cut record", damaged, second_end),
            ("junk at the start", [&[b"\0\0\0\0\n".to_vec()], &records[..]].concat(), 0),
        ];
        for (name, pieces, good) in cases {
            let report = inspected(&pieces.concat());
            assert!(report.records >= 3 && report.has_loss, "{name}, {packing:?}");
            assert_eq!(report.last_good_offset, good, "{name}, {packing:?}: {:?}", report.findings);
            for part_size in [7, 100, 1000] {
                let options =
                    InspectOptions { threads: 2, part_size: Some(part_size), ..InspectOptions::default() };
                let parts = inspect(&pieces.concat(), options, &|_| {}).expect("readable");
                assert_eq!(parts.last_good_offset, good, "{name}, {packing:?}, parts of {part_size}");
            }
        }
    }
    // Odd, but nothing is lost: an empty member, a newline too many.
    let member = packed(Encoding::Gzip, &response(0, b"x"));
    for file in [[member, packed(Encoding::Gzip, b"")].concat(), [response(0, b"x"), b"\n".to_vec()].concat()]
    {
        let report = inspected(&file);
        assert_eq!((report.by_rule.len(), report.last_good_offset), (1, report.size));
    }
}

/// Findings that are only counted are part of the totals.
#[test]
fn totals_include_unlisted_findings() {
    let empty = packed(Encoding::Gzip, b"").repeat(10_000);
    let file =
        [packed(Encoding::Gzip, &response(0, b"x")), empty, packed(Encoding::Gzip, &response(1, b"x"))];
    let report = inspected(&file.concat());
    assert_eq!((report.records, report.by_rule[&Rule::EmptyMember]), (2, 10_000));
}

#[test]
fn a_frame_that_wants_too_much_memory_is_not_called_damaged() {
    let wide = |number| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.window_log(24).expect("a parameter");
        encoder.include_checksum(true).expect("a parameter");
        std::io::Write::write_all(&mut encoder, &response(number, &b"layer ".repeat(99))).expect("memory");
        encoder.finish().expect("memory")
    };
    let narrow = |number| packed(Encoding::Zstd, &response(number, b"x"));
    let file = [narrow(0), wide(1), wide(2), narrow(3)].concat();
    let report = inspected(&file);
    assert_eq!((report.records, report.by_rule[&Rule::WindowTooLarge]), (2, 2), "{:?}", report.findings);
    assert!(!report.by_rule.contains_key(&Rule::MemberDamaged), "{:?}", report.findings);
    assert!(report.findings.iter().any(|finding| finding.message.contains("window of 16777216 bytes")));
    assert_eq!(report.last_good_offset, narrow(0).len() as u64);
    // A cut frame is skipped as well.
    let cut = [narrow(0), wide(1)[..60].to_vec(), narrow(3)].concat();
    assert_eq!(inspected(&cut).by_rule[&Rule::WindowTooLarge], 1);
}

/// In text after damage, five words and a number are no record.
#[test]
fn text_is_no_arc_record() {
    let text = "here are more than five words and 12\nand a date 20080430204825 of 1.2.3.4 too 7\n";
    let lies = |length: usize, body: &str| {
        format!("{ARC}http://a/ 1.2.3.4 20080430204825 text/html {length}\n{body}\n{}", arc_record("\n"))
    };
    for packing in [Encoding::Plain, Encoding::Gzip] {
        for (name, length) in [("too small", 4), ("too large", 120), ("far too large", 99_999)] {
            let file = packed(packing, lies(length, &format!("body {text}")).as_bytes());
            let report = inspected(&file);
            assert_eq!(report.records, 3, "{packing:?}, {name}: {:?}", report.findings);
            assert!(report.has_loss, "{packing:?}, {name}");
        }
    }
}

/// Members inside members, each of which decompresses to many bytes before its damage shows.
#[test]
fn useless_decompression_is_bounded() {
    let deflated = |bytes: &[u8], flush| {
        let mut compress = flate2::Compress::new(flate2::Compression::fast(), false);
        let mut output = Vec::with_capacity(1 << 20);
        compress.compress_vec(bytes, &mut output, flush).expect("deflate");
        output
    };
    let gzip_header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let text = b"WARC/1.1\r\n";
    let stored = |length: u16| [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes()].concat();
    // Each unit is a stored block that holds the beginning of a member, whose own first block is
    // the rest of the unit.
    let inner = [&gzip_header[..], &stored(text.len() as u16), text].concat();
    let unit = [stored(inner.len() as u16), inner].concat();
    let bomb = deflated(&vec![0; 1 << 20], flate2::FlushCompress::Full).repeat(80);
    let first = packed(Encoding::Gzip, &response(0, b"x"));
    let file = [
        first,
        gzip_header.to_vec(),
        stored(text.len() as u16),
        text.to_vec(),
        unit.repeat(12),
        bomb,
        vec![7; 20],
    ];
    let report = inspected(&file.concat());
    assert_eq!(report.by_rule.get(&Rule::MemberDamaged), Some(&1), "{:?}", report.findings);
}

#[test]
fn a_file_that_cannot_be_decompressed_names_the_defect() {
    let frames = b"\x28\xb5\x2f\xfd".repeat(100);
    let error = inspect(&frames, InspectOptions::default(), &|_| {}).expect_err("no archive").to_string();
    assert!(error.contains("a zstd frame is damaged"), "{error}");
}
