//! Catching up after whatever happened: a crash, a power cut, a process that was killed.
//!
//! The silos are the truth. From the last place that the index knows, they are read forward: whole records that the
//! index lacks are added, and bytes behind the last whole record of the last silo are cut off, because a record that
//! is not whole was never acknowledged. One thing is never cut: a record that the index knows was acknowledged. If that
//! is damaged, the silo is sealed as it is, for audit to name, and writing goes on in the next.

use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::Error;
use varve_warc::source::{Decoders, ReadAt};

use crate::error::StoreError;
use crate::index::{Entry, IndexWriter, Place, Recovery};
use crate::reader::open_with;
use crate::record::entries;
use crate::settings::Settings;
use crate::silo::{OpenSilo, SiloFile, SiloFiles, Walked, numbers, walk, walk_from};

/// What catching up came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Entries that the index lacked, nearly: some of them it may have had.
    pub entries: u64,
    /// Bytes cut off the last silo.
    pub cut: u64,
    /// What was cut off is kept beside the silo, since the index was lost and cannot tell whether it was promised.
    pub set_aside: bool,
    /// The last silo was damaged and was sealed as it is.
    pub sealed_damaged: bool,
}

/// Where writing goes on.
pub(crate) struct Tail {
    pub(crate) open: Option<OpenSilo>,
    pub(crate) next_number: u32,
}

/// Entries are added so many at a time.
const BATCH: usize = 4096;

/// Brings the index up to the silos, and the last silo up to its last whole record.
pub(crate) fn catch_up(
    (files, decoders): (&SiloFiles, &Arc<Decoders>),
    index: &IndexWriter,
    recovery: &Recovery,
    settings: &Settings,
) -> Result<(Tail, Recovered), StoreError> {
    let silos = files.list()?;
    let mut recovered = Recovered::default();
    let known = recovery.known;
    // The number of a silo that is lost is not given away: it may come back from a copy.
    let behind_known = known.map_or(0, |known| known.silo() + 1).max(numbers::next_unused(files)?);
    let Some(last) = silos.values().next_back() else {
        return Ok((Tail { open: None, next_number: behind_known }, recovered));
    };
    if known.is_some_and(|known| known.silo() > last.number) {
        // The last silos are lost. What is left was entered before they were begun.
        return Ok((Tail { open: None, next_number: behind_known }, recovered));
    }
    let from = known.map_or(0, Place::silo);
    for silo in silos.range(from..last.number).map(|(_, silo)| silo) {
        index_silo(files, index, silo, known, &mut recovered)?;
    }
    let mut tail = take_up_last((files, decoders), index, last, known, &mut recovered)?;
    if tail.open.is_some() && !is_written_so(files, last, settings)? {
        // What is packed in another way, or with another dictionary, does not belong behind what is there.
        files.disk.set_read_only(&files.path(last.number, last.ending))?;
        tail.open = None;
    }
    if last.number + 1 < behind_known {
        tail = Tail { open: None, next_number: behind_known };
    }
    index.sync()?;
    Ok((tail, recovered))
}

/// Whether a silo begins as one would that is begun now.
fn is_written_so(files: &SiloFiles, silo: &SiloFile, settings: &Settings) -> Result<bool, StoreError> {
    let file = files.disk.open(&files.path(silo.number, silo.ending))?;
    let mut beginning = vec![0; settings.telling_length()];
    let read = file.read_at(0, &mut beginning)?;
    Ok(settings.begins_so(silo.ending, &beginning[..read]))
}

/// Adds the entries of a silo that is not the last.
fn index_silo(
    files: &SiloFiles,
    index: &IndexWriter,
    silo: &SiloFile,
    known: Option<Place>,
    recovered: &mut Recovered,
) -> Result<(), StoreError> {
    let source = files.open(silo.number)?;
    match known.filter(|known| known.silo() == silo.number) {
        Some(known) => {
            let mut batch = Batch::new(index, silo.number, recovered);
            let walked = walk_from(&source, known.offset(), |header, offset| batch.add(header, offset));
            walked.map_err(|error| StoreError::read(silo.number, error))?;
            batch.finish()
        }
        None => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let mut failure = Ok(());
            let result = walk(&*source, silo.number, threads, &|_| {}, &|_| None::<()>, &mut |part| {
                recovered.entries += part.entries.len() as u64;
                for chunk in part.entries.chunks(BATCH) {
                    if failure.is_ok() {
                        failure = index.append(chunk).map(|_| ());
                    }
                }
            });
            result.map_err(|error| StoreError::walk(silo.number, error))?;
            Ok(failure?)
        }
    }
}

