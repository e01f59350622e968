//! Ed25519 keys for notes, in the text form of the Go package `golang.org/x/mod/sumdb/note`, which
//! other tools for such logs read and write too.
//!
//! A public key is `NAME+ID+BASE64`, a private one `PRIVATE+KEY+NAME+ID+BASE64`. The base64 is of the
//! algorithm, one byte, and the key.

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};

use crate::note::is_key_name;
use crate::{LogError, decode_base64, encode_base64};

/// The algorithm of Ed25519 signatures.
const ED25519_ALGORITHM: u8 = 1;
/// The beginning of a private key.
const PRIVATE_MARK: &str = "PRIVATE+KEY+";
/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 1024;

/// A public key with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteVerifier {
    name: String,
    public_key: [u8; 32],
}

impl NoteVerifier {
    /// Parses a public key.
    pub fn parse(text: &str) -> Result<Self, LogError> {
        if text.starts_with(PRIVATE_MARK) {
            return Err(LogError::Key("it is a private key, and a public one is needed"));
        }
        let (name, key_id, public_key) = parse_parts(text)?;
        let verifier = Self { name, public_key };
        if verifier.key_id() != key_id {
            return Err(LogError::Key("its id does not match its name and key"));
        }
        Ok(verifier)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its id, which signature lines carry.
    pub fn key_id(&self) -> [u8; 4] {
        let digest = Sha256::new_with_prefix(&self.name)
            .chain_update([b'\n', ED25519_ALGORITHM])
            .chain_update(self.public_key)
            .finalize();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// Whether a signature of a text is by this key.
    pub fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.public_key).verify(text, signature).is_ok()
    }
}

impl fmt::Display for NoteVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&join_parts(&self.name, self.key_id(), &self.public_key))
    }
}

/// A private key with its name. It is not printed.
pub struct NoteSigner {
    seed: [u8; 32],
    key_pair: Ed25519KeyPair,
    verifier: NoteVerifier,
}

impl NoteSigner {
    /// The key with this name and these 32 random bytes.
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Result<Self, LogError> {
        if !is_key_name(name) || name.len() > MAX_KEY_BYTES / 2 {
            return Err(LogError::Key("its name must not be empty, and have no space and no plus sign"));
        }
        let key_pair =
            Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| LogError::Key("it is not for Ed25519"))?;
        let public_key = key_pair.public_key().as_ref().try_into();
        let public_key = public_key.map_err(|_| LogError::Key("it is not for Ed25519"))?;
        Ok(Self { seed, key_pair, verifier: NoteVerifier { name: name.to_owned(), public_key } })
    }

    /// Parses a private key.
    pub fn parse(text: &str) -> Result<Self, LogError> {
        let public = LogError::Key("it does not begin with `PRIVATE+KEY+`");
        let (name, key_id, seed) = parse_parts(text.strip_prefix(PRIVATE_MARK).ok_or(public)?)?;
        let signer = Self::from_seed(&name, seed)?;
        if signer.verifier.key_id() != key_id {
            return Err(LogError::Key("its id does not match its name and key"));
        }
        Ok(signer)
    }

    /// The text form, which is secret.
    pub fn to_secret_text(&self) -> String {
        format!("{PRIVATE_MARK}{}", join_parts(self.verifier.name(), self.verifier.key_id(), &self.seed))
    }

    /// Its public key.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    /// Signs a text.
    pub fn sign(&self, text: &[u8]) -> Vec<u8> {
        self.key_pair.sign(text).as_ref().to_vec()
    }
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NoteSigner({})", self.verifier)
    }
}

/// Parses `NAME+ID+BASE64`.
fn parse_parts(text: &str) -> Result<(String, [u8; 4], [u8; 32]), LogError> {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.len() > MAX_KEY_BYTES {
        return Err(LogError::Key("it is too long"));
    }
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(key_id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(LogError::Key("it is not `NAME+ID+BASE64`"));
    };
    if !is_key_name(name) {
        return Err(LogError::Key("its name must not be empty, and have no space and no plus sign"));
    }
    let key_id = (key_id.len() == 8).then(|| u32::from_str_radix(key_id, 16).ok()).flatten();
    let key_id = key_id.ok_or(LogError::Key("its id is not eight hex digits"))?;
    let bytes = decode_base64(encoded).ok_or(LogError::Key("it is not base64"))?;
    match bytes.split_first() {
        Some((&ED25519_ALGORITHM, key)) => {
            let key = key.try_into().map_err(|_| LogError::Key("it does not have 32 bytes"))?;
            Ok((name.to_owned(), key_id.to_be_bytes(), key))
        }
        _ => Err(LogError::Key("it is not for Ed25519")),
    }
}

fn join_parts(name: &str, key_id: [u8; 4], key: &[u8; 32]) -> String {
    let encoded = encode_base64(&[&[ED25519_ALGORITHM][..], key].concat());
    format!("{name}+{:08x}+{encoded}", u32::from_be_bytes(key_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SignedNote;

    /// The public key and the note of the example in the documentation of Go's package `note`.
    const GO_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const GO_NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_go_is_verified() {
        let (key, note) =
            (NoteVerifier::parse(GO_KEY).unwrap(), SignedNote::parse(GO_NOTE.as_bytes()).unwrap());
        note.verify(&key).unwrap();
        assert_eq!(note.to_string(), GO_NOTE);
        assert_eq!(key.to_string(), GO_KEY);
        let changed = GO_NOTE.replace("answer", "Answer");
        let wrong = SignedNote::parse(changed.as_bytes()).unwrap().verify(&key);
        assert!(matches!(wrong, Err(LogError::WrongSignature { .. })));
    }

    #[test]
    fn keys_are_read_back_and_private_ones_are_not_printed() {
        let signer = NoteSigner::from_seed("example.org/varve", [7; 32]).unwrap();
        let secret = signer.to_secret_text();
        assert!(secret.starts_with("PRIVATE+KEY+example.org/varve+"));
        assert_eq!(NoteSigner::parse(&format!("{secret}\n")).unwrap().to_secret_text(), secret);
        assert_eq!(NoteVerifier::parse(&signer.verifier().to_string()).unwrap(), *signer.verifier());
        assert!(!format!("{signer:?}").contains(&secret[secret.len() - 20..]));
        assert!(NoteVerifier::parse(&secret).is_err());
        assert!(NoteSigner::parse(&secret.replace("varve", "larve")).is_err());
        assert!(NoteSigner::from_seed("a b", [7; 32]).is_err());
    }

    #[test]
    fn a_note_has_the_signatures_of_all_keys() {
        let signers = [1, 2].map(|seed| NoteSigner::from_seed("name", [seed; 32]).unwrap());
        let note = SignedNote::sign("text\n\nmore\n", &signers).unwrap();
        for signer in &signers {
            note.verify(signer.verifier()).unwrap();
        }
        let other = NoteSigner::from_seed("name", [3; 32]).unwrap();
        assert!(matches!(note.verify(other.verifier()), Err(LogError::NotSigned { .. })));
        assert!(SignedNote::sign("text\n", &[]).is_err());
        assert!(SignedNote::sign("te\txt\n", &signers).is_err());
        assert!(SignedNote::sign("text", &signers).is_err());
    }
}
