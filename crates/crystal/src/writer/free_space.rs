//! Room on the disk: Crystal begins no download when too little is left, and neither should anyone
//! else.

use std::path::Path;

use super::ProjectWriter;
use crate::error::{Error, Result, io_at};

/// The reserve on a large disk, in bytes.
const MAX_RESERVED_BYTES: u64 = 4 << 30;

/// How much room a disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// The bytes that are free.
    pub free: u64,
    /// The bytes that should stay free: a twentieth of the disk, or 4 GiB if that is less.
    pub needed: u64,
}

impl FreeSpace {
    const fn of(free: u64, total: u64) -> Self {
        let twentieth = total / 20;
        Self { free, needed: if twentieth < MAX_RESERVED_BYTES { twentieth } else { MAX_RESERVED_BYTES } }
    }
}

impl ProjectWriter {
    /// How much room there is for bodies; an error if it is too little to begin a download.
    pub fn room(&self) -> Result<FreeSpace> {
        let Some(room) = ask(self.path())? else { return Ok(FreeSpace { free: u64::MAX, needed: 0 }) };
        if room.free < room.needed {
            let (free, needed) = (room.free, room.needed);
            return Err(Error::NoRoom { path: self.path().to_owned(), free, needed });
        }
        Ok(room)
    }
}

#[cfg(unix)]
fn ask(path: &Path) -> Result<Option<FreeSpace>> {
    let disk = rustix::fs::statvfs(path).map_err(|error| io_at("ask for room at", path)(error.into()))?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Ok(Some(FreeSpace::of(bytes(disk.f_bavail), bytes(disk.f_blocks))))
}

/// Where there is no way to ask, there is room.
#[cfg(not(unix))]
fn ask(_: &Path) -> Result<Option<FreeSpace>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_stays_free_but_no_more_than_enough() {
        assert_eq!(FreeSpace::of(7, 200).needed, 10);
        assert_eq!(FreeSpace::of(7, 1 << 50).needed, 4 << 30);
    }
}
