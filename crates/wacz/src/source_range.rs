//! A part of a source, as a source of its own.

use std::io;

use varve_wire::ReadAt;

/// The bytes of a source from `start`, `length` of them. Readers see offsets from zero.
#[derive(Clone, Debug)]
pub struct SourceRange<S> {
    source: S,
    start: u64,
    length: u64,
}

impl<S: ReadAt> SourceRange<S> {
    /// The range of `length` bytes at `start`.
    pub fn new(source: S, start: u64, length: u64) -> Self {
        Self { source, start, length: length.min(u64::MAX - start) }
    }

    /// Where the range begins in its source.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl<S: ReadAt> ReadAt for SourceRange<S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        if length == 0 {
            return Ok(0);
        }
        self.source.read_at(&mut buffer[..length], self.start + offset)
    }

    /// The length of the range, or less when the source has become shorter.
    fn size(&self) -> io::Result<u64> {
        Ok(self.length.min(self.source.size()?.saturating_sub(self.start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_shows_nothing_outside() {
        let range = SourceRange::new(b"0123456789".to_vec(), 3, 4);
        let mut buffer = [0; 16];
        assert_eq!(range.read_at(&mut buffer, 1).unwrap(), 3);
        assert_eq!(&buffer[..3], b"456");
        assert_eq!(range.read_at(&mut buffer, 4).unwrap(), 0);
        assert_eq!(range.read_at(&mut buffer, u64::MAX).unwrap(), 0);
        assert_eq!(range.size().unwrap(), 4);
        assert_eq!(SourceRange::new(b"01".to_vec(), 1, 9).size().unwrap(), 1);
        assert_eq!(SourceRange::new(b"01".to_vec(), u64::MAX, 9).size().unwrap(), 0);
    }
}
