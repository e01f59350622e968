//! Exchanges are stored as received. Receipts, bodies and revisits from a scan equal those of the
//! write.

mod scene;

use std::io::{Read, Write};
use std::sync::Arc;

use scene::{files, noise, open};
use varve_core::BodyId;
use varve_core::RunId;
use varve_core::body::BodySource;
use varve_core::receipt::Receipt;
use varve_store::StoreWriter;
use varve_store::disk::LocalDisk;
use varve_store::exchange::{
    ExchangeRun, ExchangeWriter, KeptExchange, NewExchange, NewRendering, NewRenderings, RevisitOriginal,
    ScannedRecord, scan, scan_from,
};
use varve_warc::date::Date;
use varve_warc::digest::Algorithm;
use varve_warc::write::Packing;

fn date(second: u32) -> Date {
    Date::parse(format!("2026-11-16T03:00:{second:02}Z").as_bytes()).expect("a date")
}

fn exchange<'a>(url: &'a str, second: u32, response: &'a Vec<u8>) -> NewExchange<'a> {
    NewExchange {
        url,
        date: date(second),
        request: b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        response,
        head: None,
        ip: Some([192, 0, 2, 7].into()),
        protocols: &[],
        cipher: None,
        trailers: &[],
        timing: Some("dns=1 total=20"),
        truncated: None,
        run: Some(ExchangeRun::Capture(RunId::new(uuid::Uuid::from_u128(7)))),
        warcinfo: None,
        unchanged: None,
        non_capture_method: None,
        source: None,
    }
}

fn keep(writer: &StoreWriter, exchange: &NewExchange<'_>) -> KeptExchange {
    let mut packer = writer.packer().expect("a packer");
    let kept = ExchangeWriter::new(writer).keep(&mut packer, exchange).expect("kept");
    writer.wait(kept.ticket).expect("safe");
    kept
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn body(writer: &StoreWriter, receipt: &Receipt) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = writer.open_body(&receipt.body).expect("asked").expect("the body is here");
    reader.read_to_end(&mut bytes).expect("read");
    bytes
}

fn id_of(content: &[u8]) -> BodyId {
    BodyId::new(Algorithm::Sha256.digest(content).bytes().try_into().expect("32 bytes"))
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("packed");
    encoder.finish().expect("packed")
}

fn receipts(root: &std::path::Path) -> Vec<Receipt> {
    let mut found = Vec::new();
    let files = files(Arc::new(LocalDisk::new(root)), root);
    let mut each = |scanned| {
        if let ScannedRecord::Capture(receipt) = scanned {
            found.push(*receipt);
        }
        Ok(())
    };
    scan(&files, 2, &|_| {}, &mut each).expect("scanned");
    found
}

#[test]
fn a_scan_yields_the_receipts_of_the_writer() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let page = b"<title>hello</title>".repeat(50);
    let coded = gzip(&page);
    let chunked = [format!("{:x}\r\n", coded.len()).as_bytes(), &coded, b"\r\n0\r\n\r\n"].concat();
    let large = noise(3_000_000, 3);
    let answers = [
        answer("Content-Type: text/html\r\nX-Odd: é\r\n", &page),
        answer("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", &chunked),
        answer("Content-Type: image/png\r\n", &large),
        answer("", b""),
    ];
    let kept: Vec<_> =
        (0..).zip(&answers).map(|(n, wire)| keep(&writer, &exchange("http://e/", n, wire))).collect();
    let said: Vec<Receipt> = kept.iter().map(|kept| kept.receipt.clone()).collect();
    assert_eq!(receipts(root.path()), said);
    assert_eq!((said[1].body, said[1].length), (id_of(&page), page.len() as u64));
    assert_eq!(body(&writer, &said[1]), page);
    let header = writer.reader().find(&said[1].record).expect("read").expect("there").header;
    assert!(header.fields.get("WARC-Payload-Digest").is_none(), "tools disagree on the payload of chunks");
    assert_eq!(body(&writer, &said[2]), large);
    assert_eq!(said[3].body, id_of(b""));
    assert!(said.iter().all(|receipt| receipt.run.is_some() && receipt.status == 200));
}

