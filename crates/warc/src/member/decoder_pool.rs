//! Frame decoders that are kept for reuse.
//!
//! Preparing a decoder takes as long as decompressing some records, and reading its dictionary
//! takes milliseconds. A store that reads single records of the same files again and again keeps a
//! few decoders ready.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_wire::ReadAt;

use super::dictionary::Dictionary;
use super::zstd::FrameDecoder;

/// Maximum number of decoders, and of dictionaries, that are kept for all files together.
const MAX_POOLED: usize = 4;

/// Idle decoders, each ready for one file.
#[derive(Default)]
pub struct DecoderPool {
    content: Mutex<PoolContent>,
}

#[derive(Default)]
struct PoolContent {
    idle: VecDeque<(u64, FrameDecoder)>,
    /// The dictionaries of the files that were read last.
    dictionaries: VecDeque<(u64, Arc<Dictionary>)>,
    /// The dictionary that was used last: many files have the same.
    last: Option<Arc<Dictionary>>,
}

impl DecoderPool {
    /// Readers that find this dictionary in a file use the given one, which may already be
    /// decompressed.
    pub fn remember_dictionary(&self, dictionary: Arc<Dictionary>) {
        self.content().last = Some(dictionary);
    }

    /// Drops everything that is ready for a file, because another may take its place.
    pub fn drop_file(&self, file: u64) {
        let mut content = self.content();
        content.idle.retain(|(number, _)| *number != file);
        content.dictionaries.retain(|(number, _)| *number != file);
    }

    fn content(&self) -> MutexGuard<'_, PoolContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The decoders of one file. A source hands them to its readers as [`ReadAt::reader_state`].
#[derive(Clone)]
pub struct FileDecoders {
    pool: Arc<DecoderPool>,
    file: u64,
}

impl FileDecoders {
    /// The decoders of the file with this number, which must be unique among the files that share
    /// `pool`.
    pub fn new(pool: &Arc<DecoderPool>, file: u64) -> Self {
        Self { pool: Arc::clone(pool), file }
    }

    /// The decoders that a source shares among its readers.
    pub(crate) fn of(source: &impl ReadAt) -> Option<Self> {
        source.reader_state()?.downcast_ref::<Self>().cloned()
    }

    /// The dictionary of the file, if it was read before.
    pub(crate) fn dictionary(&self) -> Option<Arc<Dictionary>> {
        let content = self.pool.content();
        let known = content.dictionaries.iter().find(|(file, _)| *file == self.file);
        known.map(|(_, dictionary)| Arc::clone(dictionary))
    }

    /// The dictionary with these stored bytes. It is remembered before it is decompressed, so that
    /// two readers which need it at the same time decompress it once.
    pub(crate) fn remember_dictionary(&self, stored: &[u8]) -> Arc<Dictionary> {
        let mut content = self.pool.content();
        let dictionary = match &content.last {
            Some(last) if last.stored() == stored => Arc::clone(last),
            _ => Arc::new(Dictionary::new(stored.to_vec())),
        };
        content.last = Some(Arc::clone(&dictionary));
        content.dictionaries.retain(|(file, _)| *file != self.file);
        push_bounded(&mut content.dictionaries, (self.file, Arc::clone(&dictionary)));
        dictionary
    }

    /// Takes a decoder that is ready.
    pub(crate) fn take(&self) -> Option<FrameDecoder> {
        let mut content = self.pool.content();
        let index = content.idle.iter().position(|(file, _)| *file == self.file)?;
        content.idle.remove(index).map(|(_, decoder)| decoder)
    }

    /// Returns a decoder to the pool.
    pub(crate) fn give_back(&self, decoder: FrameDecoder) {
        push_bounded(&mut self.pool.content().idle, (self.file, decoder));
    }
}

/// Appends an item and drops the oldest when there are too many.
fn push_bounded<T>(items: &mut VecDeque<T>, item: T) {
    if items.len() == MAX_POOLED {
        items.pop_front();
    }
    items.push_back(item);
}
