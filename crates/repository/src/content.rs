//! Stores a file, or any other reader, as an object.
//!
//! A file may change while it is read. The object holds exactly the bytes that were read, and its
//! id is computed from those bytes. A growing file is read up to the length it had when it was
//! opened. So storing a file that never stops growing, or a silo into itself, terminates.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;

use varve_core::RecordId;
use varve_store::{BufferedObject, MAX_BUFFERED_BYTES, NewObject, StoreError, StoredObject};
use varve_warc::date::Date;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::write::{Packer, RecordUri};

use crate::archive_writer::ArchiveWriter;
use crate::error::RepositoryError;

/// Buffer size for reads.
const READ_BUFFER_BYTES: usize = 128 << 10;

/// The metadata of content.
#[derive(Clone, Debug)]
pub struct ContentDescription {
    /// The date of the record.
    pub date: Date,
    /// The media type.
    pub media_type: String,
    /// For metadata records, the record that it describes.
    pub refers_to: Option<RecordUri>,
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

/// Stores the content of a reader.
pub fn store_reader(
    writer: &ArchiveWriter,
    packer: &mut Packer,
    about: &ContentDescription,
    content: &mut dyn Read,
) -> Result<StoredObject, RepositoryError> {
    Ok(writer.store().store_reader(packer, &about.new_object(None), content)?)
}

/// Reads a small file into a reusable buffer, to be stored together with others. The inner error
/// returns the buffer unused if the file must be stored alone: it is large, or reports no length,
/// as files of the kernel do.
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

/// Stores the content of an open file. `path` is for messages; `progress` receives the number of
/// bytes processed since the last call.
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
    // Files of the kernel report a length of zero but have content.
    let bound = if metadata.is_file() && length > 0 { length } else { u64::MAX };
    // Content that the store does not hash before packing is hashed here, so that content already
    // stored is not packed.
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

/// Reports the number of bytes read.
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

/// The result of storing content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContent {
    /// The id.
    pub id: RecordId,
    /// Whether the content was new.
    pub new: bool,
    /// The content was stored already but unreadable, and was written again.
    pub mended: bool,
    /// The length in bytes.
    pub length: u64,
}

impl From<&StoredObject> for StoredContent {
    fn from(stored: &StoredObject) -> Self {
        let StoredObject { id, new, mended, length, .. } = *stored;
        Self { id, new, mended, length }
    }
}
