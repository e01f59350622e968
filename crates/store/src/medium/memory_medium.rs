//! Memory as a medium, for tests and for archives that nobody needs tomorrow.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_wire::ReadAt;

use super::{Listed, Medium, MediumError, checked};

/// Objects in memory.
#[derive(Default)]
pub struct MemoryMedium {
    objects: Mutex<BTreeMap<String, Arc<Vec<u8>>>>,
}

impl MemoryMedium {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Vec<u8>>>> {
        // A map of finished objects is whole whoever panicked while holding it.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Medium for MemoryMedium {
    fn put(&self, name: &str, content: &mut dyn Read) -> Result<(), MediumError> {
        checked(name)?;
        let mut bytes = Vec::new();
        content
            .read_to_end(&mut bytes)
            .map_err(|source| MediumError::Io { name: name.to_owned(), source })?;
        let mut objects = self.objects();
        if objects.contains_key(name) {
            return Err(MediumError::Taken { name: name.to_owned() });
        }
        objects.insert(name.to_owned(), Arc::new(bytes));
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError> {
        let object = self.objects().get(name).cloned();
        object
            .map(|bytes| bytes as Arc<dyn ReadAt>)
            .ok_or_else(|| MediumError::Absent { name: name.to_owned() })
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, MediumError> {
        let objects = self.objects();
        let listed = |(name, bytes): (&String, &Arc<Vec<u8>>)| Listed {
            name: name.clone(),
            length: bytes.len() as u64,
        };
        Ok(objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(listed).collect())
    }
}
