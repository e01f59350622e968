//! Changes of versions, read from the silos before the manifests that name them.
//!
//! The manifest of a large version names records with its pages, which precede it. A reader of the
//! silos holds them until the manifest comes: in memory up to a limit, and beyond it in a temporary
//! file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use varve_core::RecordId;
use varve_core::fact::{ChangesRecord, StateChanges};

use crate::error::RepositoryError;

/// Maximum length of all records in memory.
const MAX_HELD_BYTES: usize = 8 << 20;

/// Finds changes by their record. `None` if they are not stored here.
pub type FindChanges<'a> = Box<dyn Fn(RecordId) -> Result<Option<StateChanges>, RepositoryError> + 'a>;

/// The JSON of a record.
enum HeldChanges {
    Memory(Vec<u8>),
    File { offset: u64, length: usize },
}

/// Changes that no manifest has named yet.
#[derive(Default)]
pub struct PendingChanges<'a> {
    held: HashMap<RecordId, HeldChanges>,
    bytes: usize,
    file: Option<File>,
    /// The end of the used part of the file.
    end: u64,
    /// Finds records from before the first one read, for a reader that does not start at the
    /// beginning.
    find: Option<FindChanges<'a>>,
}

impl<'a> PendingChanges<'a> {
    /// For a reader that does not start at the beginning of the silos.
    pub fn behind(find: FindChanges<'a>) -> Self {
        Self { find: Some(find), ..Self::default() }
    }

    /// Holds the JSON of changes.
    pub fn add(&mut self, record: RecordId, json: &[u8]) -> Result<(), RepositoryError> {
        let held = if self.bytes + json.len() <= MAX_HELD_BYTES {
            self.bytes += json.len();
            HeldChanges::Memory(json.to_vec())
        } else {
            self.spill(json).map_err(RepositoryError::write(&std::env::temp_dir()))?
        };
        self.held.insert(record, held);
        Ok(())
    }

    fn spill(&mut self, json: &[u8]) -> io::Result<HeldChanges> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let offset = self.end;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(json)?;
        self.end += json.len() as u64;
        Ok(HeldChanges::File { offset, length: json.len() })
    }

    /// Returns the changes in a record, and no longer holds them. `None` if they are lost.
    pub fn take(&mut self, record: RecordId) -> Result<Option<StateChanges>, RepositoryError> {
        let Some(held) = self.held.remove(&record) else {
            return self.find.as_ref().map_or(Ok(None), |find| find(record));
        };
        let json = match held {
            HeldChanges::Memory(json) => {
                self.bytes -= json.len();
                json
            }
            HeldChanges::File { offset, length } => {
                self.read_spilled(offset, length).map_err(RepositoryError::read(&std::env::temp_dir()))?
            }
        };
        if self.held.is_empty() {
            self.end = 0;
        }
        // Only JSON that was parsed before is added.
        Ok(serde_json::from_slice::<ChangesRecord>(&json).ok().map(|record| record.changes))
    }

    fn read_spilled(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let mut json = vec![0; length];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut json)?;
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::Moment;

    fn record(number: u8) -> RecordId {
        RecordId::new([number; 32])
    }

    fn changes(number: u8, length: usize) -> StateChanges {
        let url = format!("https://e.org/{number}/{}", "x".repeat(length));
        StateChanges { gone: vec![url], ..StateChanges::default() }
    }

    fn json(number: u8, length: usize) -> Vec<u8> {
        let changes = changes(number, length);
        let record = ChangesRecord { parent: None, time: Moment::from_seconds(1), part: 0, changes };
        serde_json::to_vec(&record).expect("JSON")
    }

    #[test]
    fn changes_of_any_length_are_held_until_they_are_named() {
        let mut pending = PendingChanges::default();
        let length = MAX_HELD_BYTES / 3;
        for number in 0..6 {
            pending.add(record(number), &json(number, length)).expect("room");
        }
        assert!(pending.file.is_some());
        for number in [5, 0, 3, 1, 4, 2] {
            assert_eq!(pending.take(record(number)).expect("read"), Some(changes(number, length)));
            assert_eq!(pending.take(record(number)).expect("read"), None);
        }
        assert_eq!((pending.bytes, pending.end), (0, 0));
    }

    #[test]
    fn a_reader_that_starts_later_finds_changes_from_before() {
        let find = |wanted| Ok((wanted == record(1)).then(|| changes(1, 1)));
        let mut pending = PendingChanges::behind(Box::new(find));
        assert_eq!(pending.take(record(1)).expect("read"), Some(changes(1, 1)));
        assert_eq!(pending.take(record(2)).expect("read"), None);
    }
}
