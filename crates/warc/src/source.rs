//! Where archive bytes come from: anything that can be read at an offset.
//!
//! A WARC reader must be able to look again: at the next member after a damaged one, at a block whose length lied,
//! at one record in the middle of a terabyte. So the seam is positional reading, not `Read`: files, memory and ranged
//! objects in a bucket all have it, many threads can share one source without a lock, and nobody owns a cursor.
//! Memory mapping was declined: a file that shrinks while it is read would kill the process instead of giving an error.

use std::fs::File;
use std::io;
use std::sync::Arc;

pub use crate::member::{Decoders, DecodersOf};

/// Bytes that can be read at any offset, by many threads at once.
pub trait ReadAt: Send + Sync {
    /// Reads into `buffer` from `offset`; 0 means that there is nothing at or after that offset.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// How many bytes there are now.
    fn size(&self) -> io::Result<u64>;

    /// Where decoders wait that are ready for this source, if readers are made for it again and again.
    fn decoders(&self) -> Option<DecodersOf> {
        None
    }
}

#[cfg(unix)]
impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // No file is so long; the system calls such an offset invalid, which is another thing than the end.
        if i64::try_from(offset).is_err() {
            return Ok(0);
        }
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

#[cfg(windows)]
impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
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

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn decoders(&self) -> Option<DecodersOf> {
        (**self).decoders()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn decoders(&self) -> Option<DecodersOf> {
        (**self).decoders()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Box<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn decoders(&self) -> Option<DecodersOf> {
        (**self).decoders()
    }
}
