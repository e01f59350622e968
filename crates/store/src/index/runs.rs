//! Sorting more entries than fit in memory: sorted runs in files, merged later.
//!
//! Runs are unfinished business by name and by nature. They have no header and no checksum, because they never outlive
//! the process that wrote them.

use std::path::{Path, PathBuf};

use super::entry::{ENTRY_SIZE, Entry};
use super::error::IndexError;
use super::merge::{Merge, Stream};
use super::names;
use super::writer::remove;
use crate::disk::{Disk, DiskFile};

/// Runs that are read at once; more are first merged into longer ones.
const FAN_IN: usize = 64;
/// Bytes read or written at a time.
const BUFFER: usize = 1 << 18;

/// Sorted runs of entries.
pub(super) struct Runs<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    runs: Vec<Run>,
    made: u64,
}

struct Run {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    length: u64,
}

impl<'a> Runs<'a> {
    pub(super) fn new(disk: &'a dyn Disk, folder: &'a Path) -> Self {
        Self { disk, folder, runs: Vec::new(), made: 0 }
    }

    /// Writes entries, which need not be in order, as a new run, and empties the buffer.
    pub(super) fn add(&mut self, entries: &mut Vec<Entry>) -> Result<(), IndexError> {
        entries.sort_unstable();
        let run = self.write(entries.iter().copied().map(Ok))?;
        entries.clear();
        self.made += 1;
        self.runs.push(run);
        if self.runs.len() >= FAN_IN { self.join() } else { Ok(()) }
    }

    /// Makes one run of all.
    fn join(&mut self) -> Result<(), IndexError> {
        let joined = self.write(self.entries())?;
        self.made += 1;
        let old = std::mem::replace(&mut self.runs, vec![joined]);
        old.iter().try_for_each(|run| remove(self.disk, &run.path))
    }

    /// All entries of all runs, in order, each once.
    pub(super) fn entries(&self) -> Merge<'_> {
        let stream =
            |run| -> Stream<'_> { Box::new(RunStream { run, buffer: Vec::new(), offset: 0, next: 0 }) };
        Merge::new(self.runs.iter().map(stream).collect())
    }

    /// Removes the files.
    pub(super) fn clear(&mut self) -> Result<(), IndexError> {
        self.runs.drain(..).try_for_each(|run| remove(self.disk, &run.path))
    }

    fn write(&self, entries: impl Iterator<Item = Result<Entry, IndexError>>) -> Result<Run, IndexError> {
        let path = self.folder.join(names::unfinished(&format_args!("run-{}", self.made)));
        let mut run = Run { file: self.disk.create_new(&path)?, path, length: 0 };
        let mut buffer = Vec::with_capacity(BUFFER);
        for entry in entries {
            buffer.extend_from_slice(&entry?.to_bytes());
            if buffer.len() == BUFFER {
                run.push(&mut buffer)?;
            }
        }
        run.push(&mut buffer)?;
        Ok(run)
    }
}

impl Run {
    fn push(&mut self, buffer: &mut Vec<u8>) -> Result<(), IndexError> {
        self.file.write_at(self.length, buffer)?;
        self.length += buffer.len() as u64;
        buffer.clear();
        Ok(())
    }
}

struct RunStream<'a> {
    run: &'a Run,
    buffer: Vec<u8>,
    /// Where the next bufferful stands.
    offset: u64,
    next: usize,
}

impl RunStream<'_> {
    fn fill(&mut self) -> Result<(), IndexError> {
        let left = self.run.length - self.offset;
        self.buffer.resize(left.min(BUFFER as u64) as usize, 0);
        let read = self.run.file.read_at(self.offset, &mut self.buffer)?;
        if read < self.buffer.len() {
            let what = "a file for sorting lost its end";
            return Err(IndexError::damaged(&self.run.path, self.offset + read as u64, what));
        }
        self.offset += read as u64;
        self.next = 0;
        Ok(())
    }
}

impl Iterator for RunStream<'_> {
    type Item = Result<Entry, IndexError>;

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
        Some(Ok(Entry::from_bytes(bytes)))
    }
}
