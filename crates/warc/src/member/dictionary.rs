//! A dictionary as a file holds it, unpacked once for all who need it.
//!
//! It may have megabytes, be packed itself, and be wanted by every reader and writer of a file: unpacking it, or copying it, is
//! then most of what a small piece of work costs.

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::sync::OnceLock;

use self_cell::self_cell;
use zstd::zstd_safe::DDict;

use super::zstd::{LARGEST_DICTIONARY, MAGIC};

/// Ready to unpack frames with; none where zstd cannot use it.
type Ready<'a> = Option<DDict<'a>>;

self_cell! {
    /// Plain bytes, and what zstd reads them by without a copy.
    struct Prepared {
        owner: Vec<u8>,
        #[covariant]
        dependent: Ready,
    }
}

/// A zstd dictionary.
pub struct Dictionary {
    stored: Vec<u8>,
    /// Unpacked, or why it cannot be.
    prepared: OnceLock<Result<Prepared, String>>,
}

impl Dictionary {
    /// A dictionary as it stands in a file, where it may itself be packed.
    pub fn new(stored: Vec<u8>) -> Self {
        Self { stored, prepared: OnceLock::new() }
    }

    /// As it stands in a file.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// As it is used. Fails where that is more than readers must hold. One of those who ask unpacks it, and the others wait.
    pub fn plain(&self) -> io::Result<&[u8]> {
        self.prepared().map(|prepared| prepared.borrow_owner().as_slice())
    }

    /// The number by which frames ask for it, nought where it has none. Fails where it cannot be unpacked with: it is damaged, or zstd can make
    /// nothing of it.
    pub(super) fn number(&self) -> io::Result<u32> {
        let ready = self.prepared()?.borrow_dependent().as_ref();
        let ready =
            ready.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "zstd can make nothing of it"))?;
        Ok(ready.get_dict_id().map_or(0, NonZeroU32::get))
    }

    /// What frames are unpacked with; none where zstd can make nothing of it.
    pub(super) fn ready(&self) -> Option<&DDict<'_>> {
        self.prepared().ok()?.borrow_dependent().as_ref()
    }

    fn prepared(&self) -> io::Result<&Prepared> {
        let prepared = self.prepared.get_or_init(|| {
            let plain = match self.stored.starts_with(&MAGIC) {
                true => zstd::bulk::decompress(&self.stored, LARGEST_DICTIONARY),
                false => Ok(self.stored.clone()),
            };
            let plain = plain.map_err(|error| error.to_string())?;
            Ok(Prepared::new(plain, |plain| DDict::try_create_by_reference(plain)))
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
    fn it_may_be_compressed_but_not_endless() {
        let raw = vec![7u8; 1000];
        assert_eq!(Dictionary::new(raw.clone()).plain().expect("raw"), raw);
        let packed = zstd::bulk::compress(&raw, 3).expect("compress");
        assert_eq!(Dictionary::new(packed).plain().expect("unpacked"), raw);
        let bomb = zstd::bulk::compress(&vec![0u8; LARGEST_DICTIONARY + 2], 3).expect("compress");
        assert!(Dictionary::new(bomb).plain().is_err());
    }

    #[test]
    fn one_whose_length_nobody_says_is_bounded_too() {
        let pack = |length: usize| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
            io::Write::write_all(&mut encoder, &vec![7; length]).expect("memory");
            Dictionary::new(encoder.finish().expect("memory"))
        };
        assert_eq!(pack(5000).plain().expect("unpacked").len(), 5000);
        assert!(pack(LARGEST_DICTIONARY + 2).plain().is_err());
    }
}
