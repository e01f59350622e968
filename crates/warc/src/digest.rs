//! Digests as archives write them, compared as bytes.
//!
//! The wild has `sha1:` in Base32, `sha-256:` in hex, MD5 in Base64 and more. A digest is parsed
//! once into algorithm and bytes; its length gives its spelling, which is never ambiguous within
//! one algorithm.

use std::fmt;

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use sha2::Digest as _;

/// A digest algorithm that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// MD5, 16 bytes.
    Md5,
    /// SHA-1, 20 bytes.
    Sha1,
    /// SHA-256, 32 bytes.
    Sha256,
    /// SHA-512, 64 bytes.
    Sha512,
    /// BLAKE3, 32 bytes.
    Blake3,
}

impl Algorithm {
    /// The algorithm of a label, without regard to case and hyphens.
    pub fn from_label(label: &[u8]) -> Option<Self> {
        let mut folded = [0; 16];
        let mut length = 0;
        for byte in label.iter().filter(|byte| **byte != b'-').take(folded.len()) {
            folded[length] = byte.to_ascii_lowercase();
            length += 1;
        }
        Some(match &folded[..length] {
            b"md5" => Self::Md5,
            b"sha1" => Self::Sha1,
            b"sha256" => Self::Sha256,
            b"sha512" => Self::Sha512,
            b"blake3" => Self::Blake3,
            _ => return None,
        })
    }

    /// The label as written by this crate.
    pub fn label(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Blake3 => "blake3",
        }
    }

    /// Length of its digests in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 | Self::Blake3 => 32,
            Self::Sha512 => 64,
        }
    }

    /// A hasher without input.
    pub fn hasher(self) -> Hasher {
        match self {
            Self::Md5 => Hasher::Md5(Default::default()),
            Self::Sha1 => Hasher::Sha1(Default::default()),
            Self::Sha256 => Hasher::Sha256(Default::default()),
            Self::Sha512 => Hasher::Sha512(Default::default()),
            Self::Blake3 => Hasher::Blake3(Box::default()),
        }
    }

    /// The digest of `bytes`.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish()
    }
}

/// A running digest.
#[derive(Clone)]
#[expect(missing_docs, reason = "each variant is the algorithm of its name")]
pub enum Hasher {
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(hasher) => hasher.update(bytes),
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
        }
    }

    /// The digest of all added bytes.
    pub fn finish(self) -> Digest {
        match self {
            Self::Md5(hasher) => Digest::new(Algorithm::Md5, &hasher.finalize()),
            Self::Sha1(hasher) => Digest::new(Algorithm::Sha1, &hasher.finalize()),
            Self::Sha256(hasher) => Digest::new(Algorithm::Sha256, &hasher.finalize()),
            Self::Sha512(hasher) => Digest::new(Algorithm::Sha512, &hasher.finalize()),
            Self::Blake3(hasher) => Digest::new(Algorithm::Blake3, hasher.finalize().as_bytes()),
        }
    }
}

/// An algorithm and the bytes it gave. Displays as `sha256:` and lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; 64],
}

/// Why a digest could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// No colon between label and value.
    #[error("a digest has no algorithm label")]
    Unlabelled,
    /// A label that no known algorithm has.
    #[error("unknown digest algorithm `{0}`")]
    UnknownAlgorithm(String),
    /// Neither hex, Base32 nor Base64 of the right length.
    #[error("`{value}` is no {algorithm} digest in hex, Base32 or Base64")]
    Malformed {
        /// The algorithm of the label.
        algorithm: &'static str,
        /// The value as found.
        value: String,
    },
}

impl Digest {
    /// A digest of given bytes; `bytes` must have the algorithm's size.
    fn new(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut held = [0; 64];
        held[..algorithm.size()].copy_from_slice(bytes);
        Self { algorithm, bytes: held }
    }

    /// The SHA-256 with these bytes.
    pub fn of_sha256(bytes: &[u8; 32]) -> Self {
        Self::new(Algorithm::Sha256, bytes)
    }

