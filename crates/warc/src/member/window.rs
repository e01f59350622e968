//! A sliding view of the packed bytes, read ahead in steps that grow.
//!
//! The first read is small, because many readers want one header; each further read doubles, because who reads on
//! usually reads all. The view never shrinks below what was asked for and never holds more than it must: its size is
//! bounded by the largest `fill` asked plus one step.

use std::io;

use crate::source::ReadAt;

/// No single read is larger than this.
const LARGEST_STEP: usize = 1 << 20;
/// Nor is less room made for one, even at the end.
const SMALLEST_STEP: usize = 512;

pub(crate) struct Window<S> {
    source: S,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the source of `buffer[start]`.
    position: u64,
    step: usize,
    /// Size of the source when it was opened: no reason to make room for more.
    size: u64,
}

impl<S: ReadAt> Window<S> {
    pub(crate) fn new(source: S, position: u64, first_step: usize) -> io::Result<Self> {
        let size = source.size()?;
        Ok(Self { source, buffer: Vec::new(), start: 0, end: 0, position, step: first_step.max(512), size })
    }

    /// Offset of the first byte in view.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// What is in view without reading.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Brings at least `wanted` bytes into view, fewer only at the end of the source.
    pub(crate) fn fill(&mut self, wanted: usize) -> io::Result<&[u8]> {
        while self.end - self.start < wanted {
            if self.read_more(wanted)? == 0 {
                break;
            }
        }
        Ok(self.bytes())
    }

    fn read_more(&mut self, wanted: usize) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let offset = self.position + self.end as u64;
        // A source may have grown since, so there is always some room.
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX).max(SMALLEST_STEP);
        let room = (self.end + self.step).max(wanted).min(self.end.saturating_add(left));
        if self.buffer.len() < room {
            // Zeroed memory straight from the system: most of it is never touched when a file is small.
            let held = std::mem::replace(&mut self.buffer, vec![0; room]);
            self.buffer[..self.end].copy_from_slice(&held[..self.end]);
        }
        let read = loop {
            match self.source.read_at(&mut self.buffer[self.end..], offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += read;
        self.step = (self.step * 2).min(LARGEST_STEP);
        Ok(read)
    }

    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Moves the view; bytes already held are kept when they can be.
    pub(crate) fn seek(&mut self, position: u64) {
        let held_from = self.position - self.start as u64;
        let held_to = self.position + (self.end - self.start) as u64;
        if (held_from..=held_to).contains(&position) {
            self.start = (position - held_from) as usize;
        } else {
            self.start = 0;
            self.end = 0;
        }
        self.position = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slides_and_seeks_back() {
        let data: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let mut window = Window::new(&data, 0, 512).expect("memory");
        assert_eq!(window.fill(10).expect("memory")[..10], data[..10]);
        window.consume(700.min(window.bytes().len()));
        let here = window.position() as usize;
        assert_eq!(window.fill(5000).expect("memory")[..5000], data[here..here + 5000]);
        window.seek(3);
        assert_eq!(window.fill(4).expect("memory")[..4], data[3..7]);
        window.seek(199_999);
        assert_eq!(window.fill(4).expect("memory"), &data[199_999..]);
        window.seek(500_000);
        assert!(window.fill(1).expect("memory").is_empty());
    }
}
