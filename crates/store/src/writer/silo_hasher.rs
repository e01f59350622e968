//! Hashes the open silo while it grows.
//!
//! The next silo begins with the digest of its predecessor, and the thread that begins it holds the
//! lock of all writers. So hashing starts when the silo is half full: after each append a thread
//! hashes some more without the lock, and only the last bytes remain when the silo is sealed. A
//! silo that is never filled costs nothing.
//!
//! Hashing ahead may fail or fall behind; the missing bytes are then read when the digest is
//! needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use varve_warc::Error;
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_wire::ReadAt;

use crate::error::StoreError;
use crate::silo::{SiloError, SiloFiles};

/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 1 << 20;
/// Bytes to hash for each appended byte, so that half a silo of appends suffices to hash all of it.
const BYTES_HASHED_PER_BYTE_APPENDED: u64 = 8;
/// Minimum number of bytes that is worth opening the file.
const MIN_ADVANCE_BYTES: u64 = 8 << 20;
/// Maximum number of bytes that is hashed while writers wait.
const MAX_BLOCKING_BYTES: u64 = 32 << 20;

/// Hashes one silo at a time.
#[derive(Default)]
pub(crate) struct SiloHasher {
    work: Mutex<Option<HashedPrefix>>,
    /// The silo being hashed, and the hashed length.
    reached: Mutex<(u32, u64)>,
    /// Bytes to hash soon.
    owed: AtomicU64,
    /// The silo whose digest was computed last.
    finished: Mutex<Option<(u32, Digest)>>,
}

struct HashedPrefix {
    silo: u32,
    hasher: Hasher,
    offset: u64,
}

impl SiloHasher {
    /// Continues with a silo whose first `offset` bytes are in `hasher`.
    pub(crate) fn resume_from(&self, silo: u32, hasher: Hasher, offset: u64) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(HashedPrefix { silo, hasher, offset });
        self.set_reached(silo, offset);
    }

    /// Records that `length` bytes were appended. Returns how many bytes to hash now, if any.
    pub(crate) fn bytes_due(&self, length: u64) -> Option<u64> {
        let owed = self.owed.fetch_add(length * BYTES_HASHED_PER_BYTE_APPENDED, Ordering::Relaxed)
            + length * BYTES_HASHED_PER_BYTE_APPENDED;
        (owed >= MIN_ADVANCE_BYTES).then(|| self.owed.swap(0, Ordering::Relaxed))
    }

    /// Whether more bytes remain to be hashed than a writer should wait for.
    pub(crate) fn is_far_behind(&self, silo: u32, length: u64) -> bool {
        let (followed, offset) = *self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = if followed == silo { offset } else { 0 };
        length.saturating_sub(offset) > MAX_BLOCKING_BYTES
    }

    /// Hashes at most `most` more bytes, up to `until`, where complete records end. Does nothing if
    /// another thread is hashing or the silo cannot be read.
    pub(crate) fn advance(&self, files: &SiloFiles, silo: u32, until: u64, most: u64) {
        let Ok(mut work) = self.work.try_lock() else { return };
        let mut followed = match work.take() {
            Some(followed) if followed.silo == silo => followed,
            _ => HashedPrefix::begin(silo),
        };
        let until = until.min(followed.offset.saturating_add(most));
        let read =
            files.open(silo).map_err(StoreError::from).and_then(|source| followed.read(&*source, until));
        if read.is_ok() {
            self.set_reached(silo, followed.offset);
            *work = Some(followed);
        }
    }

    /// The digest of a sealed silo; `None` when it is missing.
    pub(crate) fn finish(&self, files: &SiloFiles, silo: u32) -> Result<Option<Digest>, StoreError> {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = finished.filter(|(hashed, _)| *hashed == silo) {
            return Ok(Some(digest));
        }
        let source = match files.open(silo) {
            Ok(source) => source,
            Err(SiloError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let followed = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut followed =
            followed.filter(|followed| followed.silo == silo).unwrap_or_else(|| HashedPrefix::begin(silo));
        followed.read(&*source, u64::MAX)?;
        let digest = followed.hasher.finish();
        *finished = Some((silo, digest));
        Ok(Some(digest))
    }

    fn set_reached(&self, silo: u32, offset: u64) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = (silo, offset);
    }
}

impl HashedPrefix {
    fn begin(silo: u32) -> Self {
        Self { silo, hasher: Algorithm::Sha256.hasher(), offset: 0 }
    }

    fn read(&mut self, source: &dyn ReadAt, until: u64) -> Result<(), StoreError> {
        let mut buffer = vec![0; READ_CHUNK_BYTES];
        while self.offset < until {
            let most = usize::try_from(until - self.offset).unwrap_or(READ_CHUNK_BYTES).min(READ_CHUNK_BYTES);
            let offset = self.offset;
            let failed = |source| StoreError::read(self.silo, Error::Io { offset, source });
            let count = source.read_at(&mut buffer[..most], offset).map_err(failed)?;
            if count == 0 {
                break;
            }
            self.hasher.update(&buffer[..count]);
            self.offset += count as u64;
        }
        Ok(())
    }
}
