//! Objects that do not fit one silo: segments that appear together or not at all.
//!
//! Each segment begins a silo of its own, right behind the description, and the silos of one object have consecutive
//! numbers: that is how a reader finds the next segment. They are written under other names first; a note then says
//! which names they are to have, and only when the note is safe are they renamed, one after another. A crash before the
//! note leaves files that are swept; after it, opening the archive finishes the renaming. So no reader ever sees half
//! an object that stays half.

use std::path::{Path, PathBuf};

use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::write::PackedRecord;

use crate::disk::{Disk, DiskError, DiskFile, Operation};
use crate::error::StoreError;
use crate::index::{Entry, Place};
use crate::record::entries;
use crate::settings::Settings;
use crate::silo::{OpenSilo, SiloFiles, name};

/// The note that says which silos are to appear.
const NOTE: &str = "unfinished-segments";
/// What a silo is called before it has its name.
const PREFIX: &str = "unfinished-";

/// Segments that are in their places.
pub(crate) struct Published {
    pub(crate) entries: Vec<Entry>,
    pub(crate) next_number: u32,
    /// The silo of the last segment, which may grow on.
    pub(crate) last: OpenSilo,
    /// The digest of what is in it so far.
    pub(crate) hasher: Hasher,
}

/// Writes segments to silos `first` and following. `describe` makes each silo's description; it is told the digest of
/// the silo before, except for the first.
pub(crate) fn publish(
    files: &SiloFiles,
    settings: &Settings,
    first: u32,
    records: Vec<PackedRecord>,
    describe: &mut impl FnMut(u32, Option<Digest>) -> Result<PackedRecord, StoreError>,
) -> Result<Published, StoreError> {
    let disk = &*files.disk;
    let ending = settings.ending();
    disk.make_folders(&files.folder)?;
    let mut found = Vec::new();
    let mut written = None;
    let mut number = first;
    let mut previous = None;
    for record in records {
        Place::new(number, 0)?;
        let path = unfinished(files, number, ending);
        if disk.stat(&path)?.is_some() {
            disk.remove(&path)?;
        }
        let mut silo = OpenSilo::hashed(number, disk.create_new(&path)?);
        silo.append_raw(&settings.packing.preamble())?;
        for record in [describe(number, previous)?, record] {
            let header = record.header();
            let offset = silo.append(record)?;
            found.extend(entries(&header, Place::new(number, offset)?));
        }
        silo.has_records = true;
        silo.flush()?;
        silo.file().sync()?;
        let hasher = silo.take_hasher().unwrap_or_else(|| Algorithm::Sha256.hasher());
        previous = Some(hasher.clone().finish());
        written = Some((silo, hasher));
        number += 1;
    }
    let Some((last, hasher)) = written else { return Err(StoreError::Stopped) };
    write_note(disk, &files.folder, &format!("{first} {number} {ending}"))?;
    put_in_place(files, first, number, ending)?;
    for sealed in first..number - 1 {
        files.move_to_medium(sealed, ending)?;
    }
    Ok(Published { entries: found, next_number: number, last, hasher })
}

fn unfinished(files: &SiloFiles, number: u32, ending: &str) -> PathBuf {
    files.folder.join(format!("{PREFIX}{}", name::file_name(number, ending)))
}

fn write_note(disk: &dyn Disk, folder: &Path, text: &str) -> Result<(), DiskError> {
    let draft = folder.join(format!("{NOTE}.new"));
    if disk.stat(&draft)?.is_some() {
        disk.remove(&draft)?;
    }
    let file = disk.create_new(&draft)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    disk.rename(&draft, &folder.join(NOTE))?;
    disk.sync_folder(folder)
}

/// Gives the silos `first..end` their names and forgets the note.
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
    disk.remove(&files.folder.join(NOTE))?;
    Ok(disk.sync_folder(&files.folder)?)
}

/// Finishes what a crash interrupted, and sweeps what it left unfinished.
pub(crate) fn complete(files: &SiloFiles) -> Result<(), StoreError> {
    let disk = &*files.disk;
    if disk.stat(&files.folder)?.is_none() {
        return Ok(());
    }
    let note = files.folder.join(NOTE);
    if disk.stat(&note)?.is_some() {
        let (first, end, ending) = read_note(&*disk.open(&note)?, &note)?;
        put_in_place(files, first, end, ending)?;
    }
    for name in disk.list(&files.folder)? {
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            disk.remove(&files.folder.join(name))?;
        }
    }
    Ok(())
}

fn read_note(file: &dyn DiskFile, path: &Path) -> Result<(u32, u32, &'static str), StoreError> {
    let mut buffer = [0; 64];
    let count = file.read_at(0, &mut buffer)?;
    let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let mut words = text.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
    let (first, end) = (number(), number());
    let ending =
        words.next().and_then(|word| [name::GZIP, name::ZSTD].into_iter().find(|known| *known == word));
    match (first, end, ending) {
        (Some(first), Some(end), Some(ending)) if first < end && end <= Place::GREATEST_SILO + 1 => {
            Ok((first, end, ending))
        }
        _ => {
            let source =
                std::io::Error::new(std::io::ErrorKind::InvalidData, "not a note of unfinished segments");
            Err(DiskError::new(Operation::Read, path, source).into())
        }
    }
}
