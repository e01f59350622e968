//! Zstandard frames of every shape are read alike, whether they are unpacked in one go or streamed, with a dictionary and without.

use std::io::{Read, Write};

use varve_warc::Reader;
use varve_warc::rule::Rule;
use zstd::stream::raw::CParameter;

/// How a frame is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It says how much is in it: unpacked in one go where that is not much.
    Sized,
    /// It does not.
    Unsized,
    /// It says so, and is cut into many small blocks.
    Blocks,
}

/// Blocks that differ from each other, each with a shape: small ones, one of many blocks, one that is too large packed, one that is too large
/// unpacked.
fn blocks() -> Vec<(Shape, Vec<u8>)> {
    let noise = |length: usize| {
        let mut state = length as u64 | 1;
        let bytes = std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        });
        bytes.take(length).collect::<Vec<u8>>()
    };
    vec![
        (Shape::Sized, b"the lake in winter".to_vec()),
        (Shape::Unsized, b"the lake in spring".repeat(40)),
        (Shape::Sized, Vec::new()),
        (Shape::Blocks, b"the lake in summer".repeat(6_000)),
        (Shape::Sized, noise(5 << 20)),
        (Shape::Sized, b"the lake in autumn, ".repeat(2_000_000)),
        (Shape::Sized, b"the last of it".to_vec()),
    ]
}

fn record(number: usize, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n\
         WARC-Date: 2026-11-15T12:00:00Z\r\nWARC-Target-URI: https://lake.example/{number}\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn frame(shape: Shape, plain: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut encoder =
        zstd::stream::write::Encoder::with_dictionary(Vec::new(), 1, dictionary).expect("an encoder");
    encoder.include_checksum(true).expect("a parameter");
    if shape != Shape::Unsized {
        encoder.set_pledged_src_size(Some(plain.len() as u64)).expect("a parameter");
        encoder.set_parameter(CParameter::ContentSizeFlag(true)).expect("a parameter");
    }
    let piece = if shape == Shape::Blocks { 100 } else { plain.len().max(1) };
    for piece in plain.chunks(piece) {
        encoder.write_all(piece).expect("memory");
        if shape == Shape::Blocks {
            encoder.flush().expect("memory");
        }
    }
    encoder.finish().expect("memory")
}

/// A file of all of them, and where each begins.
fn file(dictionary: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let mut file = Vec::new();
    if !dictionary.is_empty() {
        file.extend([0x5d, 0x2a, 0x4d, 0x18]);
        file.extend((dictionary.len() as u32).to_le_bytes());
        file.extend(dictionary);
    }
    let mut places = Vec::new();
    for (number, (shape, block)) in blocks().into_iter().enumerate() {
        places.push(file.len());
        file.extend(frame(shape, &record(number, &block), dictionary));
    }
    (file, places)
}

/// None, one that is nothing but text, and one that was trained and has a number.
fn dictionaries() -> [Vec<u8>; 3] {
    let samples: Vec<Vec<u8>> =
        (0..400).map(|number| record(number, format!("the lake in year {number}").as_bytes())).collect();
    let trained = zstd::dict::from_samples(&samples, 4096).expect("a dictionary");
    [Vec::new(), record(7, b"the lake in winter, spring, summer, autumn"), trained]
}

#[test]
fn all_shapes_are_read() {
    for dictionary in dictionaries() {
        let (file, places) = file(&dictionary);
        let mut reader = Reader::new(&file).expect("an archive");
        for (number, (shape, block)) in blocks().into_iter().enumerate() {
            let mut record = reader.next_record().expect("read").expect("a record");
            assert_eq!(record.offset(), places[number] as u64);
            let mut read = Vec::new();
            record.read_to_end(&mut read).expect("read");
            assert!(read == block, "{shape:?}, record {number}, {} bytes", read.len());
            assert!(record.is_whole().expect("read"));
        }
        assert!(reader.next_record().expect("read").is_none());
        let rules: Vec<Rule> = reader.take_findings().iter().map(|finding| finding.rule).collect();
        // That one says no length, which is said once.
        assert_eq!(rules, [Rule::FrameUnchecked]);
        // And one by one, by who wants no other.
        for (number, (shape, block)) in blocks().into_iter().enumerate() {
            let mut reader = Reader::at(&file, places[number] as u64).expect("a record");
            let mut read = Vec::new();
            reader.next_record().expect("read").expect("a record").read_to_end(&mut read).expect("read");
            assert!(read == block, "{shape:?}, record {number}");
        }
    }
}

#[test]
fn what_is_damaged_is_told_and_the_others_are_read() {
    for dictionary in dictionaries() {
        let (whole, places) = file(&dictionary);
        for (number, place) in places.iter().enumerate() {
            let end = places.get(number + 1).copied().unwrap_or(whole.len());
            let mut file = whole.clone();
            // The last byte but one is the checksum's.
            file[end - 2] ^= 0x10;
            let mut reader = Reader::new(&file).expect("an archive");
            let mut sound = Vec::new();
            while let Some(mut record) = reader.next_record().expect("read") {
                let mut block = Vec::new();
                record.read_to_end(&mut block).expect("read");
                if record.is_whole().expect("read") {
                    sound.push(record.offset() as usize);
                }
            }
            let damaged: Vec<u64> = reader
                .take_findings()
                .iter()
                .filter(|finding| finding.rule == Rule::MemberDamaged)
                .map(|finding| finding.offset)
                .collect();
            assert_eq!(damaged, [*place as u64], "record {number}");
            let others: Vec<usize> = places.iter().copied().filter(|other| other != place).collect();
            let found: Vec<usize> = sound.into_iter().filter(|offset| offset != place).collect();
            assert_eq!(found, others, "record {number}");
        }
    }
}
