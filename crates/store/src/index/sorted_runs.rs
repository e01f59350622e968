//! External sorting: sorted runs of entries in files, merged later.
//!
//! Runs have no header and no checksum, because they never outlive the process that wrote them.

use std::path::{Path, PathBuf};

use super::entry::{ENTRY_SIZE, IndexEntry};
use super::error::IndexError;
use super::file_names;
use super::merge::{EntryStream, MergedEntries};
use super::writer::remove;
use crate::disk::{Disk, DiskFile};

/// Maximum number of runs that are read at once; more are merged first.
const MAX_OPEN_RUNS: usize = 64;
/// Bytes read or written at a time.
const RUN_BUFFER_BYTES: usize = 1 << 18;

/// Sorted runs of entries.
pub(super) struct SortedRuns<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    runs: Vec<SortedRun>,
    made: u64,
}

struct SortedRun {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    length: u64,
}

impl<'a> SortedRuns<'a> {
    pub(super) fn new(disk: &'a dyn Disk, folder: &'a Path) -> Self {
        Self { disk, folder, runs: Vec::new(), made: 0 }
    }

    /// Sorts entries, writes them as a new run and empties the buffer.
    pub(super) fn add(&mut self, entries: &mut Vec<IndexEntry>) -> Result<(), IndexError> {
        entries.sort_unstable();
        let run = self.write(entries.iter().copied().map(Ok))?;
        entries.clear();
        self.made += 1;
        self.runs.push(run);
        if self.runs.len() >= MAX_OPEN_RUNS { self.join() } else { Ok(()) }
    }

    /// Merges all runs into one.
    fn join(&mut self) -> Result<(), IndexError> {
        let joined = self.write(self.entries())?;
        self.made += 1;
        let old = std::mem::replace(&mut self.runs, vec![joined]);
        old.iter().try_for_each(|run| remove(self.disk, &run.path))
    }

    /// All entries of all runs, in order, each once.
    pub(super) fn entries(&self) -> MergedEntries<'_> {
        let stream = |run| -> EntryStream<'_> {
            Box::new(SortedRunStream { run, buffer: Vec::new(), offset: 0, next: 0 })
        };
        MergedEntries::new(self.runs.iter().map(stream).collect())
    }

    /// Removes the files.
    pub(super) fn clear(&mut self) -> Result<(), IndexError> {
        self.runs.drain(..).try_for_each(|run| remove(self.disk, &run.path))
    }

    fn write(
        &self,
        entries: impl Iterator<Item = Result<IndexEntry, IndexError>>,
    ) -> Result<SortedRun, IndexError> {
        let path = self.folder.join(file_names::unfinished(&format_args!("run-{}", self.made)));
        let mut run = SortedRun { file: self.disk.create_new(&path)?, path, length: 0 };
        let mut buffer = Vec::with_capacity(RUN_BUFFER_BYTES);
        for entry in entries {
            buffer.extend_from_slice(&entry?.to_bytes());
            if buffer.len() == RUN_BUFFER_BYTES {
                run.push(&mut buffer)?;
            }
        }
        run.push(&mut buffer)?;
        Ok(run)
    }
}

impl SortedRun {
    fn push(&mut self, buffer: &mut Vec<u8>) -> Result<(), IndexError> {
        self.file.write_at(buffer, self.length)?;
        self.length += buffer.len() as u64;
        buffer.clear();
        Ok(())
    }
}

struct SortedRunStream<'a> {
    run: &'a SortedRun,
    buffer: Vec<u8>,
    /// The offset of the next read.
    offset: u64,
    next: usize,
}

impl SortedRunStream<'_> {
    fn fill(&mut self) -> Result<(), IndexError> {
        let left = self.run.length - self.offset;
        self.buffer.resize(left.min(RUN_BUFFER_BYTES as u64) as usize, 0);
        let read = self.run.file.read_at(&mut self.buffer, self.offset)?;
        if read < self.buffer.len() {
            let what = "a file for sorting lost its end";
            return Err(IndexError::damaged(&self.run.path, self.offset + read as u64, what));
        }
        self.offset += read as u64;
        self.next = 0;
        Ok(())
    }
}

impl Iterator for SortedRunStream<'_> {
    type Item = Result<IndexEntry, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.buffer.len() {
            if self.offset == self.run.length {
                return None;
            }
            if let Err(error) = self.fill() {
                // An error ends the stream.
                (self.offset, self.next) = (self.run.length, 0);
                self.buffer.clear();
                return Some(Err(error));
            }
        }
        let bytes = self.buffer[self.next..].first_chunk::<ENTRY_SIZE>()?;
        self.next += ENTRY_SIZE;
        Some(Ok(IndexEntry::from_bytes(bytes)))
    }
}
