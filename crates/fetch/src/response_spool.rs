//! Holds the bytes of a response: in memory, and above a threshold in a file without a name.
//!
//! A file without a name is gone when the process ends, also after a crash. It is written on
//! blocking threads, so that a slow disk does not delay other exchanges. One write is in flight at
//! a time, so memory stays within the threshold for a response of any size.

use std::fs::File;
use std::io::{self, Write};

use varve_file::TemporaryFolder;
use varve_wire::{MessageBytes, TruncationReason};

use crate::budget::ByteBudget;
use crate::response_tap::{OpenTap, ResponseTap};

/// A response that is being received.
pub(crate) struct ResponseSpool {
    memory: Vec<u8>,
    file: Option<File>,
    file_bytes: u64,
    threshold: usize,
    folder: TemporaryFolder,
    /// How many more bytes are accepted.
    room: u64,
    /// The limit on all responses together, if there is one.
    budget: Option<ByteBudget>,
    /// Whether nothing was received yet. The first bytes are the head of the response, which is
    /// accepted even if the budget is spent.
    begins: bool,
    /// Whether bytes were received that were not accepted.
    overflowed: bool,
    /// Who else receives the response.
    tap: Option<OpenTap>,
}

impl ResponseSpool {
    /// Accepts `max_bytes`, and moves responses above `threshold` bytes to a file in `folder`.
    pub(crate) fn new(
        folder: TemporaryFolder,
        threshold: usize,
        max_bytes: u64,
        budget: Option<ByteBudget>,
    ) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            file_bytes: 0,
            threshold,
            folder,
            room: max_bytes,
            budget,
            begins: true,
            overflowed: false,
            tap: None,
        }
    }

    /// Passes the accepted bytes on as well.
    #[must_use]
    pub(crate) fn with_tap(mut self, tap: Option<ResponseTap>) -> Self {
        self.tap = tap.map(OpenTap::new);
        self
    }

    /// Reserves memory for the expected number of bytes.
    pub(crate) fn expect(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes.min(self.room)).unwrap_or(usize::MAX);
        self.memory.reserve_exact(bytes.min(self.threshold));
    }

    /// Adds bytes, as many as are accepted.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut count = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let granted = self.budget.as_ref().map(|budget| budget.take(count));
        if let Some(granted) = granted.filter(|_| !self.begins) {
            count = granted;
        }
        self.begins = false;
        self.overflowed |= count < bytes.len();
        self.memory.extend_from_slice(&bytes[..count]);
        if let Some(tap) = &mut self.tap {
            tap.push(&bytes[..count]);
        }
        self.room -= count as u64;
    }

    /// Whether no more bytes are accepted.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0
            || (!self.begins && self.budget.as_ref().is_some_and(ByteBudget::is_spent))
            || self.tap.as_ref().is_some_and(OpenTap::is_given_up)
    }

    /// Why a response is truncated whose spool is full: a limit, or a receiver that went away.
    pub(crate) fn full_reason(&self) -> TruncationReason {
        match self.tap.as_ref().is_some_and(OpenTap::is_abandoned) {
            true => TruncationReason::Disconnect,
            false => TruncationReason::Length,
        }
    }

    /// Whether bytes were received that were not accepted.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Passes the accepted bytes on, and moves those in memory to the file if they exceed the
    /// threshold.
    pub(crate) async fn spill(&mut self) -> io::Result<()> {
        self.pass_on().await;
        if self.memory.len() > self.threshold { self.flush().await } else { Ok(()) }
    }

    /// Waits until the receiver of the tap has taken all bytes, or is gone.
    async fn pass_on(&mut self) {
        if let Some(tap) = &mut self.tap
            && let Some(room) = tap.flush().await
        {
            self.room = self.room.min(room);
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let file = self.file.take();
        let folder = self.folder.clone();
        let mut memory = std::mem::take(&mut self.memory);
        let writing = tokio::task::spawn_blocking(move || {
            let mut file = file.map_or_else(|| folder.unnamed_file(), Ok)?;
            file.write_all(&memory)?;
            let count = memory.len() as u64;
            memory.clear();
            io::Result::Ok((file, memory, count))
        });
        let (file, memory, count) = writing.await.map_err(io::Error::other)??;
        self.file = Some(file);
        self.memory = memory;
        self.file_bytes += count;
        Ok(())
    }

    /// The received message.
    pub(crate) async fn into_message(mut self) -> io::Result<MessageBytes> {
        self.pass_on().await;
        if self.file.is_some() && !self.memory.is_empty() {
            self.flush().await?;
        }
        Ok(match self.file {
            Some(file) => MessageBytes::from_source(file, self.file_bytes),
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

    async fn spooled(
        pieces: &[&[u8]],
        threshold: usize,
        max_bytes: u64,
    ) -> (MessageBytes, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = ResponseSpool::new(folder.path().into(), threshold, max_bytes, None);
        for piece in pieces {
            spool.push(piece);
            spool.spill().await.unwrap();
        }
        (spool.into_message().await.unwrap(), folder)
    }

    fn read_all(wire: &MessageBytes) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire.reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn short_responses_stay_in_memory_and_long_ones_leave_no_name() {
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
    async fn a_budget_is_shared_and_heads_are_complete() {
        let (folder, budget) = (tempfile::tempdir().unwrap(), ByteBudget::new(6));
        let spool = || ResponseSpool::new(folder.path().into(), 100, 100, Some(budget.clone()));
        let (mut one, mut other) = (spool(), spool());
        one.push(b"head");
        other.push(b"head");
        assert!(one.is_full() && other.is_full());
        one.push(b"body");
        assert_eq!(read_all(&one.into_message().await.unwrap()), b"head");
        assert_eq!(read_all(&other.into_message().await.unwrap()), b"head");
    }

    #[tokio::test]
    async fn bytes_above_the_limit_are_not_accepted() {
        let (wire, _folder) = spooled(&[b"abc", b"def", b"ghi"], 100, 7).await;
        assert_eq!(read_all(&wire), b"abcdefg");
    }

    #[tokio::test]
    async fn a_tap_gets_what_is_accepted_and_limits_the_rest_when_its_receiver_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (tap, mut tapped) = ResponseTap::new(std::sync::Arc::default());
        let mut spool =
            ResponseSpool::new(folder.path().into(), 100, u64::MAX, None).with_tap(Some(tap.clone()));
        for piece in [b"abc", b"def"] {
            spool.push(piece);
            spool.spill().await.unwrap();
            assert_eq!(tapped.next().await.unwrap(), piece[..]);
        }
        drop(tapped);
        spool.push(b"ghi");
        assert!(spool.room > 1 << 40);
        spool.spill().await.unwrap();
        assert!(spool.room < 1 << 40 && !spool.is_full());
        assert_eq!(read_all(&spool.into_message().await.unwrap()), b"abcdefghi");
    }

    #[tokio::test]
    async fn a_missing_folder_is_an_error() {
        let mut spool = ResponseSpool::new(std::path::Path::new("/nowhere/at/all").into(), 1, 100, None);
        spool.push(b"abc");
        assert!(spool.spill().await.is_err());
    }
}
