//! Finds the silos of an AardWARC store, and recognises such a store.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::AardwarcError;

/// Maximum depth of nested folders: enough for a billion silos.
const MAX_FOLDER_DEPTH: usize = 6;
/// The settings file of a store, which names the folder of silos.
const SETTINGS_FILE: &str = "aardwarc.conf";
/// Maximum length of the settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Maximum number of files probed to recognise a store.
const MAX_PROBED_FILES: usize = 100;

/// Whether a folder is an AardWARC store: it contains `aardwarc.conf`, or `0/` with an AardWARC
/// silo. False when it cannot be read.
pub fn is_store(folder: &Path) -> bool {
    if folder.join(SETTINGS_FILE).is_file() {
        return true;
    }
    let Ok(entries) = std::fs::read_dir(folder.join("0")) else { return false };
    let silos = entries.flatten().map(|entry| entry.path()).filter(|path| has_ending(path));
    silos.take(MAX_PROBED_FILES).any(|path| begins_as_silo(&path).unwrap_or(false))
}

/// The silos of the store in a folder, in order of their numbers; `None` when it has no AardWARC
/// silo.
pub(super) fn silos(folder: &Path) -> Result<Option<Vec<PathBuf>>, AardwarcError> {
    let folder = silo_folder(folder)?;
    let mut silos = Vec::new();
    for level in 0..MAX_FOLDER_DEPTH {
        let below = folder.join(level.to_string());
        if below.is_dir() {
            collect(&below, MAX_FOLDER_DEPTH, &mut silos)?;
        }
    }
    silos.sort();
    // Any of them may have a damaged beginning.
    for silo in &silos {
        if begins_as_silo(silo)? {
            return Ok(Some(silos));
        }
    }
    Ok(None)
}

/// The number of a silo: the first digits in its name.
pub(super) fn number_of(silo: &Path) -> Option<u32> {
    let name = silo.file_name()?.to_str()?;
    let digits = name.split(|letter: char| !letter.is_ascii_digit()).find(|run| !run.is_empty())?;
    digits.parse().ok()
}

/// The folder of silos: the one that the settings name, else the folder itself.
fn silo_folder(folder: &Path) -> Result<PathBuf, AardwarcError> {
    let path = folder.join(SETTINGS_FILE);
    let failed = |source| AardwarcError::Io { path: path.clone(), source };
    let mut text = Vec::new();
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folder.to_owned()),
        file => file.map_err(failed)?.take(MAX_SETTINGS_BYTES).read_to_end(&mut text).map_err(failed)?,
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut words = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .flat_map(str::split_whitespace)
        .skip_while(|word| !word.eq_ignore_ascii_case("silo.directory:"));
    Ok(words.nth(1).map_or_else(|| folder.to_owned(), |named| folder.join(named)))
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

fn collect(folder: &Path, depth: usize, silos: &mut Vec<PathBuf>) -> Result<(), AardwarcError> {
    let failed = |source| AardwarcError::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, silos)?;
            }
        } else if has_ending(&path) {
            silos.push(path);
        }
    }
    Ok(())
}

/// Whether a file begins with a gzip member that has AardWARC's extra field.
fn begins_as_silo(path: &Path) -> Result<bool, AardwarcError> {
    let failed = |source| AardwarcError::Io { path: path.to_owned(), source };
    let mut beginning = Vec::new();
    File::open(path).map_err(failed)?.take(14).read_to_end(&mut beginning).map_err(failed)?;
    Ok(beginning.starts_with(&[0x1f, 0x8b, 8, 4]) && beginning.ends_with(b"Aa"))
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

    #[test]
    fn settings_name_the_folder_of_silos_or_none_do() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(silo_folder(folder.path()).expect("read"), folder.path());
        assert!(!is_store(folder.path()));
        let text = "# silo.directory: no\nSILO.directory: # here\n\tdeep/ # not elsewhere\n";
        std::fs::write(folder.path().join(SETTINGS_FILE), text).expect("written");
        assert_eq!(silo_folder(folder.path()).expect("read"), folder.path().join("deep/"));
        assert!(is_store(folder.path()));
        assert!(silos(folder.path()).expect("read").is_none());
    }
}
