//! The one function that makes index entries from record headers.
//!
//! The writer, recovery, rebuild and audit all use it. Therefore a rebuilt index equals the
//! original.

use varve_core::{BodyId, RecordId};
use varve_warc::digest::Digest;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::RecordUri;

use super::{SourceKey, field, source_keys};
use crate::index::{IndexEntry, IndexPrefix, SiloPlace};

/// The record id in `urn:sha256:<64 hex digits>`; none for any other id.
pub fn parse_id(id: &[u8]) -> Option<RecordId> {
    let digits = id.strip_prefix(b"urn:sha256:")?;
    if digits.len() != 64 || !digits.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
    {
        return None;
    }
    let mut bytes = [0; 32];
    data_encoding::HEXLOWER.decode_mut(digits, &mut bytes).ok()?;
    Some(RecordId::new(bytes))
}

/// The ids that find a record: its own, and the id of the body in it.
pub fn record_and_body_ids(header: &RecordHeader) -> (Option<RecordId>, Option<BodyId>) {
    let own = header.record_id().and_then(parse_id);
    let body = body_id(header).filter(|body| Some(RecordId::of_body(*body)) != own);
    (own, body)
}

/// The body in a response. A resource is its own body. A revisit, a truncated or segmented record
/// and an exchange that is not a capture have none.
fn body_id(header: &RecordHeader) -> Option<BodyId> {
    let whole = header.fields.get("WARC-Truncated").is_none() && !header.is_segment();
    let is_aside = header.fields.get(field::NON_CAPTURE_METHOD).is_some();
    if header.record_type() != RecordType::Response || !whole || is_aside {
        return None;
    }
    let digest = match header.fields.get(field::BODY_DIGEST) {
        Some(text) => Digest::parse(text),
        None => header.payload_digest()?,
    };
    body_of_digest(&digest.ok()?)
}

/// The body with a digest; `None` unless it is a SHA-256.
pub(crate) fn body_of_digest(digest: &Digest) -> Option<BodyId> {
    digest.sha256().map(BodyId::new)
}

/// The URI of a record in WARC files.
pub fn record_uri(id: &RecordId) -> RecordUri {
    RecordUri::of_sha256(id.as_bytes())
}

/// The field of a metadata record that assigns a foreign id to the record it refers to.
pub const FOREIGN_ID_FIELD: &str = "Varve-Foreign-ID";

/// An id from another store that does not follow from content, and the record it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignId {
    /// Its trailing hex digits, at least sixteen.
    pub digits: String,
    /// The record that it finds.
    pub target: RecordId,
}

/// The foreign id that a metadata record assigns.
pub fn foreign_id(header: &RecordHeader) -> Option<ForeignId> {
    if header.record_type() != RecordType::Metadata {
        return None;
    }
    let digits = foreign_id_digits(header.reference(FOREIGN_ID_FIELD)?)?;
    let target = header.reference("WARC-Refers-To").and_then(parse_id)?;
    Some(ForeignId { digits, target })
}

/// The trailing hex digits of a foreign id, without its prefix; `None` when they are too few for a
/// lookup.
pub fn foreign_id_digits(id: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(id).ok()?.to_ascii_lowercase();
    let digits = text.rsplit(['/', ':']).next()?;
    let is_id = (16..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| digits.to_owned())
}

impl ForeignId {
    fn prefix(&self) -> Option<IndexPrefix> {
        u64::from_str_radix(self.digits.get(..16)?, 16).ok().map(IndexPrefix)
    }
}

/// The index prefixes that find a record.
pub fn index_prefixes(header: &RecordHeader) -> impl Iterator<Item = IndexPrefix> {
    let (own, body) = record_and_body_ids(header);
    let other = foreign_id(header).and_then(|other| other.prefix());
    let source = source_keys(header).map(|key| SourceKey::prefix(&key));
    own.into_iter()
        .chain(body.map(RecordId::of_body))
        .map(|id| IndexPrefix::of(&id))
        .chain(other)
        .chain(source)
}

/// The index entries of a record at `place`.
pub fn index_entries(header: &RecordHeader, place: SiloPlace) -> impl Iterator<Item = IndexEntry> {
    index_prefixes(header).map(move |prefix| IndexEntry { prefix, place })
}
