//! Verifies that every byte of a store is unchanged.
//!
//! Reads every record of every silo and checks it against the checksum and length of its member,
//! the digests in its header, the id computed from its content, its segments, and the index in both
//! directions. Findings are data with silo, offset, id and message. An audit never changes anything
//! and works on read-only media.
//!
//! A store can be audited while it is written: records behind the last indexed one may not be
//! acknowledged yet. Findings there are held back until the end and reported if no process was
//! writing: then the records should be in the index, or a crash left them. An unreadable index is a
//! finding, and the silos are audited without it.

mod audit_silo;
mod check_segments;
mod compare_index;
mod ids_in_silos;
mod quick_audit;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::StoreError;
use crate::exchange::ScannedRecord;
use crate::index::{IndexOptions, SiloPlace};
use crate::reader::StoreReader;
use crate::silo::{SiloFile, next_number};

pub(crate) use check_segments::SegmentAudit;
pub use ids_in_silos::find_ids_in_silos;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// Bytes of a silo cannot be read as records.
    Damaged,
    /// A block or payload does not have the digest its header gives.
    Digest,
    /// An id does not match its record.
    Id,
    /// A header breaks a rule of the standard.
    Form,
    /// Segments of an object do not fit together.
    Segment,
    /// A silo is missing.
    SiloMissing,
    /// A silo states another number in its description.
    SiloName,
    /// A sealed silo can be written to.
    SiloWritable,
    /// A record has no entry in the index.
    IndexMissing,
    /// An entry refers to no record with its id.
    IndexStray,
    /// A file of the index is damaged.
    IndexDamaged,
    /// A comparison with the silos failed, for example for lack of temporary disk space.
    NotCompared,
    /// A version contradicts its manifest.
    History,
    /// The catalog contradicts the silos.
    Catalog,
    /// In a Moku site: the body of a capture is missing.
    BodyMissing,
    /// In a Moku site: rows are inconsistent or unreadable.
    Rows,
    /// In a Moku site: a stored diff or score is wrong. It can be computed again.
    Derived,
    /// In a Moku site: HEAD refers to the wrong version.
    Head,
    /// In a Moku site: the working tree differs from the pages of HEAD.
    WorkingTree,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditSeverity {
    /// Nothing is lost; `varve rebuild` or a changed permission repairs it.
    Warning,
    /// Stored data is damaged or missing.
    Error,
}

impl AuditKind {
    /// The severity of a finding.
    pub fn severity(self) -> AuditSeverity {
        match self {
            Self::Form
            | Self::SiloWritable
            | Self::IndexMissing
            | Self::IndexStray
            | Self::IndexDamaged
            | Self::NotCompared
            | Self::Catalog
            | Self::Derived
            | Self::Head
            | Self::WorkingTree => AuditSeverity::Warning,
            _ => AuditSeverity::Error,
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// The kind of a finding.
    pub kind: AuditKind,
    /// The severity of a finding.
    pub severity: AuditSeverity,
    /// The silo.
    pub silo: Option<u32>,
    /// The offset in the silo, or in the index file that the message names.
    pub offset: Option<u64>,
    /// The id of the record.
    pub id: Option<String>,
    /// The message.
    pub message: String,
}

impl AuditFinding {
    /// A finding without a place.
    pub fn new(kind: AuditKind, message: impl Into<String>) -> Self {
        Self { kind, severity: kind.severity(), silo: None, offset: None, id: None, message: message.into() }
    }

    /// The finding that a comparison with the silos failed, with its cause and, for lack of disk
    /// space, a remedy.
    pub fn not_compared(
        what: &str,
        error: &(dyn std::error::Error + 'static),
        is_for_want_of_room: bool,
    ) -> Self {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let why: Vec<String> = causes.map(ToString::to_string).collect();
        let advice = if is_for_want_of_room { "; TMPDIR may name a folder with more room" } else { "" };
        Self::new(AuditKind::NotCompared, format!("{what}: {}{advice}", why.join(": ")))
    }

    pub(crate) fn at(mut self, silo: u32, offset: u64) -> Self {
        self.silo = Some(silo);
        self.offset = Some(offset);
        self
    }

    pub(crate) fn of(mut self, id: Option<&[u8]>) -> Self {
        self.id = id.map(|id| String::from_utf8_lossy(id).into_owned());
        self
    }
}

/// Whether an error is a full disk or an exceeded quota.
pub fn is_out_of_space(error: &(dyn std::error::Error + 'static)) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| matches!(cause.kind(), StorageFull | QuotaExceeded))
    })
}

/// The options of an audit.
pub struct AuditOptions<'a> {
    /// Checks only structure and index. Blocks are read only where something is suspicious.
    pub quick: bool,
    /// Selects silos; the others are only checked for presence.
    pub chosen: &'a dyn Fn(&SiloFile) -> bool,
    /// The number of reading threads.
    pub threads: usize,
    /// The options of the index.
    pub index: IndexOptions,
    /// Whether a process is writing to the store now.
    pub is_written: &'a dyn Fn() -> bool,
    /// Why the index cannot be read, if it cannot; the store then has an empty index.
    pub index_lost: Option<&'a str>,
}

/// The message for complete records at the end that a killed writer left unindexed.
const NOT_YET_INDEXED_MESSAGE: &str =
    "a record that the index does not know yet, as after a crash; the next verb that writes puts it right";
/// Maximum number of held-back findings in memory; the others are only counted.
const MAX_HELD_BACK_FINDINGS: usize = 10_000;

/// The result of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditDone {
    /// Silos read.
    pub silos: u64,
    /// Silos that were not selected.
    pub silos_left_out: u64,
    /// Records checked.
    pub records: u64,
    /// Bytes of silos read.
    pub bytes: u64,
    /// Index entries checked.
    pub entries: u64,
    /// Findings.
    pub findings: u64,
    /// Whether the silos have records that are not in the index, perhaps because a writer is
    /// active.
    #[serde(skip)]
    pub is_ahead_of_index: bool,
}

