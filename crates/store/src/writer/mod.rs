//! The writing face of the store: records go in, and are safe when it says so.
//!
//! Order of durability: a record's bytes are in the silo, the silo is synced, then its entries go to the index. Nothing
//! is acknowledged before the second step; the third can be made up for, because [`StoreWriter::open`] reads the silos
//! forward from the last place that the index knows. So at every instant the silos are ahead of the index, and what a
//! crash can lose was never promised.
//!
//! What is here already is not written again, but only after what is stored was read: whoever is told that something is
//! kept can have it back. A record that is damaged is written anew, behind all others; the old one stays where it is.
//!
//! Many threads may write. Each packs its own records, appending takes a lock for a moment, and one sync serves all who
//! wait for one: the first to ask does it, the others wait for its result or for the next. A large record only takes its
//! place under the lock, and its bytes follow while others go on (see `copying`); while the segments of one object are put
//! in their places, who wants to append waits, and everybody else goes on.

mod append_state;
mod buffer_pool;
mod description;
mod in_flight;
pub(crate) mod recover;
pub(crate) mod segments;
mod silo_hasher;
mod small_objects;
mod store_object;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use varve_warc::digest::Digest;
use varve_warc::record::Header;
use varve_warc::source::Decoders;
use varve_warc::write::{PackedRecord, Packer, Packing};

use crate::disk::DiskFile;
use crate::error::StoreError;
use crate::index::{Entry, Index, IndexWriter, Place, Places, Prefix};
use crate::reader::{Located, OpenSilos, Standing, Store};
use crate::record::{entries, ids};
use crate::settings::Settings;
use crate::silo::{OpenSilo, SiloFiles, create, is_large, numbers};

use append_state::State;
use buffer_pool::Rooms;
use description::describe;
use in_flight::{Copy, Copying};
pub use recover::Recovered;
use segments::Published;
use silo_hasher::Follower;
pub use small_objects::{Held, LARGEST_HELD};
pub use store_object::{NewObject, Stored};

/// Promises that a record will be safe once a sync has reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What became of a record that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Whether it was new; otherwise it was there already.
    pub new: bool,
    /// It was there already, but what is stored cannot be read any more: it was written anew.
    pub mended: bool,
    /// To be waited for before anything is promised.
    pub ticket: Ticket,
}

/// Writes to a store. Whoever makes one must hold the archive's lock.
pub struct StoreWriter {
    files: SiloFiles,
    /// What is stored, for those who ask whether something is.
    silos: Arc<OpenSilos>,
    settings: Settings,
    index: IndexWriter,
    state: Mutex<State>,
    pub(crate) synced: Condvar,
    rooms: Rooms,
    follower: Follower,
    /// The first number that is not written down as used.
    remembered: AtomicU32,
}

impl StoreWriter {
    /// Opens a store for writing and puts in order what a crash left behind.
    pub fn open(files: SiloFiles, settings: Settings) -> Result<(Self, Recovered), StoreError> {
        let disk = std::sync::Arc::clone(&files.disk);
        disk.make_folders(&settings.temporary)?;
        segments::complete(&files)?;
        files.move_all_sealed()?;
        IndexWriter::create(&*disk, &settings.index_folder)?;
        let (index, recovery) = IndexWriter::open(disk, &settings.index_folder, settings.index)?;
        let decoders = Arc::new(Decoders::default());
        if let Packing::Zstd { dictionary: Some(dictionary), .. } = &settings.packing {
            decoders.know(Arc::clone(dictionary));
        }
        let (tail, recovered) = recover::catch_up((&files, &decoders), &index, &recovery, &settings)?;
        let state = State::new(tail.open, tail.next_number);
        // zstd packs the same way however much it sees.
        let rooms = Rooms::new(!matches!(settings.packing, Packing::Zstd { .. }));
        let (state, synced) = (Mutex::new(state), Condvar::new());
        let silos = Arc::new(OpenSilos::with_decoders(files.clone(), decoders));
        let (follower, remembered) = (Follower::default(), AtomicU32::new(numbers::next_unused(&files)?));
        let writer = Self { files, silos, settings, index, state, synced, rooms, follower, remembered };
        if writer.index.housekeeping_due() {
            writer.index.housekeeping()?;
        }
        Ok((writer, recovered))
    }

    /// A packer for one thread.
    pub fn packer(&self) -> Result<Packer, StoreError> {
        self.packer_of(self.settings.packing.clone())
    }

    /// A packer for one thread that takes its time, where the owner left the choice: for what people hand over, which is
    /// little beside what a crawl brings.
    pub fn small_packer(&self) -> Result<Packer, StoreError> {
        self.packer_of(self.settings.packing.smaller())
    }

