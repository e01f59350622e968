//! What a record means to the index: the one function that makes entries from headers.
//!
//! Used when a record is written, when an archive is opened after a crash, by rebuild and by audit. Because they all
//! use it, an index can be made again from the silos and be the same.

use varve_warc::digest::Algorithm;
use varve_warc::record::{Header, RecordType};

use super::field;
use crate::index::{Entry, Place, Prefix};

/// The 32 bytes of `urn:sha256:<64 hex digits>`; none for any other id.
pub fn parse_id(id: &[u8]) -> Option<[u8; 32]> {
    let digits = id.strip_prefix(b"urn:sha256:")?;
    if digits.len() != 64 || !digits.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
    {
        return None;
    }
    let mut bytes = [0; 32];
    data_encoding::HEXLOWER.decode_mut(digits, &mut bytes).ok()?;
    Some(bytes)
}

/// The ids under which a record is found: its own, and that of the body whose bytes it holds.
pub fn ids(header: &Header) -> (Option<[u8; 32]>, Option<[u8; 32]>) {
    let own = header.record_id().and_then(parse_id);
    let body = body_id(header).filter(|body| Some(*body) != own);
    (own, body)
}

/// The body that a response holds. A resource is its own body; a revisit, a cut or a segmented record holds none, and what
/// stands aside holds it for nobody else.
fn body_id(header: &Header) -> Option<[u8; 32]> {
    let whole = header.fields.get("WARC-Truncated").is_none() && !header.is_segment();
    let is_aside = header.fields.get(field::ASIDE).is_some();
    if header.record_type() != RecordType::Response || !whole || is_aside {
        return None;
    }
    let digest = match header.fields.get("Varve-Body-Digest") {
        Some(text) => varve_warc::digest::Digest::parse(text),
        None => header.payload_digest()?,
    }
    .ok()?;
    if digest.algorithm() != Algorithm::Sha256 {
        return None;
    }
    digest.bytes().try_into().ok()
}

/// The field of a metadata record that gives what it refers to another id.
pub const OTHER_ID: &str = "Varve-Other-ID";

/// An id that follows from nothing, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherId {
    /// The hex digits that it ends with, at least sixteen.
    pub digits: String,
    /// The record that is found by them.
    pub target: [u8; 32],
}

/// The other id that a metadata record gives to what it refers to.
pub fn other_id(header: &Header) -> Option<OtherId> {
    if header.record_type() != RecordType::Metadata {
        return None;
    }
    let digits = other_digits(header.reference(OTHER_ID)?)?;
    let target = header.reference("WARC-Refers-To").and_then(parse_id)?;
    Some(OtherId { digits, target })
}

/// The hex digits at the end of an id of another store, behind its prefix; none when they are too few to be looked up.
pub fn other_digits(id: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(id).ok()?.to_ascii_lowercase();
    let digits = text.rsplit(['/', ':']).next()?;
    let is_id = (16..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| digits.to_owned())
}

impl OtherId {
    fn prefix(&self) -> Option<Prefix> {
        u64::from_str_radix(self.digits.get(..16)?, 16).ok().map(Prefix)
    }
}

/// What the ids begin with under which a record is found.
pub fn prefixes(header: &Header) -> impl Iterator<Item = Prefix> {
    let (own, body) = ids(header);
    let other = other_id(header).and_then(|other| other.prefix());
    own.into_iter().chain(body).map(|id| Prefix::of(&id)).chain(other)
}

/// The index entries of a record at `place`.
pub fn entries(header: &Header, place: Place) -> impl Iterator<Item = Entry> {
    prefixes(header).map(move |prefix| Entry { prefix, place })
}
