//! `verify`: checks the log of an archive, or a proof file without any archive.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use varve_core::history::ListCursor;
use varve_repository::RepositoryError;
use varve_repository::history::{ArchiveHistoryReader, HistoryReader};
use varve_repository::sealed_log::{LogContent, LogFiles, LogVersions, find_wrong_files};
use varve_tlog::{LogError, MAX_NOTE_BYTES, NoteVerifier, TreeCheckpoint};

use super::seal::{EvidenceError, LogEvidence, MAX_EVIDENCE_BYTES, manifest_digest, read_limited};
pub use super::verify_warc::PROOF_MEDIA_TYPE;
use super::verify_warc::{CaptureCounts, compare_captures, find_proof};
use crate::error::ArchiveError;

pub use varve_repository::sealed_log::{LogFinding, LogFindingKind};
pub use varve_tlog::VerifiedTimestamp;

/// Number of rows per query.
const ROWS_PER_QUERY: usize = 1_000;

/// What to check with, from elsewhere than the archive or file.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A signed checkpoint that the log must continue.
    pub checkpoint: Option<String>,
    /// The public key that must have signed.
    pub key: Option<NoteVerifier>,
}

/// The extent of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of leaves, in the newest checkpoint of a file.
    pub leaves: u64,
    /// The name of the log.
    pub origin: String,
    /// The versions that were checked.
    pub versions: u64,
    /// Captures in a file whose records are those of the versions.
    pub captures: u64,
    /// Checkpoints of an archive.
    pub checkpoints: u64,
    /// Versions of an archive that are not sealed yet.
    pub unsealed: u64,
    /// Timestamps that hold.
    pub timestamps: Vec<CheckedTimestamp>,
    /// The number of findings.
    pub findings: u64,
}

/// A timestamp that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedTimestamp {
    /// The number of leaves that existed then.
    pub size: u64,
    /// When, according to the authority.
    pub time: String,
    /// The name in its certificate.
    pub authority: String,
}

/// A file cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFileError {
    /// It cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It is not JSON, and cannot be read as a WARC file.
    #[error("could not read `{}` as a WARC file", path.display())]
    Warc {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: varve_warc::Error,
    },
    /// It has no proof.
    #[error("`{}` has no proof that can be checked: {source}", path.display())]
    NoProof {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: EvidenceError,
    },
    /// It is no checkpoint.
    #[error("`{}` is no checkpoint: {source}", path.display())]
    NoCheckpoint {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: LogError,
    },
}

/// Reads a file with a signed checkpoint.
pub fn read_checkpoint(path: &Path) -> Result<String, VerifyFileError> {
    let read = File::open(path).and_then(|file| read_limited(file, MAX_NOTE_BYTES as u64));
    let bytes = read.map_err(|source| VerifyFileError::Read { path: path.to_owned(), source })?;
    let invalid = |source| VerifyFileError::NoCheckpoint { path: path.to_owned(), source };
    let (note, _) = TreeCheckpoint::of_note(&bytes).map_err(invalid)?;
    Ok(note.to_string())
}

/// Checks a proof file.
pub fn verify_file(
    path: &Path,
    request: &Request,
    found: &mut dyn FnMut(LogFinding),
) -> Result<Report, VerifyFileError> {
    let unread = |source| VerifyFileError::Read { path: path.to_owned(), source };
    let no_proof = |source| VerifyFileError::NoProof { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unread)?;
    let is_json = read_limited(file.by_ref().take(1), 1).map_err(unread)? == b"{";
    let bytes = match is_json {
        true => file.rewind().and_then(|()| read_limited(&file, MAX_EVIDENCE_BYTES)).map_err(unread)?,
        false => find_proof(&file).map_err(warc_failure(path))?.ok_or(no_proof(EvidenceError::Absent))?,
    };
    let evidence = LogEvidence::parse(&bytes).map_err(no_proof)?;
    let mut findings = 0;
    let mut count = |finding| {
        findings += 1;
        found(finding);
    };
    let timestamps =
        evidence.check(request.key.as_ref(), request.checkpoint.as_deref(), &mut count).map_err(no_proof)?;
    let mut captures = CaptureCounts::default();
    if !is_json {
        compare_captures(&file, &evidence, &mut captures, &mut count).map_err(warc_failure(path))?;
    }
    let (_, checkpoint) = TreeCheckpoint::of_note(evidence.checkpoint.as_bytes())
        .map_err(|error| no_proof(EvidenceError::Checkpoint(error)))?;
    Ok(Report {
        leaves: checkpoint.size,
        origin: checkpoint.origin,
        versions: evidence.versions.len() as u64,
        timestamps: timestamps.into_iter().map(|one| checked_timestamp(checkpoint.size, one)).collect(),
        captures: captures.sealed,
        findings,
        ..Report::default()
    })
}

fn warc_failure(path: &Path) -> impl Fn(varve_warc::Error) -> VerifyFileError + '_ {
    |source| VerifyFileError::Warc { path: path.to_owned(), source }
}

fn checked_timestamp(size: u64, verified: VerifiedTimestamp) -> CheckedTimestamp {
    CheckedTimestamp { size, time: verified.time, authority: verified.authority }
}

