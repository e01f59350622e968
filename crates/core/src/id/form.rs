//! The written forms that ids share: hex digits, hex digits behind a URN, hyphenated UUIDs.
//!
//! Reading takes either letter case; writing is always lower case, so that equal ids are equal
//! texts.

use super::IdError;
use std::fmt;
use uuid::Uuid;

/// How a kind of id is written and read.
pub(super) trait IdForm {
    /// The value inside the id.
    type Inner;

    /// Writes the canonical text.
    fn write(inner: &Self::Inner, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Reads the text of a `kind` of id.
    fn read(text: &str, kind: &'static str) -> Result<Self::Inner, IdError>;
}

/// The prefix of a record id, before its digits.
pub(super) const URN_PREFIX: &str = "urn:sha256:";

/// 64 hex digits.
pub(super) enum Hex {}

/// 64 hex digits after [`URN_PREFIX`].
pub(super) enum Urn {}

/// A UUID with hyphens.
pub(super) enum Hyphenated {}

impl Hex {
    pub(super) const fn bytes(inner: &[u8; 32]) -> &[u8; 32] {
        inner
    }
}

impl Urn {
    pub(super) const fn bytes(inner: &[u8; 32]) -> &[u8; 32] {
        inner
    }
}

impl Hyphenated {
    pub(super) const fn bytes(inner: &Uuid) -> &[u8; 16] {
        inner.as_bytes()
    }
}

impl IdForm for Hex {
    type Inner = [u8; 32];

    fn write(inner: &[u8; 32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        let digits = data_encoding::HEXLOWER.encode_mut_str(inner, &mut digits);
        f.pad(digits)
    }

    fn read(text: &str, kind: &'static str) -> Result<[u8; 32], IdError> {
        read_digest(text, 0, kind)
    }
}

impl IdForm for Urn {
    type Inner = [u8; 32];

    fn write(inner: &[u8; 32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(URN_PREFIX)?;
        Hex::write(inner, f)
    }

    fn read(text: &str, kind: &'static str) -> Result<[u8; 32], IdError> {
        match text.strip_prefix(URN_PREFIX) {
            Some(digits) => read_digest(digits, URN_PREFIX.len(), kind),
            None => read_digest(text, 0, kind),
        }
    }
}

impl IdForm for Hyphenated {
    type Inner = Uuid;

    fn write(inner: &Uuid, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(inner.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }

    fn read(text: &str, kind: &'static str) -> Result<Uuid, IdError> {
        Uuid::try_parse(text).map_err(|error| IdError::NotUuid { kind, reason: error.to_string() })
    }
}

/// Parses 64 hex digits. `offset` is the number of characters before them, so that positions refer
/// to the whole text.
fn read_digest(digits: &str, offset: usize, kind: &'static str) -> Result<[u8; 32], IdError> {
    let found = digits.chars().count();
    if found != 64 {
        return Err(IdError::Length { kind, expected: 64, found: found + offset });
    }
    check_hex(digits, offset, kind)?;
    let mut bytes = [0; 32];
    data_encoding::HEXLOWER_PERMISSIVE
        .decode_mut(digits.as_bytes(), &mut bytes)
        .expect("64 hex digits, checked above, fill 32 bytes");
    Ok(bytes)
}

/// Fails at the first character that is not a hex digit.
pub(super) fn check_hex(digits: &str, offset: usize, kind: &'static str) -> Result<(), IdError> {
    match digits.chars().enumerate().find(|(_, character)| !character.is_ascii_hexdigit()) {
        Some((position, character)) => Err(IdError::NotHex { kind, character, position: position + offset }),
        None => Ok(()),
    }
}
