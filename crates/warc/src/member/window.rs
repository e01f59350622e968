//! A sliding view of the packed bytes, read ahead in steps that grow.
//!
//! The first read is small, because many readers want one header; each further read doubles, because who reads on
//! usually reads all. The view never shrinks below what was asked for and never holds more than it must: its size is
//! bounded by the largest `fill` asked plus one step.

use std::io;

use varve_wire::ReadAt;

/// Asked once, before bytes behind a place are read, whether there is a point in reading on. It may wait for an answer.
pub(crate) trait Gate: Send {
    fn opens(&self) -> bool;
}

/// Reading was given up at a gate.
#[derive(Debug, thiserror::Error)]
#[error("there is no point in reading on")]
pub(crate) struct GivenUp;

/// No single read is larger than this.
const LARGEST_STEP: usize = 1 << 20;
/// Nor is less room made for one, even at the end.
const SMALLEST_STEP: usize = 512;

/// Who goes on so far behind what is in view reads a file in order, and would have passed over less than one small read.
const NEAR: u64 = 8 << 10;

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
    /// Where to ask before reading on, and whom.
    gate: Option<(u64, Box<dyn Gate>)>,
}

impl<S: ReadAt> Window<S> {
    pub(crate) fn new(source: S, position: u64, first_step: usize) -> io::Result<Self> {
        let size = source.size()?;
        let step = first_step.max(SMALLEST_STEP);
        Ok(Self { source, buffer: Vec::new(), start: 0, end: 0, position, step, size, gate: None })
    }

    /// Size of the source when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// As `seek`, to begin anew there: the next read is of `step` bytes, unless reading goes on nearly where it has been.
    pub(crate) fn go_to(&mut self, position: u64, step: usize) {
        let end = self.position + self.bytes().len() as u64;
        let is_near = (self.position..=end.saturating_add(NEAR)).contains(&position);
        if !is_near || self.step < step {
            self.step = step;
        }
        self.seek(position);
        self.gate = None;
    }

    /// Forgets what is in view, so that it is read again: the source may not be what it was. Nor is much read at once then:
    /// whoever forgets each time would read far more than there is.
    pub(crate) fn forget(&mut self) {
        self.start = 0;
        self.end = 0;
        self.step = SMALLEST_STEP;
    }

    /// Asks `gate` before anything from `offset` on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn Gate>) {
        self.gate = Some((offset, gate));
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
        pass_gate(&mut self.gate, offset)?;
        let read = read_at(&self.source, &mut self.buffer[self.end..room], offset)?;
        self.end += read;
        self.step = (self.step * 2).min(LARGEST_STEP);
        Ok(read)
    }

    /// Copies bytes from any offset, from the view where they are in it, and leaves the view as it is. How many; fewer
    /// than asked for only at the end of the source.
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

    /// How many bytes there are from here on, as far as is known; when fewer than `wanted`, the source is asked again,
    /// since it may have grown.
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

fn pass_gate(gate: &mut Option<(u64, Box<dyn Gate>)>, offset: u64) -> io::Result<()> {
    if let Some((place, keeper)) = gate
        && offset >= *place
    {
        if !keeper.opens() {
            return Err(io::Error::other(GivenUp));
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
    fn reads_little_again_once_it_has_forgotten() {
        let data = vec![7u8; 4 << 20];
        let mut window = Window::new(&data, 0, 512).expect("memory");
        window.fill(3 << 20).expect("memory");
        window.consume(3 << 20);
        window.forget();
        window.go_to(3 << 20, 16 << 10);
        assert_eq!(window.fill(8).expect("memory").len(), 16 << 10);
    }

    struct Shut;

    impl Gate for Shut {
        fn opens(&self) -> bool {
            false
        }
    }

    #[test]
    fn gives_up_at_a_shut_gate() {
        let data = vec![0u8; 200_000];
        let mut window = Window::new(&data, 0, 512).expect("memory");
        window.set_gate(2000, Box::new(Shut));
        assert!(window.fill(2000).is_ok());
        let refused = window.fill(200_000).expect_err("a shut gate");
        assert!(refused.get_ref().is_some_and(|cause| cause.is::<GivenUp>()));
        assert!(window.peek(100_000, &mut [0]).is_err());
    }
}