/// Adds the entries of the last silo and makes it ready to be appended to.
fn take_up_last(
    (files, decoders): (&SiloFiles, &Arc<Decoders>),
    index: &IndexWriter,
    last: &SiloFile,
    known: Option<Place>,
    recovered: &mut Recovered,
) -> Result<Tail, StoreError> {
    let number = last.number;
    let known_offset = known.filter(|known| known.silo() == number).map(Place::offset);
    let from = known_offset.unwrap_or(0);
    let source = open_with(files, number, decoders)?;
    let mut batch = Batch::new(index, number, recovered);
    let walked = walk_from(&source, from, |header, offset| {
        // What the index knows it has.
        if Some(offset) != known_offset {
            batch.add(header, offset);
        }
    })
    .map_err(|error| StoreError::read(number, error))?;
    batch.finish()?;
    if known.is_none() && !last.read_only && walked.records > 0 {
        // Nobody can tell any more what was promised.
        recovered.set_aside = set_aside(files, last, &*source, walked.good)?.is_some();
    }
    drop(source);
    let settled = settle(files, last, known, &walked)?;
    recovered.sealed_damaged |= settled == Settled::SealedDamaged;
    match settled {
        Settled::Sealed | Settled::SealedDamaged => Ok(Tail { open: None, next_number: number + 1 }),
        Settled::Removed => {
            recovered.cut += last.length;
            decoders.forget(u64::from(number));
            Ok(Tail { open: None, next_number: number })
        }
        Settled::Open => {
            recovered.cut += last.length - walked.good;
            let file = files.disk.open_to_write(&files.path(number, last.ending))?;
            let has_records = from > 0 || walked.records > 1;
            let open = OpenSilo::resume(number, file, walked.good, has_records);
            Ok(Tail { open: Some(open), next_number: number + 1 })
        }
    }
}

/// What became of the last silo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It is sealed, and was.
    Sealed,
    /// Its last acknowledged record is damaged: it is sealed as it is.
    SealedDamaged,
    /// Not even its description was finished: it is gone.
    Removed,
    /// It ends with its last whole record, and may grow.
    Open,
}

/// Cuts the last silo back to its last whole record, unless more than that was promised to somebody. `known` is the
/// last place that the index knows, and `walked` what reading the silo came to, from there or from its beginning.
pub(crate) fn settle(
    files: &SiloFiles,
    last: &SiloFile,
    known: Option<Place>,
    walked: &Walked,
) -> Result<Settled, StoreError> {
    if last.read_only {
        return Ok(Settled::Sealed);
    }
    let path = files.path(last.number, last.ending);
    if known.is_some_and(|known| known.silo() == last.number && walked.good <= known.offset()) {
        files.disk.set_read_only(&path)?;
        return Ok(Settled::SealedDamaged);
    }
    if walked.good == 0 {
        files.disk.remove(&path)?;
        return Ok(Settled::Removed);
    }
    if last.length > walked.good {
        let file = files.disk.open_to_write(&path)?;
        file.truncate(walked.good)?;
        file.sync()?;
    }
    Ok(Settled::Open)
}

/// Copies what follows the last whole record of a silo to a file beside it; none when nothing follows.
pub(crate) fn set_aside(
    files: &SiloFiles,
    silo: &SiloFile,
    source: &dyn ReadAt,
    good: u64,
) -> Result<Option<PathBuf>, StoreError> {
    if silo.length <= good {
        return Ok(None);
    }
    let silo_path = files.path(silo.number, silo.ending);
    let mut path = silo_path.with_added_extension(format!("cut-{good}"));
    while files.disk.stat(&path)?.is_some() {
        path = path.with_added_extension("again");
    }
    let file = files.disk.create_new(&path)?;
    let mut buffer = vec![0; 64 << 10];
    let mut offset = good;
    loop {
        let failed = |source| StoreError::read(silo.number, Error::Io { offset, source });
        let count = source.read_at(&mut buffer, offset).map_err(failed)?;
        if count == 0 {
            break;
        }
        file.write_at(offset - good, &buffer[..count])?;
        offset += count as u64;
    }
    file.sync()?;
    files.disk.sync_folder(silo_path.parent().unwrap_or(&files.folder))?;
    Ok(Some(path))
}

/// Entries on their way into the index.
struct Batch<'a> {
    index: &'a IndexWriter,
    number: u32,
    entries: Vec<Entry>,
    recovered: &'a mut Recovered,
    failure: Result<(), StoreError>,
}

impl<'a> Batch<'a> {
    fn new(index: &'a IndexWriter, number: u32, recovered: &'a mut Recovered) -> Self {
        Self { index, number, entries: Vec::new(), recovered, failure: Ok(()) }
    }

    fn add(&mut self, header: &varve_warc::record::Header, offset: u64) {
        match Place::new(self.number, offset) {
            Ok(place) => self.entries.extend(entries(header, place)),
            Err(error) => self.failure = Err(error.into()),
        }
        if self.entries.len() >= BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        if self.failure.is_ok() && !self.entries.is_empty() {
            self.recovered.entries += self.entries.len() as u64;
            self.failure = self.index.append(&self.entries).map(|_| ()).map_err(StoreError::from);
        }
        self.entries.clear();
    }

    fn finish(mut self) -> Result<(), StoreError> {
        self.send();
        std::mem::replace(&mut self.failure, Ok(()))
    }
}