#[test]
fn the_same_payload_again_is_a_revisit_with_the_same_body() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("Content-Encoding: gzip\r\n", &gzip(b"again and again"));
    let first = keep(&writer, &exchange("http://e/a", 1, &wire)).receipt;
    let again = keep(&writer, &exchange("http://e/a", 2, &wire)).receipt;
    let elsewhere = keep(&writer, &exchange("http://e/b", 3, &wire)).receipt;
    for revisit in [&again, &elsewhere] {
        assert_eq!(revisit.revisit_of, Some(first.record));
        assert_eq!((revisit.body, revisit.length, revisit.not_modified), (first.body, 15, false));
        assert_eq!(body(&writer, revisit), b"again and again");
    }
    assert_eq!(receipts(root.path()), [first, again, elsewhere]);
}

#[test]
fn the_same_payload_within_one_moment_is_a_revisit_too() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("", b"not synced yet");
    let keeper = ExchangeWriter::new(&writer);
    let mut packer = writer.packer().expect("a packer");
    let first = keeper.keep(&mut packer, &exchange("http://e/a", 1, &wire)).expect("kept");
    let second = keeper.keep(&mut packer, &exchange("http://e/b", 2, &wire)).expect("kept");
    assert_eq!(second.receipt.revisit_of, Some(first.receipt.record));
}

#[test]
fn the_very_same_exchange_again_is_here_already() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("Content-Encoding: gzip\r\n", &gzip(b"once"));
    let keeper = ExchangeWriter::new(&writer);
    let mut packer = writer.packer().expect("a packer");
    let first = keeper.keep(&mut packer, &exchange("http://e/a", 1, &wire)).expect("kept");
    let at_once = keeper.keep(&mut packer, &exchange("http://e/a", 1, &wire)).expect("kept");
    writer.sync().expect("synced");
    let later = keep(&writer, &exchange("http://e/a", 1, &wire));
    assert!(first.new && !at_once.new && !later.new);
    assert_eq!((&at_once.receipt, &later.receipt), (&first.receipt, &first.receipt));
    assert_eq!(receipts(root.path()), [first.receipt]);
}

/// A stored response as the original of a revisit.
fn original(writer: &StoreWriter, receipt: &Receipt) -> RevisitOriginal {
    let header = writer.reader().find(&receipt.record).expect("read").expect("there").header;
    RevisitOriginal {
        record: receipt.record,
        url: receipt.url.clone(),
        date: String::from_utf8_lossy(header.fields.get("WARC-Date").expect("a date")).into_owned(),
        payload: header.payload_digest().map(|digest| digest.expect("a digest")),
        body: receipt.body,
        length: receipt.length,
    }
}

/// The block of a 304 is empty, since other programs would show it in place of the page. The server's
/// own words are in the header.
#[test]
fn not_modified_has_the_body_of_what_it_refers_to() {
    let not_modified = b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nX-Odd: 5%\xe9\r\n\r\n".to_vec();
    let chunks = b"8\r\nthe page\r\n0\r\n\r\n";
    for (wire, profile, has_digest) in [
        (answer("ETag: \"1\"\r\n", b"the page"), "identical-payload-digest", true),
        // Without a digest in the original, a program that looks for one would not find it.
        (answer("Transfer-Encoding: chunked\r\n", chunks), "server-not-modified", false),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 30, Packing::Gzip);
        let first = keep(&writer, &exchange("http://e/", 1, &wire)).receipt;
        let unchanged = Some(original(&writer, &first));
        let second =
            keep(&writer, &NewExchange { unchanged, ..exchange("http://e/", 2, &not_modified) }).receipt;
        assert_eq!((second.status, second.not_modified, second.length), (304, true, 8));
        assert_eq!(second.headers.get("etag"), Some(&b"\"1\""[..]));
        assert_eq!(body(&writer, &second), b"the page");
        assert_eq!(receipts(root.path())[1], second);
        let store = writer.reader();
        let header = store.find(&second.record).expect("read").expect("there").header;
        let field =
            |name: &str| header.fields.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        assert_eq!(field("Content-Length").as_deref(), Some("0"));
        assert_eq!(field("Content-Type"), None);
        assert!(field("WARC-Profile").expect("a profile").ends_with(profile));
        assert_eq!(field("WARC-Payload-Digest").is_some(), has_digest);
        assert_eq!(field("WARC-Refers-To-Target-URI").as_deref(), Some("http://e/"));
        assert_eq!(field("WARC-Refers-To-Date"), Some(date(1).to_string()));
        assert_eq!(
            header.reference("WARC-Refers-To").map(String::from_utf8_lossy).expect("a record"),
            first.record.to_string()
        );
        assert_eq!(store.response_head(&second.record).expect("read").expect("there"), not_modified);
        let mut block = Vec::new();
        let opened = store.response_block(&second.record).expect("read").expect("there");
        { opened }.read_to_end(&mut block).expect("read");
        assert_eq!(block, not_modified);
    }
}

