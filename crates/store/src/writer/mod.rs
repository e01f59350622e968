//! The writer of the store: appends records and reports when they are durable.
//!
//! Order of durability: a record's bytes are in the silo, the silo is synced, then its entries go
//! to the index. Nothing is acknowledged before the second step. [`StoreWriter::open`] repeats the
//! third after a crash: it reads the silos forward from the last indexed place. So the silos are
//! always ahead of the index, and a crash loses only unacknowledged records.
//!
//! A record that is already stored is not written again, but only after the stored one was read and
//! verified. A damaged record is written again at the end; the old one stays.
//!
//! Many threads may write. Each packs its own records, appending takes a short lock, and one sync
//! serves all waiting threads. A large record reserves its space under the lock and is written
//! without it, see `in_flight_write`. While the segments of an object are renamed into place,
//! appending threads wait.

mod append_state;
mod buffer_pool;
mod buffered_objects;
mod description;
mod in_flight_write;
pub(crate) mod recover;
mod roll_silo;
pub(crate) mod segments;
mod silo_hasher;
mod store_object;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use varve_core::RecordId;
use varve_file::TemporaryFolder;
use varve_warc::DecoderPool;
use varve_warc::digest::Digest;
use varve_warc::record::RecordHeader;
use varve_warc::write::{PackedRecord, Packer, Packing};

use crate::disk::DiskFile;
use crate::error::StoreError;
use crate::index::{IndexEntry, IndexPrefix, IndexReader, IndexWriter, SiloPlace, SiloPlaces};
use crate::reader::{LocatedRecord, OpenSilos, RecordState, StoreReader};
use crate::record::{index_entries, record_and_body_ids};
use crate::settings::StoreSettings;
use crate::silo::{OpenSilo, SiloFiles, is_large, next_number};

use append_state::AppendState;
use buffer_pool::BufferPool;
pub use buffered_objects::{BufferedObject, MAX_BUFFERED_BYTES};
use description::describe;
use in_flight_write::{InFlightRecord, InFlightWrite};
pub use recover::StoreRecovery;
use roll_silo::SealCondition;
use segments::PublishedSegments;
use silo_hasher::SiloHasher;
pub use store_object::{NewObject, StoredObject};

/// Identifies an appended record. [`StoreWriter::wait`] returns once it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The result of keeping a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRecord {
    /// Whether it was new; otherwise it was already stored.
    pub new: bool,
    /// Whether the stored record was damaged and has been written again.
    pub mended: bool,
    /// To wait for before acknowledging the record.
    pub ticket: Ticket,
}

/// Writes to a store. The caller holds the archive's write lock.
pub struct StoreWriter {
    files: SiloFiles,
    /// The silos, for lookups.
    silos: Arc<OpenSilos>,
    settings: StoreSettings,
    temporary: TemporaryFolder,
    index: IndexWriter,
    state: Mutex<AppendState>,
    pub(crate) synced: Condvar,
    buffer_pool: BufferPool,
    silo_hasher: SiloHasher,
    /// The first silo number that is not recorded as used.
    recorded_next_number: AtomicU32,
}

impl StoreWriter {
    /// Opens a store for writing and recovers from a crash.
    pub fn open(files: SiloFiles, settings: StoreSettings) -> Result<(Self, StoreRecovery), StoreError> {
        let disk = std::sync::Arc::clone(&files.disk);
        disk.make_folders(&settings.temporary)?;
        let temporary = disk.temporary_folder(&settings.temporary);
        segments::complete(&files)?;
        files.move_all_sealed()?;
        IndexWriter::create(&*disk, &settings.index_folder)?;
        let (index, recovery) = IndexWriter::open(disk, &settings.index_folder, settings.index)?;
        let decoders = Arc::new(DecoderPool::default());
        if let Packing::Zstd { dictionary: Some(dictionary), .. } = &settings.packing {
            decoders.remember_dictionary(Arc::clone(dictionary));
        }
        let (tail, recovered) = recover::catch_up((&files, &decoders), &index, &recovery, &settings)?;
        let state = AppendState::new(tail.open, tail.next_number);
        // zstd gains nothing from seeing the whole object.
        let rooms = BufferPool::new(!matches!(settings.packing, Packing::Zstd { .. }));
        let (state, synced) = (Mutex::new(state), Condvar::new());
        let silos = Arc::new(OpenSilos::with_decoders(files.clone(), decoders));
        let (follower, remembered) =
            (SiloHasher::default(), AtomicU32::new(next_number::next_unused(&files)?));
        let writer = Self {
            files,
            silos,
            settings,
            temporary,
            index,
            state,
            synced,
            buffer_pool: rooms,
            silo_hasher: follower,
            recorded_next_number: remembered,
        };
        if writer.index.housekeeping_due() {
            writer.index.housekeeping()?;
        }
        Ok((writer, recovered))
    }