/// Audits a store. Passes each finding to `found`, each number of processed bytes to `progress`
/// and, in order, the records that a catalog needs to `scanned`.
pub fn audit(
    store: &StoreReader,
    index_folder: &std::path::Path,
    options: &AuditOptions<'_>,
    progress: &(impl Fn(u64) + Sync),
    found: &mut dyn FnMut(AuditFinding),
    scanned: &mut dyn FnMut(ScannedRecord),
) -> Result<AuditDone, StoreError> {
    let known = store.index().greatest_place();
    let was_written = (options.is_written)();
    let mut run = AuditRun {
        store,
        options,
        known,
        done: AuditDone::default(),
        numbers: BTreeSet::new(),
        growing: None,
        lost: BTreeMap::new(),
        held_back: Vec::new(),
        more_held_back: 0,
        found,
        scanned,
    };
    let silos = run.list_silos()?;
    let usable = match options.index_lost {
        Some(why) => run.index_damaged(why),
        None => compare_index::check_files(store, index_folder, &mut run)
            .or_else(|error| run.index_failed(error))
            .map(|()| true)?,
    };
    let mut segments = SegmentAudit::default();
    let all_chosen = silos.iter().all(|silo| (options.chosen)(silo));
    let scratch = compare_index::ScratchFolder::new();
    let compares = usable && !options.quick && all_chosen;
    let mut comparison =
        compares.then(|| compare_index::IndexComparison::begin(scratch.as_ref(), options.index));
    for silo in &silos {
        if !(options.chosen)(silo) {
            run.done.silos_left_out += 1;
            progress(silo.length);
            continue;
        }
        run.done.silos += 1;
        run.check_permission(silo, silos.last());
        run.check_description(silo)?;
        if !options.quick {
            run.audit_silo(silo, &mut segments, comparison.as_mut(), progress)?;
            run.done.bytes += silo.length;
        }
    }
    // A quick audit needs the index.
    if options.quick && usable {
        match &scratch {
            Ok(scratch) => quick_audit::audit_quickly(&mut run, &silos, &mut segments, scratch, progress)
                .or_else(|error| run.index_failed(error))?,
            Err(error) => run.emit(compare_index::not_compared(error)),
        }
    }
    segments.check(&mut run, all_chosen && !options.quick)?;
    if let Some(comparison) = comparison {
        comparison.compare(&mut run)?;
    }
    run.report_missing_silos();
    let grew = store.files().list()?.values().ne(silos.iter());
    if !was_written && !grew && !(options.is_written)() {
        run.report_held_back();
    }
    Ok(run.done)
}

/// An audit in progress.
pub(crate) struct AuditRun<'a> {
    pub(crate) store: &'a StoreReader,
    pub(crate) options: &'a AuditOptions<'a>,
    /// The last indexed record when the audit began.
    pub(crate) known: Option<SiloPlace>,
    pub(crate) done: AuditDone,
    /// The numbers of the silos present.
    numbers: BTreeSet<u32>,
    /// The last silo, if it is not sealed.
    growing: Option<u32>,
    /// The missing silos, each with the number of index entries that refer to it.
    lost: BTreeMap<u32, u64>,
    held_back: Vec<AuditFinding>,
    more_held_back: u64,
    found: &'a mut dyn FnMut(AuditFinding),
    scanned: &'a mut dyn FnMut(ScannedRecord),
}

