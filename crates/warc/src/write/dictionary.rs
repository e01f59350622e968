//! Dictionaries: content that many records share, stored once at the start of a file.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::io;

use fastcdc::v2020::FastCDC;

use crate::member::zstd::MAX_DICTIONARY_BYTES;

/// A dictionary is compressed once and decompressed by every reader.
const DICTIONARY_LEVEL: i32 = 15;
/// The level that tells compressible content from other content.
const PROBE_LEVEL: i32 = 1;
/// Pages are cut into pieces of about this size. Of 256 bytes, 512 and 1 KiB, 200 versions of a
/// site with 650 files came to 45.4, 44.2 and 43.9 MB; the larger they are, the less fits.
const PIECE_BYTES: usize = 512;

/// Trains a dictionary of at most `size` bytes from unpacked records. Fails when there are too few
/// of them.
pub fn train_dictionary(samples: &[Vec<u8>], size: usize) -> io::Result<Vec<u8>> {
    zstd::dict::from_samples(samples, size)
}

/// Builds a dictionary: content that records share, followed by whole pages, so that a nearly
/// identical page is packed to little more than its difference.
///
/// Pages of one site share half of their text. So pages are cut into pieces by their content, and
/// pieces that are already there are left out: a site that is much larger than a dictionary fits
/// into one.
pub struct DictionaryDraft {
    /// The content that records share.
    trained: Vec<u8>,
    /// The number of bytes that may still be added.
    room: usize,
    /// The pieces that are already there.
    seen: HashSet<u64>,
    /// The added pages, in order.
    pages: Vec<Vec<u8>>,
}

/// A finished dictionary.
pub struct MadeDictionary {
    /// The compressed bytes, as stored in a file.
    pub stored: Vec<u8>,
    /// Its size when decompressed.
    pub size: usize,
    /// The number of pages in it.
    pub pages: usize,
}

impl DictionaryDraft {
    /// A draft of at most `size` bytes, and at most what readers must hold.
    pub fn new(trained: Vec<u8>, size: usize) -> Self {
        let room = size.min(MAX_DICTIONARY_BYTES).saturating_sub(trained.len());
        Self { trained, room, seen: HashSet::new(), pages: Vec::new() }
    }

    /// Whether there is no room for another page.
    pub fn is_full(&self) -> bool {
        self.room < PIECE_BYTES
    }

    /// Adds a page, unless its new pieces do not fit or it is incompressible, as pictures are. The
    /// page that is used most is added first: it is stored last, where references to it are
    /// shortest.
    pub fn add(&mut self, page: &[u8]) -> io::Result<()> {
        if zstd::bulk::compress(page, PROBE_LEVEL)?.len() * 10 > page.len() * 9 {
            return Ok(());
        }
        let (mut news, mut numbers) = (Vec::new(), HashSet::new());
        for piece in FastCDC::new(page, PIECE_BYTES / 4, PIECE_BYTES, PIECE_BYTES * 8) {
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

    /// The dictionary. Its content is at its end, so that pages are appended to the trained part.
    pub fn finish(self) -> io::Result<MadeDictionary> {
        let (mut plain, pages) = (self.trained, self.pages.len());
        self.pages.into_iter().rev().for_each(|page| plain.extend(page));
        Ok(MadeDictionary { stored: pack(&plain)?, size: plain.len(), pages })
    }
}

/// Compresses a dictionary, with a checksum: a wrong byte would otherwise look like damage of the
/// records that use it.
fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(DICTIONARY_LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(plain)
}

/// The key of a piece. When two pieces collide, one is missing and records are a little larger.
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
    fn records_packed_with_a_dictionary_are_smaller_and_read_back() {
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
        let mut reader = crate::WarcReader::new(file.as_slice()).unwrap();
        let mut body = Vec::new();
        reader.next_record().unwrap().unwrap().read_to_end(&mut body).unwrap();
        assert_eq!(body, page(1234));
    }

    #[test]
    fn a_page_like_one_in_the_dictionary_packs_to_its_difference() {
        // Pages that have nothing in common, some megabytes of them, so that the first is far from
        // the end.
        let pages: Vec<Vec<u8>> = (0..60).map(|number| hex(number, 64 << 10)).collect();
        let trained = train_dictionary(&(0..400).map(page).collect::<Vec<_>>(), 16 << 10).unwrap();
        let mut draft = DictionaryDraft::new(trained, MAX_DICTIONARY_BYTES);
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
        let mut reader = crate::WarcReader::new(file.as_slice()).unwrap();
        for page in changed {
            let mut body = Vec::new();
            reader.next_record().unwrap().unwrap().read_to_end(&mut body).unwrap();
            assert_eq!(body, page);
        }
        assert!(reader.take_findings().is_empty());
    }

    #[test]
    fn shared_pieces_are_stored_once() {
        let template = hex(1, 8 << 10);
        let mut draft = DictionaryDraft::new(Vec::new(), 1 << 20);
        for number in 0..50 {
            draft.add(&[template.as_slice(), &hex(number + 2, 4 << 10), &template].concat()).unwrap();
        }
        let made = draft.finish().unwrap();
        assert_eq!(made.pages, 50);
        // The template, the unique part of each page, and for each page the pieces that contain
        // both.
        let alone = 50 * (4 << 10) + (8 << 10);
        assert!((alone..alone + 50 * 8 * PIECE_BYTES).contains(&made.size), "{} of {alone}", made.size);
    }

    #[test]
    fn size_is_limited_and_pictures_are_left_out() {
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
        assert_eq!(DictionaryDraft::new(Vec::new(), usize::MAX).room, MAX_DICTIONARY_BYTES);
    }

    #[test]
    fn a_wrong_byte_is_detected() {
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
        // Dictionaries without a checksum are accepted as well.
        let old = zstd::bulk::compress(&plain, DICTIONARY_LEVEL).unwrap();
        assert_eq!(Dictionary::new(old).plain().unwrap(), plain);
    }

    #[test]
    fn too_few_samples_make_no_dictionary() {
        assert!(train_dictionary(&[b"one".to_vec()], 4096).is_err());
    }
}
