//! Records which silo numbers were used, so that none is used twice.
//!
//! A number in a catalog or a citation must never refer to another silo. A lost last silo is known
//! only to the index, which may be rebuilt, and to the file [`NEXT_NUMBER_FILE`] beside the silos.
//! It holds the first number that was never used and is written before the first record of a new
//! silo is acknowledged. It is a hint: without it, numbering continues behind the last silo
//! present.

use super::SiloFiles;
use crate::disk::DiskError;
use crate::index::SiloPlace;

/// The name of the file in the folder of silos.
pub const NEXT_NUMBER_FILE: &str = "next-number";

/// The first number that was never used; 0 when the file is missing or invalid.
pub(crate) fn next_unused(files: &SiloFiles) -> Result<u32, DiskError> {
    let file = match files.disk.open(&files.folder.join(NEXT_NUMBER_FILE)) {
        Ok(file) => file,
        Err(error) if error.is_absent() => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; 16];
    let count = file.read_at(&mut bytes, 0)?;
    let number = std::str::from_utf8(&bytes[..count]).ok().and_then(|text| text.trim_end().parse().ok());
    Ok(number.filter(|number| *number <= SiloPlace::GREATEST_SILO + 1).unwrap_or(0))
}

/// Records durably that all numbers below `next` were used.
pub(crate) fn remember(files: &SiloFiles, next: u32) -> Result<(), DiskError> {
    if next_unused(files)? >= next {
        return Ok(());
    }
    files.disk.make_folders(&files.folder)?;
    let path = files.folder.join(NEXT_NUMBER_FILE);
    let (file, is_new) = match files.disk.open_to_write(&path) {
        Ok(file) => (file, false),
        Err(error) if error.is_absent() => (files.disk.create_new(&path)?, true),
        Err(error) => return Err(error),
    };
    // Always the same length, so that no part of an older number remains.
    file.write_at(format!("{next:08}\n").as_bytes(), 0)?;
    file.sync()?;
    if is_new { files.disk.sync_folder(&files.folder) } else { Ok(()) }
}
