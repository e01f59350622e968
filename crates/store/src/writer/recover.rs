//! Recovery when a store is opened for writing, after a crash, a power cut or a kill.
//!
//! The silos are the truth. Recovery reads them forward from the last indexed place, adds missing
//! index entries and cuts the bytes behind the last complete record of the last silo, which were
//! never acknowledged. A record in the index was acknowledged and is never cut: if it is damaged,
//! the silo is sealed as it is for audit to report, and writing continues in the next.

use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::DecoderPool;
use varve_warc::Error;
use varve_wire::ReadAt;

use crate::error::StoreError;
use crate::index::{IndexEntry, IndexRecovery, IndexWriter, SiloPlace};
use crate::reader::open_with_decoders;
use crate::record::index_entries;
use crate::settings::StoreSettings;
use crate::silo::{OpenSilo, SiloFile, SiloFiles, SiloWalk, next_number, walk, walk_from};

/// The result of the recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreRecovery {
    /// Entries added to the index. Some of them may have been there.
    pub entries: u64,
    /// Bytes cut off the last silo.
    pub cut: u64,
    /// The cut bytes were saved beside the silo, because the index was lost and cannot show whether
    /// they were acknowledged.
    pub set_aside: bool,
    /// The last silo is damaged and was sealed as it is.
    pub sealed_damaged: bool,
}

/// Where the writer continues.
pub(crate) struct AppendPoint {
    pub(crate) open: Option<OpenSilo>,
    pub(crate) next_number: u32,
}

/// Index entries added at a time.
const ENTRY_BATCH_SIZE: usize = 4096;

/// Adds missing entries to the index and trims the last silo to its last complete record.
pub(crate) fn catch_up(
    (files, decoders): (&SiloFiles, &Arc<DecoderPool>),
    index: &IndexWriter,
    recovery: &IndexRecovery,
    settings: &StoreSettings,
) -> Result<(AppendPoint, StoreRecovery), StoreError> {
    let silos = files.list_single_files()?;
    let mut recovered = StoreRecovery::default();
    let known = recovery.known;
    // The number of a lost silo is not reused: the silo may be restored from a copy.
    let behind_known = known.map_or(0, |known| known.silo() + 1).max(next_number::next_unused(files)?);
    let Some(last) = silos.values().next_back() else {
        return Ok((AppendPoint { open: None, next_number: behind_known }, recovered));
    };
    if known.is_some_and(|known| known.silo() > last.number) {
        // The last silos are lost. The remaining ones were indexed before those began.
        return Ok((AppendPoint { open: None, next_number: behind_known }, recovered));
    }
    let from = known.map_or(0, SiloPlace::silo);
    for silo in silos.range(from..last.number).map(|(_, silo)| silo) {
        index_silo(files, index, silo, known, &mut recovered)?;
    }
    let mut tail = recover_last_silo((files, decoders), index, last, known, &mut recovered)?;
    if tail.open.is_some() && !has_current_packing(files, last, settings)? {
        // Records with another packing or dictionary must not be appended to this silo.
        files.disk.set_read_only(&files.path(last.number, last.ending))?;
        tail.open = None;
    }
    if last.number + 1 < behind_known {
        tail = AppendPoint { open: None, next_number: behind_known };
    }
    index.sync()?;
    Ok((tail, recovered))
}

/// Whether a silo has the current packing.
fn has_current_packing(
    files: &SiloFiles,
    silo: &SiloFile,
    settings: &StoreSettings,
) -> Result<bool, StoreError> {
    let file = files.disk.open(&files.path(silo.number, silo.ending))?;
    let mut beginning = vec![0; settings.packing_probe_length()];
    let read = file.read_at(&mut beginning, 0)?;
    Ok(settings.has_current_packing(silo.ending, &beginning[..read]))
}

