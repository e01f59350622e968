//! One file, read by several threads, with the result of one.
//!
//! A compressed file has no table of contents: where a record begins is known only to who has read all before it. So
//! the file is cut into parts at arbitrary bytes; each worker looks for the first record that begins in its part and
//! reads up to the first that begins behind it. Parts are then joined in order: a part counts only if it began exactly
//! where its predecessor ended, and is otherwise read again from there. The outcome is therefore that of one thread,
//! whatever the bytes; chance and malice can only cost time.
//!
//! Not much time either. What looks like a record may stand in the block of another and claim all the rest of the file, once
//! in every part. So whoever reads well past the end of its part waits until all parts before it are joined, and then knows
//! whether its own counts; and parts that were passed meanwhile are not looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use crate::member::{Encoding, Gate, GivenUp};
use crate::reader::{Error, Format, Reader};
use varve_wire::ReadAt;

/// Parts are no larger than this, so that what a part yields stays small.
const LARGEST_PART: u64 = 16 << 20;
/// Nor smaller, so that looking for the first record stays cheap.
const SMALLEST_PART: u64 = 1 << 20;

/// So far may a part be read beyond its end before it is known to count.
const BEYOND: u64 = 4 << 20;

/// How a file is cut into parts.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// How many threads read.
    pub threads: usize,
    /// How large each part is; by default so that there are a few for each thread.
    pub size: Option<u64>,
}

/// A stretch of the file: records that begin in it belong to it.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: u64,
    until: u64,
}

/// What reading a part gave.
struct Outcome<T> {
    /// Where its first record began.
    began: u64,
    /// Where the first record behind it begins, or the end of the file.
    ended: u64,
    value: T,
}

/// A part that was looked at; none when no record begins in it.
type Looked<T> = Result<Option<Outcome<T>>, Error>;

/// Reads all of `source` with several threads and gives what each part yielded to `join`, in order.
///
/// `read` gets a reader at the first record of a part and the byte at which the part ends; it must read records as
/// long as `Reader::next_offset` is none or less than that byte, and pass each to its end. Fails only when reading
/// fails or the file is no archive. Memory: a few buffers a thread, and a few finished parts that wait to be joined.
pub fn read_parts<'a, S, T, R>(
    source: &'a S,
    parts: Parts,
    read: &R,
    join: &mut impl FnMut(T),
) -> Result<(), Error>
where
    S: ReadAt + ?Sized,
    T: Send,
    R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error> + Sync,
{
    let size = source.size().map_err(|source| Error::Io { offset: 0, source })?;
    let mut first = Reader::new(source)?;
    let (encoding, format) = (first.encoding(), first.format());
    // ARC records cannot be told from chance text in a plain file, and their columns depend on the first.
    let splits =
        parts.threads > 1 && (size >= 2 * SMALLEST_PART || parts.size.is_some()) && format == Format::Warc;
    if !splits {
        return read_alone(&mut first, read, join);
    }
    drop(first);
    Joint { source, encoding, format, read }.run(size, parts, join)
}

