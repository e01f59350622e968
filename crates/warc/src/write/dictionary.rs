//! Dictionaries: what many records have in common, said once at the beginning of a file.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::io;

use fastcdc::v2020::FastCDC;

use crate::member::zstd::LARGEST_DICTIONARY;

/// A dictionary is packed once, and unpacked by everyone who reads.
const DICTIONARY_LEVEL: i32 = 15;
/// Tells what can be packed from what cannot.
const PROBE_LEVEL: i32 = 1;
/// Pages are cut into pieces of about this size. Of 256 bytes, 512 and 1 KiB, 200 versions of a site with 650 files came to 45.4,
/// 44.2 and 43.9 MB; the larger they are, the less fits.
const PIECE: usize = 512;

/// Makes a dictionary of at most `size` bytes from records as they are before packing. Fails where there are too few of
/// them to have anything in common.
pub fn train_dictionary(samples: &[Vec<u8>], size: usize) -> io::Result<Vec<u8>> {
    zstd::dict::from_samples(samples, size)
}

/// A dictionary in the making: what records have in common, and behind that pages as they are, so that what is nearly the
/// same is packed to little more than its difference.
///
/// Pages of one site are half the same text. So pages are cut into pieces where their own bytes say, and what stands in
/// one page is left out of the others: a site finds its place that is much larger than a dictionary.
pub struct DictionaryDraft {
    /// What records have in common.
    trained: Vec<u8>,
    /// What may still be added.
    room: usize,
    /// What is there already.
    seen: HashSet<u64>,
    /// The pages that were added, the first of them first.
    pages: Vec<Vec<u8>>,
}

/// A dictionary, and what became of it.
pub struct MadeDictionary {
    /// As it stands in a file, packed.
    pub stored: Vec<u8>,
    /// Its size when unpacked.
    pub size: usize,
    /// How many pages are found in it.
    pub pages: usize,
}

impl DictionaryDraft {
    /// One of at most `size` bytes, and no more than readers must hold.
    pub fn new(trained: Vec<u8>, size: usize) -> Self {
        let room = size.min(LARGEST_DICTIONARY).saturating_sub(trained.len());
        Self { trained, room, seen: HashSet::new(), pages: Vec::new() }
    }

    /// Whether there is no room for another page.
    pub fn is_full(&self) -> bool {
        self.room < PIECE
    }

    /// Adds a page, unless there is no room for what it has alone or it cannot be packed anyway, as pictures cannot. What is to be found most
    /// cheaply is to be added first: it comes to stand last.
    pub fn add(&mut self, page: &[u8]) -> io::Result<()> {
        if zstd::bulk::compress(page, PROBE_LEVEL)?.len() * 10 > page.len() * 9 {
            return Ok(());
        }
        let (mut news, mut numbers) = (Vec::new(), HashSet::new());
        for piece in FastCDC::new(page, PIECE / 4, PIECE, PIECE * 8) {
            let piece = &page[piece.offset..piece.offset + piece.length];
            let number = number(piece);
            if !self.seen.contains(&number) && numbers.insert(number) {
                news.extend_from_slice(piece);
            }
        }
        if let Some(room) = self.room.checked_sub(news.len()) {
            self.room = room;
            self.seen.extend(numbers);
            self.pages.push(news);
        }
        Ok(())
    }

    /// The dictionary. Its content is its end, so that more of it simply follows what it began with.
    pub fn finish(self) -> io::Result<MadeDictionary> {
        let (mut plain, pages) = (self.trained, self.pages.len());
        self.pages.into_iter().rev().for_each(|page| plain.extend(page));
        Ok(MadeDictionary { stored: pack(&plain)?, size: plain.len(), pages })
    }
}

/// Packs a dictionary, with a checksum: a wrong byte in it would otherwise be found in the records that use it, and taken for their own.
fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(DICTIONARY_LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(plain)
}

