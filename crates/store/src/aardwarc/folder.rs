//! Finds the silos of an AardWARC store, and recognises such a store.
//!
//! Everything is reached through a [`Folder`], so no link in the store is followed. Only the settings
//! may name another folder, by an absolute path, as AardWARC itself allows; it is only read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use varve_file::{EntryKind, Folder, FolderError};

use super::AardwarcError;

/// Maximum depth of nested folders: enough for a billion silos.
const MAX_FOLDER_DEPTH: usize = 6;
/// The settings file of a store, which names the folder of silos.
const SETTINGS_FILE: &str = "aardwarc.conf";
/// Maximum length of the settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Maximum number of files probed to recognise a store.
const MAX_PROBED_FILES: usize = 100;

/// A silo of a store.
#[derive(Clone, Debug)]
pub struct AardwarcSilo {
    folder: Folder,
    name: PathBuf,
    path: PathBuf,
}

impl AardwarcSilo {
    fn new(folder: &Folder, name: PathBuf) -> Self {
        Self { folder: folder.clone(), path: folder.path().join(&name), name }
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it for reading; fails if it is not a regular file.
    pub(super) fn open(&self) -> io::Result<File> {
        Ok(self.folder.open_to_read(&self.name)?)
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> Result<u64, AardwarcError> {
        Ok(self.open().and_then(|file| file.metadata()).map_err(|source| self.unread(source))?.len())
    }

    /// The error of reading it.
    pub(super) fn unread(&self, source: io::Error) -> AardwarcError {
        AardwarcError::Io { path: self.path.clone(), source }
    }

    /// Whether it begins with a gzip member that has AardWARC's extra field.
    fn begins_as_silo(&self) -> Result<bool, AardwarcError> {
        let mut beginning = Vec::new();
        let read = self.open().and_then(|file| file.take(14).read_to_end(&mut beginning));
        read.map_err(|source| self.unread(source))?;
        Ok(beginning.starts_with(&[0x1f, 0x8b, 8, 4]) && beginning.ends_with(b"Aa"))
    }
}

/// Whether a path is an AardWARC store: a folder that contains `aardwarc.conf`, or `0/` with an
/// AardWARC silo; or the settings file of a store. False when it cannot be read.
pub fn is_store(path: &Path) -> bool {
    let Ok(folder) = Folder::open(path) else { return is_settings_file(path) };
    if let Ok(Some(found)) = folder.entry(SETTINGS_FILE)
        && found.kind == EntryKind::File
    {
        return true;
    }
    let Ok(entries) = folder.list("0") else { return false };
    let silos = entries.into_iter().filter(|entry| has_ending(&entry.name));
    let silos = silos.map(|entry| AardwarcSilo::new(&folder, Path::new("0").join(entry.name)));
    silos.take(MAX_PROBED_FILES).any(|silo| silo.begins_as_silo().unwrap_or(false))
}

/// Whether a path is a file that names a folder of silos, as the settings of AardWARC do.
fn is_settings_file(path: &Path) -> bool {
    let Some((folder, name)) = folder_and_name(path) else { return false };
    let text = Folder::open(folder).and_then(|folder| folder.read(name, MAX_SETTINGS_BYTES));
    text.is_ok_and(|text| named_folder(&text).is_some())
}

/// The folder that contains a file, and the name of the file there.
fn folder_and_name(path: &Path) -> Option<(&Path, &OsStr)> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Some((folder, path.file_name()?))
}

/// The folder with the silos and the index of a store.
pub(super) struct AardwarcFolder(Folder);

impl AardwarcFolder {
    /// Opens the folder of silos of the store at a path: a folder with silos, a folder with
    /// `aardwarc.conf`, or a settings file of any name.
    pub(super) fn open(path: &Path) -> Result<Self, AardwarcError> {
        match Folder::open(path) {
            Ok(folder) => Self::beside_settings(folder, OsStr::new(SETTINGS_FILE)),
            Err(failure) => match folder_and_name(path).filter(|_| path.is_file()) {
                Some((folder, name)) => {
                    Self::beside_settings(Folder::open(folder).map_err(folder_error)?, name)
                }
                None => Err(folder_error(failure)),
            },
        }
    }

    /// The folder that a settings file names, else the folder itself.
    fn beside_settings(folder: Folder, name: &OsStr) -> Result<Self, AardwarcError> {
        let text = match folder.read(name, MAX_SETTINGS_BYTES) {
            Err(error) if error.is_absent() => return Ok(Self(folder)),
            text => text.map_err(folder_error)?,
        };
        match named_folder(&text) {
            None => Ok(Self(folder)),
            Some(named) if named.is_absolute() => Folder::open(&named).map_err(folder_error).map(Self),
            // A relative name may begin with `./`, which is no part of a name.
            Some(named) => {
                let named = named.strip_prefix(".").unwrap_or(&named);
                folder.subfolder(named).map_err(folder_error).map(Self)
            }
        }
    }

    /// The folder itself.
    pub(super) fn silo_folder(&self) -> &Folder {
        &self.0
    }

