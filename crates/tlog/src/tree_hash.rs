//! The hashes of RFC 6962, section 2.1, and base64 as notes and proofs write it.

use std::fmt;

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

/// A SHA-256 hash of the tree: of a leaf, a node or the root. Written in base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeHash(pub [u8; 32]);

impl TreeHash {
    /// The root of the tree without leaves.
    pub fn of_empty_tree() -> Self {
        Self(Sha256::digest(b"").into())
    }

    /// Parses base64.
    pub fn parse(text: &str) -> Option<Self> {
        // 32 bytes are 44 characters; a longer text is not decoded.
        let bytes = (text.len() == 44).then(|| decode_base64(text)).flatten()?;
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&BASE64.encode(&self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TreeHash({self})")
    }
}

/// The hash of a leaf with this entry.
pub fn hash_leaf(entry: &[u8]) -> TreeHash {
    TreeHash(Sha256::new_with_prefix([0]).chain_update(entry).finalize().into())
}

/// The hash of a node with these children.
pub fn hash_node(left: &TreeHash, right: &TreeHash) -> TreeHash {
    TreeHash(Sha256::new_with_prefix([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

/// Standard base64 with padding.
pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes standard base64 with padding; `None` if it is anything else.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_rfc_6962() {
        // The empty tree and the empty leaf, as in the test data of Certificate Transparency.
        assert_eq!(TreeHash::of_empty_tree().to_string(), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(hash_leaf(b"").to_string(), "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=");
        assert_eq!(TreeHash::parse(&hash_leaf(b"").to_string()), Some(hash_leaf(b"")));
        assert_eq!(TreeHash::parse("bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0"), None);
    }
}
