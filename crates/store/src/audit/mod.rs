//! Is every byte we hold still what it was?
//!
//! Reads every record of every silo and holds it against everything that was ever said about it: checksums and lengths
//! of its member, digests in its header, the id that follows from its content, the segments it belongs with, and the
//! index in both directions. Findings are data, told one by one with silo, offset, id and a sentence; an audit never
//! changes anything and works on media that nobody may write to.
//!
//! A store that is being written to can be audited: what lies behind the last record that the index knew when the audit
//! began may not be promised to anyone yet. What is found there is held back until the end, and told if nobody has been
//! writing: then it should be in the index, or was left by a crash. An index that cannot be read is a finding like any
//! other, and the silos are audited without it.

mod ids_in_silos;
mod index;
mod quick;
mod segments;
mod silo;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::StoreError;
use crate::exchange::Scanned;
use crate::index::{IndexOptions, Place};
use crate::reader::Store;
use crate::silo::{SiloFile, numbers};

pub use ids_in_silos::held_in_silos;
pub(crate) use segments::Segments;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// Bytes of a silo cannot be read as records.
    Damaged,
    /// A block or payload does not have the digest its header gives.
    Digest,
    /// An id does not follow from its record.
    Id,
    /// A header breaks a rule of the standard.
    Form,
    /// Segments of an object do not fit together.
    Segment,
    /// A silo is missing.
    SiloMissing,
    /// A silo says that it is another.
    SiloName,
    /// A sealed silo can be written to.
    SiloWritable,
    /// A record has no entry in the index.
    IndexMissing,
    /// An entry leads to no record of its id.
    IndexStray,
    /// A file of the index is damaged.
    IndexDamaged,
    /// Something could not be held against the silos, for want of room for temporary files.
    NotCompared,
    /// A version, or what belongs to it, is not what its manifest says.
    History,
    /// The catalog does not say what the silos say.
    Catalog,
    /// In a Moku site: a capture names a body that is not there.
    BodyMissing,
    /// In a Moku site: rows contradict each other, or cannot be read.
    Rows,
    /// In a Moku site: a diff or a score that is kept is not what it must be. It can be made again.
    Derived,
    /// In a Moku site: HEAD does not point where it should.
    Head,
    /// In a Moku site: the working tree does not hold the pages of HEAD.
    WorkingTree,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditSeverity {
    /// Nothing is lost, and varve can put it right: `rebuild`, or a permission.
    Warning,
    /// Something that was kept is no longer what it was.
    Error,
}

impl AuditKind {
    /// How bad it is.
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

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// What is wrong.
    pub kind: AuditKind,
    /// How bad it is.
    pub severity: AuditSeverity,
    /// In which silo.
    pub silo: Option<u32>,
    /// At which byte of it, or of the index file that the message names.
    pub offset: Option<u64>,
    /// Of which record.
    pub id: Option<String>,
    /// What was found.
    pub message: String,
}

impl AuditFinding {
    /// A finding whose place is not known.
    pub fn new(kind: AuditKind, message: impl Into<String>) -> Self {
        Self { kind, severity: kind.severity(), silo: None, offset: None, id: None, message: message.into() }
    }

    /// That something could not be held against the silos, and why. What helps against want of room is said, where that is it.
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

/// Whether a disk is full, or as full as it may be for this user.
pub fn lacks_room(error: &(dyn std::error::Error + 'static)) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| matches!(cause.kind(), StorageFull | QuotaExceeded))
    })
}

/// How to audit.
pub struct AuditOptions<'a> {
    /// Only structure and index: no block is read as long as nothing looks odd.
    pub quick: bool,
    /// Which silos; the others are only checked for being there.
    pub chosen: &'a dyn Fn(&SiloFile) -> bool,
    /// How many threads may read.
    pub threads: usize,
    /// How the index is made.
    pub index: IndexOptions,
    /// Whether somebody is writing to the store at this moment.
    pub is_written: &'a dyn Fn() -> bool,
    /// Why the index cannot be read, if it cannot; the store then has an empty one.
    pub index_lost: Option<&'a str>,
}