#[test]
fn a_long_not_modified_head_stays_in_the_block() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("ETag: \"1\"\r\n", b"the page");
    let first = keep(&writer, &exchange("http://e/", 1, &wire)).receipt;
    let long = format!("HTTP/1.1 304 Not Modified\r\nX: {}\r\n\r\n", "x".repeat(9000)).into_bytes();
    let unchanged = Some(original(&writer, &first));
    let second = keep(&writer, &NewExchange { unchanged, ..exchange("http://e/", 2, &long) }).receipt;
    assert_eq!((second.status, second.not_modified, second.length), (304, true, 8));
    assert_eq!(receipts(root.path())[1], second);
    let store = writer.reader();
    assert_eq!(store.response_head(&second.record).expect("read").expect("there"), long);
    let header = store.find(&second.record).expect("read").expect("there").header;
    assert!(header.fields.get("WARC-Profile").expect("a profile").ends_with(b"server-not-modified"));
}

#[test]
fn a_truncated_response_is_never_a_complete_body() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("Content-Length: 100\r\n", b"only this");
    let mut cut = exchange("http://e/", 1, &wire);
    cut.truncated = Some("disconnect");
    let cut = keep(&writer, &cut).receipt;
    assert_eq!(cut.truncated.as_deref(), Some("disconnect"));
    let whole = answer("", b"only this");
    let whole = keep(&writer, &exchange("http://e/", 2, &whole)).receipt;
    assert_eq!((whole.revisit_of, whole.truncated.clone()), (None, None), "a cut answer is no original");
    assert_eq!(receipts(root.path()), [cut, whole]);
}

#[test]
fn a_broken_coding_leaves_the_body_as_it_came() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let mut coded = gzip(&noise(5000, 9));
    let middle = coded.len() / 2;
    coded[middle] ^= 0xff;
    let wire = answer("Content-Encoding: gzip\r\n", &coded);
    let kept = keep(&writer, &exchange("http://e/", 1, &wire)).receipt;
    assert_eq!(body(&writer, &kept), coded);
    let chunked = [format!("{:x}\r\n", coded.len()).as_bytes(), &coded, b"\r\n0\r\n\r\n"].concat();
    let wire = answer("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", &chunked);
    let kept = keep(&writer, &exchange("http://e/chunked", 1, &wire)).receipt;
    assert_eq!(body(&writer, &kept), coded);
    let no_http = b"\x00\x01 not http".to_vec();
    let kept = keep(&writer, &exchange("http://e/", 2, &no_http)).receipt;
    assert_eq!((kept.status, kept.length), (0, 11));
    assert_eq!(receipts(root.path())[2], kept);
}

#[test]
fn a_scan_goes_on_where_it_ended() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 20_000, Packing::Gzip);
    let files = files(Arc::new(LocalDisk::new(root.path())), root.path());
    let mut place = None;
    for round in 0..6 {
        let wires: Vec<_> = (0..3).map(|n| answer("", &noise(6000, round * 3 + n))).collect();
        let said: Vec<_> = (0..)
            .zip(&wires)
            .map(|(n, wire)| keep(&writer, &exchange("http://e/", n, wire)).receipt)
            .collect();
        let mut found = Vec::new();
        let mut each = |scanned| {
            if let ScannedRecord::Capture(receipt) = scanned {
                found.push(*receipt);
            }
            Ok(())
        };
        place = scan_from(&files, place, &mut each).expect("scanned");
        assert_eq!(found, said, "round {round}");
    }
}

