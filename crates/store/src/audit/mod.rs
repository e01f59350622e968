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
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::{StoreError, error_text};
use crate::exchange::ScannedRecord;
use crate::index::{IndexOptions, SiloPlace};
use crate::reader::StoreReader;
use crate::silo::{SiloFile, SiloListing, UnreadSiloFile, missing_ranges, next_number};

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
    /// Silos are missing.
    SiloMissing,
    /// Acknowledged records at the end of a silo were cut off.
    RecordsLost,
    /// The file with the next silo number is damaged.
    SiloNumber,
    /// The settings of the archive cannot be read.
    Settings,
    /// The dictionary for new silos cannot be used.
    Dictionary,
    /// A silo states another number in its description.
    SiloName,
    /// A file has the number of a silo and is not read.
    SiloTwice,
    /// A sealed silo can be written to.
    SiloWritable,
    /// Index or catalog lack the newest records, as after a crash. The next writer adds them.
    Behind,
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
    /// The log of versions contradicts the versions, or a checkpoint or timestamp is wrong.
    Log,
    /// A file of the log is missing or wrong.
    LogFile,
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
            | Self::SiloTwice
            | Self::Dictionary
            | Self::SiloNumber
            | Self::Behind
            | Self::IndexMissing
            | Self::IndexStray
            | Self::IndexDamaged
            | Self::NotCompared
            | Self::Catalog
            | Self::LogFile
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
    /// The URL of the record, where its header can be read.
    pub url: Option<String>,
    /// The message.
    pub message: String,
}

impl AuditFinding {
    /// A finding without a place.
    pub fn new(kind: AuditKind, message: impl Into<String>) -> Self {
        let (severity, message) = (kind.severity(), message.into());
        Self { kind, severity, silo: None, offset: None, id: None, url: None, message }
    }

    /// The finding that a comparison with the silos failed, with its cause and, for lack of disk
    /// space, a remedy.
    pub fn not_compared(
        what: &str,
        error: &(dyn std::error::Error + 'static),
        is_for_want_of_room: bool,
    ) -> Self {
        let advice = if is_for_want_of_room { "; TMPDIR may name a folder with more room" } else { "" };
        Self::new(AuditKind::NotCompared, format!("{what}: {}{advice}", error_text(error)))
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
    /// Whether records that the index has are cut off the end of a silo.
    #[serde(skip)]
    pub has_lost_records: bool,
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
    let was_written = (options.is_written)();
    let mut run = AuditRun {
        store,
        options,
        known: store.index().greatest_place(),
        is_index_sound: options.index_lost.is_none(),
        done: AuditDone::default(),
        silo_lengths: BTreeMap::new(),
        ambiguous: BTreeSet::new(),
        growing: None,
        stray_in_missing: BTreeMap::new(),
        cut_off: BTreeMap::new(),
        held_back: HeldBackFindings::default(),
        found,
        scanned,
    };
    let silos = run.list_silos()?;
    let usable = match options.index_lost {
        Some(why) => run.index_damaged(why),
        None => {
            let checked = compare_index::check_files(store, index_folder, &mut run);
            checked.unwrap_or_else(|error| run.step_failed(None, error));
            true
        }
    };
    run.audit_silos(&silos, usable, progress);
    run.report_missing_silos();
    run.report_cut_silos();
    let grew = store.files().list()?.values().ne(silos.iter());
    if !was_written && !grew && !(options.is_written)() {
        run.report_held_back();
    }
    Ok(run.done)
}

impl AuditRun<'_> {
    /// Audits the selected silos, their segments and the index. A step that fails is a finding.
    fn audit_silos(&mut self, silos: &[SiloFile], usable: bool, progress: &(impl Fn(u64) + Sync)) {
        let options = self.options;
        let mut segments = SegmentAudit::default();
        let all_chosen = silos.iter().all(|silo| (options.chosen)(silo));
        let scratch = compare_index::ScratchFolder::new();
        let compares = usable && !options.quick && all_chosen;
        let mut comparison =
            compares.then(|| compare_index::IndexComparison::begin(scratch.as_ref(), options.index));
        for (position, silo) in silos.iter().enumerate() {
            if !(options.chosen)(silo) {
                self.done.silos_left_out += 1;
                progress(silo.length);
                continue;
            }
            self.done.silos += 1;
            self.check_permission(silo, silos.last());
            self.check_description(silo).unwrap_or_else(|error| self.step_failed(Some(silo.number), error));
            if !options.quick {
                let files = (silo, silos.get(position + 1));
                self.audit_silo(files, &mut segments, comparison.as_mut(), progress)
                    .unwrap_or_else(|error| self.step_failed(Some(silo.number), error));
                self.done.bytes += silo.length;
            }
        }
        // A quick audit needs the index.
        if options.quick && usable {
            match &scratch {
                Ok(scratch) => quick_audit::audit_quickly(self, silos, &mut segments, scratch, progress)
                    .unwrap_or_else(|error| self.step_failed(None, error)),
                Err(error) => self.emit(compare_index::not_compared(error)),
            }
        }
        segments.check(self, all_chosen && !options.quick);
        if let Some(comparison) = comparison {
            comparison.compare(self).unwrap_or_else(|error| self.step_failed(None, error));
        }
    }
}

/// The records behind the last indexed one, as a killed writer leaves them.
#[derive(Default)]
struct UnindexedTail {
    /// The places of the first complete records.
    places: BTreeSet<(u32, u64)>,
    /// Whether there are more than are counted.
    has_more: bool,
    /// The place of the last one.
    last: Option<(u32, u64)>,
    /// The incomplete ends of index files.
    torn: Vec<AuditFinding>,
}

impl UnindexedTail {
    fn add(&mut self, finding: AuditFinding) {
        let place = finding.silo.zip(finding.offset);
        self.last = self.last.max(place);
        match self.places.len() < MAX_HELD_BACK_FINDINGS {
            // A record has an entry for each of its ids.
            true => self.places.extend(place),
            false => self.has_more = true,
        }
    }