impl AuditRun<'_> {
    /// Reports a finding, or holds it back if its place may not be acknowledged yet. Damage in a
    /// sealed silo is reported at once.
    pub(crate) fn report(&mut self, finding: AuditFinding) {
        self.done.is_ahead_of_index |= finding.kind == AuditKind::IndexMissing;
        match (finding.silo, finding.offset) {
            (Some(silo), Some(offset))
                if self.is_unacknowledged(silo, offset) && !self.is_damage_of_sealed(silo, &finding) =>
            {
                self.hold_back(finding);
            }
            _ => self.emit(finding),
        }
    }

    fn emit(&mut self, finding: AuditFinding) {
        self.done.findings += 1;
        (self.found)(finding);
    }

    /// Holds a finding back until it is known whether a process was writing.
    pub(crate) fn hold_back(&mut self, mut finding: AuditFinding) {
        if self.held_back.len() >= MAX_HELD_BACK_FINDINGS {
            self.more_held_back += 1;
            return;
        }
        if finding.kind == AuditKind::IndexMissing {
            finding.message = NOT_YET_INDEXED_MESSAGE.to_owned();
        }
        // A record that is not in the index was not acknowledged.
        if finding.severity == AuditSeverity::Error {
            finding.severity = AuditSeverity::Warning;
            finding
                .message
                .push_str("; the index knows nothing of it, as after a crash, or the index is not whole");
        }
        self.held_back.push(finding);
    }

    fn report_held_back(&mut self) {
        for finding in std::mem::take(&mut self.held_back) {
            self.emit(finding);
        }
        if self.more_held_back > 0 {
            let message =
                format!("{} more records or places that the index does not know", self.more_held_back);
            self.emit(AuditFinding::new(AuditKind::IndexMissing, message));
        }
    }

    /// Reports one finding for each missing silo.
    fn report_missing_silos(&mut self) {
        for (silo, count) in std::mem::take(&mut self.lost) {
            let message = match count {
                0 => format!("silo {silo} is missing"),
                _ => format!("silo {silo} is missing, and {count} entries of the index lead into it"),
            };
            let mut finding = AuditFinding::new(AuditKind::SiloMissing, message);
            finding.silo = Some(silo);
            self.emit(finding);
        }
    }

    /// Reports an unreadable index. Returns false: the index is unusable.
    fn index_damaged(&mut self, why: &str) -> bool {
        self.done.is_ahead_of_index = true;
        let message = format!("the index cannot be read; `varve rebuild` makes it again: {why}");
        self.emit(AuditFinding::new(AuditKind::IndexDamaged, message));
        false
    }

    /// Turns an index error into a finding; any other error ends the audit.
    fn index_failed(&mut self, error: StoreError) -> Result<(), StoreError> {
        match error {
            StoreError::Index(error) => {
                self.index_damaged(&error.to_string());
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Whether a place is after the last acknowledged record.
    pub(crate) fn is_unacknowledged(&self, silo: u32, offset: u64) -> bool {
        let place = SiloPlace::new(silo, offset);
        self.options.index_lost.is_none()
            && place.is_ok_and(|place| self.known.is_none_or(|known| place > known))
    }

    /// Whether a finding is damage in a sealed silo. Only the open silo may contain unfinished
    /// records, except for segments: their silos are sealed before they are renamed.
    fn is_damage_of_sealed(&self, silo: u32, finding: &AuditFinding) -> bool {
        finding.severity == AuditSeverity::Error
            && finding.kind != AuditKind::Segment
            && self.growing != Some(silo)
    }

    /// Lists the silos and notes missing numbers.
    fn list_silos(&mut self) -> Result<Vec<SiloFile>, StoreError> {
        let silos = self.store.files().list()?;
        self.numbers = silos.keys().copied().collect();
        self.growing = silos.values().next_back().filter(|last| !last.read_only).map(|last| last.number);
        let used = next_number::next_unused(self.store.files())?.checked_sub(1);
        let named = self.known.map(SiloPlace::silo).into_iter().chain(silos.keys().next_back().copied());
        if let Some(last) = named.chain(used).max() {
            self.lost =
                (0..=last).filter(|number| !silos.contains_key(number)).map(|lost| (lost, 0)).collect();
        }
        Ok(silos.into_values().collect())
    }

    fn check_permission(&mut self, silo: &SiloFile, last: Option<&SiloFile>) {
        let is_last = last.is_some_and(|last| last.number == silo.number);
        if !silo.read_only && !is_last {
            let message = format!("sealed silo `{}` can be written to", silo.name());
            self.report(AuditFinding::new(AuditKind::SiloWritable, message).at(silo.number, 0));
        }
    }
}
