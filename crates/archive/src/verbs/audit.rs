//! `audit`: verifies that every stored byte is unchanged.
//!
//! Adds the archive level to the audit of the store: the choice of silos, and a printable report.
//! All layouts have the same findings and the same [`AuditReport`]. The checks of a Moku site are in
//! [`super::audit_site`], those of a Crystal project in `varve-crystal`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use varve_store::StoreError;
use varve_store::aardwarc;
use varve_store::audit::{AuditDone, AuditOptions, audit as audit_store};
use varve_store::error_text;
use varve_store::index::IndexOptions;
use varve_store::silo::SiloFile;

use super::audit_site::{self, audit_site};
use super::audit_web_archive;
use super::crystal::verify::{audit_project, revisions_at_most};
use crate::error::ArchiveError;
use crate::text::grouped;
use varve_repository::archive::Archive;
use varve_repository::archive_writer::dictionary_damage;
use varve_repository::history::{HistoryAudit, WebArchiveHistoryReader};
use varve_repository::objects::Objects;
use varve_repository::{IndexPlace, Layout, RepositoryError, detect_layout};

pub use varve_store::audit::{AuditFinding, AuditKind, AuditSeverity};

/// The options of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AuditRequest {
    /// Check structure and index only. Blocks are read only where something looks wrong.
    pub quick: bool,
    /// Only silos last written at or after this Unix time, in seconds.
    pub since: Option<i64>,
    /// Only a percentage of the silos, chosen by the seed.
    pub sample: Option<Sample>,
}

/// A sample of the silos. Different seeds choose different silos.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Percentage of the silos.
    pub percent: f64,
    /// The seed, for instance the day.
    pub seed: u64,
}

/// The counts of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Records, captures or revisions checked.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Number of findings.
    pub findings: u64,
    /// The counts of this layout alone.
    #[serde(flatten)]
    pub checked: CheckedItems,
}

/// The items that were checked, by layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CheckedItems {
    /// Silos read, silos that were not selected, and index entries.
    Archive {
        /// Silos read.
        silos: u64,
        /// Silos that were not selected.
        silos_left_out: u64,
        /// Index entries.
        entries: u64,
    },
    /// An AardWARC store.
    Aardwarc {
        /// Silos read.
        silos: u64,
    },
    /// A Moku site.
    Site {
        /// Versions.
        versions: u64,
        /// Bodies in the site.
        bodies: u64,
    },
    /// A Crystal project.
    Project {
        /// Revisions with bodies.
        bodies: u64,
    },
    /// A web archive.
    WebArchive {
        /// Files of records.
        files: u64,
    },
}

/// An archive or another layout that can be audited.
pub enum AuditSubject {
    /// A varve archive.
    Archive(Box<Archive>),
    /// An AardWARC store.
    Aardwarc(PathBuf),
    /// A Moku site.
    Site(PathBuf),
    /// A Crystal project.
    Project(PathBuf),
    /// WARC, ARC and WACZ files of other programs.
    WebArchive(Box<WebArchiveHistoryReader>),
}

/// The amount of work of an audit, for a progress display.
pub enum AuditWork {
    /// Bytes to read, if they are known.
    Bytes(Option<u64>),
    /// Revisions to check, at most.
    Revisions(u64),
}

impl AuditSubject {
    /// Opens the layout at `root`.
    pub fn open(root: &Path) -> Result<Self, ArchiveError> {
        Ok(match detect_layout(root) {
            Some(Layout::Aardwarc) => Self::Aardwarc(root.to_owned()),
            Some(Layout::Moku) => Self::Site(root.to_owned()),
            Some(Layout::Crystal) => Self::Project(root.to_owned()),
            Some(Layout::WebArchive) => {
                Self::WebArchive(Box::new(WebArchiveHistoryReader::open(root, &IndexPlace::Temporary, &())?))
            }
            _ => Self::Archive(Box::new(Archive::open_to_audit(root)?)),
        })
    }

    /// The amount of work.
    pub fn work(&self) -> Result<AuditWork, ArchiveError> {
        Ok(match self {
            Self::Archive(archive) => {
                let silos = varve_store::rebuild::bytes_to_read(archive.store().files())?;
                AuditWork::Bytes(Some(silos + file_length(&archive.layout().catalog())))
            }
            // Damage that prevents counting is reported by the audit itself.
            Self::Aardwarc(root) => AuditWork::Bytes(Objects::bytes_to_read(root).ok().flatten()),
            Self::Site(root) => AuditWork::Bytes(audit_site::bytes_to_read(root).ok()),
            Self::Project(root) => AuditWork::Revisions(revisions_at_most(root).unwrap_or(0)),
            Self::WebArchive(archive) => AuditWork::Bytes(Some(audit_web_archive::bytes_to_read(archive))),
        })
    }