    /// A packer for one thread.
    pub fn packer(&self) -> Result<Packer, StoreError> {
        self.packer_of(self.settings.packing.clone())
    }

    /// A packer for one thread with a slower and smaller compression, where the settings leave the
    /// choice. For objects that users store, which are few beside those of a crawl.
    pub fn small_packer(&self) -> Result<Packer, StoreError> {
        self.packer_of(self.settings.packing.smaller())
    }

    fn packer_of(&self, packing: Packing) -> Result<Packer, StoreError> {
        let packer = Packer::new(packing, Some(self.temporary.clone()));
        Ok(packer.map_err(varve_warc::write::RecordPackError::from)?)
    }

    /// The folder for files without a name.
    pub(crate) fn temporary(&self) -> &TemporaryFolder {
        &self.temporary
    }

    /// The settings of this store.
    pub fn settings(&self) -> &StoreSettings {
        &self.settings
    }

    pub(crate) fn rooms(&self) -> &BufferPool {
        &self.buffer_pool
    }

    pub(crate) fn silos(&self) -> &Arc<OpenSilos> {
        &self.silos
    }

    pub(crate) fn index_writer(&self) -> &IndexWriter {
        &self.index
    }

    /// Which of the ids belong to appended records that are not in the index yet.
    pub(crate) fn unindexed(&self, wanted: &[RecordId]) -> Vec<bool> {
        let state = self.lock();
        wanted.iter().map(|id| state.has_unindexed(id)).collect()
    }

    /// A reader of everything that is synced. It sees later syncs too.
    pub fn reader(&self) -> StoreReader {
        StoreReader::sharing(Arc::clone(&self.silos), self.index.reader())
    }

    /// The index as it is now.
    pub fn index(&self) -> IndexReader {
        self.index.reader()
    }

    /// Whether a record with this id is stored, synced or not. A synced record is read; a damaged
    /// one counts as absent.
    pub fn has(&self, id: &RecordId) -> Result<bool, StoreError> {
        Ok(self.lock().has_unindexed(id) || self.find_synced(id)?.is_some())
    }

    /// The synced, verified record with this record id or body id.
    pub(crate) fn find_synced(&self, id: &RecordId) -> Result<Option<LocatedRecord>, StoreError> {
        let places = self.index.find(IndexPrefix::of(id))?;
        match self.silos.record_state(id, places.iter())? {
            RecordState::Intact(located) => Ok(Some(located)),
            RecordState::Damaged | RecordState::Absent => Ok(None),
        }
    }

    /// Appends a record unless one with its id is stored. It is durable once [`Self::wait`] returns
    /// for its ticket.
    pub fn keep(&self, record: PackedRecord) -> Result<KeptRecord, StoreError> {
        let header = record.header();
        let (own, _) = record_and_body_ids(&header);
        let (mut state, mended) = loop {
            let (state, mended) = match self.claim(own)? {
                WriteClaim::Here(ticket) => return Ok(KeptRecord { new: false, mended: false, ticket }),
                WriteClaim::Free(state, mended) => (state, mended),
            };
            // After waiting, check again whether the record is stored.
            if let Some(state) = self.make_room(state, record.length())? {
                break (state, mended);
            }
        };
        let length = record.length();
        let ticket = if is_large(&record) {
            let (ticket, released) = self.append_large(state, record, &header, own)?;
            state = released;
            ticket
        } else {
            let result = state.append(record, &header, own);
            Ticket(state.stop_on_error(result)?)
        };
        self.advance_hasher(state, length);
        Ok(KeptRecord { new: true, mended, ticket })
    }

