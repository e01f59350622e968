//! The file of the cache: entries in the order of names, then what they belong to, then a checksum.
//!
//! It is read and written front to back, so a folder of a million files costs no memory. The checksum
//! is verified before the first entry is used: what a power cut left is no cache.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use varve_core::BodyId;
use varve_file::RootedFiles;

use super::{FileStamp, SeenCommit, SeenFile};
use crate::atomic_replace::{create, unfinished};

/// Version number of the format.
const FORMAT_NUMBER: u32 = 3;
/// Maximum length of a name in bytes; that of a path on Linux.
const MAX_NAME_BYTES: usize = 4096;
/// Maximum length of the description in bytes.
const MAX_ABOUT_BYTES: u64 = 1 << 20;
/// Length of the end of the file: length of the description, checksum.
const END_BYTES: u64 = 8;
/// Length of the numbers of a stamp in bytes.
const STAMP_BYTES: usize = 56;
const ID_BYTES: usize = 32;
const BUFFER_BYTES: usize = 64 << 10;

/// What the entries belong to.
#[derive(Serialize, Deserialize)]
pub(super) struct AboutCache {
    format: u32,
    pub(super) folder: PathBuf,
    pub(super) commit: SeenCommit,
}

impl AboutCache {
    pub(super) fn new(folder: PathBuf, commit: SeenCommit) -> Self {
        Self { format: FORMAT_NUMBER, folder, commit }
    }
}

/// Reads the entries of a cache, in order.
pub(super) struct CacheReader {
    entries: io::Take<BufReader<File>>,
    /// The next entry.
    next: Option<SeenFile>,
}

impl CacheReader {
    /// Opens a cache. `None` if there is none, or none that is whole.
    pub(super) fn open(files: &RootedFiles, path: &Path) -> Option<(Self, AboutCache)> {
        Self::open_file(files.open_to_read(path).ok()?).ok()?
    }

    fn open_file(mut file: File) -> io::Result<Option<(Self, AboutCache)>> {
        let length = file.metadata()?.len();
        let Some(place) = length.checked_sub(END_BYTES) else { return Ok(None) };
        file.seek(SeekFrom::Start(place))?;
        let mut end = [0; END_BYTES as usize];
        file.read_exact(&mut end)?;
        let about_length = u64::from(u32_of(&end[..4]));
        if about_length > place.min(MAX_ABOUT_BYTES) || checksum_of(&file, place + 4)? != u32_of(&end[4..]) {
            return Ok(None);
        }
        let entries_length = place - about_length;
        file.seek(SeekFrom::Start(entries_length))?;
        let mut about = Vec::new();
        (&file).take(about_length).read_to_end(&mut about)?;
        let Ok(about) = serde_json::from_slice::<AboutCache>(&about) else { return Ok(None) };
        if about.format != FORMAT_NUMBER {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(0))?;
        let entries = BufReader::with_capacity(BUFFER_BYTES, file).take(entries_length);
        let mut reader = Self { entries, next: None };
        reader.next = reader.read();
        Ok(Some((reader, about)))
    }

    /// The next entry, if it is before `name`, or `name` is `None`.
    pub(super) fn next_before(&mut self, name: Option<&Path>) -> Option<SeenFile> {
        let is_before = |next: &SeenFile| name.is_none_or(|name| next.name.as_path() < name);
        self.take_if(is_before)
    }

    /// The next entry, if it has this name.
    pub(super) fn next_with(&mut self, name: &Path) -> Option<SeenFile> {
        self.take_if(|next| next.name == name)
    }

    fn take_if(&mut self, condition: impl FnOnce(&SeenFile) -> bool) -> Option<SeenFile> {
        if !self.next.as_ref().is_some_and(condition) {
            return None;
        }
        let following = self.read();
        std::mem::replace(&mut self.next, following)
    }

    /// The entries were verified, so a failure can only be one of the disk: the rest is not known.
    fn read(&mut self) -> Option<SeenFile> {
        let mut length = [0; 4];
        self.entries.read_exact(&mut length).ok()?;
        let length = u32_of(&length) as usize;
        if length > MAX_NAME_BYTES {
            return None;
        }
        let mut name = vec![0; length];
        self.entries.read_exact(&mut name).ok()?;
        let mut is_stored = [0];
        self.entries.read_exact(&mut is_stored).ok()?;
        let stored = match is_stored {
            [0] => None,
            _ => {
                let mut numbers = [0; STAMP_BYTES + ID_BYTES];
                self.entries.read_exact(&mut numbers).ok()?;
                let (stamp, body) = numbers.split_at(STAMP_BYTES);
                Some((stamp_of(stamp), BodyId::new(body.try_into().ok()?)))
            }
        };
        Some(SeenFile { name: std::ffi::OsString::from_vec(name).into(), stored })
    }
}

/// The checksum of the beginning of a file.
fn checksum_of(mut file: &File, length: u64) -> io::Result<u32> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = crc32fast::Hasher::new();
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.take(length));
    loop {
        let bytes = io::BufRead::fill_buf(&mut reader)?;
        if bytes.is_empty() {
            return Ok(hasher.finalize());
        }
        hasher.update(bytes);
        let count = bytes.len();
        io::BufRead::consume(&mut reader, count);
    }
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

fn stamp_of(bytes: &[u8]) -> FileStamp {
    let mut numbers = bytes.chunks_exact(8).map(|bytes| bytes.try_into().map_or(0, i64::from_le_bytes));
    let mut next = || numbers.next().unwrap_or_default();
    let length = next().cast_unsigned();
    let times = [(next(), next()), (next(), next())];
    FileStamp(length, times[0], times[1], next().cast_unsigned(), next().cast_unsigned())
}

/// Writes the entries of a new cache, in the order of names. It replaces the old one when it is
/// complete.
pub(super) struct CacheWriter {
    files: RootedFiles,
    path: PathBuf,
    file: BufWriter<File>,
    checksum: crc32fast::Hasher,
    buffer: Vec<u8>,
    is_published: bool,
}

impl CacheWriter {
    pub(super) fn begin(files: RootedFiles, path: PathBuf) -> io::Result<Self> {
        let file = create(&files, &unfinished(&path))?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let checksum = crc32fast::Hasher::new();
        Ok(Self { files, path, file, checksum, buffer: Vec::new(), is_published: false })
    }

    pub(super) fn add(&mut self, seen: &SeenFile) -> io::Result<()> {
        let name: &OsStr = seen.name.as_os_str();
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        self.buffer.clear();
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.push(u8::from(seen.stored.is_some()));
        if let Some((FileStamp(length, written, changed, inode, device), body)) = &seen.stored {
            let [length, inode, device] = [length, inode, device].map(|number| number.cast_signed());
            for number in [length, written.0, written.1, changed.0, changed.1, inode, device] {
                self.buffer.extend_from_slice(&number.to_le_bytes());
            }
            self.buffer.extend_from_slice(body.as_bytes());
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.checksum.update(&self.buffer);
        self.file.write_all(&self.buffer)
    }

    /// Puts the file in the place of the old one. A power cut may leave a part of it, which does not
    /// have its checksum.
    pub(super) fn publish(mut self, about: &AboutCache) -> io::Result<()> {
        self.buffer = serde_json::to_vec(about)?;
        let length = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.write()?;
        let checksum = self.checksum.clone().finalize();
        self.file.write_all(&checksum.to_le_bytes())?;
        self.file.flush()?;
        self.files.rename(&unfinished(&self.path), &self.path)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for CacheWriter {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = self.files.remove(&unfinished(&self.path));
        }
    }
}
