//! Compares the index with the silos in both directions.
//!
//! The audit reads the silos anyway, so it builds a second index from them and compares both entry
//! by entry. An entry only in the new index is a record without an entry; one only in the real
//! index is an entry without a record. Memory is bounded.

use std::cmp::Ordering;
use std::path::Path;

use super::{AuditFinding, AuditKind, AuditRun};
use crate::disk::{DiskError, LocalDisk, Operation};
use crate::error::StoreError;
use crate::error::is_out_of_space;
use crate::index::{
    IndexEntry, IndexError, IndexFindingKind, IndexOptions, IndexPrefix, IndexReader, IndexRebuild,
    PrefixRange, SiloPlace, verify,
};
use crate::reader::StoreReader;

/// Verifies the files of the index.
pub(super) fn check_files(
    store: &StoreReader,
    folder: &Path,
    run: &mut AuditRun<'_>,
) -> Result<(), StoreError> {
    let verified = verify(&*store.files().disk, folder)?;
    run.done.entries = verified.entries;
    let is_damage = |kind| kind != IndexFindingKind::TornTail && kind != IndexFindingKind::Foreign;
    run.is_index_sound &= !verified.findings.iter().any(|finding| is_damage(finding.kind));
    for finding in verified.findings {
        let message = format!("index file `{}`: {}", finding.file.display(), finding.message);
        let mut found = AuditFinding::new(AuditKind::IndexDamaged, message);
        found.offset = Some(finding.offset);
        // An append may be in progress.
        if finding.kind == IndexFindingKind::TornTail { run.hold_back(found) } else { run.report(found) }
    }
    Ok(())
}

/// The temporary folder of the second index. It is outside the archive, which may be read-only.
pub(super) struct ScratchFolder {
    folder: tempfile::TempDir,
    disk: LocalDisk,
}

impl ScratchFolder {
    pub(super) fn new() -> Result<Self, StoreError> {
        let folder = tempfile::tempdir()
            .map_err(|source| DiskError::new(Operation::MakeFolders, &std::env::temp_dir(), source))?;
        Ok(Self { disk: LocalDisk::new(folder.path()), folder })
    }

    pub(super) fn disk(&self) -> &LocalDisk {
        &self.disk
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The comparison with an index made from the silos. A failure to make it is reported at the end.
pub(super) struct IndexComparison<'a> {
    making: Result<ComparisonIndex<'a>, AuditFinding>,
}

struct ComparisonIndex<'a> {
    scratch: &'a ScratchFolder,
    rebuild: IndexRebuild<'a>,
}

impl<'a> IndexComparison<'a> {
    pub(super) fn begin(scratch: Result<&'a ScratchFolder, &StoreError>, options: IndexOptions) -> Self {
        let making = scratch.map_err(|error| not_compared(error)).and_then(|scratch| {
            let rebuild = IndexRebuild::begin(&scratch.disk, scratch.folder.path(), options);
            rebuild.map(|rebuild| ComparisonIndex { scratch, rebuild }).map_err(|error| not_compared(&error))
        });
        Self { making }
    }

    /// Adds an entry. Returns false when the comparison has failed.
    pub(super) fn add(&mut self, entry: IndexEntry) -> bool {
        let Ok(making) = &mut self.making else { return false };
        if let Err(error) = making.rebuild.push(entry) {
            self.making = Err(not_compared(&error));
        }
        self.making.is_ok()
    }

    /// Reports entries that are only in the silos or only in the index.
    pub(super) fn compare(self, run: &mut AuditRun<'_>) -> Result<(), StoreError> {
        let made = self.making.and_then(|ComparisonIndex { scratch, rebuild }| {
            let made = rebuild.finish().and_then(|_| IndexReader::open(&scratch.disk, scratch.folder.path()));
            made.map_err(|error| not_compared(&error))
        });
        match made {
            Ok(made) => compare(run, &made),
            Err(finding) => {
                run.emit(finding);
                Ok(())
            }
        }
    }
}

/// The finding that the index could not be compared.
pub(super) fn not_compared(error: &(dyn std::error::Error + 'static)) -> AuditFinding {
    let what = "the index was not compared with the silos in both directions";
    AuditFinding::not_compared(what, error, is_out_of_space(error))
}

fn compare(run: &mut AuditRun<'_>, made: &IndexReader) -> Result<(), StoreError> {
    let mut in_silos = PeekableEntries::new(made.entries(PrefixRange::ALL)?)?;
    let store = run.store;
    let mut in_index = PeekableEntries::new(store.index().entries(PrefixRange::ALL)?)?;
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
            Ordering::Less => report_missing(run, in_silos.advance()?)?,
            Ordering::Greater => report_stray(run, in_index.advance()?),
        }
    }
}

fn key(entry: IndexEntry) -> (IndexPrefix, u64) {
    (entry.prefix, u64::from(entry.place.silo()) << 44 | entry.place.offset())
}

/// A sorted stream of entries with one entry of lookahead.
struct PeekableEntries<I> {
    entries: I,
    next: Option<IndexEntry>,
}

impl<I: Iterator<Item = Result<IndexEntry, IndexError>>> PeekableEntries<I> {
    fn new(mut entries: I) -> Result<Self, StoreError> {
        let next = entries.next().transpose()?;
        Ok(Self { entries, next })
    }

    fn advance(&mut self) -> Result<Option<IndexEntry>, StoreError> {
        let next = self.entries.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Reports a record without an index entry.
fn report_missing(run: &mut AuditRun<'_>, entry: Option<IndexEntry>) -> Result<(), StoreError> {
    let Some(entry) = entry else { return Ok(()) };
    let id =
        run.store.record_at(entry.place)?.and_then(|record| record.header().record_id().map(<[u8]>::to_vec));
    run.report(missing_finding(entry.place, id.as_deref()));
    Ok(())
}

/// The finding for a record without an index entry.
pub(super) fn missing_finding(place: SiloPlace, id: Option<&[u8]>) -> AuditFinding {
    let message = "a record that the index does not know; `varve rebuild` puts it right";
    AuditFinding::new(AuditKind::IndexMissing, message).at(place.silo(), place.offset()).of(id)
}

/// Reports an index entry without a record.
pub(super) fn report_stray(run: &mut AuditRun<'_>, entry: Option<IndexEntry>) {
    let Some(entry) = entry else { return };
    match run.silo_lengths.contains_key(&entry.place.silo()) {
        false => *run.stray_in_missing.entry(entry.place.silo()).or_default() += 1,
        true => run.report(stray_finding(entry)),
    }
}

/// The finding for an index entry without a record.
pub(super) fn stray_finding(entry: IndexEntry) -> AuditFinding {
    let message = format!(
        "the index leads here for ids that begin with {:016x}, and no such record is here; `varve rebuild` makes the \
         index again",
        entry.prefix.0
    );
    AuditFinding::new(AuditKind::IndexStray, message).at(entry.place.silo(), entry.place.offset())
}

/// Looks up entries one by one, for audits of selected silos.
pub(super) fn look_up_each(run: &mut AuditRun<'_>, entries: &[IndexEntry]) -> Result<(), StoreError> {
    let prefixes: Vec<IndexPrefix> = entries.iter().map(|entry| entry.prefix).collect();
    let mut known = vec![false; entries.len()];
    run.store
        .index()
        .find_many(&prefixes, |number, place| known[number] |= place == entries[number].place)?;
    for (entry, _) in entries.iter().zip(known).filter(|(_, known)| !known) {
        report_missing(run, Some(*entry))?;
    }
    Ok(())
}
