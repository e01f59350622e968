//! Encryption of cookies that came with a project: outside the project they are never stored in
//! plain text.
//!
//! The key is in the archive's folder and in no silo, so that silos can be shared. It is created
//! when there is first a cookie to encrypt. The same cookie of the same revision always gives the
//! same ciphertext, because importing again must add nothing. The nonce is derived from the plain
//! text (as in SIV modes), and the ciphertext is bound to its revision.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_file::RootedFiles;
use varve_repository::RepositoryError;

use data_encoding::BASE64URL_NOPAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use varve_core::RunId;
use varve_core::secret::Secret;

use crate::error::ArchiveError;

const KEY_LENGTH: usize = 32;
/// Maximum length of a key file that is read, in bytes. Any but `KEY_LENGTH` is refused.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// Encrypts and decrypts cookies.
pub(super) struct Seal {
    key: LessSafeKey,
    nonces: hmac::Key,
}

impl Seal {
    /// Opens the key at `path`; `None` if there is none.
    pub(super) fn open(files: &RootedFiles, path: &Path) -> Result<Option<Self>, ArchiveError> {
        match files.read(path, MAX_KEY_FILE_BYTES) {
            Ok(Some(bytes)) => {
                Self::of(&bytes).ok_or_else(|| ArchiveError::BadKey(path.to_owned())).map(Some)
            }
            Ok(None) => Ok(None),
            Err(source) => Err(RepositoryError::Read { path: path.to_owned(), source }.into()),
        }
    }

    /// Opens the key at `path`, creating it if there is none.
    pub(super) fn open_or_make(files: &RootedFiles, path: &Path) -> Result<Self, ArchiveError> {
        if let Some(seal) = Self::open(files, path)? {
            return Ok(seal);
        }
        let mut key = [0; KEY_LENGTH];
        let drawn =
            SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("no random bytes are available"));
        drawn.and_then(|()| write_key(files, path, &key)).map_err(ArchiveError::write(path))?;
        Self::of(&key).ok_or_else(|| ArchiveError::BadKey(path.to_owned()))
    }

    fn of(key: &[u8]) -> Option<Self> {
        let unbound = UnboundKey::new(&CHACHA20_POLY1305, key).ok()?;
        let root = hmac::Key::new(hmac::HMAC_SHA256, key);
        let nonces = hmac::sign(&root, b"varve nonces of sealed cookies");
        Some(Self {
            key: LessSafeKey::new(unbound),
            nonces: hmac::Key::new(hmac::HMAC_SHA256, nonces.as_ref()),
        })
    }

    /// Encrypts the cookie of a revision.
    pub(super) fn seal(&self, run: RunId, revision: i64, cookie: &Secret<String>) -> String {
        let mut bytes = cookie.expose().clone().into_bytes();
        let about = about(run, revision);
        let mut tag = hmac::Context::with_key(&self.nonces);
        tag.update(&about);
        tag.update(&bytes);
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&tag.sign().as_ref()[..NONCE_LEN]);
        let (unique, about) = (Nonce::assume_unique_for_key(nonce), Aad::from(about));
        self.key
            .seal_in_place_append_tag(unique, about, &mut bytes)
            .expect("a cookie is shorter than what can be sealed");
        BASE64URL_NOPAD.encode(&[&nonce[..], &bytes].concat())
    }

    /// Decrypts a cookie; `None` if the key differs or anything was changed.
    pub(super) fn unseal(&self, run: RunId, revision: i64, sealed: &str) -> Option<Secret<String>> {
        let mut bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
        let (nonce, rest) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.key.open_in_place(nonce, Aad::from(about(run, revision)), rest).ok()?;
        String::from_utf8(opened.to_vec()).ok().map(Secret::new)
    }
}

fn about(run: RunId, revision: i64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(run.as_bytes());
    bytes[16..].copy_from_slice(&revision.to_be_bytes());
    bytes
}

/// Writes a new key durably, readable by its owner only.
fn write_key(files: &RootedFiles, path: &Path, key: &[u8]) -> io::Result<()> {
    let mut file = files.pending_file(path)?;
    file.as_file().set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(key)?;
    file.as_file().sync_all()?;
    file.publish_new()?;
    files.sync_folder(path.parent().unwrap_or(files.root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        "2b1f8e1e-8a3c-8c39-9d0f-0f3a5b6c7d8e".parse().unwrap()
    }

    #[test]
    fn a_cookie_is_decrypted_by_the_same_key_for_the_same_revision() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret.key");
        let files = RootedFiles::new(folder.path());
        assert!(Seal::open(&files, &path).unwrap().is_none());
        let seal = Seal::open_or_make(&files, &path).unwrap();
        let cookie = Secret::new("session=open sesame".to_owned());
        let sealed = seal.seal(run(), 7, &cookie);
        assert!(!sealed.contains("sesame"));
        let again = Seal::open_or_make(&files, &path).unwrap();
        assert_eq!(again.seal(run(), 7, &cookie), sealed);
        assert_ne!(again.seal(run(), 8, &cookie), sealed);
        assert_eq!(again.unseal(run(), 7, &sealed), Some(cookie));
        assert_eq!(again.unseal(run(), 8, &sealed), None);
        let other = Seal::of(&[7; KEY_LENGTH]).unwrap();
        assert_eq!(other.unseal(run(), 7, &sealed), None);
    }

    #[test]
    fn hostile_texts_and_keys_are_refused() {
        let seal = Seal::of(&[7; KEY_LENGTH]).unwrap();
        for text in ["", "AAAA", "not base64!", &"A".repeat(100)] {
            assert_eq!(seal.unseal(run(), 1, text), None, "{text}");
        }
        assert!(Seal::of(b"short").is_none());
    }
}