/// Indexes a silo that is not the last.
fn index_silo(
    files: &SiloFiles,
    index: &IndexWriter,
    silo: &SiloFile,
    known: Option<SiloPlace>,
    recovered: &mut StoreRecovery,
) -> Result<(), StoreError> {
    let source = files.open(silo.number)?;
    match known.filter(|known| known.silo() == silo.number) {
        Some(known) => {
            let mut batch = EntryBatch::new(index, silo.number, recovered);
            let walked = walk_from(&source, known.offset(), |header, offset| batch.add(header, offset));
            walked.map_err(|error| StoreError::read(silo.number, error))?;
            batch.finish()
        }
        None => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let mut failure = Ok(());
            let result = walk(&*source, silo.number, threads, &|_| {}, &|_| None::<()>, &mut |part| {
                recovered.entries += part.entries.len() as u64;
                for chunk in part.entries.chunks(ENTRY_BATCH_SIZE) {
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

/// Indexes the last silo and opens it for appending.
fn recover_last_silo(
    (files, decoders): (&SiloFiles, &Arc<DecoderPool>),
    index: &IndexWriter,
    last: &SiloFile,
    known: Option<SiloPlace>,
    recovered: &mut StoreRecovery,
) -> Result<AppendPoint, StoreError> {
    let number = last.number;
    let known_offset = known.filter(|known| known.silo() == number).map(SiloPlace::offset);
    let from = known_offset.unwrap_or(0);
    let source = open_with_decoders(files, number, decoders)?;
    let mut batch = EntryBatch::new(index, number, recovered);
    let walked = walk_from(&source, from, |header, offset| {
        // The last indexed record needs no new entry.
        if Some(offset) != known_offset {
            batch.add(header, offset);
        }
    })
    .map_err(|error| StoreError::read(number, error))?;
    batch.finish()?;
    if known.is_none() && !last.read_only && walked.records > 0 {
        // Without an index the acknowledged length is unknown.
        recovered.set_aside = save_cut_tail(files, last, &*source, walked.good)?.is_some();
    }
    drop(source);
    let settled = trim_last_silo(files, last, known, &walked)?;
    recovered.sealed_damaged |= settled == LastSiloState::SealedDamaged;
    match settled {
        LastSiloState::Sealed | LastSiloState::SealedDamaged => {
            Ok(AppendPoint { open: None, next_number: number + 1 })
        }
        LastSiloState::Removed => {
            recovered.cut += last.length;
            decoders.drop_file(u64::from(number));
            Ok(AppendPoint { open: None, next_number: number })
        }
        LastSiloState::Open => {
            recovered.cut += last.length - walked.good;
            let file = files.disk.open_to_write(&files.path(number, last.ending))?;
            let has_records = from > 0 || walked.records > 1;
            let open = OpenSilo::resume(number, file, walked.good, has_records);
            Ok(AppendPoint { open: Some(open), next_number: number + 1 })
        }
    }
}

/// The state of the last silo after recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastSiloState {
    /// It was already sealed.
    Sealed,
    /// Its last acknowledged record is damaged, so it was sealed as it is.
    SealedDamaged,
    /// Its description was incomplete, so it was removed.
    Removed,
    /// It ends with its last complete record and stays open.
    Open,
}

/// Cuts the last silo back to its last complete record, unless a damaged record was acknowledged.
/// `known` is the last indexed place; `walked` is the result of walking the silo from there or from
/// its beginning.
pub(crate) fn trim_last_silo(
    files: &SiloFiles,
    last: &SiloFile,
    known: Option<SiloPlace>,
    walked: &SiloWalk,
) -> Result<LastSiloState, StoreError> {
    if last.read_only {
        return Ok(LastSiloState::Sealed);
    }
    let path = files.path(last.number, last.ending);
    if known.is_some_and(|known| known.silo() == last.number && walked.good <= known.offset()) {
        files.disk.set_read_only(&path)?;
        return Ok(LastSiloState::SealedDamaged);
    }
    if walked.good == 0 {
        files.disk.remove(&path)?;
        return Ok(LastSiloState::Removed);
    }
    if last.length > walked.good {
        let file = files.disk.open_to_write(&path)?;
        file.truncate(walked.good)?;
        file.sync()?;
    }
    Ok(LastSiloState::Open)
}

/// Copies the bytes after the last complete record of a silo to a file beside it; `None` when there
/// are none.
pub(crate) fn save_cut_tail(
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
        file.write_at(&buffer[..count], offset - good)?;
        offset += count as u64;
    }
    file.sync()?;
    files.disk.sync_folder(silo_path.parent().unwrap_or(&files.folder))?;
    Ok(Some(path))
}

/// A batch of entries to add to the index.
struct EntryBatch<'a> {
    index: &'a IndexWriter,
    number: u32,
    entries: Vec<IndexEntry>,
    recovered: &'a mut StoreRecovery,
    failure: Result<(), StoreError>,
}

impl<'a> EntryBatch<'a> {
    fn new(index: &'a IndexWriter, number: u32, recovered: &'a mut StoreRecovery) -> Self {
        Self { index, number, entries: Vec::new(), recovered, failure: Ok(()) }
    }

    fn add(&mut self, header: &varve_warc::record::RecordHeader, offset: u64) {
        match SiloPlace::new(self.number, offset) {
            Ok(place) => self.entries.extend(index_entries(header, place)),
            Err(error) => self.failure = Err(error.into()),
        }
        if self.entries.len() >= ENTRY_BATCH_SIZE {
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
