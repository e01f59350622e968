//! Loose bodies: one file per body, named by its SHA-256, in a folder named by the first two
//! digits.
//!
//! The layout of Moku sites: `blobs/ab/abcd…`. A body is written under a temporary name, synced and
//! renamed. So a file under its final name is complete, and concurrent writers of one body both
//! succeed. The folders of new names are synced together, each once, by
//! [`sync_bodies`](BodyStore::sync_bodies). A body that was damaged later is replaced when it is kept
//! again.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use varve_core::BodyId;
use varve_core::body::{BodyError, BodySource, BodyStore, StoredBody};
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_wire::ReadAtCursor;

use super::verified_body::VerifiedBody;
use crate::disk::{Disk, DiskError, DiskFile, FileSource};
use crate::record::body_of_digest;

/// Bytes copied at a time.
const COPY_CHUNK_BYTES: usize = 64 << 10;
/// The name prefix of a body that is not complete yet.
pub(super) const UNFINISHED_PREFIX: &str = "unfinished-";

/// Bodies as files below a folder.
pub struct LooseBodies {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// Distinguishes the unfinished bodies of one process.
    counter: AtomicU64,
    /// Distinguishes processes.
    process: u32,
    /// The folders with names that may not survive a power cut yet.
    unsynced_folders: Mutex<BTreeSet<PathBuf>>,
}

impl LooseBodies {
    /// Uses `folder`, which is created with the first body.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Self {
        let (counter, process) = (AtomicU64::new(0), std::process::id());
        Self { disk, folder, counter, process, unsynced_folders: Mutex::default() }
    }

    /// The path of a body.
    pub fn path(&self, id: &BodyId) -> PathBuf {
        let hex = id.to_string();
        self.folder.join(&hex[..2]).join(hex)
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn write(&self, path: &Path, content: &mut dyn Read) -> Result<(Digest, u64), BodyError> {
        let file = self.disk.create_new(path).map_err(BodyError::new)?;
        let mut hasher = Algorithm::Sha256.hasher();
        let mut buffer = vec![0; COPY_CHUNK_BYTES];
        let mut length = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(BodyError::new)?,
            };
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            file.write_at(&buffer[..count], length).map_err(BodyError::new)?;
            length += count as u64;
        }
        file.sync().map_err(BodyError::new)?;
        Ok((hasher.finish(), length))
    }

    /// Stores content that can be read twice. Content that is stored and intact costs no write and
    /// no sync: only its digest is computed.
    pub fn keep_seekable(&self, content: &mut (impl Read + Seek)) -> Result<StoredBody, BodyError> {
        let start = content.stream_position().map_err(BodyError::new)?;
        let mut hasher = DigestWriter { hasher: Algorithm::Sha256.hasher() };
        let length = io::copy(content, &mut hasher).map_err(BodyError::new)?;
        let id = body_of_digest(&hasher.hasher.finish()).expect("this digest is a SHA-256");
        if self.is_whole(&id, length).map_err(BodyError::new)? {
            return Ok(StoredBody { id, length, new: false });
        }
        content.seek(io::SeekFrom::Start(start)).map_err(BodyError::new)?;
        self.keep_body(content)
    }

    /// Opens a body of at most `length` bytes; `None` if it is not stored. A longer file is damaged,
    /// and is not read: it may be of any length.
    pub fn open_body_within(
        &self,
        id: &BodyId,
        length: u64,
    ) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        let Some(file) = self.open_file(id)? else { return Ok(None) };
        let found = file.length().map_err(BodyError::new)?;
        if found > length {
            return Err(BodyError::new(too_long_body(id, found, length)));
        }
        // The file may grow now. One byte more than the length does not match the digest.
        let bytes = ReadAtCursor::new(FileSource::new(file), 0).take(length.saturating_add(1));
        Ok(Some(Box::new(VerifiedBody::new(bytes, *id))))
    }

    fn open_file(&self, id: &BodyId) -> Result<Option<Box<dyn DiskFile>>, BodyError> {
        match self.disk.open(&self.path(id)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(BodyError::new(error)),
        }
    }

    /// Whether each body is stored with its length. Reads none of them.
    pub fn have_lengths(&self, bodies: &[(BodyId, u64)]) -> Result<Vec<bool>, BodyError> {
        let has = |(id, length): &(BodyId, u64)| {
            let found = self.disk.stat(&self.path(id)).map_err(BodyError::new)?;
            Ok(found.is_some_and(|found| !found.folder && found.length == *length))
        };
        bodies.iter().map(has).collect()
    }

    /// Whether a body is stored and intact. An unreadable body counts as damaged.
    fn is_whole(&self, id: &BodyId, length: u64) -> Result<bool, DiskError> {
        match self.disk.stat(&self.path(id))? {
            Some(found) if found.length == length => {}
            _ => return Ok(false),
        }
        let read = |mut body| io::copy(&mut body, &mut io::sink());
        Ok(matches!(self.open_body(id).map(|body| body.map(read)), Ok(Some(Ok(_)))))
    }

    /// Renames a finished body into place unless an intact copy is there. Returns whether it
    /// renamed.
    fn put_in_place(&self, unfinished: &Path, id: &BodyId, length: u64) -> Result<bool, DiskError> {
        let path = self.path(id);
        if self.is_whole(id, length)? {
            self.disk.remove(unfinished)?;
            return Ok(false);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        self.disk.make_folders(folder)?;
        self.disk.rename(unfinished, &path)?;
        let mut unsynced = self.unsynced_folders.lock().unwrap_or_else(PoisonError::into_inner);
        unsynced.insert(folder.to_owned());
        Ok(true)
    }
}

