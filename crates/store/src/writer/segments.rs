//! Objects that exceed one silo: their segments appear together or not at all.
//!
//! Each segment follows the description of a silo of its own, and the silos of one object have
//! consecutive numbers, so a reader finds the next segment. The silos are written under temporary
//! names. Then a note file records their final names, is synced, and the silos are renamed one by
//! one. After a crash before the note, the temporary files are removed; after it, opening the
//! archive finishes the renames.

use std::path::{Path, PathBuf};

use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::write::PackedRecord;

use crate::disk::{Disk, DiskError, DiskFile, Operation};
use crate::error::StoreError;
use crate::index::{IndexEntry, SiloPlace};
use crate::record::index_entries;
use crate::settings::StoreSettings;
use crate::silo::{OpenSilo, SiloFiles, name};

/// The note file that lists the silos to rename.
const RENAME_NOTE: &str = "unfinished-segments";
/// The name prefix of a silo before its rename.
const UNFINISHED_PREFIX: &str = "unfinished-";

/// Segments that were renamed into place.
pub(crate) struct PublishedSegments {
    pub(crate) entries: Vec<IndexEntry>,
    pub(crate) next_number: u32,
    /// The silo of the last segment, which stays open.
    pub(crate) last: OpenSilo,
    /// The hash state of that silo so far.
    pub(crate) hasher: Hasher,
}

/// Writes segments to the silos from `first` on. `describe` makes each silo's description from its
/// number and the digest of the previous silo, which is `None` for the first.
pub(crate) fn publish(
    files: &SiloFiles,
    settings: &StoreSettings,
    first: u32,
    records: Vec<PackedRecord>,
    describe: &mut impl FnMut(u32, Option<Digest>) -> Result<PackedRecord, StoreError>,
) -> Result<PublishedSegments, StoreError> {
    let disk = &*files.disk;
    let ending = settings.ending();
    disk.make_folders(&files.folder)?;
    let mut found = Vec::new();
    let mut written = None;
    let mut number = first;
    let mut previous = None;
    for record in records {
        SiloPlace::new(number, 0)?;
        let path = unfinished(files, number, ending);
        if disk.stat(&path)?.is_some() {
            disk.remove(&path)?;
        }
        let mut silo = OpenSilo::hashed(number, disk.create_new(&path)?);
        silo.append_raw(&settings.packing.preamble())?;
        for record in [describe(number, previous)?, record] {
            let header = record.header();
            let offset = silo.append(record)?;
            found.extend(index_entries(&header, SiloPlace::new(number, offset)?));
        }
        silo.has_records = true;
        silo.flush()?;
        silo.file().sync()?;
        let hasher = silo.take_hasher().unwrap_or_else(|| Algorithm::Sha256.hasher());
        previous = Some(hasher.clone().finish());
        written = Some((silo, hasher));
        number += 1;
    }
    let Some((last, hasher)) = written else { return Err(StoreError::NoSegments) };
    write_note(disk, &files.folder, &format!("{first} {number} {ending}"))?;
    put_in_place(files, first, number, ending)?;
    for sealed in first..number - 1 {
        files.move_sealed(sealed, ending, None)?;
    }
    Ok(PublishedSegments { entries: found, next_number: number, last, hasher })
}

fn unfinished(files: &SiloFiles, number: u32, ending: &str) -> PathBuf {
    files.folder.join(format!("{UNFINISHED_PREFIX}{}", name::file_name(number, ending)))
}

fn write_note(disk: &dyn Disk, folder: &Path, text: &str) -> Result<(), DiskError> {
    let draft = folder.join(format!("{RENAME_NOTE}.new"));
    if disk.stat(&draft)?.is_some() {
        disk.remove(&draft)?;
    }
    let file = disk.create_new(&draft)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&draft, &folder.join(RENAME_NOTE))?;
    disk.sync_folder(folder)
}

/// Renames the silos `first..end` into place and removes the note.
fn put_in_place(files: &SiloFiles, first: u32, end: u32, ending: &str) -> Result<(), StoreError> {
    let disk = &*files.disk;
    for number in first..end {
        let (from, to) = (unfinished(files, number, ending), files.path(number, ending));
        if disk.stat(&from)?.is_none() {
            continue;
        }
        let folder = to.parent().unwrap_or(&files.folder).to_owned();
        disk.make_folders(&folder)?;
        if number + 1 < end {
            disk.set_read_only(&from)?;
        }
        disk.rename(&from, &to)?;
        disk.sync_folder(&folder)?;
        disk.sync_folder(&files.folder)?;
    }
    disk.remove(&files.folder.join(RENAME_NOTE))?;
    Ok(disk.sync_folder(&files.folder)?)
}

/// Finishes interrupted renames and removes unfinished files.
pub(crate) fn complete(files: &SiloFiles) -> Result<(), StoreError> {
    let disk = &*files.disk;
    if disk.stat(&files.folder)?.is_none() {
        return Ok(());
    }
    let note = files.folder.join(RENAME_NOTE);
    if disk.stat(&note)?.is_some() {
        let (first, end, ending) = read_note(&*disk.open(&note)?, &note)?;
        put_in_place(files, first, end, ending)?;
    }
    for name in disk.list(&files.folder)? {
        if name.to_str().is_some_and(|name| name.starts_with(UNFINISHED_PREFIX)) {
            disk.remove(&files.folder.join(name))?;
        }
    }
    Ok(())
}

fn read_note(file: &dyn DiskFile, path: &Path) -> Result<(u32, u32, &'static str), StoreError> {
    let mut buffer = [0; 64];
    let count = file.read_at(&mut buffer, 0)?;
    let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let mut words = text.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
    let (first, end) = (number(), number());
    let ending = words.next().and_then(|word| {
        [name::GZIP_EXTENSION, name::ZSTD_EXTENSION].into_iter().find(|known| *known == word)
    });
    match (first, end, ending) {
        (Some(first), Some(end), Some(ending)) if first < end && end <= SiloPlace::GREATEST_SILO + 1 => {
            Ok((first, end, ending))
        }
        _ => {
            let source =
                std::io::Error::new(std::io::ErrorKind::InvalidData, "not a note of unfinished segments");
            Err(DiskError::new(Operation::Read, path, source).into())
        }
    }
}
