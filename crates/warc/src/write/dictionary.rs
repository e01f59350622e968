//! Dictionaries: what many records have in common, said once at the beginning of a file.

use std::io;

use crate::member::zstd::LARGEST_DICTIONARY;

/// A dictionary is packed once, and unpacked by everyone who reads.
const DICTIONARY_LEVEL: i32 = 15;

/// Makes a dictionary of at most `size` bytes from records as they are before packing. Fails where there are too few of
/// them to have anything in common.
pub fn train_dictionary(samples: &[Vec<u8>], size: usize) -> io::Result<Vec<u8>> {
    zstd::dict::from_samples(samples, size)
}

/// Adds pages to a dictionary, so that what is nearly the same is packed to little more than its difference. The content of a
/// dictionary is its end, so that more of it may simply follow. Gives it as it stands in a file, packed; fails when it
/// would be larger than readers must hold.
pub fn extend_dictionary(mut dictionary: Vec<u8>, pages: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    pages.iter().for_each(|page| dictionary.extend_from_slice(page));
    if dictionary.len() > LARGEST_DICTIONARY {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "dictionary larger than 8 MiB"));
    }
    zstd::bulk::compress(&dictionary, DICTIONARY_LEVEL)
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
        let noise = |seed: usize| -> Vec<u8> {
            let mut state = seed as u64 * 2 + 1;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as u8
            };
            (0..64 << 10).map(|_| next()).collect()
        };
        let pages: Vec<Vec<u8>> = (0..60).map(noise).collect();
        let trained = train_dictionary(&(0..400).map(page).collect::<Vec<_>>(), 16 << 10).unwrap();
        let dictionary = extend_dictionary(trained.clone(), &pages).unwrap();
        let dictionary = Some(Arc::new(Dictionary::new(dictionary)));
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
        assert!(extend_dictionary(trained, &vec![vec![0; 1 << 20]; 8]).is_err());
    }

    #[test]
    fn too_little_makes_no_dictionary() {
        assert!(train_dictionary(&[b"one".to_vec()], 4096).is_err());
    }
}
