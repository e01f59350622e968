//! From a file, or anything that can be read, to an object in the store.
//!
//! A file may change while it is read. Whatever was read is what is stored, and the id is that of those bytes: never a
//! mixture of what it was and what it said it was. A file that grows is read up to the length it had when it was opened,
//! so that one that grows for ever ends, and a silo stowed into itself does too.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;

use varve_core::RecordId;
use varve_store::{BufferedObject, MAX_BUFFERED_BYTES, NewObject, StoreError, StoredObject};
use varve_warc::date::Date;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::write::Packer;

use crate::archive_writer::ArchiveWriter;
use crate::error::RepositoryError;

/// Reads are of this size.
const READ_BUFFER_BYTES: usize = 128 << 10;

/// What is said of content besides its bytes.
#[derive(Clone, Debug)]
pub struct ContentDescription {
    /// The date of the record.
    pub date: Date,
    /// Its media type.
    pub media_type: String,
    /// For metadata, what it is about.
    pub refers_to: Option<String>,
}

impl ContentDescription {
    fn new_object(&self, known: Option<Digest>) -> NewObject {
        NewObject {
            date: self.date,
            content_type: self.media_type.clone(),
            refers_to: self.refers_to.clone(),
            known,
        }
    }
}

/// Stores what can be read.
pub fn store_reader(
    writer: &ArchiveWriter,
    packer: &mut Packer,
    about: &ContentDescription,
    content: &mut dyn Read,
) -> Result<StoredObject, RepositoryError> {
    Ok(writer.store().store_reader(packer, &about.new_object(None), content)?)
}

/// Reads a small file into memory, to be stored together with others, into a buffer that may have been used before. None
/// when it is to be stored alone: it is large, or says nothing of its length, as files of the kernel's own do.
pub fn hold_file(
    about: &ContentDescription,
    (file, metadata): (&File, &Metadata),
    path: &Path,
    buffer: Vec<u8>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Result<BufferedObject, Vec<u8>>, RepositoryError> {
    let length = metadata.len();
    if !metadata.is_file() || length == 0 || length > MAX_BUFFERED_BYTES as u64 {
        return Ok(Err(buffer));
    }
    let held = BufferedObject::read(about.new_object(None), &mut file.take(length), buffer);
    let held = held.map_err(RepositoryError::read(path))?;
    progress(length);
    Ok(Ok(held))
}

/// Stores what an open file holds. `path` is for messages; `progress` hears how many more bytes were dealt with.
pub fn store_file(
    writer: &ArchiveWriter,
    packer: &mut Packer,
    about: &ContentDescription,
    (mut file, path): (&File, &Path),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<StoredObject, RepositoryError> {
    let metadata = file.metadata().map_err(RepositoryError::read(path))?;
    let length = metadata.len();
    let of_file = |error: StoreError| match error {
        StoreError::Content(source) => RepositoryError::Read { path: path.to_owned(), source },
        other => other.into(),
    };
    // Files of the kernel's own say that they are empty and are not.
    let bound = if metadata.is_file() && length > 0 { length } else { u64::MAX };
    // What the store does not hash before it packs is hashed here, so that what it has already costs no packing.
    if !metadata.is_file() || writer.store().hashes_first(length) {
        let mut content = ProgressReader { content: file.take(bound), progress };
        return writer.store().store_reader(packer, &about.new_object(None), &mut content).map_err(of_file);
    }
    let (digest, hashed) = hash(&mut file.take(bound)).map_err(RepositoryError::read(path))?;
    file.rewind().map_err(RepositoryError::read(path))?;
    let mut content = ProgressReader { content: file.take(bound), progress };
    let object = about.new_object(Some(digest));
    let stored = writer.store().store_reader(packer, &object, &mut content).map_err(of_file)?;
    if stored.length > 0 {
        return Ok(stored);
    }
    progress(hashed);
    Ok(StoredObject { length: hashed, ..stored })
}

fn hash(content: &mut dyn Read) -> io::Result<(Digest, u64)> {
    let mut hasher = Algorithm::Sha256.hasher();
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut length = 0;
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finish(), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Says how much was read.
struct ProgressReader<'a, R> {
    content: R,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        (self.progress)(count as u64);
        Ok(count)
    }
}

/// What became of content that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContent {
    /// Its id.
    pub id: RecordId,
    /// Whether it was new.
    pub new: bool,
    /// It was here already, but could not be read any more: it was written anew.
    pub mended: bool,
    /// How long it is.
    pub length: u64,
}

impl From<&StoredObject> for StoredContent {
    fn from(stored: &StoredObject) -> Self {
        let StoredObject { id, new, mended, length, .. } = *stored;
        Self { id: RecordId::new(id), new, mended, length }
    }
}
