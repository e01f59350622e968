//! The record of the texts of a page, as bytes.
//!
//! Compressed with zstd: a count of passages, then each passage (kind, length, text); a count of
//! texts, then each text (key, kind, steps). The steps lead from the passages of the text before:
//! copy some, skip some, insert one. So a text costs as much as its change. Numbers are variable
//! length integers of seven bits a byte.

use std::collections::HashMap;

use crate::page_text::{Passage, PassageKind, TextKind};
use crate::page_texts::{MAX_PART_PASSAGES, PageTexts, StoredText, TextKey};

/// The level of compression.
const COMPRESSION_LEVEL: i32 = 6;
/// Maximum length of a record when it is uncompressed.
const MAX_RECORD_BYTES: usize = 64 << 20;
/// Maximum number of passages in a text.
const MAX_TEXT_PASSAGES: usize = 1 << 20;
/// Maximum number of passages in all texts of a record together. A few bytes of a record can repeat
/// all passages of the text before.
const MAX_RECORD_PASSAGES: usize = MAX_PART_PASSAGES + MAX_TEXT_PASSAGES;
/// How far ahead a passage is looked for in the text before.
const LOOKAHEAD_PASSAGES: usize = 64;

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextRecordError {
    /// It cannot be decompressed, or is too long.
    #[error("the texts of a page cannot be decompressed")]
    Compression(#[source] std::io::Error),
    /// It is not a record.
    #[error("the texts of a page are damaged")]
    Damaged,
}

impl PageTexts {
    /// The texts as a record.
    pub fn to_record(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.passage_bytes() + 64);
        write_number(&mut bytes, self.passages.len());
        for Passage { kind, text } in &self.passages {
            bytes.push(*kind as u8);
            write_number(&mut bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
        write_number(&mut bytes, self.texts.len());
        let mut before: &[u32] = &[];
        for StoredText { key, kind, passages } in &self.texts {
            bytes.extend_from_slice(key);
            bytes.push(*kind as u8);
            let steps = steps_between(before, passages);
            write_number(&mut bytes, steps.len());
            for (step, number) in steps {
                bytes.push(step as u8);
                write_number(&mut bytes, number);
            }
            before = passages;
        }
        zstd::bulk::compress(&bytes, COMPRESSION_LEVEL).expect("memory can be compressed to memory")
    }

    /// Reads a record.
    pub fn from_record(record: &[u8]) -> Result<Self, TextRecordError> {
        let stated = zstd::zstd_safe::get_frame_content_size(record).ok().flatten();
        let length =
            stated.and_then(|length| usize::try_from(length).ok()).ok_or(TextRecordError::Damaged)?;
        if length > MAX_RECORD_BYTES {
            return Err(TextRecordError::Damaged);
        }
        let bytes = zstd::bulk::decompress(record, length).map_err(TextRecordError::Compression)?;
        RecordReader { rest: &bytes }.texts().ok_or(TextRecordError::Damaged)
    }
}

/// A step from one list of passages to the next.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum SequenceStep {
    Copy,
    Skip,
    Insert,
}

/// The steps from `before` to `after`. They are found greedily in linear time: fewest steps would
/// cost more than they save.
fn steps_between(before: &[u32], after: &[u32]) -> Vec<(SequenceStep, usize)> {
    let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, passage) in before.iter().enumerate() {
        places.entry(*passage).or_default().push(place);
    }
    let mut steps: Vec<(SequenceStep, usize)> = Vec::new();
    let mut at = 0;
    for passage in after {
        let ahead = places.get(passage).and_then(|places| {
            let next = *places.get(places.partition_point(|place| *place < at))?;
            (next - at <= LOOKAHEAD_PASSAGES).then_some(next)
        });
        match ahead {
            Some(next) => {
                if next > at {
                    steps.push((SequenceStep::Skip, next - at));
                }
                match steps.last_mut() {
                    Some((SequenceStep::Copy, count)) => *count += 1,
                    _ => steps.push((SequenceStep::Copy, 1)),
                }
                at = next + 1;
            }
            None => steps.push((SequenceStep::Insert, *passage as usize)),
        }
    }
    steps
}

fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

struct RecordReader<'a> {
    rest: &'a [u8],
}

