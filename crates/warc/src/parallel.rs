//! One file, read by several threads, with the result of one.
//!
//! A compressed file has no table of contents: only a reader of all preceding bytes knows where a
//! record begins. So the file is cut into parts at arbitrary bytes. Each worker searches for the
//! first record that begins in its part and reads up to the first that begins after it. Parts are
//! then joined in order. A part counts only if it began exactly where its predecessor ended;
//! otherwise it is read again from there. The result is therefore that of one thread for any input;
//! chance and malice can only cost time.
//!
//! The cost is bounded as well. The block of a record may hold bytes that look like a record and
//! claim the rest of the file, once in every part. So a worker that reads well past the end of its
//! part waits until all parts before it are joined, and then knows whether its part counts. Parts
//! that were covered meanwhile are not read.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use crate::member::{Encoding, ReadCancelled, ReadGate};
use crate::reader::{Error, Format, WarcReader};
use varve_wire::ReadAt;

/// Maximum size of a part, so that the result of a part stays small.
const MAX_PART_BYTES: u64 = 4 << 20;
/// Minimum size of a part, so that searching for the first record stays cheap.
const MIN_PART_BYTES: u64 = 1 << 20;

/// A part may be read this far past its end before it is known to count.
const MAX_OVERREAD_BYTES: u64 = 4 << 20;

/// How a file is cut into parts.
#[derive(Clone, Copy, Debug)]
pub struct PartOptions {
    /// The number of threads.
    pub threads: usize,
    /// The size of each part; by default there are a few parts for each thread.
    pub size: Option<u64>,
}

/// A range of the file. Records that begin in it belong to it.
#[derive(Clone, Copy, Debug)]
struct FilePart {
    from: u64,
    until: u64,
}

/// The result of reading a part.
struct PartOutcome<T> {
    /// Where its first record began.
    began: u64,
    /// Where the first record after it begins, or the end of the file.
    ended: u64,
    value: T,
}

/// The result of a part; none when no record begins in it.
type FirstLook<T> = Result<Option<PartOutcome<T>>, Error>;

/// Reads all of `source` with several threads and passes the result of each part to `join`, in
/// order.
///
/// `read` gets a reader at the first record of a part and the byte at which the part ends; it must
/// read records as long as `WarcReader::next_offset` is none or less than that byte, and pass each
/// to its end. Fails only when reading fails or the file is no archive. Memory: a few buffers a
/// thread, and a few finished parts that wait to be joined.
pub fn read_parts<'a, S, T, R>(
    source: &'a S,
    parts: PartOptions,
    read: &R,
    join: &mut impl FnMut(T),
) -> Result<(), Error>
where
    S: ReadAt + ?Sized,
    T: Send,
    R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error> + Sync,
{
    let size = source.size().map_err(|source| Error::Io { offset: 0, source })?;
    let mut first = WarcReader::new(source)?;
    let (encoding, format) = (first.encoding(), first.format());
    // In a plain file ARC records cannot be distinguished from text, and their columns depend on
    // the first record.
    let splits =
        parts.threads > 1 && (size >= 2 * MIN_PART_BYTES || parts.size.is_some()) && format == Format::Warc;
    if !splits {
        return read_alone(&mut first, read, join);
    }
    drop(first);
    Joint { source, encoding, format, read }.run(size, parts, join)
}

/// Reads with one thread, in parts too, so that the result of a part stays small.
fn read_alone<S, T, R>(reader: &mut WarcReader<S>, read: &R, join: &mut impl FnMut(T)) -> Result<(), Error>
where
    S: ReadAt,
    R: Fn(&mut WarcReader<S>, u64) -> Result<T, Error>,
{
    loop {
        let (until, before) = (reader.position().saturating_add(MAX_PART_BYTES), reader.records());
        join(read(reader, until)?);
        if reader.is_at_end() || reader.records() == before {
            return Ok(());
        }
    }
}

struct Joint<'a, 'r, S: ?Sized, R> {
    source: &'a S,
    encoding: Encoding,
    format: Format,
    read: &'r R,
}