    fn packer_of(&self, packing: Packing) -> Result<Packer, StoreError> {
        let packer = Packer::new(packing, Some(self.settings.temporary.clone()));
        Ok(packer.map_err(varve_warc::write::PackError::from)?)
    }

    /// How it is written.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    pub(crate) fn silos(&self) -> &Arc<OpenSilos> {
        &self.silos
    }

    pub(crate) fn index_writer(&self) -> &IndexWriter {
        &self.index
    }

    /// Which of many ids are those of records that were appended and that the index does not know yet.
    pub(crate) fn unindexed(&self, wanted: &[[u8; 32]]) -> Vec<bool> {
        let state = self.lock();
        wanted.iter().map(|id| state.has_unindexed(id)).collect()
    }

    /// The reading face, of what is synced now.
    pub fn reader(&self) -> Store {
        Store::with_index(Arc::clone(&self.silos), self.index.snapshot())
    }

    /// The index as it is now.
    pub fn index(&self) -> Index {
        self.index.snapshot()
    }

    /// Whether a record of that id is here, synced or not. What is synced is read: a damaged record is not here.
    pub fn has(&self, id: &[u8; 32]) -> Result<bool, StoreError> {
        Ok(self.lock().has_unindexed(id) || self.find_synced(id)?.is_some())
    }

    /// The record of an id among what is synced: its own, or that of the body it holds. It was read and is right.
    pub(crate) fn find_synced(&self, id: &[u8; 32]) -> Result<Option<Located>, StoreError> {
        let places = self.index.find(Prefix::of(id))?;
        match self.silos.standing(id, places.iter())? {
            Standing::Sound(located) => Ok(Some(located)),
            Standing::Damaged | Standing::Absent => Ok(None),
        }
    }

    /// Appends a record unless one of its id is here. It is safe once its ticket was waited for.
    pub fn keep(&self, record: PackedRecord) -> Result<Kept, StoreError> {
        let header = record.header();
        let (own, _) = ids(&header);
        let (mut state, mended) = loop {
            let (state, mended) = match self.claim(own)? {
                Claim::Here(ticket) => return Ok(Kept { new: false, mended: false, ticket }),
                Claim::Free(state, mended) => (state, mended),
            };
            // Whoever had to wait for room asks again whether the record is to be written.
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
        self.follow(state, length);
        Ok(Kept { new: true, mended, ticket })
    }

    /// Appends a record of which only the place is taken under the lock. Gives the lock back when it is written.
    fn append_large<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        record: PackedRecord,
        header: &Header,
        own: Option<[u8; 32]>,
    ) -> Result<(Ticket, MutexGuard<'a, State>), StoreError> {
        let result = state.reserve(record.length(), own);
        let (ticket, place, reserved) = state.stop_on_error(result)?;
        let ticket = Ticket(ticket);
        drop(state);
        let copy = Copy::begin(self);
        let written = reserved.write(record).map_err(StoreError::from);
        let mut state = copy.end(written)?.1;
        state.pending.extend(entries(header, place));
        if let Some(id) = own {
            state.recent.insert(id, place);
        }
        Ok((ticket, state))
    }

    /// Lets the digest of the silo catch up a little, when it will be wanted before long.
    fn follow(&self, state: MutexGuard<'_, State>, length: u64) {
        let Some(silo) = state.silo.as_ref().filter(|silo| silo.length() > self.settings.silo_size / 2)
        else {
            return;
        };
        let (number, until) = (silo.number, state.readable(silo));
        drop(state);
        if let Some(most) = self.follower.due(length) {
            self.follower.follow(&self.files, number, until, most);
        }
    }

    /// Appends the segments of one object, each at the beginning of a silo of its own: all of them or none.
    pub fn keep_segments(&self, records: Vec<PackedRecord>) -> Result<Kept, StoreError> {
        let own = records.first().and_then(|record| ids(&record.header()).0);
        let (mut state, mended) = loop {
            let (state, mended) = match self.claim(own)? {
                Claim::Here(ticket) => return Ok(Kept { new: false, mended: false, ticket }),
                Claim::Free(state, mended) => (state, mended),
            };
            if let Some(state) = self.seal_quickly(state, Seal::Always)? {
                break (state, mended);
            }
        };
        let first = state.next_number;
        let place = Place::new(first, 0)?;
        state.appended += 1;
        let ticket = Ticket(state.appended);
        state.placing = true;
        state.copying = Some(Copying { ticket: ticket.0, place, id: own });
        drop(state);
        let copy = Copy::begin(self);
        let (published, mut state) = copy.end(self.place_segments(records, first))?;
        state.next_number = published.next_number;
        self.follower.take_up(published.last.number, published.hasher, published.last.length());
        // The last segment's silo goes on as the open one.
        state.silo = Some(published.last);
        state.durable = state.appended;
        Ok(Kept { new: true, mended, ticket })
    }

    /// A ticket for everything appended so far.
    pub(crate) fn last_ticket(&self) -> Ticket {
        Ticket(self.lock().appended)
    }

    /// Waits until everything up to a ticket is safe from a power cut and found by its id.
    pub fn wait(&self, ticket: Ticket) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            if state.durable >= ticket.0 {
                return Ok(());
            }
            state.check()?;
            if state.syncing || state.is_held_up(ticket.0) {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                state = self.sync_now(state)?;
            }
        }
    }

    /// Waits until everything appended so far is safe.
    pub fn sync(&self) -> Result<(), StoreError> {
        let ticket = Ticket(self.lock().appended);
        self.wait(ticket)
    }

    /// The place behind the last record: where the next one will begin, in this silo or the one after it.
    pub fn end(&self) -> Result<Option<Place>, StoreError> {
        let state = self.lock();
        let place = match &state.silo {
            Some(silo) => Place::new(silo.number, silo.length())?,
            None if state.next_number == 0 => return Ok(None),
            None => Place::new(state.next_number, 0)?,
        };
        Ok(Some(place))
    }

    /// Seals the silo that grows, as if it were full.
    pub fn seal_now(&self) -> Result<(), StoreError> {
        loop {
            let state = self.lock();
            state.check()?;
            if self.seal_quickly(state, Seal::Filled)?.is_some() {
                return Ok(());
            }
        }
    }

    /// Merges recent index entries into the sorted ones.
    pub fn housekeeping(&self) -> Result<crate::index::HousekeepingDone, StoreError> {
        self.sync()?;
        Ok(self.index.housekeeping()?)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while it held the state left it marked as stopped, or unchanged.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out whether a record of that id is to be written. What is stored is read while nothing is locked; if the
    /// index has other places for the id by then, they are looked at too.
    fn claim(&self, own: Option<[u8; 32]>) -> Result<Claim<'_>, StoreError> {
        let mut judged = (Places::default(), false);
        loop {
            let state = self.lock();
            state.check()?;
            let Some(id) = own else { return Ok(Claim::Free(state, false)) };
            if state.has_unindexed(&id) {
                return Ok(Claim::Here(Ticket(state.appended)));
            }
            let places = self.index.find(Prefix::of(&id))?;
            if places == judged.0 {
                return Ok(Claim::Free(state, judged.1));
            }
            drop(state);
            let standing = self.silos.standing(&id, places.iter())?;
            if let Standing::Sound(_) = standing {
                return Ok(Claim::Here(self.last_ticket()));
            }
            judged = (places, matches!(standing, Standing::Damaged));
        }
    }

    /// Syncs and publishes all that was appended, letting others append meanwhile.
    fn sync_now<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, StoreError> {
        let flushed = state.silo.as_mut().map_or(Ok(()), OpenSilo::flush);
        state.stop_on_error(flushed.map_err(StoreError::from))?;
        let Some(silo) = &state.silo else { return Ok(state) };
        let (file, number) = (silo.file(), silo.number);
        state.syncing = true;
        let (reached, entries) = state.take_whole();
        drop(state);
        let result = self.make_safe(&*file, number).and_then(|()| self.publish(&entries));
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

    fn publish(&self, entries: &[Entry]) -> Result<bool, StoreError> {
        if entries.is_empty() {
            return Ok(false);
        }
        Ok(self.index.append(entries)?.housekeeping_due)
    }

    /// Sees to it that there is an open silo with room for a record. None when that took others' time: who asks should
    /// look again whether all is as it was.
    fn make_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        length: u64,
    ) -> Result<Option<MutexGuard<'a, State>>, StoreError> {
        let is_held = state.silo.as_ref().is_some_and(|silo| !silo.has_room_to_gather(length));
        // Segments are put in their places, or a large record is written: this one goes behind it.
        if state.placing || is_held {
            drop(self.synced.wait(state).unwrap_or_else(PoisonError::into_inner));
            return Ok(None);
        }
        let is_full = state.silo.as_ref().is_some_and(|silo| {
            silo.has_records && silo.length().saturating_add(length) > self.settings.silo_size
        });
        if is_full {
            let Some(sealed) = self.seal_quickly(state, Seal::Filled)? else { return Ok(None) };
            state = sealed;
        }
        if state.silo.is_none() {
            let result = self.begin_silo(&mut state);
            state.stop_on_error(result)?;
        }
        Ok(Some(state))
    }

    /// Seals the open silo, if nobody is at work on it and its digest is nearly known; else waits for that while nothing
    /// is locked, and gives nothing.
    fn seal_quickly<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        which: Seal,
    ) -> Result<Option<MutexGuard<'a, State>>, StoreError> {
        if state.syncing || state.copying.is_some() {
            drop(self.synced.wait(state).unwrap_or_else(PoisonError::into_inner));
            return Ok(None);
        }
        let is_wanted = |silo: &&OpenSilo| silo.has_records || which == Seal::Always;
        let Some(silo) = state.silo.as_ref().filter(is_wanted) else { return Ok(Some(state)) };
        let (number, until) = (silo.number, state.readable(silo));
        if !self.follower.is_far_behind(number, until) {
            return self.seal(state).map(Some);
        }
        drop(state);
        self.follower.follow(&self.files, number, until, u64::MAX);
        let state = self.lock();
        state.check()?;
        if self.follower.is_far_behind(number, until) {
            // It cannot be read now, or another reads it: who seals it will say why, or wait for the other.
            let is_same = state.silo.as_ref().is_some_and(|silo| silo.number == number);
            if is_same && !state.syncing && state.copying.is_none() {
                return self.seal(state).map(Some);
            }
        }
        Ok(None)
    }

    fn begin_silo(&self, state: &mut State) -> Result<(), StoreError> {
        let number = state.next_number;
        Place::new(number, 0)?;
        let ending = self.settings.ending();
        let file = create(&*self.files.disk, &self.files.folder, number, ending)?;
        let description = self.describe(number)?;
        let mut silo = OpenSilo::resume(number, file, 0, false);
        let preamble = self.settings.packing.preamble();
        if !preamble.is_empty() {
            silo.append_raw(&preamble)?;
        }
        state.next_number = number + 1;
        state.silo = Some(silo);
        let header = description.header();
        let own = ids(&header).0;
        state.append(description, &header, own)?;
        if let Some(silo) = &mut state.silo {
            silo.has_records = false;
        }
        Ok(())
    }

    /// The record that every silo begins with.
    fn describe(&self, number: u32) -> Result<PackedRecord, StoreError> {
        let previous = self.digest_before(number)?;
        describe(&mut self.packer()?, &self.settings, number, previous)
    }

    /// The digest of the sealed silo before `number`; none when there is none.
    fn digest_before(&self, number: u32) -> Result<Option<Digest>, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        self.follower.finish(&self.files, before)
    }

    /// Syncs and closes the open silo for good. Nobody else is at work on it.
    fn seal<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, StoreError> {
        let Some(mut silo) = state.silo.take() else { return Ok(state) };
        let (_, entries) = state.take_whole();
        let result = self.seal_file(&mut silo).and_then(|()| self.publish(&entries));
        state.stop_on_error(result)?;
        state.in_flight.clear();
        state.durable = state.appended;
        self.synced.notify_all();
        Ok(state)
    }

    /// Makes what is written to a silo safe, and that there is a silo of that number.
    fn make_safe(&self, file: &dyn DiskFile, number: u32) -> Result<(), StoreError> {
        file.sync()?;
        if self.remembered.fetch_max(number + 1, Ordering::Relaxed) <= number {
            numbers::remember(&self.files, number + 1)?;
        }
        Ok(())
    }

    fn seal_file(&self, silo: &mut OpenSilo) -> Result<(), StoreError> {
        silo.flush()?;
        self.make_safe(&*silo.file(), silo.number)?;
        let path = self.files.path(silo.number, self.settings.ending());
        self.files.disk.set_read_only(&path)?;
        // The permission is a name's property on some systems and a file's on others: sync both.
        silo.file().sync()?;
        self.files.move_to_medium(silo.number, self.settings.ending())?;
        Ok(())
    }

    /// Puts segments in silos from `first` on, which nobody else uses.
    fn place_segments(&self, records: Vec<PackedRecord>, first: u32) -> Result<Published, StoreError> {
        let mut packer = self.packer()?;
        let before = self.digest_before(first)?;
        let mut describe_one = |number, previous: Option<Digest>| {
            describe(&mut packer, &self.settings, number, previous.or(before))
        };
        let published = segments::publish(&self.files, &self.settings, first, records, &mut describe_one)?;
        numbers::remember(&self.files, published.next_number)?;
        self.publish(&published.entries)?;
        Ok(published)
    }
}

/// Which silo is sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seal {
    /// One that holds more than its description.
    Filled,
    /// Any: the next one has its number for a reason.
    Always,
}

/// Whether a record is to be written.
enum Claim<'a> {
    /// It is here.
    Here(Ticket),
    /// It is not; nobody else writes it as long as the state is held. True when it was here and is damaged.
    Free(MutexGuard<'a, State>, bool),
}
