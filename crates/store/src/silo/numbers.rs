//! Which numbers silos had, so that none is given twice.
//!
//! A number that is written in a catalogue or a citation must never come to mean another silo. Those that are here speak for
//! themselves; that there was a last one, which is lost, is known from nothing but the index, which may be made again, and
//! from a small file beside the silos: [`NAME`], the first number that was never used. It is written when something in
//! a new silo is promised for the first time, and is a help, not the truth: without it, counting goes on behind the
//! last silo that is here.

use super::SiloFiles;
use crate::disk::DiskError;
use crate::index::Place;

/// The file among the silos.
pub const NAME: &str = "next-number";

/// The first number that was never used, as far as is known; 0 when nothing is.
pub(crate) fn next_unused(files: &SiloFiles) -> Result<u32, DiskError> {
    let file = match files.disk.open(&files.folder.join(NAME)) {
        Ok(file) => file,
        Err(error) if error.is_absent() => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; 16];
    let count = file.read_at(0, &mut bytes)?;
    let number = std::str::from_utf8(&bytes[..count]).ok().and_then(|text| text.trim_end().parse().ok());
    Ok(number.filter(|number| *number <= Place::GREATEST_SILO + 1).unwrap_or(0))
}

/// Remembers that all numbers below `next` were used, safely.
pub(crate) fn remember(files: &SiloFiles, next: u32) -> Result<(), DiskError> {
    if next_unused(files)? >= next {
        return Ok(());
    }
    files.disk.make_folders(&files.folder)?;
    let path = files.folder.join(NAME);
    let (file, is_new) = match files.disk.open_to_write(&path) {
        Ok(file) => (file, false),
        Err(error) if error.is_absent() => (files.disk.create_new(&path)?, true),
        Err(error) => return Err(error),
    };
    // Always as long as before, so that no part of an older number can be left.
    file.write_at(0, format!("{next:08}\n").as_bytes())?;
    file.sync()?;
    if is_new { files.disk.sync_folder(&files.folder) } else { Ok(()) }
}