    /// One finding for the whole tail; `None` without one.
    fn finding(self, is_torn: bool) -> Option<AuditFinding> {
        let torn = if is_torn { "an unfinished write" } else { "" };
        let records = match (self.places.len(), self.has_more) {
            (0, _) => String::new(),
            (1, false) => "one record that the index does not have yet".to_owned(),
            (records, false) => format!("{records} records that the index does not have yet"),
            (records, true) => format!("more than {records} records that the index does not have yet"),
        };
        let what = match (records.is_empty(), is_torn) {
            (true, false) => return None,
            (true, true) => torn.to_owned(),
            (false, false) => records,
            (false, true) => format!("{records}, and {torn}"),
        };
        let message = format!("{what}, as after a crash; the next verb that writes puts it right");
        let finding = AuditFinding::new(AuditKind::Behind, message);
        Some(match self.places.first().copied() {
            Some((silo, offset)) => finding.at(silo, offset),
            None => finding,
        })
    }
}

/// Findings about places that may not be acknowledged yet. They are reported unless a process was
/// writing.
#[derive(Default)]
struct HeldBackFindings {
    /// Records that the index does not have.
    unindexed: UnindexedTail,
    others: Vec<AuditFinding>,
    /// The number of further findings that were not kept.
    omitted: u64,
}

impl HeldBackFindings {
    fn add(&mut self, finding: AuditFinding) {
        match finding.kind {
            AuditKind::IndexMissing => self.unindexed.add(finding),
            AuditKind::IndexDamaged => self.unindexed.torn.push(finding),
            _ if self.others.len() >= MAX_HELD_BACK_FINDINGS => self.omitted += 1,
            _ => self.others.push(finding),
        }
    }
}

/// An audit in progress.
pub(crate) struct AuditRun<'a> {
    pub(crate) store: &'a StoreReader,
    pub(crate) options: &'a AuditOptions<'a>,
    /// The last indexed record when the audit began.
    pub(crate) known: Option<SiloPlace>,
    /// Whether the index can be read and all its checksums match, so that its entries are
    /// evidence.
    is_index_sound: bool,
    pub(crate) done: AuditDone,
    /// The silos present, each with its length.
    silo_lengths: BTreeMap<u32, u64>,
    /// The numbers that two files have, so that neither is read.
    ambiguous: BTreeSet<u32>,
    /// The last silo, if it is not sealed.
    growing: Option<u32>,
    /// The number of index entries that refer to each missing silo.
    stray_in_missing: BTreeMap<u32, u64>,
    /// The number of index entries that refer behind the end of each cut silo.
    cut_off: BTreeMap<u32, u64>,
    held_back: HeldBackFindings,
    found: &'a mut dyn FnMut(AuditFinding),
    scanned: &'a mut dyn FnMut(ScannedRecord),
}