impl<'a, S: ReadAt + ?Sized, R: Sync> Joint<'a, '_, S, R> {
    fn run<T: Send>(&self, size: u64, parts: PartOptions, join: &mut impl FnMut(T)) -> Result<(), Error>
    where
        R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error>,
    {
        let threads = parts.threads;
        let fitting = (size / (threads as u64 * 6)).clamp(MIN_PART_BYTES, MAX_PART_BYTES);
        let length = parts.size.unwrap_or(fitting).max(1);
        let count = usize::try_from(size.div_ceil(length)).unwrap_or(usize::MAX);
        let part = |index: usize| {
            let from = index as u64 * length;
            FilePart { from, until: if index + 1 == count { u64::MAX } else { from + length } }
        };
        let queue = Arc::new(PartQueue::new(count, threads * 4));
        let (sender, receiver) = mpsc::sync_channel(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let sender = sender.clone();
                let queue = &queue;
                scope.spawn(move || {
                    let _closing = CloseInPanic(queue);
                    let mut spare = None;
                    while let Some((index, expected)) = queue.take() {
                        let part = part(index);
                        let is_passed = expected >= part.until;
                        let looked = if is_passed {
                            Ok(None)
                        } else {
                            self.look_and_read(part, index, queue, &mut spare)
                        };
                        if sender.send((index, looked)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let result = self.join_in_order(&receiver, &queue, size, part, join);
            queue.close();
            drop(receiver);
            result
        })
    }

    fn join_in_order<T: Send>(
        &self,
        receiver: &mpsc::Receiver<(usize, FirstLook<T>)>,
        queue: &PartQueue,
        size: u64,
        part: impl Fn(usize) -> FilePart,
        join: &mut impl FnMut(T),
    ) -> Result<(), Error>
    where
        R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error>,
    {
        let mut waiting = BTreeMap::new();
        let mut expected = 0;
        let mut index = 0;
        while let Ok((arrived, outcome)) = receiver.recv() {
            waiting.insert(arrived, outcome);
            while let Some(outcome) = waiting.remove(&index) {
                let part = part(index);
                index += 1;
                if expected < part.until.min(size) || index == 1 {
                    let outcome = match outcome? {
                        Some(outcome) if outcome.began == expected => outcome,
                        _ => self.read_from(expected, part.until)?,
                    };
                    expected = outcome.ended.max(expected);
                    join(outcome.value);
                }
                queue.advance(expected);
            }
        }
        Ok(())
    }

    /// Reads a part whose first record must be searched for. None when none begins in it. `spare`
    /// is the reader of the part before, for its buffers: allocating memory again and again costs
    /// more than parsing the headers.
    fn look_and_read<T>(
        &self,
        part: FilePart,
        index: usize,
        queue: &Arc<PartQueue>,
        spare: &mut Option<WarcReader<&'a S>>,
    ) -> FirstLook<T>
    where
        R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error>,
    {
        if part.from == 0 {
            return self.read_from(0, part.until).map(Some);
        }
        // In a plain file a record is recognised by the newline before it.
        let from = if self.encoding == Encoding::Plain { part.from - 1 } else { part.from };
        let reader = match spare.take() {
            Some(mut reader) => reader.reset_to_next(from, part.until)?.then_some(reader),
            None => WarcReader::find(self.source, self.encoding, self.format, from, part.until)?,
        };
        let Some(reader) = reader else { return Ok(None) };
        let reader = spare.insert(reader);
        let Some(began) = reader.next_offset() else { return Ok(None) };
        let gate = Confirmation { queue: Arc::clone(queue), index, began };
        reader.set_gate(part.until.saturating_add(MAX_OVERREAD_BYTES), Box::new(gate));
        match self.read_with(reader, began, part.until) {
            Err(Error::Io { source, .. })
                if source.get_ref().is_some_and(|cause| cause.is::<ReadCancelled>()) =>
            {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    fn read_from<T>(&self, offset: u64, until: u64) -> Result<PartOutcome<T>, Error>
    where
        R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error>,
    {
        let mut reader = if offset == 0 {
            WarcReader::new(self.source)?
        } else {
            WarcReader::resume(self.source, offset, self.format)?
        };
        self.read_with(&mut reader, offset, until)
    }

    fn read_with<T>(
        &self,
        reader: &mut WarcReader<&'a S>,
        began: u64,
        until: u64,
    ) -> Result<PartOutcome<T>, Error>
    where
        R: Fn(&mut WarcReader<&'a S>, u64) -> Result<T, Error>,
    {
        if began > 0 {
            reader.drop_findings_so_far();
        }
        let value = (self.read)(reader, until)?;
        let ended = reader.next_offset().unwrap_or_else(|| reader.position());
        Ok(PartOutcome { began, ended, value })
    }
}

/// Waits until it is known whether a part counts.
struct Confirmation {
    queue: Arc<PartQueue>,
    index: usize,
    began: u64,
}

impl ReadGate for Confirmation {
    fn opens(&self) -> bool {
        self.queue.expected_at(self.index) == Some(self.began)
    }
}

/// Ends the other threads when one panics: they would wait for its part.
struct CloseInPanic<'a>(&'a PartQueue);

impl Drop for CloseInPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Numbers of the parts, handed out in order and not far ahead of the joined ones: when one part
/// takes long, the results of others must not accumulate.
struct PartQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    count: usize,
    ahead: usize,
}

#[derive(Default)]
struct QueueState {
    next: usize,
    joined: usize,
    /// Where the first record begins that is not joined.
    expected: u64,
    closed: bool,
}

impl PartQueue {
    fn new(count: usize, ahead: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), count, ahead }
    }

    /// The next number, once it may be worked on, and where the first record begins that is not
    /// joined. None when there are no more.
    fn take(&self) -> Option<(usize, u64)> {
        let may_not_yet = |state: &mut QueueState| !state.closed && state.next >= state.joined + self.ahead;
        let waited = self.changed.wait_while(self.lock(), may_not_yet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed || state.next >= self.count {
            return None;
        }
        state.next += 1;
        Some((state.next - 1, state.expected))
    }

    /// One more part is joined; the first record after it begins at `expected`.
    fn advance(&self, expected: u64) {
        let mut state = self.lock();
        state.joined += 1;
        state.expected = expected;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all parts before this one are joined. Returns where it must begin; none when it
    /// is not needed.
    fn expected_at(&self, index: usize) -> Option<u64> {
        // Parts are handed out in order: those before it are joined, or read by threads that wait
        // for no later part.
        let is_early = |state: &mut QueueState| !state.closed && state.joined < index;
        let waited = self.changed.wait_while(self.lock(), is_early);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        (!state.closed).then_some(state.expected)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // The state is plain numbers, so it is valid even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
