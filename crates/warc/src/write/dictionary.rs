//! Dictionaries: what many records have in common, said once at the beginning of a file.

use std::io;

/// Makes a dictionary of at most `size` bytes from records as they are before packing. Fails where there are too few of
/// them to have anything in common.
pub fn train_dictionary(samples: &[Vec<u8>], size: usize) -> io::Result<Vec<u8>> {
    zstd::dict::from_samples(samples, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;
    use crate::payload::PayloadKind;
    use crate::record::RecordType;
    use crate::write::{Draft, Packer, Packing};
    use std::io::Read;

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
            let packing = Packing::Zstd { level: 3, dictionary: dictionary.map(Into::into) };
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
    fn too_little_makes_no_dictionary() {
        assert!(train_dictionary(&[b"one".to_vec()], 4096).is_err());
    }
}
