//! Where the bytes of an answer are put down: in memory, and past a threshold in a file without a
//! name.
//!
//! A file that was never given a name, or has lost it, is gone when the process ends, also after a
//! crash. Pieces go to it on threads that may block, so that a slow disk does not hold up other
//! exchanges; one piece is under way at a time, so memory stays within the threshold for a response
//! of any size.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use varve_wire::MessageBytes;

use crate::budget::ByteBudget;

/// Takes in an answer.
pub(crate) struct ResponseSpool {
    memory: Vec<u8>,
    file: Option<File>,
    /// How many bytes the file holds.
    in_file: u64,
    threshold: usize,
    folder: Arc<Path>,
    /// How many bytes may still be taken in.
    room: u64,
    /// How many may be by all answers together, if that is limited.
    budget: Option<ByteBudget>,
    /// Whether nothing came yet. What comes first is the head of the answer, by itself, and is
    /// taken in though the budget is spent.
    begins: bool,
    /// Whether something came that was not taken in.
    overflowed: bool,
}

impl ResponseSpool {
    /// Puts answers past `threshold` bytes down in `folder`, and takes `most` bytes in all.
    pub(crate) fn new(folder: Arc<Path>, threshold: usize, most: u64) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            in_file: 0,
            threshold,
            folder,
            room: most,
            budget: None,
            begins: true,
            overflowed: false,
        }
    }

    /// With a budget that it shares with others.
    pub(crate) fn within(mut self, budget: Option<ByteBudget>) -> Self {
        self.budget = budget;
        self
    }

    /// Reserves memory for the expected number of bytes.
    pub(crate) fn expect(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes.min(self.room)).unwrap_or(usize::MAX);
        self.memory.reserve_exact(bytes.min(self.threshold));
    }

    /// Takes in bytes, as many as there is room for.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        let mut count = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let granted = self.budget.as_ref().map(|budget| budget.take(count));
        if let Some(granted) = granted.filter(|_| !self.begins) {
            count = granted;
        }
        self.begins = false;
        self.overflowed |= count < bytes.len();
        self.memory.extend_from_slice(&bytes[..count]);
        self.room -= count as u64;
    }

    /// Whether nothing more will be taken in.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0 || (!self.begins && self.budget.as_ref().is_some_and(ByteBudget::is_spent))
    }

    /// Whether something came for which there was no room: what was taken in is not all, even where
    /// the server has nothing more to say.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Moves what was taken in to the file, if it has grown past the threshold.
    pub(crate) async fn settle(&mut self) -> io::Result<()> {
        if self.memory.len() > self.threshold { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let file = self.file.take();
        let folder = Arc::clone(&self.folder);
        let mut memory = std::mem::take(&mut self.memory);
        let writing = tokio::task::spawn_blocking(move || {
            let mut file = file.map_or_else(|| tempfile::tempfile_in(&folder), Ok)?;
            file.write_all(&memory)?;
            let count = memory.len() as u64;
            memory.clear();
            io::Result::Ok((file, memory, count))
        });
        let (file, memory, count) = writing.await.map_err(io::Error::other)??;
        self.file = Some(file);
        self.memory = memory;
        self.in_file += count;
        Ok(())
    }

    /// The answer.
    pub(crate) async fn into_message(mut self) -> io::Result<MessageBytes> {
        if self.file.is_some() && !self.memory.is_empty() {
            self.flush().await?;
        }
        Ok(match self.file {
            Some(file) => MessageBytes::from_source(file, self.in_file),
            None => {
                self.memory.shrink_to_fit();
                MessageBytes::from(self.memory)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    async fn spooled(pieces: &[&[u8]], threshold: usize, most: u64) -> (MessageBytes, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = ResponseSpool::new(folder.path().into(), threshold, most);
        for piece in pieces {
            spool.keep(piece);
            spool.settle().await.unwrap();
        }
        (spool.into_message().await.unwrap(), folder)
    }

    fn read_all(wire: &MessageBytes) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire.reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn short_answers_stay_in_memory_and_long_ones_leave_no_name() {
        let (short, _folder) = spooled(&[b"abc", b"def"], 6, 100).await;
        assert_eq!(short.in_memory(), Some(&b"abcdef"[..]));
        let (long, folder) = spooled(&[b"abc", b"def", b"ghi", b"j"], 5, 100).await;
        assert_eq!((long.in_memory(), long.len()), (None, 10));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for _ in 0..2 {
            assert_eq!(read_all(&long), b"abcdefghij");
        }
    }

    #[tokio::test]
    async fn a_budget_is_shared_and_heads_are_whole() {
        let (folder, budget) = (tempfile::tempdir().unwrap(), ByteBudget::new(6));
        let spool = || ResponseSpool::new(folder.path().into(), 100, 100).within(Some(budget.clone()));
        let (mut one, mut other) = (spool(), spool());
        one.keep(b"head");
        other.keep(b"head");
        assert!(one.is_full() && other.is_full());
        one.keep(b"body");
        assert_eq!(read_all(&one.into_message().await.unwrap()), b"head");
        assert_eq!(read_all(&other.into_message().await.unwrap()), b"head");
    }

    #[tokio::test]
    async fn no_more_is_taken_in_than_there_is_room_for() {
        let (wire, _folder) = spooled(&[b"abc", b"def", b"ghi"], 100, 7).await;
        assert_eq!(read_all(&wire), b"abcdefg");
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_an_error() {
        let mut spool = ResponseSpool::new(Path::new("/nowhere/at/all").into(), 1, 100);
        spool.keep(b"abc");
        assert!(spool.settle().await.is_err());
    }
}