    /// Audits it. `found` is called with each finding, `progress` with the work just done. Only
    /// archives can be audited in part.
    pub fn audit(
        &self,
        request: &AuditRequest,
        progress: &(dyn Fn(u64) + Sync),
        found: &mut dyn FnMut(AuditFinding),
    ) -> Result<AuditReport, ArchiveError> {
        match self {
            Self::Archive(archive) => audit(archive, request, &|bytes| progress(bytes), found),
            Self::Aardwarc(root) | Self::Site(root) | Self::Project(root)
                if request.since.is_some() || request.sample.is_some() =>
            {
                Err(ArchiveError::AuditedWhole(root.clone()))
            }
            Self::WebArchive(archive) if request.since.is_some() || request.sample.is_some() => {
                Err(ArchiveError::AuditedWhole(archive.files().root().to_owned()))
            }
            Self::WebArchive(archive) => {
                let checked = CheckedItems::WebArchive { files: 0 };
                to_the_end(checked, found, |found| {
                    audit_web_archive::audit_web_archive(archive, request.quick, progress, found)
                })
            }
            Self::Aardwarc(root) => {
                let checked = CheckedItems::Aardwarc { silos: 0 };
                to_the_end(checked, found, |found| audit_aardwarc(root, request.quick, progress, found))
            }
            Self::Site(root) => {
                let checked = CheckedItems::Site { versions: 0, bodies: 0 };
                to_the_end(checked, found, |found| audit_site(root, request.quick, progress, found))
            }
            Self::Project(root) => {
                let checked = CheckedItems::Project { bodies: 0 };
                to_the_end(checked, found, |found| audit_project(root, request.quick, progress, found))
            }
        }
    }
}

/// Runs an audit. An error that ends it is its last finding, since damage of any kind is one.
fn to_the_end(
    checked: CheckedItems,
    found: &mut dyn FnMut(AuditFinding),
    audit: impl FnOnce(&mut dyn FnMut(AuditFinding)) -> Result<AuditReport, ArchiveError>,
) -> Result<AuditReport, ArchiveError> {
    let mut findings = 0;
    let done = audit(&mut |finding| {
        findings += 1;
        found(finding);
    });
    done.or_else(|error| {
        let message = format!("the audit could not read on: {}", error_text(&error));
        found(AuditFinding::new(AuditKind::Damaged, message));
        Ok(AuditReport { records: 0, bytes: 0, findings: findings + 1, checked })
    })
}