    /// Appends a large record: reserves its space under the lock, writes it without, and returns
    /// the lock.
    fn append_large<'a>(
        &'a self,
        mut state: MutexGuard<'a, AppendState>,
        record: PackedRecord,
        header: &RecordHeader,
        own: Option<RecordId>,
    ) -> Result<(Ticket, MutexGuard<'a, AppendState>), StoreError> {
        let result = state.reserve(record.length(), own);
        let (ticket, place, reserved) = state.stop_on_error(result)?;
        let ticket = Ticket(ticket);
        drop(state);
        let copy = InFlightWrite::begin(self);
        let written = reserved.write(record).map_err(StoreError::from);
        let mut state = copy.end(written)?.1;
        state.pending.extend(index_entries(header, place));
        if let Some(id) = own {
            state.recent.insert(id, place);
        }
        Ok((ticket, state))
    }

    /// Hashes some more of the open silo once it is half full.
    fn advance_hasher(&self, state: MutexGuard<'_, AppendState>, length: u64) {
        let Some(silo) = state.silo.as_ref().filter(|silo| silo.length() > self.settings.silo_size / 2)
        else {
            return;
        };
        let (number, until) = (silo.number, state.readable_end(silo));
        drop(state);
        if let Some(most) = self.silo_hasher.bytes_due(length) {
            self.silo_hasher.advance(&self.files, number, until, most);
        }
    }

    /// Stores the segments of one object, each in a silo of its own: all of them or none.
    pub fn keep_segments(&self, records: Vec<PackedRecord>) -> Result<KeptRecord, StoreError> {
        let own = records.first().and_then(|record| record_and_body_ids(&record.header()).0);
        let (mut state, mended) = loop {
            let (state, mended) = match self.claim(own)? {
                WriteClaim::Here(ticket) => return Ok(KeptRecord { new: false, mended: false, ticket }),
                WriteClaim::Free(state, mended) => (state, mended),
            };
            if let Some(state) = self.seal_quickly(state, SealCondition::Always)? {
                break (state, mended);
            }
        };
        let first = state.next_number;
        let place = SiloPlace::new(first, 0)?;
        state.appended += 1;
        let ticket = Ticket(state.appended);
        state.placing = true;
        state.in_flight_record = Some(InFlightRecord { ticket: ticket.0, place, id: own });
        drop(state);
        let copy = InFlightWrite::begin(self);
        let (published, mut state) = copy.end(self.place_segments(records, first))?;
        state.next_number = published.next_number;
        self.silo_hasher.resume_from(published.last.number, published.hasher, published.last.length());
        // The silo of the last segment becomes the open one.
        state.silo = Some(published.last);
        state.durable = state.appended;
        Ok(KeptRecord { new: true, mended, ticket })
    }

    /// A ticket for everything appended so far.
    pub(crate) fn last_ticket(&self) -> Ticket {
        Ticket(self.lock().appended)
    }

    /// Waits until everything up to a ticket is durable and found by its id.
    pub fn wait(&self, ticket: Ticket) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            if state.durable >= ticket.0 {
                return Ok(());
            }
            state.check_not_stopped()?;
            if state.syncing || state.must_wait(ticket.0) {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                state = self.sync_now(state)?;
            }
        }
    }

    /// Waits until everything appended so far is durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        let ticket = Ticket(self.lock().appended);
        self.wait(ticket)
    }

    /// The place after the last record, where the next one begins, in this silo or the next.
    pub fn end(&self) -> Result<Option<SiloPlace>, StoreError> {
        let state = self.lock();
        let place = match &state.silo {
            Some(silo) => SiloPlace::new(silo.number, silo.length())?,
            None if state.next_number == 0 => return Ok(None),
            None => SiloPlace::new(state.next_number, 0)?,
        };
        Ok(Some(place))
    }

    /// Merges recent index entries into the sorted ones.
    pub fn housekeeping(&self) -> Result<crate::index::HousekeepingDone, StoreError> {
        self.sync()?;
        Ok(self.index.housekeeping()?)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, AppendState> {
        // A thread that panicked while holding the lock left the state unchanged or marked as
        // stopped.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides whether a record with this id must be written. A stored record is read without the
    /// lock; if the index has other places for the id afterwards, those are read too.
    fn claim(&self, own: Option<RecordId>) -> Result<WriteClaim<'_>, StoreError> {
        let mut judged = (SiloPlaces::default(), false);
        loop {
            let state = self.lock();
            state.check_not_stopped()?;
            let Some(id) = own else { return Ok(WriteClaim::Free(state, false)) };
            if state.has_unindexed(&id) {
                return Ok(WriteClaim::Here(Ticket(state.appended)));
            }
            let places = self.index.find(IndexPrefix::of(&id))?;
            if places == judged.0 {
                return Ok(WriteClaim::Free(state, judged.1));
            }
            drop(state);
            let stored = self.silos.record_state(&id, places.iter())?;
            if let RecordState::Intact(_) = stored {
                return Ok(WriteClaim::Here(self.last_ticket()));
            }
            judged = (places, matches!(stored, RecordState::Damaged));
        }
    }

    /// Syncs and indexes everything appended so far. Other threads may append meanwhile.
    fn sync_now<'a>(
        &'a self,
        mut state: MutexGuard<'a, AppendState>,
    ) -> Result<MutexGuard<'a, AppendState>, StoreError> {
        let flushed = state.silo.as_mut().map_or(Ok(()), OpenSilo::flush);
        state.stop_on_error(flushed.map_err(StoreError::from))?;
        let Some(silo) = &state.silo else { return Ok(state) };
        let (file, number) = (silo.file(), silo.number);
        state.syncing = true;
        let (reached, entries) = state.take_confirmable();
        drop(state);
        let result = self.sync_silo(&*file, number).and_then(|()| self.publish(&entries));
        let mut state = self.lock();
        state.syncing = false;
        self.synced.notify_all();
        let due = state.stop_on_error(result)?;
        state.durable = state.durable.max(reached);
        state.in_flight.clear();
        if due {
            drop(state);
            self.index.housekeeping()?;
            state = self.lock();
        }
        Ok(state)
    }

    fn publish(&self, entries: &[IndexEntry]) -> Result<bool, StoreError> {
        if entries.is_empty() {
            return Ok(false);
        }
        Ok(self.index.append(entries)?.housekeeping_due)
    }

    /// Syncs a silo, and records its number as used.
    fn sync_silo(&self, file: &dyn DiskFile, number: u32) -> Result<(), StoreError> {
        file.sync()?;
        if self.recorded_next_number.fetch_max(number + 1, Ordering::Relaxed) <= number {
            next_number::remember(&self.files, number + 1)?;
        }
        Ok(())
    }

    /// Writes segments to the silos from `first` on.
    fn place_segments(
        &self,
        records: Vec<PackedRecord>,
        first: u32,
    ) -> Result<PublishedSegments, StoreError> {
        let mut packer = self.packer()?;
        let before = self.digest_before(first)?;
        let mut describe_one = |number, previous: Option<Digest>| {
            describe(&mut packer, &self.settings, number, previous.or(before))
        };
        let published = segments::publish(&self.files, &self.settings, first, records, &mut describe_one)?;
        next_number::remember(&self.files, published.next_number)?;
        self.publish(&published.entries)?;
        Ok(published)
    }
}

/// Whether a record must be written.
enum WriteClaim<'a> {
    /// It is stored.
    Here(Ticket),
    /// It is absent or, if true, damaged. No other thread writes it while the state is locked.
    Free(MutexGuard<'a, AppendState>, bool),
}
