//! Copies a file without the holes in it.
//!
//! A project from a stranger may have a file that claims more bytes than the disk has. Its holes
//! stay holes in the copy, so that copying costs what the file really takes.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek};

/// Copies all bytes of one file into another, which is empty. Returns their number.
pub(crate) fn copy_sparse(source: &File, target: &File) -> io::Result<u64> {
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut at = 0;
    while at < length {
        let Some((start, end)) = next_data(source, at, length)? else { break };
        copy_range(source, target, start, end)?;
        at = end;
    }
    Ok(length)
}

/// The next range that is not a hole. On a file system without holes, the rest of the file.
fn next_data(source: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    let start = match seek(source, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::NOTSUP) => return Ok(Some((at, length))),
        Err(error) => return Err(error.into()),
    };
    let end = seek(source, SeekFrom::Hole(start)).unwrap_or(length).min(length);
    Ok((start < end).then_some((start, end)))
}

fn copy_range(mut source: &File, mut target: &File, start: u64, end: u64) -> io::Result<()> {
    source.seek(io::SeekFrom::Start(start))?;
    target.seek(io::SeekFrom::Start(start))?;
    io::copy(&mut source.take(end - start), &mut target).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn bytes_are_copied_and_holes_stay_holes() {
        let (mut source, mut target) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        source.set_len(8 << 30).unwrap();
        for at in [0, 5 << 30] {
            source.seek(io::SeekFrom::Start(at)).unwrap();
            source.write_all(b"bytes").unwrap();
        }
        assert_eq!(copy_sparse(&source, &target).unwrap(), 8 << 30);
        for (at, expected) in [(0, b"bytes"), (5 << 30, b"bytes"), (6 << 30, &[0; 5])] {
            let mut bytes = [1; 5];
            target.seek(io::SeekFrom::Start(at)).unwrap();
            target.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, expected, "at {at}");
        }
        assert!(target.metadata().unwrap().blocks() < 1 << 12);
    }
}
