//! Finds the proof in a WARC file, and compares the captures of the file with the sealed versions.
//!
//! A proof is a `metadata` record. The id of a capture's record is derived from its type, URL, date and
//! content, so a record whose id is in a sealed version is the one that was captured. Headers of records
//! that are not part of the id, such as an address, are not proven.

use std::collections::HashSet;
use std::io::Read;

use sha2::{Digest as _, Sha256};
use varve_core::RecordId;
use varve_store::record::{expected_record_id, record_and_body_ids};
use varve_warc::digest::Digest;
use varve_warc::record::{RecordType, media_type};
use varve_warc::{Record, WarcReader};
use varve_wire::ReadAt;

use super::seal::{LogEvidence, MAX_EVIDENCE_BYTES, read_limited};
use super::verify::{LogFinding, LogFindingKind};

/// The media type of a record with a proof.
pub const PROOF_MEDIA_TYPE: &str = "application/vnd.varve.proof+json";

/// The captures of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CaptureCounts {
    /// Those of the sealed versions.
    pub(super) sealed: u64,
    /// Others.
    pub(super) others: u64,
}

/// The bytes of the proof in a WARC file, if it has one. Of several, the last.
pub(super) fn find_proof<S: ReadAt>(source: S) -> Result<Option<Vec<u8>>, varve_warc::Error> {
    let (mut reader, mut found) = (WarcReader::new(source)?, None);
    while let Some(mut record) = reader.next_record()? {
        if is_proof(&record) {
            found = read_limited(&mut record, MAX_EVIDENCE_BYTES).ok();
        }
    }
    Ok(found)
}

fn is_proof<S: ReadAt>(record: &Record<'_, S>) -> bool {
    let kind = media_type(record.header().fields.get("Content-Type").unwrap_or_default());
    record.header().record_type() == RecordType::Metadata && kind == PROOF_MEDIA_TYPE.as_bytes()
}

/// Compares the captures of a WARC file with those of the versions in a proof, which was checked.
pub(super) fn compare_captures<S: ReadAt>(
    source: S,
    evidence: &LogEvidence,
    counts: &mut CaptureCounts,
    found: &mut dyn FnMut(LogFinding),
) -> Result<(), varve_warc::Error> {
    let sealed: HashSet<RecordId> = evidence.sealed_records();
    let mut reader = WarcReader::new(source)?;
    let (mut others, mut first_other) = (0, None);
    while let Some(mut record) = reader.next_record()? {
        let kind = record.header().record_type();
        let is_capture = matches!(kind, RecordType::Response | RecordType::Revisit | RecordType::Resource);
        if !is_capture || record.header().fields.get("Varve-Non-Capture").is_some() {
            continue;
        }
        let header = record.header().clone();
        let url = String::from_utf8_lossy(header.target_uri().unwrap_or_default()).into_owned();
        // The digest of a whole segmented object is not that of the block.
        let id = record_and_body_ids(&header).0.filter(|id| sealed.contains(id) && !header.is_segment());
        let Some(id) = id else {
            others += 1;
            first_other.get_or_insert(url);
            continue;
        };
        let is_right = |digest| expected_record_id(&header, &digest).is_none();
        if block_digest(&mut record).is_some_and(is_right) {
            counts.sealed += 1;
        } else {
            let message = format!("the record of {url} is not the one that was sealed as {id}");
            found(LogFinding::new(LogFindingKind::Record, message));
        }
    }
    counts.others += others;
    if let Some(url) = first_other {
        let message = format!("{others} captures are not in the proven versions; the first is {url}");
        found(LogFinding::new(LogFindingKind::Record, message));
    }
    Ok(())
}

/// The SHA-256 of the block; `None` if it cannot be read to its end.
fn block_digest<S: ReadAt>(record: &mut Record<'_, S>) -> Option<Digest> {
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match record.read(&mut buffer).ok()? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    Some(Digest::of_sha256(&hasher.finalize().into()))
}