/// What is said of whole records that were written last, as whoever was stopped leaves them.
const NOT_KNOWN_YET: &str =
    "a record that the index does not know yet, as after a crash; the next verb that writes puts it right";
/// What is held back is held in memory: so many findings, and a number for the others.
const MOST_HELD_BACK: usize = 10_000;

/// What was audited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditDone {
    /// Silos that were read.
    pub silos: u64,
    /// Silos that were left out by choice.
    pub silos_left_out: u64,
    /// Records that were checked.
    pub records: u64,
    /// Bytes of silos that were read.
    pub bytes: u64,
    /// Entries of the index that were checked.
    pub entries: u64,
    /// Findings.
    pub findings: u64,
    /// Whether there are records that the index does not know, be it because somebody is writing them.
    #[serde(skip)]
    pub is_ahead_of_index: bool,
}

/// Audits a store. `found` is told each finding, `progress` how many more bytes of silos were dealt with, and `told`
/// what the records that are read say to a catalog, in order.
pub fn audit(
    store: &Store,
    index_folder: &std::path::Path,
    options: &AuditOptions<'_>,
    progress: &(impl Fn(u64) + Sync),
    found: &mut dyn FnMut(AuditFinding),
    told: &mut dyn FnMut(Scanned),
) -> Result<AuditDone, StoreError> {
    let known = store.index().greatest_place();
    let was_written = (options.is_written)();
    let mut run = Run {
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
        told,
    };
    let silos = run.numbering()?;
    let usable = match options.index_lost {
        Some(why) => run.index_damaged(why),
        None => index::check_files(store, index_folder, &mut run)
            .or_else(|error| run.index_failed(error))
            .map(|()| true)?,
    };
    let mut segments = Segments::default();
    let all_chosen = silos.iter().all(|silo| (options.chosen)(silo));
    let scratch = index::Scratch::new();
    let compares = usable && !options.quick && all_chosen;
    let mut comparison = compares.then(|| index::Comparison::begin(scratch.as_ref(), options.index));
    for silo in &silos {
        if !(options.chosen)(silo) {
            run.done.silos_left_out += 1;
            progress(silo.length);
            continue;
        }
        run.done.silos += 1;
        run.permission(silo, silos.last());
        run.description(silo)?;
        if !options.quick {
            run.silo_and_link(silo, &mut segments, comparison.as_mut(), progress)?;
            run.done.bytes += silo.length;
        }
    }
    // Without an index nobody knows where to look.
    if options.quick && usable {
        match &scratch {
            Ok(scratch) => quick::look(&mut run, &silos, &mut segments, scratch, progress)
                .or_else(|error| run.index_failed(error))?,
            Err(error) => run.tell(index::not_compared(error)),
        }
    }
    segments.check(&mut run, all_chosen && !options.quick)?;
    if let Some(comparison) = comparison {
        comparison.compare(&mut run)?;
    }
    run.tell_lost();
    let grew = store.files().list()?.values().ne(silos.iter());
    if !was_written && !grew && !(options.is_written)() {
        run.tell_held_back();
    }
    Ok(run.done)
}

/// An audit under way.
pub(crate) struct Run<'a> {
    pub(crate) store: &'a Store,
    pub(crate) options: &'a AuditOptions<'a>,
    /// The last record that was promised when the audit began.
    pub(crate) known: Option<Place>,
    pub(crate) done: AuditDone,
    /// The silos that are here.
    numbers: BTreeSet<u32>,
    /// The last of them, if it is not sealed.
    growing: Option<u32>,
    /// How many entries lead into silos that are not.
    lost: BTreeMap<u32, u64>,
    held_back: Vec<AuditFinding>,
    more_held_back: u64,
    found: &'a mut dyn FnMut(AuditFinding),
    told: &'a mut dyn FnMut(Scanned),
}