#[test]
fn renderings_precede_the_response_that_names_them() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let mut packer = writer.packer().expect("a packer");
    let response = answer("Content-Type: text/html\r\nContent-Length: 2\r\n", b"hi");
    let exchange = exchange("http://h/", 1, &response);
    let renderings = NewRenderings {
        document: Some(NewRendering { media_type: "text/html", content: b"<p>made</p>" }),
        screenshot: Some(NewRendering { media_type: "image/png", content: b"\x89PNG" }),
    };
    let keeper = ExchangeWriter::new(&writer);
    let kept = keeper.keep_rendered(&mut packer, &exchange, &renderings).expect("kept");
    writer.wait(kept.ticket).expect("safe");
    let reader = writer.reader();
    let named = kept.receipt.renderings;
    let answer = reader.find(&kept.receipt.record).expect("read").expect("there");
    for (id, content) in [(named.document, &b"<p>made</p>"[..]), (named.screenshot, b"\x89PNG")] {
        let object = reader.object(&id.expect("named")).expect("read").expect("there");
        assert!(object.place().offset() < answer.place.offset());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut object.read().expect("read"), &mut bytes).expect("read");
        assert_eq!(bytes, content);
    }
    assert_eq!(varve_store::exchange::renderings_of(&answer.header), named);
    let document = reader.find(&named.document.expect("named")).expect("read").expect("there").header;
    assert_eq!(document.target_uri(), Some(&b"urn:dom:http://h/"[..]), "no program takes it for the page");
    let of = document.reference("WARC-Refers-To").map(|id| String::from_utf8_lossy(id).into_owned());
    assert_eq!(of, Some(kept.receipt.record.to_string()));
    for header in [&document, &answer.header] {
        assert_eq!(varve_store::exchange::page_of(header).as_deref(), Some("http://h/"));
    }
}

#[test]
fn bodies_are_read_whole_where_they_lie_in_one_record_and_are_right() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let page = b"<title>hello</title>".repeat(50);
    let coded = gzip(&page);
    let chunked = [format!("{:x}\r\n", coded.len()).as_bytes(), &coded, b"\r\n0\r\n\r\n"].concat();
    let plain = b"as it is".to_vec();
    let answers = [
        answer("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", &chunked),
        answer("Content-Type: text/plain\r\n", &plain),
    ];
    for (number, answer) in answers.iter().enumerate() {
        keep(&writer, &exchange(&format!("https://example.com/{number}"), 1, answer));
    }
    let committed = noise(40_000, 5);
    scene::store(&writer, &committed);
    let store = writer.reader();
    let mut into = b"from before".to_vec();
    for content in [&page, &plain, &committed] {
        let id = id_of(content);
        assert!(store.read_body(&id, 1 << 20, &mut into).expect("read"));
        assert_eq!(into, *content);
        assert!(!store.read_body(&id, content.len() as u64 - 1, &mut into).expect("read"), "too long");
    }
    assert!(!store.read_body(&id_of(b"never"), 1 << 20, &mut into).expect("read"));
    let order = store.order_of(&[id_of(&committed), id_of(b"never"), id_of(&page)]).expect("found");
    assert!(order[2] < order[0] && order[0] < order[1], "{order:?}");
    drop((store, writer));
    // A flipped bit in the last record: `read_body` returns false, `open_body` reports the damage.
    let silo = root.path().join("warc/0/00000000.warc.gz");
    let mut bytes = std::fs::read(&silo).expect("read");
    let middle = bytes.len() - 20_000;
    bytes[middle] ^= 1;
    std::fs::write(&silo, bytes).expect("written");
    let store = varve_store::StoreReader::open(
        files(Arc::new(LocalDisk::new(root.path())), root.path()),
        &root.path().join("index"),
    );
    let store = store.expect("opened");
    assert!(!store.read_body(&id_of(&committed), 1 << 20, &mut into).expect("read"));
    let mut opened = store.open_body(&id_of(&committed)).expect("asked").expect("found");
    assert!(opened.read_to_end(&mut into).is_err());
    assert!(store.read_body(&id_of(&plain), 1 << 20, &mut into).expect("read"));
}

/// HTTP/2 trailers are stored in the record header, because the block has no place for them.
#[test]
fn lines_behind_the_body_are_kept_beside_it() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let wire = answer("", b"hello");
    let trailers = ["x-checksum: 1f".to_owned(), "server-timing: cache;dur=2".to_owned()];
    let kept = keep(&writer, &NewExchange { trailers: &trailers, ..exchange("http://e/a", 1, &wire) });
    writer.sync().expect("synced");
    let located = writer.reader().find(&kept.receipt.record).expect("read").expect("there");
    let said: Vec<_> = located.header.fields.get_all("Varve-Trailer").collect();
    assert_eq!(said, [&b"x-checksum: 1f"[..], b"server-timing: cache;dur=2"]);
}