/// Reads with one thread; in parts too, so that what a part yields stays small.
fn read_alone<S, T, R>(reader: &mut Reader<S>, read: &R, join: &mut impl FnMut(T)) -> Result<(), Error>
where
    S: ReadAt,
    R: Fn(&mut Reader<S>, u64) -> Result<T, Error>,
{
    loop {
        let (until, before) = (reader.position().saturating_add(LARGEST_PART), reader.records());
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
    fn run<T: Send>(&self, size: u64, parts: Parts, join: &mut impl FnMut(T)) -> Result<(), Error>
    where
        R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error>,
    {
        let threads = parts.threads;
        let fitting = (size / (threads as u64 * 6)).clamp(SMALLEST_PART, LARGEST_PART);
        let length = parts.size.unwrap_or(fitting).max(1);
        let count = usize::try_from(size.div_ceil(length)).unwrap_or(usize::MAX);
        let part = |index: usize| {
            let from = index as u64 * length;
            Part { from, until: if index + 1 == count { u64::MAX } else { from + length } }
        };
        let queue = Arc::new(Queue::new(count, threads * 4));
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
        receiver: &mpsc::Receiver<(usize, Looked<T>)>,
        queue: &Queue,
        size: u64,
        part: impl Fn(usize) -> Part,
        join: &mut impl FnMut(T),
    ) -> Result<(), Error>
    where
        R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error>,
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

    /// Reads a part whose first record must be looked for. None when none begins in it. `spare` is the reader of the part
    /// before, for its buffers: memory that is asked of the system again and again costs more than the headers do.
    fn look_and_read<T>(
        &self,
        part: Part,
        index: usize,
        queue: &Arc<Queue>,
        spare: &mut Option<Reader<&'a S>>,
    ) -> Looked<T>
    where
        R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error>,
    {
        if part.from == 0 {
            return self.read_from(0, part.until).map(Some);
        }
        // In a plain file a record is known by the newline before it.
        let from = if self.encoding == Encoding::Plain { part.from - 1 } else { part.from };
        let reader = match spare.take() {
            Some(mut reader) => reader.find_again(from, part.until)?.then_some(reader),
            None => Reader::find(self.source, self.encoding, self.format, from, part.until)?,
        };
        let Some(reader) = reader else { return Ok(None) };
        let reader = spare.insert(reader);
        let Some(began) = reader.next_offset() else { return Ok(None) };
        let gate = Confirmation { queue: Arc::clone(queue), index, began };
        reader.set_gate(part.until.saturating_add(BEYOND), Box::new(gate));
        match self.read_with(reader, began, part.until) {
            Err(Error::Io { source, .. }) if source.get_ref().is_some_and(|cause| cause.is::<GivenUp>()) => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    fn read_from<T>(&self, offset: u64, until: u64) -> Result<Outcome<T>, Error>
    where
        R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error>,
    {
        let mut reader = if offset == 0 {
            Reader::new(self.source)?
        } else {
            Reader::resume(self.source, offset, self.format)?
        };
        self.read_with(&mut reader, offset, until)
    }

    fn read_with<T>(&self, reader: &mut Reader<&'a S>, began: u64, until: u64) -> Result<Outcome<T>, Error>
    where
        R: Fn(&mut Reader<&'a S>, u64) -> Result<T, Error>,
    {
        if began > 0 {
            reader.forget_the_way();
        }
        let value = (self.read)(reader, until)?;
        let ended = reader.next_offset().unwrap_or_else(|| reader.position());
        Ok(Outcome { began, ended, value })
    }
}

/// Waits until it is known whether a part counts.
struct Confirmation {
    queue: Arc<Queue>,
    index: usize,
    began: u64,
}

impl Gate for Confirmation {
    fn opens(&self) -> bool {
        self.queue.expected_at(self.index) == Some(self.began)
    }
}

/// Lets a panic of one thread end the others, which would wait for its part.
struct CloseInPanic<'a>(&'a Queue);

impl Drop for CloseInPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Numbers of the parts, given out in order and not far ahead of those that were joined: when one part takes long, the
/// others must not pile up behind it.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    count: usize,
    ahead: usize,
}

#[derive(Default)]
struct QueueState {
    next: usize,
    joined: usize,
    /// Where the first record begins that was not joined.
    expected: u64,
    closed: bool,
}

impl Queue {
    fn new(count: usize, ahead: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), count, ahead }
    }

    /// The next number, once it may be worked on, and where the first record begins that was not joined; none when there
    /// are no more.
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

    /// One more was joined; the first record behind it begins at `expected`.
    fn advance(&self, expected: u64) {
        let mut state = self.lock();
        state.joined += 1;
        state.expected = expected;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all before a part are joined: where it must begin. None when nobody will need it.
    fn expected_at(&self, index: usize) -> Option<u64> {
        // Parts are given out in order, so those before it are joined, or read by others that wait for none behind them.
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
        // The state is plain numbers: it is right whoever panicked while holding it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
