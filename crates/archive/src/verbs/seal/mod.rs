//! `seal`: makes every version a leaf of a log that others can verify, and signs a checkpoint of it.
//!
//! A leaf is the digest of a manifest, in the order of writing. First the new leaves are recorded in
//! the silos, then the signed checkpoint; then the files in `seal` follow, the checkpoint last. A crash
//! leaves leaves without a checkpoint, or files that the next call brings up to date.
//!
//! `prove` takes from the log what someone needs to verify a version without the archive. The format
//! of tiles, notes and timestamps is that of `varve-tlog`.

mod evidence;
mod key_file;
mod prove;

use std::io::Read;

use serde::Serialize;
use sha2::{Digest, Sha256};
use varve_catalog::CatalogRow;
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped, Fact, LeavesAdded, Manifest};
use varve_core::history::ListCursor;
use varve_core::{ManifestDigest, VersionId};
use varve_repository::RepositoryError;
use varve_repository::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader, known_version};
use varve_repository::sealed_log::{LogFiles, log_entry, rebuild_log_files, update_log_files};
use varve_tlog::{
    LogError, NoteSigner, SignedNote, TreeCheckpoint, TreeWriter, encode_base64, verify_timestamp,
};

use crate::error::ArchiveError;

pub use evidence::{EvidenceError, LogEvidence, MAX_EVIDENCE_BYTES, VersionEvidence};
pub use key_file::{SealKeyError, make_key, read_own_signer, read_public_key, read_signer};
pub use prove::{prove, prove_versions};
pub use varve_tlog::{NoteVerifier, VerifiedTimestamp, request_timestamp};

/// Maximum number of leaves in a record.
const MAX_RECORD_LEAVES: usize = 4_096;
/// Maximum length of a manifest that is read into memory.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;
/// Number of checkpoints per query.
const CHECKPOINTS_PER_QUERY: usize = 100;

/// What a seal found and did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of leaves.
    pub size: u64,
    /// The versions that became leaves.
    pub sealed: u64,
    /// The signed checkpoint.
    pub checkpoint: String,
    /// The public keys of its signatures.
    pub keys: Vec<String>,
}

/// Seals the versions that are not sealed. Without any, nothing is written, and the report has the last
/// checkpoint.
pub fn seal(history: &ArchiveHistoryWriter, signers: &[NoteSigner]) -> Result<Report, ArchiveError> {
    let catalog = history.catalog();
    let files = LogFiles::new(history.writer().layout());
    let last = catalog.last_log_checkpoint()?;
    let has_new = !catalog.versions_without_leaf(1)?.is_empty()
        || last.as_ref().map_or(0, |last| last.size) < catalog.log_size()?;
    if !has_new {
        let last = last.ok_or(ArchiveError::NothingToSeal)?;
        update_log_files(&files, catalog)?;
        return Ok(report(last, 0));
    }
    let Some(first) = signers.first() else { return Err(ArchiveError::NoSealKey) };
    let origin = match &last {
        Some(last) => TreeCheckpoint::of_note(last.note.as_bytes()).map_err(RepositoryError::from)?.1.origin,
        None => first.verifier().name().to_owned(),
    };
    let begin = last.as_ref().map_or(0, |last| last.size);
    add_leaves(history)?;
    let signed = sign_checkpoint(history, (&files, last.as_ref()), &origin, signers)?;
    let sealed = signed.size - begin;
    Ok(report(signed, sealed))
}

fn report(signed: CheckpointSigned, sealed: u64) -> Report {
    let CheckpointSigned { size, note, keys, .. } = signed;
    Report { size, sealed, checkpoint: note, keys }
}

/// Records the versions without a leaf as leaves.
fn add_leaves(history: &ArchiveHistoryWriter) -> Result<(), ArchiveError> {
    loop {
        let versions = history.catalog().versions_without_leaf(MAX_RECORD_LEAVES)?;
        if versions.is_empty() {
            return Ok(());
        }
        let manifests: Vec<ManifestDigest> = versions
            .iter()
            .map(|version| manifest_digest(history.as_reader(), version))
            .collect::<Result<_, _>>()?;
        let added = Box::new(LeavesAdded { first: history.catalog().log_size()?, manifests });
        write_log_fact(history, &Fact::LogLeaves(added.clone()), CatalogRow::LogLeaves(added))?;
    }
}

/// Writes a fact about the log durably, and its row.
fn write_log_fact(history: &ArchiveHistoryWriter, fact: &Fact, row: CatalogRow) -> Result<(), ArchiveError> {
    let json = fact.to_json();
    // The record is about nothing but itself, so that no removal of a version removes it.
    let about = format!("urn:uuid:{}", Manifest::version_id(&json));
    history.write_fact(&about, fact.media_type(), &json)?;
    Ok(history.apply(vec![row])?)
}