impl Run<'_> {
    /// Tells a finding, or holds it back if it lies where nothing may have been promised. Damage in a sealed silo is told: all
    /// in it was finished.
    pub(crate) fn report(&mut self, finding: AuditFinding) {
        self.done.is_ahead_of_index |= finding.kind == AuditKind::IndexMissing;
        match (finding.silo, finding.offset) {
            (Some(silo), Some(offset))
                if self.is_unpromised(silo, offset) && !self.is_damage_of_sealed(silo, &finding) =>
            {
                self.hold_back(finding);
            }
            _ => self.tell(finding),
        }
    }

    fn tell(&mut self, finding: AuditFinding) {
        self.done.findings += 1;
        (self.found)(finding);
    }

    /// Keeps a finding until it is known whether somebody has been writing.
    pub(crate) fn hold_back(&mut self, mut finding: AuditFinding) {
        if self.held_back.len() >= MOST_HELD_BACK {
            self.more_held_back += 1;
            return;
        }
        if finding.kind == AuditKind::IndexMissing {
            finding.message = NOT_KNOWN_YET.to_owned();
        }
        // Nobody was promised what the index knows nothing of.
        if finding.severity == AuditSeverity::Error {
            finding.severity = AuditSeverity::Warning;
            finding
                .message
                .push_str("; the index knows nothing of it, as after a crash, or the index is not whole");
        }
        self.held_back.push(finding);
    }

    fn tell_held_back(&mut self) {
        for finding in std::mem::take(&mut self.held_back) {
            self.tell(finding);
        }
        if self.more_held_back > 0 {
            let message =
                format!("{} more records or places that the index does not know", self.more_held_back);
            self.tell(AuditFinding::new(AuditKind::IndexMissing, message));
        }
    }

    /// One finding for each silo that is not here, however much was in it.
    fn tell_lost(&mut self) {
        for (silo, count) in std::mem::take(&mut self.lost) {
            let message = match count {
                0 => format!("silo {silo} is missing"),
                _ => format!("silo {silo} is missing, and {count} entries of the index lead into it"),
            };
            let mut finding = AuditFinding::new(AuditKind::SiloMissing, message);
            finding.silo = Some(silo);
            self.tell(finding);
        }
    }

    /// The index cannot be read: that is a finding. Says that it is of no use.
    fn index_damaged(&mut self, why: &str) -> bool {
        self.done.is_ahead_of_index = true;
        let message = format!("the index cannot be read; `varve rebuild` makes it again: {why}");
        self.tell(AuditFinding::new(AuditKind::IndexDamaged, message));
        false
    }

    /// A failure of the index is a finding, any other ends the audit.
    fn index_failed(&mut self, error: StoreError) -> Result<(), StoreError> {
        match error {
            StoreError::Index(error) => {
                self.index_damaged(&error.to_string());
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Whether a place is behind the last record that is known to be promised.
    pub(crate) fn is_unpromised(&self, silo: u32, offset: u64) -> bool {
        let place = Place::new(silo, offset);
        self.options.index_lost.is_none()
            && place.is_ok_and(|place| self.known.is_none_or(|known| place > known))
    }

    /// Only the silo that grows may have what was never finished, but for large objects: all silos of one are sealed before they
    /// have their names.
    fn is_damage_of_sealed(&self, silo: u32, finding: &AuditFinding) -> bool {
        finding.severity == AuditSeverity::Error
            && finding.kind != AuditKind::Segment
            && self.growing != Some(silo)
    }

    /// The silos there are; a number that is missing is a finding.
    fn numbering(&mut self) -> Result<Vec<SiloFile>, StoreError> {
        let silos = self.store.files().list()?;
        self.numbers = silos.keys().copied().collect();
        self.growing = silos.values().next_back().filter(|last| !last.read_only).map(|last| last.number);
        let used = numbers::next_unused(self.store.files())?.checked_sub(1);
        let named = self.known.map(Place::silo).into_iter().chain(silos.keys().next_back().copied());
        if let Some(last) = named.chain(used).max() {
            self.lost =
                (0..=last).filter(|number| !silos.contains_key(number)).map(|lost| (lost, 0)).collect();
        }
        Ok(silos.into_values().collect())
    }

    fn permission(&mut self, silo: &SiloFile, last: Option<&SiloFile>) {
        let is_last = last.is_some_and(|last| last.number == silo.number);
        if !silo.read_only && !is_last {
            let message = format!("sealed silo `{}` can be written to", silo.name());
            self.report(AuditFinding::new(AuditKind::SiloWritable, message).at(silo.number, 0));
        }
    }
}