    /// The silos, in order of their names; `None` when there is no AardWARC silo.
    pub(super) fn silos(&self) -> Result<Option<Vec<AardwarcSilo>>, AardwarcError> {
        let mut silos = Vec::new();
        for level in 0..MAX_FOLDER_DEPTH {
            let name = level.to_string();
            let kind = self.0.entry(&name).map_err(folder_error)?.map(|found| found.kind);
            // Listing a link fails and says so.
            if matches!(kind, Some(EntryKind::Folder | EntryKind::SymbolicLink)) {
                collect(&self.0, Path::new(&name), MAX_FOLDER_DEPTH, &mut silos)?;
            }
        }
        silos.sort_by(|one, other| one.path.cmp(&other.path));
        // Any of them may have a damaged beginning.
        for silo in &silos {
            if silo.begins_as_silo()? {
                return Ok(Some(silos));
            }
        }
        Ok(None)
    }
}

/// The number of a silo: the first digits in its name.
pub(super) fn number_of(silo: &Path) -> Option<u32> {
    let name = silo.file_name()?.to_str()?;
    let digits = name.split(|letter: char| !letter.is_ascii_digit()).find(|run| !run.is_empty())?;
    digits.parse().ok()
}

/// The folder of silos that the settings name.
fn named_folder(settings: &[u8]) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(settings);
    let mut words = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .flat_map(str::split_whitespace)
        .skip_while(|word| !word.eq_ignore_ascii_case("silo.directory:"));
    words.nth(1).map(PathBuf::from)
}

pub(super) fn folder_error(error: FolderError) -> AardwarcError {
    let path = match &error {
        FolderError::OutsideName { name: path, .. }
        | FolderError::WrongKind { path, .. }
        | FolderError::TooLarge { path, .. }
        | FolderError::Io { path, .. } => path.clone(),
    };
    AardwarcError::Io { path, source: error.into() }
}

fn has_ending(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "gz")
}

fn collect(
    folder: &Folder,
    name: &Path,
    depth: usize,
    silos: &mut Vec<AardwarcSilo>,
) -> Result<(), AardwarcError> {
    for entry in folder.list(name).map_err(folder_error)? {
        let path = name.join(&entry.name);
        if entry.kind == EntryKind::Folder {
            if depth > 0 {
                collect(folder, &path, depth - 1, silos)?;
            }
        } else if has_ending(&entry.name) {
            silos.push(AardwarcSilo::new(folder, path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_silo_is_in_its_name() {
        for (name, number) in [
            ("0/00000007.warc.gz", Some(7)),
            ("1/01/varve-00100.warc.gz", Some(100)),
            ("0/none.warc.gz", None),
            ("99999999999.gz", None),
        ] {
            assert_eq!(number_of(Path::new(name)), number, "{name}");
        }
    }

    fn silo_folder(path: &Path) -> Result<PathBuf, AardwarcError> {
        Ok(AardwarcFolder::open(path)?.silo_folder().path().to_owned())
    }

    fn silos(path: &Path) -> Result<Option<Vec<AardwarcSilo>>, AardwarcError> {
        AardwarcFolder::open(path)?.silos()
    }

    #[test]
    fn settings_name_the_folder_of_silos_or_none_do() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(silo_folder(folder.path()).expect("read"), folder.path());
        assert!(!is_store(folder.path()));
        let text = "# silo.directory: no\nSILO.directory: # here\n\tdeep/ # not elsewhere\n";
        std::fs::write(folder.path().join(SETTINGS_FILE), text).expect("written");
        assert!(silo_folder(folder.path()).is_err());
        std::fs::create_dir(folder.path().join("deep")).expect("made");
        assert_eq!(silo_folder(folder.path()).expect("read"), folder.path().join("deep/"));
        assert!(is_store(folder.path()));
        assert!(silos(folder.path()).expect("read").is_none());
        // The settings may be named themselves, under any name.
        let settings = folder.path().join("other.conf");
        std::fs::rename(folder.path().join(SETTINGS_FILE), &settings).expect("renamed");
        assert!(is_store(&settings) && !is_store(folder.path()));
        assert_eq!(silo_folder(&settings).expect("read"), folder.path().join("deep/"));
        std::fs::write(&settings, "other text").expect("written");
        assert!(!is_store(&settings));
    }

    #[test]
    fn links_in_a_store_are_errors() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("other/0")).expect("made");
        let store = folder.path().join("store");
        std::fs::create_dir_all(store.join("0")).expect("made");
        std::fs::write(folder.path().join("other/0/0.gz"), b"\x1f\x8b\x08\x04......\0\0Aa").expect("written");
        std::os::unix::fs::symlink("../../other/0/0.gz", store.join("0/0.gz")).expect("linked");
        assert!(!is_store(&store));
        assert!(matches!(silos(&store), Err(AardwarcError::Io { .. })));
        std::fs::remove_file(store.join("0/0.gz")).expect("removed");
        assert!(silos(&store).expect("read").is_none());
        std::os::unix::fs::symlink("../other/0", store.join("1")).expect("linked");
        assert!(matches!(silos(&store), Err(AardwarcError::Io { .. })));
        assert!(is_store(&folder.path().join("other")));
        std::fs::write(store.join(SETTINGS_FILE), "silo.directory: ../other").expect("written");
        assert!(matches!(silos(&store), Err(AardwarcError::Io { .. })));
    }
}
