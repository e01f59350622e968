//! The report of several threads is that of one thread, for any file and any parts.

mod made;

use std::sync::atomic::{AtomicU64, Ordering};

use made::{PACKINGS, packed, record, response};
use proptest::collection::vec;
use proptest::prelude::*;
use varve_warc::Encoding;
use varve_warc::inspect::{InspectOptions, inspect};
use varve_wire::ReadAt;

/// Something that a file may hold.
#[derive(Clone, Debug)]
enum Piece {
    /// A record in its own member, with a body of this many bytes.
    Alone(usize),
    /// Several records in one member.
    Shared(Vec<usize>),
    /// A record in two members, split at that part of it.
    Split(usize, f64),
    /// A record whose block is itself a file.
    Nested(Vec<usize>),
    /// A record with a wrong length.
    Misjudged(usize, usize),
    /// A record of no particular type that ends with one newline only.
    Sloppy(usize),
    /// A member that holds no record.
    Text(Vec<u8>),
    /// A member that ends inside a header.
    CutHeader,
    Empty,
    /// Bytes that are no member.
    Junk(Vec<u8>),
    /// A zstd frame to be skipped: a dictionary where none belongs, or another.
    Skippable(bool),
}

fn piece() -> impl Strategy<Value = Piece> {
    let size = || prop_oneof![4 => 0usize..200, 1 => 200usize..6000];
    prop_oneof![
        8 => size().prop_map(Piece::Alone),
        2 => vec(size(), 2..4).prop_map(Piece::Shared),
        1 => (size(), 0.0..1.0).prop_map(|(size, at)| Piece::Split(size, at)),
        1 => vec(size(), 1..3).prop_map(Piece::Nested),
        1 => (size(), size()).prop_map(|(size, said)| Piece::Misjudged(size, said)),
        1 => size().prop_map(Piece::Sloppy),
        1 => vec(any::<u8>(), 0..100).prop_map(Piece::Text),
        1 => Just(Piece::CutHeader),
        1 => Just(Piece::Empty),
        1 => vec(any::<u8>(), 1..100).prop_map(Piece::Junk),
        1 => any::<bool>().prop_map(Piece::Skippable),
    ]
}

/// Bytes that compress somewhat, with newlines and words of records among them.
fn body(size: usize) -> Vec<u8> {
    let words =
        [&b"layer\n"[..], b"WARC", b"/1.1\r\n", b"lake ", b"\x1f\x8b\x08", b"\0\0", b"\x28\xb5\x2f\xfd"];
    let chosen = (0..size).map(|at| words[(at * at + size) % words.len()]);
    chosen.flatten().copied().take(size).collect()
}

fn numbered(number: &mut usize, size: usize) -> Vec<u8> {
    *number += 1;
    // Now and then an id is there twice.
    response(if *number % 7 == 3 { 1 } else { *number }, &body(size))
}

fn write(piece: &Piece, packing: Encoding, number: &mut usize) -> Vec<u8> {
    let several = |sizes: &[usize], number: &mut usize| -> Vec<u8> {
        sizes.iter().flat_map(|size| numbered(number, *size)).collect()
    };
    match piece {
        Piece::Alone(size) => packed(packing, &numbered(number, *size)),
        Piece::Shared(sizes) => packed(packing, &several(sizes, number)),
        Piece::Split(size, at) => {
            let record = numbered(number, *size);
            let (one, other) = record.split_at((record.len() as f64 * at) as usize);
            [packed(packing, one), packed(packing, other)].concat()
        }
        Piece::Nested(sizes) => {
            let block = several(sizes, number);
            *number += 1;
            packed(packing, &record("resource", *number, "WARC-Target-URI: urn:x:y\r\n", &block))
        }
        Piece::Misjudged(size, said) => {
            let record = String::from_utf8_lossy(&numbered(number, *size)).into_owned();
            let (before, length) = record.split_once("\r\nContent-Length: ").expect("a length");
            let rest = length.trim_start_matches(|letter: char| letter.is_ascii_digit());
            packed(packing, format!("{before}\r\nContent-Length: {said}{rest}").as_bytes())
        }
        Piece::Sloppy(size) => {
            let record = record("thing", *number, "", &body(*size));
            packed(packing, &record[..record.len() - 3])
        }
        Piece::Text(bytes) => packed(packing, bytes),
        Piece::CutHeader => packed(packing, b"WARC/1.1\r\nWARC-Type: resp"),
        Piece::Empty => packed(packing, b""),
        Piece::Junk(bytes) => bytes.clone(),
        Piece::Skippable(is_dictionary) => {
            let first = if *is_dictionary { 0x5d } else { 0x53 };
            [&[first, 0x2a, 0x4d, 0x18, 5, 0, 0, 0], &b"12345"[..]].concat()
        }
    }
}

