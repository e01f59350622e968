//! The bytes of an answer, wherever they lie.
//!
//! Short answers, nearly all of them, are one allocation. Long ones lie where the fetcher put them; [`WireBytes`] is all
//! that is known of that place. Reading never moves a shared position, so any number of readers can go over the same
//! answer, in any thread.

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes that never change and can be read at any place.
pub trait WireBytes: Send + Sync + std::fmt::Debug {
    /// How many there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads from a place on, as many as fit or are there; zero only at the end or for an empty buffer.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// All of them, where they lie in memory.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

impl WireBytes for Vec<u8> {
    fn len(&self) -> u64 {
        Vec::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(Vec::len(self));
        let rest = &self[start..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// The bytes of an answer. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Wire(Arc<dyn WireBytes>);

impl Wire {
    /// Bytes that lie anywhere.
    pub fn new(bytes: impl WireBytes + 'static) -> Self {
        Self(Arc::new(bytes))
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All bytes, where they lie in memory.
    pub fn in_memory(&self) -> Option<&[u8]> {
        self.0.in_memory()
    }

    /// A reader at the start.
    pub fn reader(&self) -> WireReader {
        WireReader { wire: self.clone(), position: 0 }
    }

    /// The beginning, up to the given number of bytes.
    pub fn start(&self, most: usize) -> io::Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.in_memory() {
            return Ok(Cow::Borrowed(&bytes[..bytes.len().min(most)]));
        }
        let mut start = Vec::new();
        self.reader().take(most as u64).read_to_end(&mut start)?;
        Ok(Cow::Owned(start))
    }
}

impl From<Vec<u8>> for Wire {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

/// Reads an answer, from wherever one seeks to.
#[derive(Clone, Debug)]
pub struct WireReader {
    wire: Wire,
    position: u64,
}

impl Read for WireReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.wire.0.read_at(self.position, buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for WireReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.wire.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that say nothing of lying in memory, and are given in small pieces.
    #[derive(Debug)]
    struct Elsewhere(Vec<u8>);

    impl WireBytes for Elsewhere {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(3);
            self.0.read_at(offset, &mut buffer[..most])
        }
    }

    fn read_all(wire: &Wire) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire.reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn readers_do_not_disturb_one_another() {
        for wire in [Wire::from(b"0123456789".to_vec()), Wire::new(Elsewhere(b"0123456789".to_vec()))] {
            let mut first = wire.reader();
            first.seek(SeekFrom::Start(8)).unwrap();
            assert_eq!(read_all(&wire), b"0123456789");
            let mut rest = Vec::new();
            first.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"89");
            assert_eq!(&*wire.start(4).unwrap(), b"0123");
            assert_eq!(&*wire.start(40).unwrap(), b"0123456789");
        }
    }

    #[test]
    fn seeking_past_the_end_reads_nothing_and_before_the_start_fails() {
        let mut reader = Wire::from(b"abc".to_vec()).reader();
        reader.seek(SeekFrom::Start(u64::MAX)).unwrap();
        assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
        assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), 2);
        assert!(reader.seek(SeekFrom::Current(-3)).is_err());
        assert_eq!(reader.seek(SeekFrom::Current(1)).unwrap(), 3);
    }
}