/// What is wrong with a body that is longer than its recorded length.
pub fn too_long_body(id: &BodyId, length: u64, recorded: u64) -> String {
    format!("body {id} is damaged: it has {length} bytes, and {recorded} were recorded")
}

/// Computes the digest of what is written.
struct DigestWriter {
    hasher: Hasher,
}

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BodySource for LooseBodies {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        let Some(file) = self.open_file(id)? else { return Ok(None) };
        let bytes = ReadAtCursor::new(FileSource::new(file), 0);
        Ok(Some(Box::new(VerifiedBody::new(bytes, *id))))
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        ids.iter().map(|id| Ok(self.disk.stat(&self.path(id)).map_err(BodyError::new)?.is_some())).collect()
    }
}

impl BodyStore for LooseBodies {
    fn keep_body(&self, content: &mut dyn Read) -> Result<StoredBody, BodyError> {
        self.disk.make_folders(&self.folder).map_err(BodyError::new)?;
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{UNFINISHED_PREFIX}{}-{number}", self.process));
        let written = self.write(&unfinished, content);
        let (digest, length) = match written {
            Ok(written) => written,
            Err(error) => {
                // The first error is reported; `gc` removes a leftover file.
                let _ = self.disk.remove(&unfinished);
                return Err(error);
            }
        };
        let id = body_of_digest(&digest).expect("the digest of written content is a SHA-256");
        let new = self.put_in_place(&unfinished, &id, length).map_err(BodyError::new)?;
        Ok(StoredBody { id, length, new })
    }

    /// Syncs the folders of new names; `keep_body` has synced the content. A folder whose sync fails
    /// stays in the list.
    fn sync_bodies(&self) -> Result<(), BodyError> {
        let mut unsynced = self.unsynced_folders.lock().unwrap_or_else(PoisonError::into_inner);
        if unsynced.is_empty() {
            return Ok(());
        }
        // The folders themselves may be new.
        self.disk.sync_folder(&self.folder).map_err(BodyError::new)?;
        while let Some(folder) = unsynced.first() {
            self.disk.sync_folder(folder).map_err(BodyError::new)?;
            unsynced.pop_first();
        }
        Ok(())
    }
}
