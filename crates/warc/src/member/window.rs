//! A sliding view of the packed bytes, read ahead in steps that grow.
//!
//! The first read is small, because many readers want one header. Each further read doubles,
//! because a reader that goes on usually reads all. The size of the view is bounded by the largest
//! `fill` plus one step.

use std::io;

use varve_wire::ReadAt;

/// Decides once, before bytes from some offset on are read, whether reading goes on. It may block.
pub(crate) trait ReadGate: Send {
    fn opens(&self) -> bool;
}

/// A gate ended reading.
#[derive(Debug, thiserror::Error)]
#[error("reading was cancelled")]
pub(crate) struct ReadCancelled;

/// Maximum size of a single read.
const MAX_STEP_BYTES: usize = 1 << 20;
/// Minimum room for a read, even at the end of the source.
const MIN_STEP_BYTES: usize = 512;

/// A caller that moves at most this far past the view reads a file in order: it skips less than one
/// small read.
const NEAR_SEEK_BYTES: u64 = 8 << 10;

pub(crate) struct Window<S> {
    source: S,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the source of `buffer[start]`.
    position: u64,
    step: usize,
    /// Size of the source when it was opened. No room is made for more.
    size: u64,
    /// The offset from which a gate decides, and the gate.
    gate: Option<(u64, Box<dyn ReadGate>)>,
}

impl<S: ReadAt> Window<S> {
    pub(crate) fn new(source: S, position: u64, first_step: usize) -> io::Result<Self> {
        let size = source.size()?;
        let step = first_step.max(MIN_STEP_BYTES);
        Ok(Self { source, buffer: Vec::new(), start: 0, end: 0, position, step, size, gate: None })
    }

    /// Size of the source when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// As `seek`, for a new task: the next read is of `step` bytes, unless `position` is near the
    /// view.
    pub(crate) fn go_to(&mut self, position: u64, step: usize) {
        let end = self.position + self.bytes().len() as u64;
        let is_near = (self.position..=end.saturating_add(NEAR_SEEK_BYTES)).contains(&position);
        if !is_near || self.step < step {
            self.step = step;
        }
        self.seek(position);
        self.gate = None;
    }

    /// Drops the view, so that it is read again: the source may have changed. The next read is
    /// small, because a caller that drops the view each time would otherwise read far more than it
    /// needs.
    pub(crate) fn drop_view(&mut self) {
        self.start = 0;
        self.end = 0;
        self.step = MIN_STEP_BYTES;
    }

    /// Asks `gate` before anything from `offset` on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn ReadGate>) {
        self.gate = Some((offset, gate));
    }

    /// Offset of the first byte in view.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// The bytes in view.
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
        let left =
            usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX).max(MIN_STEP_BYTES);
        let room = (self.end + self.step).max(wanted).min(self.end.saturating_add(left));
        if self.buffer.len() < room {
            // Zeroed memory straight from the system: most of it is never touched when a file is
            // small.
            let held = std::mem::replace(&mut self.buffer, vec![0; room]);
            self.buffer[..self.end].copy_from_slice(&held[..self.end]);
        }
        pass_gate(&mut self.gate, offset)?;
        let read = read_at(&self.source, &mut self.buffer[self.end..room], offset)?;
        self.end += read;
        self.step = (self.step * 2).min(MAX_STEP_BYTES);
        Ok(read)
    }

    /// Copies bytes from any offset and leaves the view as it is. Returns how many; fewer than
    /// asked for only at the end of the source.
    pub(crate) fn peek(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let in_view = offset.checked_sub(self.position).and_then(|at| usize::try_from(at).ok());
        if let Some(held) = in_view.and_then(|at| self.bytes().get(at..at.checked_add(buffer.len())?)) {
            buffer.copy_from_slice(held);
            return Ok(buffer.len());
        }
        pass_gate(&mut self.gate, offset)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match read_at(&self.source, &mut buffer[filled..], offset.saturating_add(filled as u64))? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// The number of bytes from here to the end, at most `wanted`. When fewer are known, the source
    /// is asked again, since it may have grown.
    pub(crate) fn left(&mut self, wanted: u64) -> io::Result<u64> {
        if self.size.saturating_sub(self.position) < wanted {
            self.size = self.source.size()?;
        }
        Ok(self.size.saturating_sub(self.position).min(wanted))
    }

    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Moves the view and keeps bytes that are already in memory.
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

fn pass_gate(gate: &mut Option<(u64, Box<dyn ReadGate>)>, offset: u64) -> io::Result<()> {
    if let Some((start, keeper)) = gate
        && offset >= *start
    {
        if !keeper.opens() {
            return Err(io::Error::other(ReadCancelled));
        }
        *gate = None;
    }
    Ok(())
}

fn read_at(source: &impl ReadAt, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match source.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
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

    #[test]
    fn peeks_anywhere_and_stays() {
        let data: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let mut window = Window::new(&data, 0, 512).expect("memory");
        window.fill(10).expect("memory");
        let mut peeked = [0; 8];
        for offset in [3usize, 508, 199_992] {
            assert_eq!(window.peek(offset as u64, &mut peeked).expect("memory"), 8);
            assert_eq!(peeked, data[offset..offset + 8]);
        }
        assert_eq!(window.peek(199_999, &mut peeked).expect("memory"), 1);
        assert_eq!(window.peek(u64::MAX, &mut peeked).expect("memory"), 0);
        assert_eq!((window.position(), window.left(u64::MAX).expect("memory")), (0, 200_000));
    }

    #[test]
    fn reads_are_small_again_after_the_view_was_dropped() {
        let data = vec![7u8; 4 << 20];
        let mut window = Window::new(&data, 0, 512).expect("memory");
        window.fill(3 << 20).expect("memory");
        window.consume(3 << 20);
        window.drop_view();
        window.go_to(3 << 20, 16 << 10);
        assert_eq!(window.fill(8).expect("memory").len(), 16 << 10);
    }

    struct ClosedGate;

    impl ReadGate for ClosedGate {
        fn opens(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_closed_gate_ends_reading() {
        let data = vec![0u8; 200_000];
        let mut window = Window::new(&data, 0, 512).expect("memory");
        window.set_gate(2000, Box::new(ClosedGate));
        assert!(window.fill(2000).is_ok());
        let refused = window.fill(200_000).expect_err("a closed gate");
        assert!(refused.get_ref().is_some_and(|cause| cause.is::<ReadCancelled>()));
        assert!(window.peek(100_000, &mut [0]).is_err());
    }
}
