//! Room on the disk: Crystal begins no download when too little is left, and neither should anyone
//! else.

use varve_file::Folder;

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
        let room = ask(self.layout.folder())?;
        if room.free < room.needed {
            let (free, needed) = (room.free, room.needed);
            return Err(Error::NoRoom { path: self.path().to_owned(), free, needed });
        }
        Ok(room)
    }
}

fn ask(folder: &Folder) -> Result<FreeSpace> {
    let asked = rustix::fs::fstatvfs(folder);
    let disk = asked.map_err(|error| io_at("ask for room at", folder.path())(error.into()))?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Ok(FreeSpace::of(bytes(disk.f_bavail), bytes(disk.f_blocks)))
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