/// Checks the log of an archive: leaves against versions and their manifests, checkpoints, signatures,
/// timestamps, and the files of the log.
pub fn verify_archive(
    archive: &ArchiveHistoryReader,
    request: &Request,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(LogFinding),
) -> Result<Report, ArchiveError> {
    let catalog = archive.catalog();
    let content = LogContent::of_catalog(catalog)?;
    let last = content.checkpoints().last().ok_or(ArchiveError::NothingSealed)?;
    let mut findings = 0;
    let mut count = |finding| {
        findings += 1;
        found(finding);
    };
    let versions = versions_of(archive)?;
    let timestamps = content.check(&versions, &mut count);
    check_manifests(archive, &content, &versions, progress, &mut count)?;
    check_trust(&content, request, &mut count);
    let files = LogFiles::new(archive.archive().layout());
    let compared = find_wrong_files(&files, catalog, &mut |name| {
        let message = format!("`seal/{name}` is not the file that the log makes; `varve rebuild` writes it");
        count(LogFinding::new(LogFindingKind::File, message));
    });
    match compared {
        // Leaves and checkpoints that contradict each other were found above.
        Ok(()) | Err(RepositoryError::Log(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let leaves = content.leaves().len() as u64;
    let sealed: HashSet<_> = content.leaves().iter().map(varve_core::ManifestDigest::version).collect();
    let unsealed = versions.written.iter().filter(|version| !sealed.contains(*version)).count() as u64;
    let origin =
        TreeCheckpoint::of_note(last.note.as_bytes()).map(|(_, last)| last.origin).unwrap_or_default();
    let (versions, checkpoints) = (versions.written.len() as u64, content.checkpoints().len() as u64);
    let timestamps = timestamps.into_iter().map(|(size, one)| checked_timestamp(size, one)).collect();
    Ok(Report { leaves, origin, versions, captures: 0, checkpoints, unsealed, timestamps, findings })
}

fn versions_of(archive: &ArchiveHistoryReader) -> Result<LogVersions, ArchiveError> {
    let (catalog, mut versions) = (archive.catalog(), LogVersions::default());
    loop {
        let after = versions.written.last().copied();
        let more = catalog.versions_by_writing(ListCursor { after, limit: ROWS_PER_QUERY })?;
        if more.is_empty() {
            break;
        }
        versions.written.extend(more);
    }
    let mut after = None;
    loop {
        let removals = catalog.removals(ListCursor { after, limit: ROWS_PER_QUERY })?;
        let Some(last) = removals.last() else { return Ok(versions) };
        after = Some(last.tombstone_record);
        versions.removed.extend(removals.iter().filter_map(|removal| removal.tombstone.version));
    }
}

/// Reads the manifest of each leaf that is still a version, and compares its digest.
fn check_manifests(
    archive: &ArchiveHistoryReader,
    content: &LogContent,
    versions: &LogVersions,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(LogFinding),
) -> Result<(), ArchiveError> {
    let history = HistoryReader::Archive(archive.clone());
    let written: HashSet<_> = versions.written.iter().collect();
    for (leaf, manifest) in content.leaves().iter().enumerate() {
        progress(1);
        let version = manifest.version();
        if !written.contains(&version) {
            continue;
        }
        let message = match manifest_digest(&history, &version) {
            Ok(found) if found == *manifest => continue,
            Ok(_) => format!("leaf {leaf} is not the manifest of version {version}"),
            Err(error) => format!("leaf {leaf}: the manifest of version {version} cannot be read: {error}"),
        };
        found(LogFinding::new(LogFindingKind::VersionMissing, message));
    }
    Ok(())
}

/// Checks the log against the key and the checkpoint that the caller trusts.
fn check_trust(content: &LogContent, request: &Request, found: &mut dyn FnMut(LogFinding)) {
    let mut wrong = |kind, message: String| found(LogFinding::new(kind, message));
    let Some(last) = content.checkpoints().last() else { return };
    let parsed = TreeCheckpoint::of_note(last.note.as_bytes());
    if let (Some(key), Ok((note, _))) = (&request.key, &parsed)
        && let Err(error) = note.verify(key)
    {
        wrong(LogFindingKind::Signature, format!("the newest checkpoint: {error}"));
    }
    let Some(given) = &request.checkpoint else { return };
    let (note, given) = match TreeCheckpoint::of_note(given.as_bytes()) {
        Ok(given) => given,
        Err(error) => return wrong(LogFindingKind::Checkpoint, format!("the given checkpoint: {error}")),
    };
    if let Some(Err(error)) = request.key.as_ref().map(|key| note.verify(key)) {
        wrong(LogFindingKind::Signature, format!("the given checkpoint: {error}"));
    }
    if parsed.is_ok_and(|(_, last)| last.origin != given.origin) {
        wrong(
            LogFindingKind::Checkpoint,
            format!("the given checkpoint is of another log, `{}`", given.origin),
        );
    }
    let size = given.size;
    match content.roots_at(&HashSet::from([size])).get(&size) {
        Some(root) if *root == given.root => {}
        None if size == 0 => {}
        None => wrong(
            LogFindingKind::Checkpoint,
            format!("the given checkpoint has {size} leaves, and the log only {}", content.leaves().len()),
        ),
        Some(_) => wrong(
            LogFindingKind::Checkpoint,
            format!("the first {size} leaves of the log are others than those of the given checkpoint"),
        ),
    }
}
