//! A medium in memory that counts its calls.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_store::medium::{Algorithm, Digest, Medium, MediumError, MediumObject, ReadAt, check_name};

/// The number of calls of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumCounts {
    /// Calls of `put`.
    pub puts: u64,
    /// Calls of `open`.
    pub opens: u64,
    /// Calls of `list`.
    pub lists: u64,
    /// Ranged reads of open objects.
    pub reads: u64,
}

/// Objects in memory.
#[derive(Default)]
pub struct MemoryMedium {
    objects: Mutex<BTreeMap<String, Arc<Vec<u8>>>>,
    counts: Mutex<MediumCounts>,
    reads: Arc<AtomicU64>,
}

impl MemoryMedium {
    /// An empty medium.
    pub fn new() -> Self {
        Self::default()
    }

    /// The calls since the last time.
    pub fn take_counts(&self) -> MediumCounts {
        let counts = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        MediumCounts { reads: self.reads.swap(0, Ordering::Relaxed), ..counts }
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Vec<u8>>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, add: impl FnOnce(&mut MediumCounts)) {
        add(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Medium for MemoryMedium {
    fn put(&self, name: &str, content: &mut dyn Read, checksum: &Digest) -> Result<(), MediumError> {
        self.count(|counts| counts.puts += 1);
        check_name(name)?;
        let mut bytes = Vec::new();
        let failed = |source| MediumError::Io { name: name.to_owned(), source };
        content.read_to_end(&mut bytes).map_err(failed)?;
        let mut objects = self.objects();
        if objects.contains_key(name) {
            return Err(MediumError::Taken { name: name.to_owned() });
        }
        let found = Algorithm::Sha256.digest(&bytes);
        if found != *checksum {
            let (expected, found) = (Box::new(*checksum), Box::new(found));
            return Err(MediumError::Checksum { name: name.to_owned(), expected, found });
        }
        objects.insert(name.to_owned(), Arc::new(bytes));
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError> {
        self.count(|counts| counts.opens += 1);
        let object = self.objects().get(name).cloned();
        let bytes = object.ok_or_else(|| MediumError::Absent { name: name.to_owned() })?;
        Ok(Arc::new(MemoryObject { bytes, reads: Arc::clone(&self.reads) }))
    }

    fn delete(&self, name: &str) -> Result<(), MediumError> {
        let removed = self.objects().remove(check_name(name)?);
        removed.map(drop).ok_or_else(|| MediumError::Absent { name: name.to_owned() })
    }

    fn list(&self, prefix: &str) -> Result<Vec<MediumObject>, MediumError> {
        self.count(|counts| counts.lists += 1);
        let objects = self.objects();
        let listed = |(name, bytes): (&String, &Arc<Vec<u8>>)| MediumObject {
            name: name.clone(),
            length: bytes.len() as u64,
            read_only: true,
        };
        Ok(objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(listed).collect())
    }
}

/// An open object whose reads are counted.
struct MemoryObject {
    bytes: Arc<Vec<u8>>,
    reads: Arc<AtomicU64>,
}

impl ReadAt for MemoryObject {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}