/// An exchange that is not a capture is stored byte for byte, has no receipt and is never an
/// original.
#[test]
fn an_exchange_aside_is_no_capture_and_no_original() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let (wire, url) = (answer("Content-Length: 5\r\n", b"hello"), "http://e/a");
    let keeper = ExchangeWriter::new(&writer);
    let mut packer = writer.packer().expect("a packer");
    let long = [b"POST /a HTTP/1.1\r\n\r\n".to_vec(), vec![b'x'; 17 << 20]].concat();
    for (second, request) in [(1, &b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nx=1"[..]), (2, &long)] {
        let sent = NewExchange { request, non_capture_method: Some("POST"), ..exchange(url, second, &wire) };
        let kept = keeper.keep_non_capture(&mut packer, &sent, &NewRenderings::default()).expect("kept");
        assert_eq!((kept.status, kept.length), (200, 5));
        writer.wait(kept.ticket).expect("safe");
        let block = writer.reader().response_block(&kept.record).expect("read").expect("there");
        let mut bytes = Vec::new();
        { block }.read_to_end(&mut bytes).expect("read");
        assert_eq!(bytes, wire);
    }
    assert!(writer.open_body(&id_of(b"hello")).expect("asked").is_none(), "it is held for nobody else");
    let captured = keeper.keep(&mut packer, &exchange(url, 3, &wire)).expect("kept");
    assert_eq!(captured.receipt.revisit_of, None);
    let again = NewExchange { non_capture_method: Some("GET"), ..exchange(url, 4, &wire) };
    let again = keeper.keep_non_capture(&mut packer, &again, &NewRenderings::default()).expect("kept");
    writer.wait(again.ticket).expect("safe");
    let header = writer.reader().find(&again.record).expect("read").expect("there").header;
    assert_eq!(header.record_type(), varve_warc::record::RecordType::Revisit, "it takes no room again");
    assert_eq!(receipts(root.path()), [captured.receipt]);
    let mut silo = Vec::new();
    let file = std::fs::File::open(root.path().join("warc/0/00000000.warc.gz")).expect("opened");
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut silo).expect("unpacked");
    let text = String::from_utf8_lossy(&silo);
    assert_eq!(text.matches("Varve-Non-Capture: POST\r\n").count(), 4, "both records of an exchange say it");
    assert!(text.contains("\r\n\r\nx=1\r\n\r\n"), "the body of the request");
    assert_eq!(text.matches("WARC-Truncated: length\r\n").count(), 2, "the long request, and the revisit");
    assert!(silo.len() < 17 << 20, "a request is not kept without end");
}

/// URL indexers recognise a POST by its request record, if that follows the response.
#[test]
fn the_request_of_an_exchange_aside_is_right_behind_it() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let keeper = ExchangeWriter::new(&writer);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (writer, keeper) = (&writer, &keeper);
            threads.spawn(move || {
                let mut packer = writer.packer().expect("a packer");
                for number in 0..50 {
                    let wire = answer("", format!("{thread} {number}").as_bytes());
                    let url = format!("http://e/{thread}/{number}");
                    let new = exchange(&url, number, &wire);
                    if thread == 0 {
                        let sent = NewExchange { non_capture_method: Some("POST"), ..new };
                        keeper.keep_non_capture(&mut packer, &sent, &NewRenderings::default()).expect("kept");
                    } else {
                        keeper.keep(&mut packer, &new).expect("kept");
                    }
                }
            });
        }
    });
    writer.sync().expect("synced");
    let mut silo = String::new();
    let file = std::fs::File::open(root.path().join("warc/0/00000000.warc.gz")).expect("opened");
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut silo).expect("unpacked");
    let records: Vec<&str> = silo.split("WARC/1.1\r\n").collect();
    let aside: Vec<usize> =
        (0..records.len()).filter(|at| records[*at].contains("Varve-Non-Capture")).collect();
    assert_eq!(aside.len(), 100);
    for pair in aside.chunks(2) {
        assert!(records[pair[0]].starts_with("WARC-Type: response") && pair[1] == pair[0] + 1);
    }
}