/// A file of pieces, with some of its bytes changed.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let damage = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (prop::sample::select(PACKINGS.to_vec()), vec(piece(), 1..12), damage).prop_map(
        |(packing, pieces, damage)| {
            let mut number = 0;
            // A sound beginning, so that most files are archives.
            let mut bytes = packed(packing, &response(0, b"the first"));
            bytes.extend(pieces.iter().flat_map(|piece| write(piece, packing, &mut number)));
            for (place, change) in damage {
                let at = place.index(bytes.len());
                bytes[at] ^= change;
            }
            bytes
        },
    )
}

fn report(file: &[u8], threads: usize, part_size: Option<u64>, findings: usize) -> String {
    let options = InspectOptions { strict: true, threads, part_size, findings };
    format!("{:#?}", inspect(file, options, &|_| {}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_do_not_change_the_report(file in file(), size in 1u64..3000, threads in 2usize..5, findings in prop_oneof![Just(10_000), 0usize..9]) {
        let alone = report(&file, 1, None, findings);
        prop_assert_eq!(&alone, &report(&file, threads, Some(size), findings));
        prop_assert_eq!(&alone, &report(&file, threads, Some(file.len() as u64 / 3 + 1), findings));
    }
}

/// Counts the bytes that are read from it.
struct Counted<S> {
    source: S,
    bytes: AtomicU64,
}

impl<S: ReadAt> ReadAt for Counted<S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let count = self.source.read_at(buffer, offset)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.source.size()
    }
}

/// A part searches for a record in itself and not in all that follows, though its view reaches a
/// little further.
#[test]
fn a_record_of_many_parts_is_not_read_for_each_of_them() {
    let block: Vec<u8> =
        (0..16u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for packing in PACKINGS {
        let content =
            record("resource", 1, "WARC-Target-URI: urn:x:y\r\nContent-Type: text/plain\r\n", &block);
        let source = Counted { source: packed(packing, &content), bytes: AtomicU64::new(0) };
        let options = InspectOptions { threads: 2, part_size: Some(1 << 20), ..InspectOptions::default() };
        let report = inspect(&source, options, &|_| {}).expect("an archive");
        assert_eq!((report.records, report.digests.ok), (1, 1), "{packing:?}");
        let (read, size) = (source.bytes.into_inner(), report.size);
        assert!(read < 4 * size, "{packing:?}: {read} bytes were read of {size}");
    }
}

/// Starts of records in the block of another, each of which claims all that follows: a worker that
/// reads one must find out in time that its part does not count.
#[test]
fn false_starts_that_claim_the_rest_of_the_file() {
    let mut block = vec![b'x'; 48 << 20];
    for at in (1 << 19..block.len()).step_by(1 << 20) {
        let liar = b"\nWARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 30000000\r\n\r\n";
        block[at..at + liar.len()].copy_from_slice(liar);
    }
    let content = record("resource", 1, "WARC-Target-URI: urn:x:y\r\nContent-Type: text/plain\r\n", &block);
    let source = Counted { source: content, bytes: AtomicU64::new(0) };
    let options = InspectOptions { threads: 3, part_size: Some(1 << 20), ..InspectOptions::default() };
    let report = inspect(&source, options, &|_| {}).expect("an archive");
    assert_eq!((report.records, report.digests.ok), (1, 1));
    let (read, size) = (source.bytes.into_inner(), report.size);
    assert!(read < 4 * size, "{read} bytes were read of {size}");
}
