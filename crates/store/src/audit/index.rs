//! The index against the silos, in both directions.
//!
//! The silos are read anyway, so an index is made from them beside the real one and the two are compared, entry by
//! entry in their common order: what is only in the one is a record without an entry, what is only in the other an
//! entry without a record. That takes memory of fixed size however large the archive is.

use std::cmp::Ordering;
use std::path::Path;

use super::{AuditFinding, AuditKind, Run, lacks_room};
use crate::disk::{DiskError, LocalDisk, Operation};
use crate::error::StoreError;
use crate::index::{
    Entry, FindingKind, Index, IndexError, IndexOptions, Place, Prefix, PrefixRange, Rebuild, verify,
};
use crate::reader::Store;

/// Checks what can be checked in the files of the index alone.
pub(super) fn check_files(store: &Store, folder: &Path, run: &mut Run<'_>) -> Result<(), StoreError> {
    let verified = verify(&*store.files().disk, folder)?;
    run.done.entries = verified.entries;
    for finding in verified.findings {
        let message = format!("index file `{}`: {}", finding.file.display(), finding.message);
        let mut found = AuditFinding::new(AuditKind::IndexDamaged, message);
        found.offset = Some(finding.offset);
        // An append may be under way.
        if finding.kind == FindingKind::TornTail { run.hold_back(found) } else { run.report(found) }
    }
    Ok(())
}

/// Where the other index is made: never in the archive, which may be on a medium that nobody may write to.
pub(super) struct Scratch {
    folder: tempfile::TempDir,
    disk: LocalDisk,
}

impl Scratch {
    pub(super) fn new() -> Result<Self, StoreError> {
        let folder = tempfile::tempdir()
            .map_err(|source| DiskError::new(Operation::MakeFolders, &std::env::temp_dir(), source))?;
        Ok(Self { folder, disk: LocalDisk })
    }

    pub(super) fn disk(&self) -> &LocalDisk {
        &self.disk
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// An index made from the silos, for comparison. Where it cannot be made, that is told at the end.
pub(super) struct Comparison<'a> {
    making: Result<Making<'a>, AuditFinding>,
}

struct Making<'a> {
    scratch: &'a Scratch,
    rebuild: Rebuild<'a>,
}

impl<'a> Comparison<'a> {
    pub(super) fn begin(scratch: Result<&'a Scratch, &StoreError>, options: IndexOptions) -> Self {
        let making = scratch.map_err(|error| not_compared(error)).and_then(|scratch| {
            let rebuild = Rebuild::begin(&scratch.disk, scratch.folder.path(), options);
            rebuild.map(|rebuild| Making { scratch, rebuild }).map_err(|error| not_compared(&error))
        });
        Self { making }
    }

    /// Adds an entry; false when there is no comparison any more.
    pub(super) fn add(&mut self, entry: Entry) -> bool {
        let Ok(making) = &mut self.making else { return false };
        if let Err(error) = making.rebuild.push(entry) {
            self.making = Err(not_compared(&error));
        }
        self.making.is_ok()
    }

    /// Reports what is only in the silos, and what is only in the index.
    pub(super) fn compare(self, run: &mut Run<'_>) -> Result<(), StoreError> {
        let made = self.making.and_then(|Making { scratch, rebuild }| {
            let made = rebuild.finish().and_then(|_| Index::open(&scratch.disk, scratch.folder.path()));
            made.map_err(|error| not_compared(&error))
        });
        match made {
            Ok(made) => compare(run, &made).or_else(|error| run.index_failed(error)),
            Err(finding) => {
                run.tell(finding);
                Ok(())
            }
        }
    }
}

/// The index could not be compared, since the other one cannot be made.
pub(super) fn not_compared(error: &(dyn std::error::Error + 'static)) -> AuditFinding {
    let what = "the index was not compared with the silos in both directions";
    AuditFinding::not_compared(what, error, lacks_room(error))
}

fn compare(run: &mut Run<'_>, made: &Index) -> Result<(), StoreError> {
    let mut in_silos = Peekable::new(made.entries(PrefixRange::ALL)?)?;
    let store = run.store;
    let mut in_index = Peekable::new(store.index().entries(PrefixRange::ALL)?)?;
    loop {
        let order = match (in_silos.next, in_index.next) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => key(one).cmp(&key(other)),
        };
        match order {
            Ordering::Equal => {
                in_silos.advance()?;
                in_index.advance()?;
            }
            Ordering::Less => missing(run, in_silos.advance()?)?,
            Ordering::Greater => stray(run, in_index.advance()?),
        }
    }
}

fn key(entry: Entry) -> (Prefix, u64) {
    (entry.prefix, u64::from(entry.place.silo()) << 44 | entry.place.offset())
}

/// Entries in order, with a look at the next.
struct Peekable<I> {
    entries: I,
    next: Option<Entry>,
}

impl<I: Iterator<Item = Result<Entry, IndexError>>> Peekable<I> {
    fn new(mut entries: I) -> Result<Self, StoreError> {
        let next = entries.next().transpose()?;
        Ok(Self { entries, next })
    }

    fn advance(&mut self) -> Result<Option<Entry>, StoreError> {
        let next = self.entries.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// A record that the index does not know.
fn missing(run: &mut Run<'_>, entry: Option<Entry>) -> Result<(), StoreError> {
    let Some(entry) = entry else { return Ok(()) };
    let id =
        run.store.record_at(entry.place)?.and_then(|record| record.header().record_id().map(<[u8]>::to_vec));
    run.report(missing_at(entry.place, id.as_deref()));
    Ok(())
}

/// That the index does not know the record at a place.
pub(super) fn missing_at(place: Place, id: Option<&[u8]>) -> AuditFinding {
    let message = "a record that the index does not know; `varve rebuild` puts it right";
    AuditFinding::new(AuditKind::IndexMissing, message).at(place.silo(), place.offset()).of(id)
}

/// An entry that leads to no record.
pub(super) fn stray(run: &mut Run<'_>, entry: Option<Entry>) {
    let Some(entry) = entry else { return };
    if !run.numbers.contains(&entry.place.silo()) {
        *run.lost.entry(entry.place.silo()).or_default() += 1;
        return;
    }
    run.report(stray_at(entry));
}

/// That an entry leads to no record.
pub(super) fn stray_at(entry: Entry) -> AuditFinding {
    let message = format!(
        "the index leads here for ids that begin with {:016x}, and no such record is here",
        entry.prefix.0
    );
    AuditFinding::new(AuditKind::IndexStray, message).at(entry.place.silo(), entry.place.offset())
}

/// Looks entries up one by one, for audits of some silos only.
pub(super) fn look_up(run: &mut Run<'_>, entries: &[Entry]) -> Result<(), StoreError> {
    let prefixes: Vec<Prefix> = entries.iter().map(|entry| entry.prefix).collect();
    let mut known = vec![false; entries.len()];
    run.store
        .index()
        .find_many(&prefixes, |number, place| known[number] |= place == entries[number].place)?;
    for (entry, _) in entries.iter().zip(known).filter(|(_, known)| !known) {
        missing(run, Some(*entry))?;
    }
    Ok(())
}