/// The length of a file; 0 if it cannot be examined.
fn file_length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Audits an archive. `found` is called with each finding, `progress` with the number of bytes just
/// processed.
pub fn audit(
    archive: &Archive,
    request: &AuditRequest,
    progress: &(impl Fn(u64) + Sync),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<AuditReport, ArchiveError> {
    let silos = archive.layout().silos();
    let numbers: Vec<u32> = archive.store().files().list().map_err(StoreError::from)?.into_keys().collect();
    // Even the smallest sample contains one silo.
    let at_least = request.sample.and_then(|sample| sample.first_of(&numbers));
    let chosen = |silo: &SiloFile| {
        let recent = request.since.is_none_or(|since| modified(&silos.join(silo.name())) >= since);
        let sampled = request.sample.is_none_or(|sample| sample.takes(silo.number));
        recent && (sampled || at_least == Some(silo.number))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let lock = archive.backends().lock();
    let options = AuditOptions {
        quick: request.quick,
        chosen: &chosen,
        threads,
        index: IndexOptions::default(),
        // If the lock cannot be examined, nobody is known to write.
        is_written: &|| matches!(lock.holder(), Ok(Some(_))),
        index_lost: archive.lost_index(),
    };
    let everything = !request.quick && request.since.is_none() && request.sample.is_none();
    let mut history = everything.then(|| HistoryAudit::begin(archive));
    let mut told = |said| {
        if let Some(history) = &mut history {
            history.hear(said);
        }
    };
    let mut findings = FindingFilter::new(archive, found);
    findings.add_damaged_settings();
    findings.add_damaged_dictionary();
    let mut add = |finding| findings.add(finding);
    let done =
        audit_store(archive.store(), &archive.layout().index(), &options, progress, &mut add, &mut told)?;
    if let Some(history) = history {
        history.finish(&done, &mut add);
    }
    progress(file_length(&archive.layout().catalog()));
    let AuditDone { silos, silos_left_out, records, bytes, entries, .. } = done;
    let findings = findings.finish();
    let checked = CheckedItems::Archive { silos, silos_left_out, entries };
    Ok(AuditReport { records, bytes, findings, checked })
}

/// Counts and passes on the findings of an archive. Those that an interrupted capture explains are
/// one finding.
struct FindingFilter<'a> {
    archive: &'a Archive,
    found: &'a mut dyn FnMut(AuditFinding),
    /// Unfinished runs in the queue of the catalog.
    unfinished: usize,
    explained: bool,
    count: u64,
}

impl<'a> FindingFilter<'a> {
    fn new(archive: &'a Archive, found: &'a mut dyn FnMut(AuditFinding)) -> Self {
        // Without a readable catalog no run is known; the audit of the catalog reports that.
        let runs = archive.backends().read_catalog().and_then(|kept| Ok(kept.frontier.unfinished_runs()?));
        let unfinished = runs.map_or(0, |runs| runs.len());
        Self { archive, found, unfinished, explained: false, count: 0 }
    }

    fn add_damaged_settings(&mut self) {
        if let Some(why) = self.archive.lost_settings() {
            let message = format!("the settings cannot be used, and the audit goes on without them: {why}");
            self.add(AuditFinding::new(AuditKind::Settings, message));
        }
    }

    fn add_damaged_dictionary(&mut self) {
        if let Some(why) = dictionary_damage(self.archive.layout()) {
            let message = format!(
                "`dictionary.zstd` cannot be used for new silos, and existing ones do not need it; `varve train` \
                 makes another: {why}"
            );
            self.add(AuditFinding::new(AuditKind::Dictionary, message));
        }
    }

    fn add(&mut self, finding: AuditFinding) {
        if finding.kind == AuditKind::Behind && self.unfinished > 0 {
            self.explained = true;
            return;
        }
        self.count += 1;
        (self.found)(finding);
    }

    /// Reports the unfinished runs, if they explain findings. Returns the number of findings.
    fn finish(self) -> u64 {
        if !self.explained {
            return self.count;
        }
        let message = match self.unfinished {
            1 => "one unfinished run; `varve capture --resume` continues it".to_owned(),
            runs => format!("{runs} unfinished runs; `varve capture --resume` continues them"),
        };
        (self.found)(AuditFinding::new(AuditKind::Behind, message));
        self.count + 1
    }
}

/// Audits the silos of the AardWARC store at `root`, but not its index. `quick` reads headers and
/// no blocks.
fn audit_aardwarc(
    root: &Path,
    quick: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<AuditReport, ArchiveError> {
    let failed = |source| RepositoryError::Aardwarc { path: root.to_owned(), source };
    let done = aardwarc::audit(root, quick, progress, found).map_err(failed)?;
    let AuditDone { silos, records, bytes, findings, .. } =
        done.ok_or_else(|| RepositoryError::NoAardwarcSilos { path: root.to_owned() })?;
    Ok(AuditReport { records, bytes, findings, checked: CheckedItems::Aardwarc { silos } })
}

/// When a file was last written. A file without a known time counts as new, so that it is audited.
fn modified(path: &Path) -> i64 {
    let time = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let since = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(i64::MAX)
}

impl Sample {
    /// Whether a silo is in the sample.
    fn takes(self, silo: u32) -> bool {
        self.lot_of(silo) < self.percent / 100.0
    }

    /// The silo that enters a growing sample first.
    fn first_of(self, silos: &[u32]) -> Option<u32> {
        silos.iter().copied().min_by(|one, other| self.lot_of(*one).total_cmp(&self.lot_of(*other)))
    }

    /// A number from 0 to 1 for each silo.
    fn lot_of(self, silo: u32) -> f64 {
        // The multiplication mixes all bits, so that neighbouring silos spread evenly.
        let mixed =
            (u64::from(silo) ^ self.seed.rotate_left(32)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The contents of a printed report besides its findings.
pub struct PrintedAudit<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The options of the audit.
    pub request: AuditRequest,
    /// When it began, as text.
    pub began: &'a str,
    /// When it ended, as text.
    pub ended: &'a str,
    /// The program name and version.
    pub software: &'a str,
}

impl PrintedAudit<'_> {
    /// The report as plain text, to be printed and signed.
    pub fn text(&self, done: &AuditReport, findings: &[AuditFinding]) -> String {
        let mut text = String::new();
        self.head(&mut text, done);
        if findings.is_empty() {
            text.push_str("\nNo findings.\n");
        } else {
            text.push_str("\nFindings\n--------\n");
            for finding in findings {
                let _ = writeln!(text, "{}", line(finding));
            }
            if done.findings > findings.len() as u64 {
                let _ = writeln!(text, "… and {} more", done.findings - findings.len() as u64);
            }
        }
        text.push_str("\n\n\nDate and signature: ______________________________________________\n");
        text
    }

    fn head(&self, text: &mut String, done: &AuditReport) {
        let CheckedItems::Archive { silos, silos_left_out, entries } = done.checked else { return };
        let settings = self.archive.settings();
        let root = self.archive.layout().root();
        let folder = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut rows = vec![("Archive", settings.name.clone())];
        rows.extend(settings.operator.clone().map(|operator| ("Operator", operator)));
        rows.extend([
            ("Folder", folder.display().to_string()),
            ("Audit", self.kind()),
            ("Begun", self.began.to_owned()),
            ("Ended", self.ended.to_owned()),
            ("Program", self.software.to_owned()),
            ("Silos", silo_count(silos, silos_left_out)),
        ]);
        rows.extend(self.newest().map(|newest| ("Newest silo", newest)));
        rows.extend(self.not_checked().map(|what| ("Not checked", what.to_owned())));
        rows.extend([
            ("Records", grouped(done.records)),
            ("Bytes read", grouped(done.bytes)),
            ("Index entries", grouped(entries)),
            ("Findings", grouped(done.findings)),
        ]);
        text.push_str("Audit report\n============\n\n");
        for (name, value) in rows {
            let _ = writeln!(text, "{name:<15}{value}");
        }
    }

    fn kind(&self) -> String {
        let mut kind =
            if self.request.quick { "quick (structure and index)" } else { "full (every byte)" }.to_owned();
        if let Some(sample) = self.request.sample {
            let _ = write!(kind, ", of a sample of {} % of the silos", sample.percent);
        }
        if self.request.since.is_some() {
            kind.push_str(", of silos written since a given day");
        }
        kind
    }

    /// The parts that this audit does not cover and a full one does.
    fn not_checked(&self) -> Option<&'static str> {
        let is_part = self.request.sample.is_some() || self.request.since.is_some();
        match (self.request.quick, is_part) {
            (true, _) => Some("the bytes of records, versions, and the catalog"),
            (false, true) => Some("other silos, objects in segments as a whole, versions, and the catalog"),
            (false, false) => None,
        }
    }

    /// The name and length of the newest silo. Each silo is vouched for by its successor, and the
    /// newest has none yet.
    fn newest(&self) -> Option<String> {
        let silos = self.archive.store().files().list().ok()?;
        let newest = silos.values().next_back()?;
        Some(format!("{}, {} bytes", newest.name(), grouped(newest.length)))
    }
}

fn silo_count(silos: u64, left_out: u64) -> String {
    match left_out {
        0 => grouped(silos),
        left_out => format!("{} ({} not selected)", grouped(silos), grouped(left_out)),
    }
}

/// A finding on one line.
pub fn line(finding: &AuditFinding) -> String {
    let place = match (finding.silo, finding.offset) {
        (Some(silo), Some(offset)) => format!("silo {silo} at byte {offset}: "),
        (Some(silo), None) => format!("silo {silo}: "),
        _ => String::new(),
    };
    let id = finding.id.as_deref().map(|id| format!(" [{id}]")).unwrap_or_default();
    let url = finding.url.as_deref().map(|url| format!(", {url}")).unwrap_or_default();
    format!("{place}{}{id}{url}{}", finding.message, help_for(finding))
}

/// What helps against damage in a silo.
fn help_for(finding: &AuditFinding) -> String {
    let is_damage = matches!(finding.kind, AuditKind::Damaged | AuditKind::Digest | AuditKind::Id);
    if !is_damage || finding.severity != AuditSeverity::Error || finding.silo.is_none() {
        return String::new();
    }
    match finding.url.as_deref().filter(|url| url.starts_with("http")) {
        Some(url) => {
            format!(
                "; put the silo back from a copy, or capture the page as it is now: `varve capture {url}`"
            )
        }
        None => "; put the silo back from a copy, or store what it held again: `varve store FILE`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_take_about_their_share_and_differ() {
        let taken =
            |seed| (0..10_000).filter(|silo| Sample { percent: 10.0, seed }.takes(*silo)).collect::<Vec<_>>();
        assert!((800..1200).contains(&taken(1).len()), "{}", taken(1).len());
        assert_ne!(taken(1), taken(2));
        assert!(Sample { percent: 100.0, seed: 5 }.takes(3));
        assert!(!Sample { percent: 0.0, seed: 5 }.takes(3));
        assert_eq!(Sample { percent: 0.0, seed: 5 }.first_of(&[]), None);
        assert!(Sample { percent: 0.0, seed: 5 }.first_of(&[3, 4]).is_some());
    }
}
