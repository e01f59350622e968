//! The digest of the silo that grows, taken as it grows.
//!
//! The next silo begins with the digest of the one before, and whoever begins it holds what all writers wait for. So the
//! digest follows the silo, from when it is half full: each writer that has appended reads on a little, while nothing is
//! locked, and only the last bytes are left when the silo is sealed. A silo that is never filled costs nothing.
//!
//! Following can fail or fall behind, and nothing depends on it: what is missing is read when it is needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use varve_warc::Error;
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::source::ReadAt;

use crate::error::StoreError;
use crate::silo::{SiloError, SiloFiles};

/// So many bytes are read at a time.
const STEP: usize = 1 << 20;
/// For each byte appended so many are read, so that half a silo of appending is enough to read all of it, and to spare.
const PACE: u64 = 8;
/// Less than this is not worth opening a file.
const LEAST: u64 = 8 << 20;
/// More than this is not read while writers wait.
const MOST_BEHIND: u64 = 32 << 20;

/// Follows one silo at a time.
#[derive(Default)]
pub(crate) struct Follower {
    work: Mutex<Option<Followed>>,
    /// The silo that is followed, and how far.
    reached: Mutex<(u32, u64)>,
    /// Bytes that are to be read before long.
    owed: AtomicU64,
}

struct Followed {
    silo: u32,
    hasher: Hasher,
    offset: u64,
}

impl Follower {
    /// Goes on with a silo of which the first `offset` bytes were hashed.
    pub(crate) fn take_up(&self, silo: u32, hasher: Hasher, offset: u64) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(Followed { silo, hasher, offset });
        self.note(silo, offset);
    }

    /// After `length` bytes were appended: how many should be read now, if any.
    pub(crate) fn due(&self, length: u64) -> Option<u64> {
        let owed = self.owed.fetch_add(length * PACE, Ordering::Relaxed) + length * PACE;
        (owed >= LEAST).then(|| self.owed.swap(0, Ordering::Relaxed))
    }

    /// Whether so much of a silo of that length is still to be read that nobody should wait for it.
    pub(crate) fn is_far_behind(&self, silo: u32, length: u64) -> bool {
        let (followed, offset) = *self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = if followed == silo { offset } else { 0 };
        length.saturating_sub(offset) > MOST_BEHIND
    }

    /// Reads on, at most `most` bytes and not beyond `until`, where whole records end. If another is at it, or it cannot
    /// be read, nothing happens.
    pub(crate) fn follow(&self, files: &SiloFiles, silo: u32, until: u64, most: u64) {
        let Ok(mut work) = self.work.try_lock() else { return };
        let mut followed = match work.take() {
            Some(followed) if followed.silo == silo => followed,
            _ => Followed::begin(silo),
        };
        let until = until.min(followed.offset.saturating_add(most));
        let read =
            files.open(silo).map_err(StoreError::from).and_then(|source| followed.read(&*source, until));
        if read.is_ok() {
            self.note(silo, followed.offset);
            *work = Some(followed);
        }
    }

    /// The digest of a sealed silo; none when it is not here.
    pub(crate) fn finish(&self, files: &SiloFiles, silo: u32) -> Result<Option<Digest>, StoreError> {
        let source = match files.open(silo) {
            Ok(source) => source,
            Err(SiloError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let followed = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut followed =
            followed.filter(|followed| followed.silo == silo).unwrap_or_else(|| Followed::begin(silo));
        followed.read(&*source, u64::MAX)?;
        Ok(Some(followed.hasher.finish()))
    }

    fn note(&self, silo: u32, offset: u64) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = (silo, offset);
    }
}

impl Followed {
    fn begin(silo: u32) -> Self {
        Self { silo, hasher: Algorithm::Sha256.hasher(), offset: 0 }
    }

    fn read(&mut self, source: &dyn ReadAt, until: u64) -> Result<(), StoreError> {
        let mut buffer = vec![0; STEP];
        while self.offset < until {
            let most = usize::try_from(until - self.offset).unwrap_or(STEP).min(STEP);
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