impl AuditRun<'_> {
    /// Reports a finding, or holds it back if its place may not be acknowledged yet. Damage in a
    /// sealed silo is reported at once.
    pub(crate) fn report(&mut self, finding: AuditFinding) {
        self.done.is_ahead_of_index |= finding.kind == AuditKind::IndexMissing;
        if let (AuditKind::IndexStray, Some(silo), Some(offset)) =
            (finding.kind, finding.silo, finding.offset)
            && self.is_index_sound
            && self.silo_lengths.get(&silo).is_some_and(|length| offset >= *length)
        {
            *self.cut_off.entry(silo).or_default() += 1;
            return;
        }
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
    pub(crate) fn hold_back(&mut self, finding: AuditFinding) {
        self.held_back.add(finding);
    }

    fn report_held_back(&mut self) {
        let HeldBackFindings { unindexed, others, omitted } = std::mem::take(&mut self.held_back);
        let mut is_torn = !unindexed.torn.is_empty();
        for mut finding in others {
            // Behind the last complete record is what a killed writer did not finish.
            let place = finding.silo.zip(finding.offset);
            if finding.severity == AuditSeverity::Error && place > unindexed.last {
                is_torn = true;
                continue;
            }
            // A record that is not in the index was not acknowledged.
            if finding.severity == AuditSeverity::Error {
                finding.severity = AuditSeverity::Warning;
                finding
                    .message
                    .push_str("; the index knows nothing of it, as after a crash, or the index is not whole");
            }
            self.emit(finding);
        }
        if omitted > 0 {
            let message = format!("{omitted} more places that the index does not know");
            self.emit(AuditFinding::new(AuditKind::IndexMissing, message));
        }
        if let Some(finding) = unindexed.finding(is_torn) {
            self.emit(finding);
        }
    }

    /// Reports one finding for each range of missing silos.
    fn report_missing_silos(&mut self) {
        let strays = std::mem::take(&mut self.stray_in_missing);
        for range in self.missing_silos() {
            let (first, last) = (*range.start(), *range.end());
            let count: u64 = strays.range(range).map(|(_, count)| count).sum();
            let which = match last - first {
                0 => format!("silo {first} is missing"),
                more => format!("{} silos are missing, {first} to {last}", u64::from(more) + 1),
            };
            let entries = match count {
                0 => String::new(),
                _ if first == last => format!(", and {count} entries of the index lead into it"),
                _ => format!(", and {count} entries of the index lead into them"),
            };
            let message = format!(
                "{which}{entries}; put the files back from a copy, or accept the loss with `varve rebuild`"
            );
            let mut finding = AuditFinding::new(AuditKind::SiloMissing, message);
            finding.silo = Some(first);
            self.emit(finding);
        }
    }

    /// The ranges of numbers without a silo, up to the last number that was used.
    fn missing_silos(&mut self) -> Vec<RangeInclusive<u32>> {
        let used = match next_number::next_unused(self.store.files()) {
            Ok(next) => next.checked_sub(1),
            Err(error) => {
                self.emit(AuditFinding::new(AuditKind::SiloNumber, error.to_string()));
                None
            }
        };
        // A damaged index can name any number.
        let known = self.known.filter(|_| self.is_index_sound).map(SiloPlace::silo);
        let mut numbers: Vec<u32> = self.silo_lengths.keys().chain(&self.ambiguous).copied().collect();
        numbers.sort_unstable();
        let end = known.into_iter().chain(used).map(|last| last + 1).max();
        missing_ranges(&numbers, end.unwrap_or(0))
    }

    /// Reports one finding for each silo that ends before records that the index has.
    fn report_cut_silos(&mut self) {
        for (silo, count) in std::mem::take(&mut self.cut_off) {
            let length = self.silo_lengths.get(&silo).copied().unwrap_or(0);
            let message = format!(
                "the end of the silo was cut off: {count} entries of the index lead behind it, to records that \
                 were stored and are lost; put the file back from a copy, or accept the loss with `varve rebuild`"
            );
            self.done.has_lost_records = true;
            self.emit(AuditFinding::new(AuditKind::RecordsLost, message).at(silo, length));
        }
    }

    /// Reports an unreadable index. Returns false: the index is unusable.
    fn index_damaged(&mut self, why: &str) -> bool {
        self.done.is_ahead_of_index = true;
        let message = format!("the index cannot be read; `varve rebuild` makes it again: {why}");
        self.emit(AuditFinding::new(AuditKind::IndexDamaged, message));
        false
    }

    /// Reports a step that failed. The audit continues with the next step.
    pub(crate) fn step_failed(&mut self, silo: Option<u32>, error: StoreError) {
        self.is_index_sound &= !matches!(error, StoreError::Index(_));
        if let StoreError::Index(error) = error {
            self.index_damaged(&error_text(&error));
            return;
        }
        let finding = AuditFinding::new(AuditKind::Damaged, error_text(&error));
        self.emit(AuditFinding { silo, ..finding });
    }

    /// Whether a place is after the last acknowledged record.
    pub(crate) fn is_unacknowledged(&self, silo: u32, offset: u64) -> bool {
        let place = SiloPlace::new(silo, offset);
        self.is_index_sound && place.is_ok_and(|place| self.known.is_none_or(|known| place > known))
    }

    /// Whether a finding is damage in a sealed silo. Only the open silo may contain unfinished
    /// records, except for segments: their silos are sealed before they are renamed.
    fn is_damage_of_sealed(&self, silo: u32, finding: &AuditFinding) -> bool {
        finding.severity == AuditSeverity::Error
            && finding.kind != AuditKind::Segment
            && self.growing != Some(silo)
    }

    /// Lists the silos.
    fn list_silos(&mut self) -> Result<Vec<SiloFile>, StoreError> {
        let SiloListing { silos, unread } = self.store.files().survey()?;
        unread.iter().for_each(|file| self.report_unread_file(file));
        self.silo_lengths = silos.iter().map(|(number, silo)| (*number, silo.length)).collect();
        self.growing = silos.values().next_back().filter(|last| !last.read_only).map(|last| last.number);
        Ok(silos.into_values().collect())
    }

    /// Reports a file that has the number of a silo and is not read. It is an error if the silo is
    /// not read because of it.
    fn report_unread_file(&mut self, file: &UnreadSiloFile) {
        let mut finding = AuditFinding::new(AuditKind::SiloTwice, file.to_string());
        finding.silo = Some(file.number);
        if file.is_ambiguous() {
            self.ambiguous.insert(file.number);
            finding.severity = AuditSeverity::Error;
        }
        self.emit(finding);
    }

    fn check_permission(&mut self, silo: &SiloFile, last: Option<&SiloFile>) {
        let is_last = last.is_some_and(|last| last.number == silo.number);
        if !silo.read_only && !is_last {
            let message = format!("sealed silo `{}` can be written to", silo.name());
            self.report(AuditFinding::new(AuditKind::SiloWritable, message).at(silo.number, 0));
        }
    }
}