/// Signs the root of all leaves, and writes the files of the log.
fn sign_checkpoint(
    history: &ArchiveHistoryWriter,
    (files, last): (&LogFiles, Option<&CheckpointSigned>),
    origin: &str,
    signers: &[NoteSigner],
) -> Result<CheckpointSigned, ArchiveError> {
    let catalog = history.catalog();
    let mut storage = files.clone();
    let mut writer = resume(files, &mut storage, last, history.as_reader())?;
    loop {
        let leaves = catalog.log_leaves(writer.size(), MAX_RECORD_LEAVES)?;
        if leaves.is_empty() {
            break;
        }
        for (leaf, manifest) in leaves {
            if leaf != writer.size() {
                let message = format!("leaf {} of the log is missing", writer.size());
                return Err(RepositoryError::from(LogError::Range(message)).into());
            }
            writer.push(log_entry(&manifest)).map_err(RepositoryError::from)?;
        }
    }
    let (size, root) = (writer.size(), writer.root());
    let checkpoint = TreeCheckpoint { origin: origin.to_owned(), size, root, extensions: Vec::new() };
    let note = SignedNote::sign(&checkpoint.to_string(), signers).map_err(RepositoryError::from)?.to_string();
    let keys = signers.iter().map(|signer| signer.verifier().to_string()).collect();
    let signed = Box::new(CheckpointSigned { size, note, keys, time: history.now() });
    write_log_fact(history, &Fact::LogCheckpoint(signed.clone()), CatalogRow::LogCheckpoint(signed.clone()))?;
    drop(writer);
    update_log_files(files, catalog)?;
    Ok(*signed)
}

/// Continues the tree in the files after the last checkpoint. Files that do not match it are made again.
fn resume<'a>(
    files: &LogFiles,
    storage: &'a mut LogFiles,
    last: Option<&CheckpointSigned>,
    history: &HistoryReader,
) -> Result<TreeWriter<'a>, ArchiveError> {
    let Some(last) = last else { return Ok(TreeWriter::empty(storage)) };
    update_log_files(files, history.catalog())?;
    let (_, checkpoint) = TreeCheckpoint::of_note(last.note.as_bytes()).map_err(RepositoryError::from)?;
    if TreeWriter::resume(&mut storage.clone(), &checkpoint).is_err() {
        rebuild_log_files(files, history.catalog())?;
    }
    Ok(TreeWriter::resume(storage, &checkpoint).map_err(RepositoryError::from)?)
}

/// Keeps the answer of a timestamp authority with the checkpoint that it is of.
pub fn keep_timestamp(
    history: &ArchiveHistoryWriter,
    answer: &[u8],
) -> Result<(u64, VerifiedTimestamp), ArchiveError> {
    let (signed, verified) = find_stamped(history.as_reader(), answer)?;
    let (size, answer, time) = (signed.size, encode_base64(answer), history.now());
    let known = history.catalog().log_timestamps(size)?;
    if !known.iter().any(|known| known.answer == answer) {
        let stamped = Box::new(CheckpointTimestamped { size, answer, time });
        let row = CatalogRow::LogTimestamp(stamped.clone());
        write_log_fact(history, &Fact::LogTimestamp(stamped.clone()), row)?;
        let files = LogFiles::new(history.writer().layout());
        files.write_timestamp(&stamped)?;
    }
    Ok((size, verified))
}

/// The checkpoint that an answer is a timestamp of: the last one, or one before it.
fn find_stamped(
    history: &HistoryReader,
    answer: &[u8],
) -> Result<(CheckpointSigned, VerifiedTimestamp), ArchiveError> {
    let catalog = history.catalog();
    let last = catalog.last_log_checkpoint()?.ok_or(ArchiveError::NothingSealed)?;
    let failure = match verify_timestamp(answer, last.note.as_bytes()) {
        Ok(verified) => return Ok((last, verified)),
        Err(error) => error,
    };
    let mut after = None;
    loop {
        let checkpoints = catalog.log_checkpoints(ListCursor { after, limit: CHECKPOINTS_PER_QUERY })?;
        let Some(end) = checkpoints.last() else { return Err(ArchiveError::Timestamp(failure)) };
        after = Some(end.size);
        for signed in checkpoints {
            if let Ok(verified) = verify_timestamp(answer, signed.note.as_bytes()) {
                return Ok((signed, verified));
            }
        }
    }
}

/// The digest of the manifest of a version, which is read for it.
pub(super) fn manifest_digest(
    history: &HistoryReader,
    version: &VersionId,
) -> Result<ManifestDigest, ArchiveError> {
    let digest = ManifestDigest::new(Sha256::digest(manifest_bytes(history, version)?).into());
    match digest.version() == *version {
        true => Ok(digest),
        false => Err(ArchiveError::OtherManifest(*version)),
    }
}

/// The bytes of the manifest of a version.
pub(super) fn manifest_bytes(history: &HistoryReader, version: &VersionId) -> Result<Vec<u8>, ArchiveError> {
    let HistoryReader::Archive(archive) = history else { return Err(ArchiveError::NothingSealed) };
    let record =
        known_version(history, version)?.version.record.ok_or(ArchiveError::OtherManifest(*version))?;
    read_fact(archive, &record)
}

/// The bytes of a fact.
pub(super) fn read_fact(
    archive: &ArchiveHistoryReader,
    record: &varve_core::RecordId,
) -> Result<Vec<u8>, ArchiveError> {
    archive.read_object(record, MAX_MANIFEST_BYTES).map_err(ArchiveError::from)
}

/// Reads at most `limit` bytes.
pub(super) fn read_limited(from: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(std::io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}
