//! What real files do wrong, and what is made of it: one small file for each.

mod made;

use made::{archive, codes, inspected, packed, record, response, some_records};
use varve_warc::Encoding;
use varve_warc::digest::Algorithm;
use varve_warc::inspect::{Options, inspect};

#[test]
fn what_is_right_has_no_findings() {
    for packing in made::PACKINGS {
        let file = archive(packing, &some_records()).bytes;
        for threads in [1, 3] {
            let options = Options { strict: true, threads, part_size: Some(100), ..Options::default() };
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
fn the_payload_digest_of_a_continuation_is_of_the_whole() {
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
fn an_arc_record_with_blank_lines_behind_it_is_whole() {
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
fn what_follows_an_arc_record_is_not_good_for_standing_at_the_end() {
    let good = format!("{ARC}{}", arc_record("\n"));
    let report = inspected(format!("{good}no record line\n").as_bytes());
    assert_eq!((codes(&report), report.last_good_offset), (vec!["A01"], good.len() as u64));
}

/// A header of exactly so many bytes is the largest that is read, however the bytes come to hand.
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
    let report = inspected(&[first.clone(), liar.clone().into_bytes(), rest[..300].to_vec()].concat());
    assert_eq!(report.last_good_offset, first.len() as u64);
    let report = inspected(&[first, liar.into_bytes(), rest].concat());
    assert_eq!((report.records, report.last_good_offset), (5, report.size));
}

#[test]
fn a_file_of_which_nothing_can_be_unpacked_says_what_is_wrong_with_it() {
    let frames = b"\x28\xb5\x2f\xfd".repeat(100);
    let error = inspect(&frames, Options::default(), &|_| {}).expect_err("no archive").to_string();
    assert!(error.contains("a zstd frame is damaged"), "{error}");
}
