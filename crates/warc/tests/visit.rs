//! One reader that visits many records gives the same results as a new reader for each.

use std::io::Read;
use std::sync::Arc;

use varve_warc::date::Date;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Dictionary, Draft, Packer, Packing, WarcWriter, train_dictionary};
use varve_warc::{Extent, WarcReader};

/// Text that compresses somewhat, of any length.
fn text(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'a' + (state >> 40) as u8 % 23
    });
    letters.take(length).collect()
}

const LENGTHS: [usize; 8] = [0, 1, 700, 10_000, 60_000, 300_000, 1_500_000, 9_000];

/// A file of records, and the offset of each, then its end.
fn file(packing: &Packing) -> (Vec<u8>, Vec<u64>) {
    let mut packer = Packer::new(packing.clone(), None).expect("a packer");
    let mut writer = WarcWriter::new(Vec::new(), packing).expect("memory");
    let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
    let mut places = Vec::new();
    for (seed, length) in LENGTHS.into_iter().enumerate() {
        let draft = Draft::new(RecordType::Resource, &date)
            .target_uri(&format!("https://lake.example/{seed}"))
            .content_type("text/plain");
        let record = packer.pack(&draft, PayloadKind::Block, &text(length, seed as u64)).expect("packed");
        places.push(writer.append(record).expect("memory").offset);
    }
    places.push(writer.offset());
    (writer.into_inner(), places)
}

fn packings() -> [Packing; 4] {
    let samples: Vec<Vec<u8>> = (0..200).map(|seed| text(2_000, seed)).collect();
    let dictionary = Dictionary::new(train_dictionary(&samples, 16 << 10).expect("trained"));
    [
        Packing::Plain,
        Packing::Gzip,
        Packing::Zstd { level: 3, dictionary: None },
        Packing::Zstd { level: 3, dictionary: Some(Arc::new(dictionary)) },
    ]
}

#[test]
fn records_are_the_same_in_any_order() {
    for packing in packings() {
        let (file, places) = file(&packing);
        let mut reader = WarcReader::visiting(&file).expect("memory");
        // Forward, backward and across, and each twice.
        let forth = 0..LENGTHS.len();
        let order = forth.clone().chain(forth.clone().rev()).chain(forth.map(|number| number * 3 % 8));
        for (turn, number) in order.enumerate() {
            let extent = if turn % 3 == 0 { Extent::Header } else { Extent::Record };
            reader.visit(places[number], extent).expect("a record");
            let mut record = reader.next_record().expect("read").expect("a record");
            assert_eq!(record.offset(), places[number]);
            let target = format!("https://lake.example/{number}");
            assert_eq!(record.header().target_uri(), Some(target.as_bytes()), "{packing:?}");
            if turn % 2 == 0 {
                let mut block = Vec::new();
                record.read_to_end(&mut block).expect("read");
                assert!(block == text(LENGTHS[number], number as u64), "{packing:?}, record {number}");
                assert!(record.is_whole().expect("read"));
            }
            if turn == 5 {
                reader.drop_read_ahead();
            }
        }
        assert!(reader.take_findings().is_empty());
    }
}

#[test]
fn an_offset_without_a_record_is_an_error() {
    for packing in packings() {
        let (file, places) = file(&packing);
        let mut reader = WarcReader::visiting(&file).expect("memory");
        for extent in [Extent::Header, Extent::Record] {
            for nowhere in [places[3] + 7, *places.last().expect("an end"), u64::MAX] {
                assert!(reader.visit(nowhere, extent).is_err(), "{packing:?} at {nowhere}");
                reader.visit(places[3], extent).expect("a record");
                assert!(reader.next_record().expect("read").is_some());
            }
        }
    }
}

#[test]
fn a_record_ends_where_the_next_begins_and_nowhere_else() {
    for packing in packings() {
        let (file, places) = file(&packing);
        let mut reader = WarcReader::visiting(&file).expect("memory");
        for number in 0..LENGTHS.len() {
            for (other, end) in places.iter().enumerate().skip(1) {
                reader.visit(places[number], Extent::Header).expect("a record");
                assert!(reader.next_record().expect("read").is_some());
                let may = reader.may_end_at(*end).expect("read");
                assert_eq!(may, other == number + 1, "{packing:?}, record {number} at place {other}");
            }
            for wrong in [places[number] + 1, places[number + 1] - 1, u64::MAX] {
                assert!(!reader.may_end_at(wrong).expect("read"), "{packing:?}, record {number} at {wrong}");
            }
        }
    }
}

#[test]
fn two_records_of_one_length_are_not_taken_for_one() {
    let mut packer = Packer::new(Packing::Gzip, None).expect("a packer");
    let mut writer = WarcWriter::new(Vec::new(), &Packing::Gzip).expect("memory");
    let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
    let draft =
        Draft::new(RecordType::Resource, &date).target_uri("https://lake.example/").content_type("a/b");
    for seed in 0..2 {
        writer
            .append(packer.pack(&draft, PayloadKind::Block, &text(5_000, seed)).expect("packed"))
            .expect("memory");
    }
    let end = writer.offset();
    let file = writer.into_inner();
    let mut reader = WarcReader::visiting(&file).expect("memory");
    reader.visit(0, Extent::Header).expect("a record");
    assert!(reader.next_record().expect("read").is_some());
    assert!(!reader.may_end_at(end).expect("read"));
}
