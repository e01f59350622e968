//! DecoderPool that wait to be used again.
//!
//! A decoder is made ready in a time in which some records could be unpacked, and its dictionary takes milliseconds to read and unpack.
//! Who reads single records of the same files again and again keeps a few of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_wire::ReadAt;

use super::dictionary::Dictionary;
use super::zstd::Unframing;

/// So many are kept, of all files together.
const MOST: usize = 4;

/// DecoderPool that nobody uses just now, each ready for one file.
#[derive(Default)]
pub struct DecoderPool {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    idle: VecDeque<(u64, Unframing)>,
    /// The dictionaries of files that were read last.
    dictionaries: VecDeque<(u64, Arc<Dictionary>)>,
    /// The dictionary that was used last: many files have the same.
    last: Option<Arc<Dictionary>>,
}

impl DecoderPool {
    /// Lets those who find this dictionary in a file use it as it is here, unpacked perhaps.
    pub fn know(&self, dictionary: Arc<Dictionary>) {
        self.kept().last = Some(dictionary);
    }

    /// Forgets what is ready for a file, in whose place another may come.
    pub fn forget(&self, file: u64) {
        let mut kept = self.kept();
        kept.idle.retain(|(ready_for, _)| *ready_for != file);
        kept.dictionaries.retain(|(known_of, _)| *known_of != file);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The decoders of one file.
#[derive(Clone)]
pub struct FileDecoders {
    decoders: Arc<DecoderPool>,
    file: u64,
}

impl FileDecoders {
    /// Those of the file with this number, which no other file that shares `decoders` may have.
    pub fn new(decoders: &Arc<DecoderPool>, file: u64) -> Self {
        Self { decoders: Arc::clone(decoders), file }
    }

    /// The decoders that a source shares among its readers.
    pub(crate) fn of(source: &impl ReadAt) -> Option<Self> {
        source.reader_state()?.downcast_ref::<Self>().cloned()
    }

    /// The dictionary of the file, if it was read before.
    pub(crate) fn dictionary(&self) -> Option<Arc<Dictionary>> {
        let kept = self.decoders.kept();
        kept.dictionaries
            .iter()
            .find(|(file, _)| *file == self.file)
            .map(|(_, dictionary)| Arc::clone(dictionary))
    }

    /// The dictionary that stands so in the file. It is known from now on, before it is unpacked: two who need it at once do that once.
    pub(crate) fn know(&self, stored: &[u8]) -> Arc<Dictionary> {
        let mut kept = self.decoders.kept();
        let dictionary = match &kept.last {
            Some(last) if last.stored() == stored => Arc::clone(last),
            _ => Arc::new(Dictionary::new(stored.to_vec())),
        };
        kept.last = Some(Arc::clone(&dictionary));
        kept.dictionaries.retain(|(file, _)| *file != self.file);
        push(&mut kept.dictionaries, (self.file, Arc::clone(&dictionary)));
        dictionary
    }

    /// One that is ready.
    pub(crate) fn take(&self) -> Option<Unframing> {
        let mut kept = self.decoders.kept();
        let place = kept.idle.iter().position(|(file, _)| *file == self.file)?;
        kept.idle.remove(place).map(|(_, unframing)| unframing)
    }

    /// Keeps one for the next who asks.
    pub(crate) fn give_back(&self, unframing: Unframing) {
        push(&mut self.decoders.kept().idle, (self.file, unframing));
    }
}

/// Adds one; the one that nobody asked for the longest goes.
fn push<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() == MOST {
        kept.pop_front();
    }
    kept.push_back(one);
}
