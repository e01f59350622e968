//! Decoders that wait to be used again.
//!
//! A decoder with a dictionary of some megabytes takes milliseconds to make ready, which is more than most records take to
//! unpack. Who reads single records of the same files again and again keeps a few of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::dictionary::Dictionary;
use super::zstd::Unframing;

/// So many are kept, of all files together: each holds a dictionary.
const MOST: usize = 4;

/// Decoders that nobody uses just now, each ready for one file.
#[derive(Default)]
pub struct Decoders {
    idle: Mutex<VecDeque<(u64, Unframing)>>,
    /// The dictionary that was used last: many files have the same.
    known: Mutex<Option<Arc<Dictionary>>>,
}

impl Decoders {
    /// Lets those who find this dictionary in a file use it as it is here, unpacked perhaps.
    pub fn know(&self, dictionary: Arc<Dictionary>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(dictionary);
    }

    /// Forgets what is ready for a file, in whose place another may come.
    pub fn forget(&self, file: u64) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(ready_for, _)| *ready_for != file);
    }
}

/// The decoders of one file.
#[derive(Clone)]
pub struct DecodersOf {
    decoders: Arc<Decoders>,
    file: u64,
}

impl DecodersOf {
    /// Those of the file with this number, which no other file that shares `decoders` may have.
    pub fn new(decoders: &Arc<Decoders>, file: u64) -> Self {
        Self { decoders: Arc::clone(decoders), file }
    }

    /// See [`Decoders::know`].
    pub(crate) fn know(&self, dictionary: Arc<Dictionary>) {
        self.decoders.know(dictionary);
    }

    /// The dictionary that stands so in a file, if it is known.
    pub(crate) fn known(&self, stored: &[u8]) -> Option<Arc<Dictionary>> {
        let known = self.decoders.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone().filter(|known| known.stored() == stored)
    }

    /// One that is ready.
    pub(crate) fn take(&self) -> Option<Unframing> {
        let mut idle = self.decoders.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|(file, _)| *file == self.file)?;
        idle.remove(place).map(|(_, unframing)| unframing)
    }

    /// Keeps one for the next who asks; the one that nobody asked for the longest goes.
    pub(crate) fn give_back(&self, unframing: Unframing) {
        let mut idle = self.decoders.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() == MOST {
            idle.pop_front();
        }
        idle.push_back((self.file, unframing));
    }
}
