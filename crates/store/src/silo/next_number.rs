//! Records which silo numbers were used, so that none is used twice.
//!
//! A number in a catalog or a citation must never refer to another silo. A lost last silo is known
//! only to the index, which may be rebuilt, and to the file [`NEXT_NUMBER_FILE`] beside the silos.
//! It holds the first number that was never used, with a checksum, and is replaced before the first
//! record of a new silo is acknowledged. Without the file, numbering continues behind the last silo
//! present. A file whose checksum does not match is refused: a wrong number would leave a gap that
//! can never be closed.

use super::{SiloError, SiloFiles};
use crate::disk::DiskError;
use crate::index::SiloPlace;

/// The name of the file in the folder of silos.
pub const NEXT_NUMBER_FILE: &str = "next-number";
/// The name of its replacement until it is complete.
const REPLACEMENT_FILE: &str = "next-number.new";
/// Bytes of the file that are read; a valid one is shorter.
const MAX_FILE_BYTES: usize = 64;

/// The contents of the file.
enum RecordedNumber {
    /// There is no file, or an empty one.
    None,
    Valid(u32),
    /// The text does not match its checksum.
    Damaged(String),
}

/// The first number that was never used; 0 when there is no file. A damaged file is an error.
pub(crate) fn next_unused(files: &SiloFiles) -> Result<u32, SiloError> {
    match read(files)? {
        RecordedNumber::None => Ok(0),
        RecordedNumber::Valid(number) => Ok(number),
        RecordedNumber::Damaged(found) => {
            let last = files.list()?.into_keys().next_back();
            let path = files.folder.join(NEXT_NUMBER_FILE);
            Err(SiloError::NextNumber { path, found, last })
        }
    }
}

/// Whether a silo of this number existed. A number that cannot be told counts as used.
pub fn was_used(files: &SiloFiles, number: u32) -> bool {
    let last = files.list().ok().and_then(|silos| silos.into_keys().next_back());
    last.is_some_and(|last| number <= last) || next_unused(files).map_or(true, |next| number < next)
}

/// Records durably that all numbers below `next` were used.
pub(crate) fn remember(files: &SiloFiles, next: u32) -> Result<(), SiloError> {
    if next_unused(files)? >= next {
        return Ok(());
    }
    Ok(replace(files, next)?)
}

/// As [`remember`], and replaces a damaged file. Returns the error that describes the damage.
pub(crate) fn restore(files: &SiloFiles, next: u32) -> Result<Option<SiloError>, SiloError> {
    match next_unused(files) {
        Err(damage @ SiloError::NextNumber { last, .. }) => {
            replace(files, next.max(last.map_or(0, |last| last + 1)))?;
            Ok(Some(damage))
        }
        Err(error) => Err(error),
        Ok(_) => remember(files, next).map(|()| None),
    }
}

fn read(files: &SiloFiles) -> Result<RecordedNumber, DiskError> {
    let file = match files.disk.open(&files.folder.join(NEXT_NUMBER_FILE)) {
        Ok(file) => file,
        Err(error) if error.is_absent() => return Ok(RecordedNumber::None),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; MAX_FILE_BYTES];
    let count = file.read_at(&mut bytes, 0)?;
    Ok(match &bytes[..count] {
        [] => RecordedNumber::None,
        bytes => parse(bytes).map_or_else(
            || RecordedNumber::Damaged(String::from_utf8_lossy(bytes).trim_end().to_owned()),
            RecordedNumber::Valid,
        ),
    })
}

/// The number of a file whose bytes are exactly those that were written for it.
fn parse(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(..8)?).ok()?;
    let number: u32 = digits.parse().ok()?;
    (number <= SiloPlace::GREATEST_SILO + 1 && text_of(number).as_bytes() == bytes).then_some(number)
}

/// The contents of the file: the number and the CRC-32 of its eight digits.
fn text_of(number: u32) -> String {
    let digits = format!("{number:08}");
    format!("{digits} {:08x}\n", crc32fast::hash(digits.as_bytes()))
}

/// Replaces the file as a whole, so that a crash leaves the old one or the new one.
fn replace(files: &SiloFiles, next: u32) -> Result<(), DiskError> {
    files.disk.make_folders(&files.folder)?;
    let replacement = files.folder.join(REPLACEMENT_FILE);
    let file = match files.disk.create_new(&replacement) {
        Ok(file) => file,
        // Left by a crash.
        Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => {
            files.disk.remove(&replacement)?;
            files.disk.create_new(&replacement)?
        }
        Err(error) => return Err(error),
    };
    file.write_at(text_of(next).as_bytes(), 0)?;
    file.sync()?;
    files.disk.rename(&replacement, &files.folder.join(NEXT_NUMBER_FILE))?;
    files.disk.sync_folder(&files.folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_yields_a_number() {
        let text = text_of(3);
        assert_eq!(parse(text.as_bytes()), Some(3));
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&bytes), None, "bit {bit}");
        }
        assert_eq!(parse(b"01000001\n"), None);
    }
}
