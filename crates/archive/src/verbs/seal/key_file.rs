//! Files with the keys of the log. A private key is readable by its owner alone, and is refused
//! otherwise, as ssh does.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom, SystemRandom};
use varve_repository::ArchivePaths;
use varve_tlog::{LogError, NoteSigner, NoteVerifier};

use super::read_limited;

/// Maximum length of a file with a key.
const MAX_KEY_FILE_BYTES: u64 = 4_096;

/// A key cannot be made, read or used.
#[derive(Debug, thiserror::Error)]
pub enum SealKeyError {
    /// The file exists.
    #[error("`{}` exists already", _0.display())]
    Exists(PathBuf),
    /// The file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Other users can read the private key.
    #[error("other users of this machine can read the private key `{}`", _0.display())]
    Readable(PathBuf),
    /// The content is no key.
    #[error("cannot use `{place}`")]
    Key {
        /// The file, or the text.
        place: String,
        /// The cause.
        source: LogError,
    },
    /// The system has no random numbers.
    #[error("the system gave no random numbers")]
    NoRandomness,
}

/// Makes a key with this name, and a file with it.
pub fn make_key(path: &Path, name: &str) -> Result<NoteVerifier, SealKeyError> {
    let mut seed = [0; 32];
    SystemRandom::new().fill(&mut seed).map_err(|_| SealKeyError::NoRandomness)?;
    let invalid = |source| SealKeyError::Key { place: name.to_owned(), source };
    let signer = NoteSigner::from_seed(name, seed).map_err(invalid)?;
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}", signer.to_secret_text())?;
        file.sync_all()
    };
    write().map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => SealKeyError::Exists(path.to_owned()),
        _ => SealKeyError::Write { path: path.to_owned(), source },
    })?;
    Ok(signer.verifier().clone())
}

/// Reads a private key that the user named.
pub fn read_signer(path: &Path) -> Result<NoteSigner, SealKeyError> {
    parse_signer(path, File::open(path))
}

/// Reads the private key in an archive; `None` if it has none. No link is followed, and nothing but a
/// regular file is opened: the archive may come from someone else.
pub fn read_own_signer(layout: &ArchivePaths) -> Result<Option<NoteSigner>, SealKeyError> {
    let path = layout.seal_key();
    match layout.files().open_to_read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => parse_signer(&path, opened).map(Some),
    }
}

fn parse_signer(path: &Path, opened: io::Result<File>) -> Result<NoteSigner, SealKeyError> {
    let read = opened.and_then(|file| Ok((file.metadata()?.permissions().mode(), read_text(file)?)));
    let (mode, text) = read.map_err(read_failure(path))?;
    if mode & 0o077 != 0 {
        return Err(SealKeyError::Readable(path.to_owned()));
    }
    let invalid = |source| SealKeyError::Key { place: path.display().to_string(), source };
    NoteSigner::parse(&text).map_err(invalid)
}

/// Reads a public key from a file, or parses one that is given itself.
pub fn read_public_key(text: &str) -> Result<NoteVerifier, SealKeyError> {
    let path = Path::new(text);
    let key = match path.is_file() {
        true => read_key_file(path)?,
        false => text.to_owned(),
    };
    NoteVerifier::parse(&key).map_err(|source| SealKeyError::Key { place: text.to_owned(), source })
}

fn read_key_file(path: &Path) -> Result<String, SealKeyError> {
    File::open(path).and_then(read_text).map_err(read_failure(path))
}

fn read_text(file: File) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_limited(file, MAX_KEY_FILE_BYTES)?).into_owned())
}

fn read_failure(path: &Path) -> impl Fn(io::Error) -> SealKeyError + '_ {
    |source| SealKeyError::Read { path: path.to_owned(), source }
}
