//! Zstandard frames of every shape give the same records, decompressed whole or streamed, with and
//! without a dictionary.

use std::any::Any;
use std::io::{self, Read, Write};
use std::sync::Arc;

use varve_warc::rules::{Rule, WarcFinding};
use varve_warc::write::{DictionaryDraft, train_dictionary};
use varve_warc::{DecoderPool, FileDecoders};
use varve_warc::{Error, WarcReader};
use varve_wire::ReadAt;
use zstd::stream::raw::CParameter;

/// How a frame is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It gives its content size: decompressed whole if that is small.
    Sized,
    /// It gives none.
    Unsized,
    /// It gives its content size, and is cut into many small blocks.
    Blocks,
}

/// Different blocks, each with a shape: small ones, one of many blocks, one that is too large when
/// packed, one that is too large when decompressed.
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

/// A file of all of them, and the offset of each.
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

/// No dictionary, one of plain text, and a trained one with an id.
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
        let mut reader = WarcReader::new(&file).expect("an archive");
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
        // That one gives no content size, which is reported once.
        assert_eq!(rules, [Rule::FrameUnchecked]);
        // And each record alone.
        for (number, (shape, block)) in blocks().into_iter().enumerate() {
            let mut reader = WarcReader::at(&file, places[number] as u64).expect("a record");
            let mut read = Vec::new();
            reader.next_record().expect("read").expect("a record").read_to_end(&mut read).expect("read");
            assert!(read == block, "{shape:?}, record {number}");
        }
    }
}

#[test]
fn damaged_frames_are_reported_and_the_others_are_read() {
    for dictionary in dictionaries() {
        let (whole, places) = file(&dictionary);
        for (number, place) in places.iter().enumerate() {
            let end = places.get(number + 1).copied().unwrap_or(whole.len());
            let mut file = whole.clone();
            // The last byte but one belongs to the checksum.
            file[end - 2] ^= 0x10;
            let mut reader = WarcReader::new(&file).expect("an archive");
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

/// A file that begins with the `stored` dictionary, followed by frames packed with another one or
/// with none.
fn small_file(stored: &[u8], packed_by: &[&[u8]]) -> (Vec<u8>, Vec<u64>) {
    let mut file = vec![0x5d, 0x2a, 0x4d, 0x18];
    file.extend((stored.len() as u32).to_le_bytes());
    file.extend(stored);
    let mut places = Vec::new();
    for (number, dictionary) in packed_by.iter().enumerate() {
        places.push(file.len() as u64);
        file.extend(frame(Shape::Sized, &record(number, b"the lake in winter"), dictionary));
    }
    (file, places)
}

fn trained(words: &str) -> Vec<u8> {
    let samples: Vec<Vec<u8>> =
        (0..400).map(|number| record(number, format!("{words} {number}").as_bytes())).collect();
    train_dictionary(&samples, 4096).expect("a dictionary")
}

/// The number of readable records, and the findings.
fn read(source: impl ReadAt) -> Result<(usize, Vec<WarcFinding>), Error> {
    let mut reader = WarcReader::new(source)?;
    let mut records = 0;
    while reader.next_record()?.is_some() {
        records += 1;
    }
    Ok((records, reader.take_findings()))
}

fn places_of(findings: &[WarcFinding], rule: Rule) -> Vec<u64> {
    findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.offset).collect()
}

/// A file whose readers share decoders.
struct Shared<'a> {
    file: &'a [u8],
    decoders: FileDecoders,
}

impl<'a> Shared<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self { file, decoders: FileDecoders::new(&Arc::new(DecoderPool::default()), 7) }
    }
}

impl ReadAt for Shared<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn reader_state(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.decoders)
    }
}

#[test]
fn each_frame_for_another_dictionary_is_reported() {
    let (ours, other) = (trained("the lake in year"), trained("a mountain of height"));
    let number = |dictionary: &[u8]| u32::from_le_bytes(*dictionary[4..].first_chunk().expect("a number"));
    assert_ne!(number(&ours), number(&other));
    // A dictionary without an id is another one as well.
    for held in [ours.as_slice(), b"the lake in winter, spring, summer, autumn"] {
        let (file, places) = small_file(held, &[held, &other, &other, &[], held, &other]);
        let shared = Shared::new(&file);
        // The first reads the dictionary, the others take a decoder that is ready.
        for _ in 0..3 {
            let (records, findings) = read(&shared).expect("an archive");
            assert_eq!(records, 3, "{findings:?}");
            assert_eq!(places_of(&findings, Rule::DictionaryMissing), [places[1]]);
            assert_eq!(places_of(&findings, Rule::MemberDamaged), [places[1], places[2], places[5]]);
            let needs = format!("needs the dictionary {}, which the file does not hold", number(&other));
            let told = findings.iter().filter(|finding| finding.message.contains(&needs)).count();
            assert_eq!(told, 3, "{findings:?}");
        }
    }
}