/// What tells pieces apart. Where it fails, a piece is missing and records are a little larger.
fn number(piece: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(piece);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;
    use crate::payload::PayloadKind;
    use crate::record::RecordType;
    use crate::write::{Dictionary, Draft, Packer, Packing};
    use std::io::Read;
    use std::sync::Arc;

    fn page(number: usize) -> Vec<u8> {
        let text: String = (0..40).map(|at| format!("<li class=entry>{}</li>", at * number)).collect();
        format!("<html><head><title>{number}</title></head><body class=museum><ul>{text}</ul></body></html>")
            .into_bytes()
    }

    /// Bytes that have nothing in common with others.
    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed * 2 + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    /// Text that has nothing in common with others.
    fn hex(seed: u64, length: usize) -> Vec<u8> {
        data_encoding::HEXLOWER.encode(&noise(seed, length / 2)).into_bytes()
    }

    #[test]
    fn records_packed_with_a_dictionary_are_smaller_and_are_read_back() {
        let samples: Vec<_> = (0..400).map(page).collect();
        let dictionary = train_dictionary(&samples, 16 << 10).unwrap();
        assert!(dictionary.len() <= 16 << 10);
        let pack = |dictionary: Option<Vec<u8>>| {
            let packing = Packing::Zstd {
                level: 3,
                dictionary: dictionary.map(|stored| Arc::new(Dictionary::new(stored))),
            };
            let mut file = packing.preamble();
            let beginning = file.len();
            let mut packer = Packer::new(packing, None).unwrap();
            let draft = Draft::new(RecordType::Resource, &Date::at_second(std::time::UNIX_EPOCH))
                .target_uri("https://e.org/")
                .content_type("text/html");
            packer.pack(&draft, PayloadKind::Block, &page(1234)).unwrap().write_to(&mut file).unwrap();
            (file.len() - beginning, file)
        };
        let (with, file) = pack(Some(dictionary));
        assert!(with < pack(None).0);
        let mut reader = crate::Reader::new(file.as_slice()).unwrap();
        let mut body = Vec::new();
        reader.next_record().unwrap().unwrap().read_to_end(&mut body).unwrap();
        assert_eq!(body, page(1234));
    }

    #[test]
    fn a_page_that_nearly_stands_in_the_dictionary_packs_to_its_difference() {
        // Pages that have nothing in common, some megabytes of them, so that the first is far from the end.
        let pages: Vec<Vec<u8>> = (0..60).map(|number| hex(number, 64 << 10)).collect();
        let trained = train_dictionary(&(0..400).map(page).collect::<Vec<_>>(), 16 << 10).unwrap();
        let mut draft = DictionaryDraft::new(trained, LARGEST_DICTIONARY);
        pages.iter().for_each(|page| draft.add(page).unwrap());
        let made = draft.finish().unwrap();
        assert_eq!(made.pages, pages.len());
        let dictionary = Some(Arc::new(Dictionary::new(made.stored)));
        let packing = Packing::Zstd { level: 3, dictionary };
        let mut file = packing.preamble();
        let mut packer = Packer::new(packing, None).unwrap();
        let mut changed = Vec::new();
        for number in [0, 30, 59] {
            let mut page = pages[number].clone();
            page.splice(30_000..30_000, *b"something else");
            let draft = Draft::new(RecordType::Resource, &Date::at_second(std::time::UNIX_EPOCH))
                .target_uri("https://e.org/")
                .content_type("text/html");
            let record = packer.pack(&draft, PayloadKind::Block, &page).unwrap();
            assert!(record.length() < 700, "{} for page {number}", record.length());
            record.write_to(&mut file).unwrap();
            changed.push(page);
        }
        let mut reader = crate::Reader::new(file.as_slice()).unwrap();
        for page in changed {
            let mut body = Vec::new();
            reader.next_record().unwrap().unwrap().read_to_end(&mut body).unwrap();
            assert_eq!(body, page);
        }
        assert!(reader.take_findings().is_empty());
    }

    #[test]
    fn what_pages_share_stands_there_once() {
        let template = hex(1, 8 << 10);
        let mut draft = DictionaryDraft::new(Vec::new(), 1 << 20);
        for number in 0..50 {
            draft.add(&[template.as_slice(), &hex(number + 2, 4 << 10), &template].concat()).unwrap();
        }
        let made = draft.finish().unwrap();
        assert_eq!(made.pages, 50);
        // The template, what each page has alone, and for each page the pieces in which both meet.
        let alone = 50 * (4 << 10) + (8 << 10);
        assert!((alone..alone + 50 * 8 * PIECE).contains(&made.size), "{} of {alone}", made.size);
    }

    #[test]
    fn it_has_room_for_so_much_and_none_for_pictures() {
        let mut draft = DictionaryDraft::new(vec![7; 1000], 1000 + (10 << 10));
        draft.add(&noise(1, 5 << 10)).unwrap();
        draft.add(&hex(2, 11 << 10)).unwrap();
        assert!(draft.pages.is_empty());
        draft.add(&hex(3, 10 << 10)).unwrap();
        assert!(draft.is_full());
        draft.add(&hex(4, 5 << 10)).unwrap();
        let made = draft.finish().unwrap();
        assert_eq!((made.pages, made.size), (1, 1000 + (10 << 10)));
        assert_eq!(Dictionary::new(made.stored).plain().unwrap().len(), made.size);
        assert_eq!(DictionaryDraft::new(Vec::new(), usize::MAX).room, LARGEST_DICTIONARY);
    }

    #[test]
    fn a_wrong_byte_in_it_is_found() {
        let mut draft = DictionaryDraft::new(Vec::new(), 64 << 10);
        (0..4).for_each(|number| draft.add(&hex(number, 8 << 10)).unwrap());
        let stored = draft.finish().unwrap().stored;
        let plain = Dictionary::new(stored.clone()).plain().unwrap().to_vec();
        for at in (4..stored.len()).filter(|at| at % 61 == 0 || stored.len() - at <= 4) {
            let mut damaged = stored.clone();
            damaged[at] ^= 0x20;
            // Some bits have no meaning.
            let damaged = Dictionary::new(damaged);
            assert!(damaged.plain().map_or(true, |read| read == plain), "byte {at}");
        }
        // Those of older builds have no checksum.
        let old = zstd::bulk::compress(&plain, DICTIONARY_LEVEL).unwrap();
        assert_eq!(Dictionary::new(old).plain().unwrap(), plain);
    }

    #[test]
    fn too_little_makes_no_dictionary() {
        assert!(train_dictionary(&[b"one".to_vec()], 4096).is_err());
    }
}