impl RecordReader<'_> {
    fn texts(&mut self) -> Option<PageTexts> {
        let mut read = PageTexts::default();
        for _ in 0..self.number()? {
            let kind = match self.byte()? {
                0 => PassageKind::Title,
                1 => PassageKind::Heading,
                2 => PassageKind::Text,
                _ => return None,
            };
            let length = self.number()?;
            let text = String::from_utf8(self.bytes(length)?.to_vec()).ok()?;
            read.passages.push(Passage { kind, text });
        }
        let mut count = 0;
        for _ in 0..self.number()? {
            let key: TextKey = self.bytes(size_of::<TextKey>())?.try_into().ok()?;
            let kind = match self.byte()? {
                0 => TextKind::Page,
                1 => TextKind::Plain,
                _ => return None,
            };
            let before = read.texts.last().map(|text| text.passages.as_slice()).unwrap_or_default();
            let passages = self.passages(before, read.passages.len())?;
            count += passages.len();
            if count > MAX_RECORD_PASSAGES {
                return None;
            }
            read.texts.push(StoredText { key, kind, passages });
        }
        self.rest.is_empty().then_some(read)
    }

    fn passages(&mut self, before: &[u32], known: usize) -> Option<Vec<u32>> {
        let mut passages = Vec::new();
        let mut at = 0usize;
        for _ in 0..self.number()? {
            let (step, number) = (self.byte()?, self.number()?);
            if step == SequenceStep::Copy as u8 {
                passages.extend_from_slice(before.get(at..at.checked_add(number)?)?);
                at += number;
            } else if step == SequenceStep::Skip as u8 {
                at = at.checked_add(number)?;
            } else if step == SequenceStep::Insert as u8 && number < known {
                passages.push(u32::try_from(number).ok()?);
            } else {
                return None;
            }
            if passages.len() > MAX_TEXT_PASSAGES {
                return None;
            }
        }
        Some(passages)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<&[u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_text::PageText;
    use proptest::prelude::*;

    fn texts(lists: &[Vec<u8>]) -> PageTexts {
        let mut texts = PageTexts::default();
        let passage = |number: &u8| Passage { kind: PassageKind::Text, text: format!("passage {number}") };
        texts.add(lists.iter().enumerate().map(|(key, list)| {
            let passages = list.iter().map(passage).collect();
            ((key as u64).to_be_bytes(), PageText { kind: TextKind::Page, passages })
        }));
        texts
    }

    #[test]
    fn a_change_costs_as_much_as_itself() {
        let first: Vec<u8> = (0..200).collect();
        let mut changed = first.clone();
        changed[100] = 250;
        let one = texts(std::slice::from_ref(&first)).to_record().len();
        let two = texts(&[first, changed]).to_record().len();
        assert!(two < one + 40, "{one} {two}");
    }

    #[test]
    fn texts_that_repeat_each_other_without_end_are_refused() {
        // The first text has one passage as often as it may; each other copies that text.
        let record = |count: usize| {
            let mut bytes = vec![1, PassageKind::Text as u8, 1, b'x'];
            write_number(&mut bytes, count);
            for number in 0..count {
                bytes.extend((number as u64).to_be_bytes());
                bytes.push(TextKind::Page as u8);
                if number == 0 {
                    write_number(&mut bytes, MAX_TEXT_PASSAGES);
                    bytes.extend([SequenceStep::Insert as u8, 0].repeat(MAX_TEXT_PASSAGES));
                } else {
                    bytes.extend([1, SequenceStep::Copy as u8]);
                    write_number(&mut bytes, MAX_TEXT_PASSAGES);
                }
            }
            zstd::bulk::compress(&bytes, 1).unwrap()
        };
        let allowed = MAX_RECORD_PASSAGES / MAX_TEXT_PASSAGES;
        assert_eq!(PageTexts::from_record(&record(allowed)).unwrap().texts().len(), allowed);
        assert!(matches!(PageTexts::from_record(&record(allowed + 1)), Err(TextRecordError::Damaged)));
    }

    proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written(lists in prop::collection::vec(prop::collection::vec(0u8..12, 0..30), 0..8)) {
            let texts = texts(&lists);
            prop_assert_eq!(PageTexts::from_record(&texts.to_record()).unwrap(), texts);
        }

        #[test]
        fn a_damaged_record_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let packed = zstd::bulk::compress(&bytes, 1).unwrap();
            let _ = PageTexts::from_record(&packed);
            let _ = PageTexts::from_record(&bytes);
        }
    }
}
