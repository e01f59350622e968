//! Bytes that can be read at an offset.
//!
//! A reader of archives must be able to look again: at the next member after a damaged one, at a
//! block whose declared length is wrong, at one record in the middle of a terabyte. So the seam is
//! positional reading, not `Read`: files, memory and ranged objects in a bucket all offer it, many
//! threads can share one source without a lock, and no reader owns a position. Memory mapping was
//! declined: a file that shrinks while it is read would kill the process.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that can be read at any offset, by many threads at once. The arguments are in the order of
/// [`FileExt::read_at`].
pub trait ReadAt: Send + Sync {
    /// Reads into `buffer` from `offset`. Zero means that there is nothing at or after that offset,
    /// or that the buffer is empty.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The number of bytes there are now.
    fn size(&self) -> io::Result<u64>;

    /// State that all readers of this source share, such as decoders that are ready for it. A
    /// reader asks for the type that it knows; other types mean nothing to it.
    fn reader_state(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // No file is that long. The system calls such an offset invalid, which is not the same as
        // the end.
        if i64::try_from(offset).is_err() {
            return Ok(0);
        }
        FileExt::read_at(self, buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(rest) = usize::try_from(offset).ok().and_then(|start| self.get(start..)) else {
            return Ok(0);
        };
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// Passes calls on to what a pointer points to.
macro_rules! read_at_through_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: ReadAt + ?Sized> ReadAt for $pointer {
            fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
                (**self).read_at(buffer, offset)
            }

            fn size(&self) -> io::Result<u64> {
                (**self).size()
            }

            fn reader_state(&self) -> Option<&(dyn Any + Send + Sync)> {
                (**self).reader_state()
            }
        }
    )*};
}

read_at_through_pointer!(&T, Arc<T>, Box<T>);

/// Reads a source from a position of its own, which it moves.
#[derive(Clone, Debug)]
pub struct ReadAtCursor<S> {
    source: S,
    position: u64,
}

impl<S: ReadAt> ReadAtCursor<S> {
    /// A cursor at `position`.
    pub fn new(source: S, position: u64) -> Self {
        Self { source, position }
    }
}

impl<S: ReadAt> Read for ReadAtCursor<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<S: ReadAt> Seek for ReadAtCursor<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.source.size()?.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_do_not_disturb_one_another() {
        let bytes = b"0123456789".to_vec();
        let mut first = ReadAtCursor::new(&bytes, 8);
        let (mut all, mut rest) = (Vec::new(), Vec::new());
        ReadAtCursor::new(&bytes, 0).read_to_end(&mut all).unwrap();
        first.read_to_end(&mut rest).unwrap();
        assert_eq!((all.as_slice(), rest.as_slice()), (&b"0123456789"[..], &b"89"[..]));
    }

    #[test]
    fn seeking_past_the_end_reads_nothing_and_before_the_start_fails() {
        let mut cursor = ReadAtCursor::new(b"abc".to_vec(), 0);
        cursor.seek(SeekFrom::Start(u64::MAX)).unwrap();
        assert_eq!(cursor.read(&mut [0; 4]).unwrap(), 0);
        assert_eq!(cursor.seek(SeekFrom::End(-1)).unwrap(), 2);
        assert!(cursor.seek(SeekFrom::Current(-3)).is_err());
        assert_eq!(cursor.seek(SeekFrom::Current(1)).unwrap(), 3);
    }

    #[test]
    fn offsets_beyond_any_file_are_the_end() {
        let file = tempfile();
        assert_eq!(ReadAt::read_at(&file, &mut [0; 4], u64::MAX).unwrap(), 0);
        assert_eq!(file.size().unwrap(), 0);
    }

    fn tempfile() -> File {
        File::open("/dev/null").expect("the null device")
    }
}