#[test]
fn an_unusable_dictionary_is_reported() {
    let whole = trained("the lake in year");
    let mut broken = whole.clone();
    // The tables begin after the id.
    broken[8..40].fill(0xff);
    let (file, places) = small_file(&broken, &[&[], &whole, &whole, &[]]);
    let shared = Shared::new(&file);
    for _ in 0..3 {
        let (records, findings) = read(&shared).expect("an archive");
        assert_eq!(records, 2, "{findings:?}");
        assert_eq!(places_of(&findings, Rule::DictionaryUnusable), [0]);
        assert_eq!(places_of(&findings, Rule::DictionaryMissing), [places[1]]);
        assert_eq!(places_of(&findings, Rule::MemberDamaged), [places[1], places[2]]);
        let told =
            findings.iter().filter(|finding| finding.message.contains("that of the file cannot be used"));
        assert_eq!(told.count(), 3, "{findings:?}");
    }
    // And when one record alone is read.
    let error = WarcReader::at(&file, places[1]).err().expect("a record that cannot be read").to_string();
    assert!(error.contains("the zstd dictionary cannot be read"), "{error}");
}

#[test]
fn a_wrong_bit_in_a_dictionary_is_reported_there() {
    let mut draft = DictionaryDraft::new(trained("the lake in year"), 64 << 10);
    for number in 0..40_u32 {
        let page: String =
            (0..200).map(|at| format!("<li>{}</li>", at * 7919 * (number + 1) % 10_007)).collect();
        draft.add(page.as_bytes()).expect("memory");
    }
    let stored = draft.finish().expect("a dictionary").stored;
    let plain = zstd::bulk::decompress(&stored, 1 << 20).expect("a frame");
    let (file, places) = small_file(&stored, &[&plain, &plain, &[]]);
    assert_eq!(read(&file).expect("an archive"), (3, Vec::new()));
    // All of its frame except the first bytes, by which it is recognised. Testing every bit would
    // take long.
    let frame = 12..8 + stored.len();
    let mut found = 0;
    for at in frame.clone().filter(|at| at - frame.start < 40 || at % 97 == 0 || frame.end - at <= 4) {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        if zstd::bulk::decompress(&damaged[8..8 + stored.len()], 1 << 20).is_ok_and(|same| same == plain) {
            // Some bits have no meaning.
            continue;
        }
        found += 1;
        let (records, findings) = read(&damaged).expect("an archive");
        assert_eq!(records, 1, "byte {at}: {findings:?}");
        assert_eq!(places_of(&findings, Rule::DictionaryUnusable), [0], "byte {at}");
        assert_eq!(places_of(&findings, Rule::MemberDamaged), places[..2], "byte {at}");
    }
    assert!(found > 100, "{found} bits");
}

/// A frame need not name its dictionary. Then the reader cannot know whether the frame is damaged.
#[test]
fn a_frame_without_a_dictionary_id_may_need_an_unusable_dictionary() {
    let raw = record(7, b"the lake in winter, spring, summer, autumn");
    let mut stored = zstd::bulk::compress(&raw, 3).expect("memory");
    stored.truncate(stored.len() - 3);
    let (file, places) = small_file(&stored, &[&[], &raw, &raw, &[]]);
    let (records, findings) = read(&file).expect("an archive");
    assert_eq!((records, places_of(&findings, Rule::DictionaryUnusable)), (2, vec![0]), "{findings:?}");
    assert_eq!(places_of(&findings, Rule::MemberDamaged), places[1..3], "{findings:?}");
    let told =
        findings.iter().filter(|finding| finding.message.contains("or needs the dictionary of the file"));
    assert_eq!(told.count(), 2, "{findings:?}");
}