    /// Reads a labelled digest in any of the usual spellings.
    pub fn parse(text: &[u8]) -> Result<Self, DigestError> {
        let colon = memchr::memchr(b':', text).ok_or(DigestError::Unlabelled)?;
        let (label, value) = (&text[..colon], &text[colon + 1..]);
        let Some(algorithm) = Algorithm::from_label(label) else {
            return Err(DigestError::UnknownAlgorithm(crate::rules::shown(label)));
        };
        Self::parse_value(algorithm, value).ok_or_else(|| DigestError::Malformed {
            algorithm: algorithm.label(),
            value: crate::rules::shown(value),
        })
    }

    /// Reads a value whose algorithm is known.
    pub fn parse_value(algorithm: Algorithm, value: &[u8]) -> Option<Self> {
        let value = trim_padding(value);
        let size = algorithm.size();
        let mut decoded = [0u8; 96];
        let count = if value.len() == size * 2 {
            decode(&HEXLOWER_PERMISSIVE, value, &mut decoded)?
        } else if value.len() == (size * 8).div_ceil(5) {
            decode(&BASE32_NOPAD, &value.to_ascii_uppercase(), &mut decoded)?
        } else if value.len() == (size * 8).div_ceil(6) {
            decode(&BASE64_NOPAD, value, &mut decoded)
                .or_else(|| decode(&BASE64URL_NOPAD, value, &mut decoded))?
        } else {
            return None;
        };
        (count == size).then(|| Self::new(algorithm, &decoded[..size]))
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The bytes of a SHA-256; `None` for another algorithm.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        if self.algorithm == Algorithm::Sha256 { self.bytes().try_into().ok() } else { None }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.size()]
    }
}

fn trim_padding(mut value: &[u8]) -> &[u8] {
    while let [rest @ .., b'='] = value {
        value = rest;
    }
    value
}

fn decode(encoding: &data_encoding::Encoding, value: &[u8], decoded: &mut [u8; 96]) -> Option<usize> {
    let length = encoding.decode_len(value.len()).ok().filter(|length| *length <= decoded.len())?;
    encoding.decode_mut(value, &mut decoded[..length]).ok()
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{}",
            self.algorithm.label(),
            data_encoding::HEXLOWER.encode_display(self.bytes())
        )
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::{BASE32, BASE64, BASE64URL};

    #[test]
    fn every_spelling_is_the_same_digest() {
        for algorithm in
            [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512, Algorithm::Blake3]
        {
            let digest = algorithm.digest(b"varve");
            let label = algorithm.label();
            let values = [
                data_encoding::HEXUPPER.encode(digest.bytes()),
                data_encoding::HEXLOWER.encode(digest.bytes()),
                BASE32.encode(digest.bytes()),
                BASE32_NOPAD.encode(digest.bytes()).to_lowercase(),
                BASE64.encode(digest.bytes()),
                BASE64URL.encode(digest.bytes()),
            ];
            for value in values {
                assert_eq!(Digest::parse(format!("{label}:{value}").as_bytes()), Ok(digest));
            }
            assert_eq!(Digest::parse(digest.to_string().as_bytes()), Ok(digest));
        }
    }

    #[test]
    fn labels_of_real_files() {
        let digest = Algorithm::Sha256.digest(b"");
        let hex = data_encoding::HEXLOWER.encode(digest.bytes());
        for label in ["sha256", "SHA-256", "Sha256"] {
            assert_eq!(Digest::parse(format!("{label}:{hex}").as_bytes()), Ok(digest));
        }
    }

    #[test]
    fn invalid_digests() {
        assert_eq!(Digest::parse(b"abcdef"), Err(DigestError::Unlabelled));
        assert!(matches!(Digest::parse(b"crc32:00"), Err(DigestError::UnknownAlgorithm(_))));
        assert!(matches!(Digest::parse(b"sha1:short"), Err(DigestError::Malformed { .. })));
        assert!(matches!(
            Digest::parse(b"sha1:zz9a3ee5e6b4b0d3255bfef95601890afd80709z"),
            Err(DigestError::Malformed { .. })
        ));
    }

    #[test]
    fn known_value() {
        assert_eq!(Algorithm::Sha1.digest(b"").to_string(), "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(Digest::parse(b"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), Ok(Algorithm::Sha1.digest(b"")));
    }
}
