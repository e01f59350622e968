//! The buffer for decompressed bytes of the current member.

use super::STREAM_CHUNK_BYTES;

/// Decompressed bytes that were not consumed, and room for more.
pub(super) struct OutputBuffer {
    pub(super) bytes: Vec<u8>,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The size of the next chunk that is decompressed.
    next_chunk: usize,
}

impl OutputBuffer {
    pub(super) fn new(first_chunk: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, next_chunk: first_chunk }
    }

    /// Drops the content and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }

    pub(super) fn set_next_chunk(&mut self, size: usize) {
        self.next_chunk = size;
    }

    pub(super) fn unconsumed(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Replaces the memory by at least `size` bytes of it; the content is lost.
    pub(super) fn reserve_without_content(&mut self, size: usize) {
        if self.bytes.len() < size {
            self.replace(size);
        }
    }

    /// Replaces the memory by `size` bytes of it; the content is lost.
    pub(super) fn replace(&mut self, size: usize) {
        // The old memory is freed first.
        self.bytes = Vec::new();
        self.bytes = vec![0; size];
    }

    /// Makes room for one more chunk after the content and returns where that room ends. The first
    /// chunk is small when the caller may want a header only.
    pub(super) fn make_room(&mut self) -> usize {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let chunk = self.next_chunk;
        self.next_chunk = (chunk * 4).min(STREAM_CHUNK_BYTES);
        if self.bytes.len() < self.end + chunk {
            let room = (self.end + chunk).max(self.bytes.len() + self.bytes.len() / 2);
            let held = std::mem::replace(&mut self.bytes, vec![0; room]);
            self.bytes[..self.end].copy_from_slice(&held[..self.end]);
        }
        self.end + chunk
    }
}
