//! A zstd dictionary as a file holds it, decompressed once for all users.
//!
//! A dictionary may have megabytes, may itself be compressed, and is needed by every reader and
//! writer of a file. Decompressing or copying it each time would be most of the cost of reading one
//! record.

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::sync::OnceLock;

use self_cell::self_cell;
use zstd::zstd_safe::DDict;

use super::zstd::{FRAME_MAGIC, MAX_DICTIONARY_BYTES};

/// The dictionary in the form zstd decodes with; none when zstd cannot use it.
type ZstdDictionary<'a> = Option<DDict<'a>>;

self_cell! {
    /// The decompressed bytes, and the zstd dictionary that refers to them without a copy.
    struct PreparedDictionary {
        owner: Vec<u8>,
        #[covariant]
        dependent: ZstdDictionary,
    }
}

/// A zstd dictionary.
pub struct Dictionary {
    stored: Vec<u8>,
    /// The prepared dictionary, or why it cannot be decompressed.
    prepared: OnceLock<Result<PreparedDictionary, String>>,
}

impl Dictionary {
    /// A dictionary as stored in a file, where it may itself be compressed.
    pub fn new(stored: Vec<u8>) -> Self {
        Self { stored, prepared: OnceLock::new() }
    }

    /// The bytes as stored in a file.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// The decompressed bytes. Fails when they are more than readers must hold. The first caller
    /// decompresses them, and others wait.
    pub fn plain(&self) -> io::Result<&[u8]> {
        self.prepared().map(|prepared| prepared.borrow_owner().as_slice())
    }

    /// The id by which frames refer to it, 0 when it has none. Fails when it is damaged or zstd
    /// cannot use it.
    pub(super) fn id(&self) -> io::Result<u32> {
        let ready = self.prepared()?.borrow_dependent().as_ref();
        let ready = ready.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "zstd cannot use it"))?;
        Ok(ready.get_dict_id().map_or(0, NonZeroU32::get))
    }

    /// The dictionary for decoding; none when zstd cannot use it.
    pub(super) fn decoder(&self) -> Option<&DDict<'_>> {
        self.prepared().ok()?.borrow_dependent().as_ref()
    }

    fn prepared(&self) -> io::Result<&PreparedDictionary> {
        let prepared = self.prepared.get_or_init(|| {
            let plain = match self.stored.starts_with(&FRAME_MAGIC) {
                true => zstd::bulk::decompress(&self.stored, MAX_DICTIONARY_BYTES),
                false => Ok(self.stored.clone()),
            };
            let plain = plain.map_err(|error| error.to_string())?;
            Ok(PreparedDictionary::new(plain, |plain| DDict::try_create_by_reference(plain)))
        });
        prepared.as_ref().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.as_str()))
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Dictionary").field("stored", &self.stored.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_dictionaries_are_bounded() {
        let raw = vec![7u8; 1000];
        assert_eq!(Dictionary::new(raw.clone()).plain().expect("raw"), raw);
        let packed = zstd::bulk::compress(&raw, 3).expect("compress");
        assert_eq!(Dictionary::new(packed).plain().expect("unpacked"), raw);
        let bomb = zstd::bulk::compress(&vec![0u8; MAX_DICTIONARY_BYTES + 2], 3).expect("compress");
        assert!(Dictionary::new(bomb).plain().is_err());
    }

    #[test]
    fn compressed_dictionaries_without_a_length_are_bounded() {
        let pack = |length: usize| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
            io::Write::write_all(&mut encoder, &vec![7; length]).expect("memory");
            Dictionary::new(encoder.finish().expect("memory"))
        };
        assert_eq!(pack(5000).plain().expect("unpacked").len(), 5000);
        assert!(pack(MAX_DICTIONARY_BYTES + 2).plain().is_err());
    }
}
