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
//! wait for one: the first to ask does it, the others wait for its result or for the next.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, PackedRecord, Packer, Packing, warc_fields};

use crate::error::StoreError;
use crate::index::{Entry, Index, IndexWriter, Place, Places, Prefix};
use crate::recover::{self, Recovered};
use crate::rooms::Rooms;
use crate::segments;
use crate::settings::Settings;
use crate::silo::{OpenSilo, SiloError, SiloFiles, chain, create, ids, name};
use crate::sound::Standing;
use crate::store::{Located, OpenSilos, Store};

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
    synced: Condvar,
    rooms: Rooms,
}

struct State {
    silo: Option<OpenSilo>,
    next_number: u32,
    /// Entries of records that are in the silo but not in the index.
    pending: Vec<Entry>,
    /// The ids of those records.
    recent: HashMap<[u8; 32], Place>,
    /// The ids of records whose entries are on their way into the index.
    in_flight: HashMap<[u8; 32], Place>,
    appended: u64,
    durable: u64,
    syncing: bool,
    stopped: bool,
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
        let (tail, recovered) = recover::catch_up(&files, &index, &recovery, &settings)?;
        let state = State {
            silo: tail.open,
            next_number: tail.next_number,
            pending: Vec::new(),
            recent: HashMap::new(),
            in_flight: HashMap::new(),
            appended: 0,
            durable: 0,
            syncing: false,
            stopped: false,
        };
        // zstd packs the same way however much it sees.
        let rooms = Rooms::new(!matches!(settings.packing, Packing::Zstd { .. }));
        let (state, synced) = (Mutex::new(state), Condvar::new());
        let silos = Arc::new(OpenSilos::new(files.clone()));
        let writer = Self { files, silos, settings, index, state, synced, rooms };
        if writer.index.housekeeping_due() {
            writer.index.housekeeping()?;
        }
        Ok((writer, recovered))
    }

    /// A packer for one thread.
    pub fn packer(&self) -> Result<Packer, StoreError> {
        let packer = Packer::new(self.settings.packing.clone(), Some(self.settings.temporary.clone()));
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
        Store::with_index(self.files.clone(), self.index.snapshot())
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
        let (mut state, mended) = match self.claim(own)? {
            Claim::Here(ticket) => return Ok(Kept { new: false, mended: false, ticket }),
            Claim::Free(state, mended) => (state, mended),
        };
        state = self.make_room(state, record.length())?;
        let result = append(&mut state, record, &header, own);
        state.stop_on_error(result).map(|ticket| Kept { new: true, mended, ticket })
    }

    /// Appends the segments of one object, each at the beginning of a silo of its own: all of them or none.
    pub fn keep_segments(&self, records: Vec<PackedRecord>) -> Result<Kept, StoreError> {
        let own = records.first().and_then(|record| ids(&record.header()).0);
        let (mut state, mended) = match self.claim(own)? {
            Claim::Here(ticket) => return Ok(Kept { new: false, mended: false, ticket }),
            Claim::Free(state, mended) => (state, mended),
        };
        state = self.seal(state)?;
        let first = state.next_number;
        let result = self.publish_segments(&mut state, records, first);
        state.stop_on_error(result)?;
        Ok(Kept { new: true, mended, ticket: Ticket(state.appended) })
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
            if state.syncing {
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
        let state = self.lock();
        state.check()?;
        drop(self.seal(state)?);
        Ok(())
    }

    /// Merges recent index entries into the sorted ones.
    pub fn housekeeping(&self) -> Result<crate::index::HousekeepingDone, StoreError> {
        self.sync()?;
        Ok(self.index.housekeeping()?)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
        let reached = state.appended;
        let entries = std::mem::take(&mut state.pending);
        let Some(file) = state.silo.as_ref().map(OpenSilo::file) else { return Ok(state) };
        state.syncing = true;
        state.in_flight = std::mem::take(&mut state.recent);
        drop(state);
        let result = file.sync().map_err(StoreError::from).and_then(|()| self.publish(&entries));
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

    /// Sees to it that there is an open silo with room for a record.
    fn make_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        length: u64,
    ) -> Result<MutexGuard<'a, State>, StoreError> {
        let is_full = state.silo.as_ref().is_some_and(|silo| {
            silo.has_records && silo.length().saturating_add(length) > self.settings.silo_size
        });
        if is_full {
            state = self.seal(state)?;
        }
        if state.silo.is_none() {
            let result = self.begin_silo(&mut state);
            state.stop_on_error(result)?;
        }
        Ok(state)
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
        append(state, description, &header, own)?;
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
        let source = match self.files.open(before) {
            Ok(source) => source,
            Err(SiloError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let failed = |source| StoreError::read(before, varve_warc::Error::Io { offset: 0, source });
        chain::digest_of(&*source).map(Some).map_err(failed)
    }

    /// Syncs and closes the open silo for good.
    fn seal<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, StoreError> {
        while state.syncing {
            state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.check()?;
        let Some(mut silo) = state.silo.take() else { return Ok(state) };
        if !silo.has_records {
            state.silo = Some(silo);
            return Ok(state);
        }
        let entries = std::mem::take(&mut state.pending);
        let result = self.seal_file(&mut silo).and_then(|()| self.publish(&entries));
        state.stop_on_error(result)?;
        state.recent.clear();
        state.durable = state.appended;
        self.synced.notify_all();
        Ok(state)
    }

    fn seal_file(&self, silo: &mut OpenSilo) -> Result<(), StoreError> {
        silo.flush()?;
        silo.file().sync()?;
        let path = self.files.path(silo.number, self.settings.ending());
        self.files.disk.set_read_only(&path)?;
        // The permission is a name's property on some systems and a file's on others: sync both.
        silo.file().sync()?;
        self.files.move_to_medium(silo.number, self.settings.ending())?;
        Ok(())
    }

    fn publish_segments(
        &self,
        state: &mut State,
        records: Vec<PackedRecord>,
        first: u32,
    ) -> Result<(), StoreError> {
        let mut packer = self.packer()?;
        let before = self.digest_before(first)?;
        let mut describe_one = |number, previous: Option<Digest>| {
            describe(&mut packer, &self.settings, number, previous.or(before))
        };
        let published = segments::publish(&self.files, &self.settings, first, records, &mut describe_one)?;
        self.publish(&published.entries)?;
        state.next_number = published.next_number;
        // The last segment's silo goes on as the open one.
        state.silo = Some(published.last);
        state.appended += 1;
        state.durable = state.appended;
        self.synced.notify_all();
        Ok(())
    }
}

/// Whether a record is to be written.
enum Claim<'a> {
    /// It is here.
    Here(Ticket),
    /// It is not; nobody else writes it as long as the state is held. True when it was here and is damaged.
    Free(MutexGuard<'a, State>, bool),
}

/// The description of silo `number`.
fn describe(
    packer: &mut Packer,
    settings: &Settings,
    number: u32,
    previous: Option<Digest>,
) -> Result<PackedRecord, StoreError> {
    let fields = settings.description.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let block = warc_fields(fields);
    let draft = Draft::new(RecordType::Warcinfo, &(settings.clock)())
        .field("WARC-Filename", &name::file_name(number, settings.ending()))
        .content_type("application/warc-fields");
    // Two silos may say the same of themselves: the number makes each description, and so its id, its own.
    let mut own = block;
    own.extend_from_slice(&warc_fields([("varve-silo", number.to_string().as_str())]));
    if let Some(previous) = previous {
        own.extend_from_slice(&warc_fields([(chain::PREVIOUS, previous.to_string().as_str())]));
    }
    Ok(packer.pack(&draft, PayloadKind::None, &own)?)
}

fn append(
    state: &mut State,
    record: PackedRecord,
    header: &varve_warc::record::Header,
    own: Option<[u8; 32]>,
) -> Result<Ticket, StoreError> {
    let Some(silo) = &mut state.silo else { return Err(StoreError::Stopped) };
    let place = Place::new(silo.number, silo.length())?;
    silo.append(record)?;
    silo.has_records = true;
    state.pending.extend(crate::silo::entries(header, place));
    if let Some(id) = own {
        state.recent.insert(id, place);
    }
    state.appended += 1;
    Ok(Ticket(state.appended))
}

impl State {
    /// Whether a record of that id was appended that the index does not know yet.
    fn has_unindexed(&self, id: &[u8; 32]) -> bool {
        self.recent.contains_key(id) || self.in_flight.contains_key(id)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.stopped { Err(StoreError::Stopped) } else { Ok(()) }
    }

    /// After a failed write nobody knows what is on the disk: nothing more is written until the archive is reopened.
    fn stop_on_error<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_err() {
            self.stopped = true;
        }
        result
    }
}
