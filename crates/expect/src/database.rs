//! A folder of domain files.
//!
//! Every `NAME.yaml` in it is the file of one domain; other files are ignored. Nothing is cached,
//! because people edit the files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::{DomainFile, DomainFileError, Expectation, Target};

use super::database_error::UrlsError;
use super::document_stream::{Streamed, copy_with, read_domain, scan};
use varve_file::RootedFiles;

const FILE_SUFFIX: &str = ".yaml";
/// Longest host that becomes a file name, in bytes: the limit of common file systems.
const MAX_HOST_NAME_BYTES: usize = 240;
/// Largest domain file that is read, in bytes: more than a million records.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// A URL database.
#[derive(Clone, Debug)]
pub struct UrlDatabase {
    /// No link below their root is followed.
    files: RootedFiles,
    folder: PathBuf,
}

/// A domain file with its path.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file's path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its content.
    pub file: DomainFile,
}

/// The settings of a domain, without its records.
#[derive(Clone, Debug)]
pub struct DomainHead {
    /// The file's path.
    pub path: PathBuf,
    /// The file without its records.
    pub file: DomainFile,
    /// Whether there is no such file yet.
    pub is_new: bool,
}

/// A lock on the database. No other process edits it until this value is dropped.
#[derive(Debug)]
pub struct Editing {
    _made: Made,
    _lock: Option<File>,
}

/// Folders that were created, the innermost first. Those that are still empty are removed on drop.
#[derive(Debug)]
struct Made {
    files: RootedFiles,
    folders: Vec<PathBuf>,
}

impl Made {
    fn folder(files: &RootedFiles, folder: &Path) -> Result<Self, UrlsError> {
        let mut made = Self { files: files.clone(), folders: Vec::new() };
        for above in folder.ancestors().take_while(|above| !above.as_os_str().is_empty()) {
            let is_there = match above.starts_with(files.root()) {
                true => files.entry(above).map_err(UrlsError::read(above))?.is_some(),
                false => above.exists(),
            };
            if is_there {
                break;
            }
            made.folders.push(above.to_owned());
        }
        files.make_folders(folder).map_err(UrlsError::write(folder))?;
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.folders {
            // A folder that is not empty stays, and so do its parents.
            let _ = match folder.starts_with(self.files.root()) && folder != self.files.root() {
                true => self.files.remove_folder(folder),
                false => fs::remove_dir(folder),
            };
        }
    }
}

impl UrlDatabase {
    /// The database in `folder`, which the user named and which must exist. Links on the way to it are
    /// followed, and no others.
    pub fn open(folder: &Path) -> Result<Self, UrlsError> {
        Self::open_below(RootedFiles::new(folder), folder)
    }

    /// The database in `folder`, one of the folders of a layout, which must exist.
    pub fn open_below(files: RootedFiles, folder: &Path) -> Result<Self, UrlsError> {
        match files.entry(folder).map_err(UrlsError::read(folder))? {
            None => Err(UrlsError::NoDatabase { path: folder.to_owned() }),
            Some(_) => Ok(Self { files, folder: folder.to_owned() }),
        }
    }

    /// The database in `folder`, which the user named and which is created by the first write.
    pub fn open_or_new(folder: &Path) -> Self {
        Self::open_or_new_below(RootedFiles::new(folder), folder)
    }

    /// The database in `folder`, one of the folders of a layout, which is created by the first write.
    pub fn open_or_new_below(files: RootedFiles, folder: &Path) -> Self {
        Self { files, folder: folder.to_owned() }
    }

    /// The paths of all domain files, in the order of their names.
    pub fn paths(&self) -> Result<Vec<PathBuf>, UrlsError> {
        let mut names = Vec::new();
        for entry in self.files.list(&self.folder).map_err(UrlsError::read(&self.folder))? {
            // A name that is not UTF-8 is not a domain.
            let name = entry.name.to_str().and_then(|name| name.strip_suffix(FILE_SUFFIX));
            names.extend(name.map(str::to_owned));
        }
        names.retain(|name| !name.is_empty() && !name.starts_with('.'));
        names.sort();
        Ok(names.into_iter().map(|name| self.folder.join(name + FILE_SUFFIX)).collect())
    }

    /// Reads one file.
    pub fn load(&self, path: &Path) -> Result<Loaded, UrlsError> {
        self.load_by(path, DomainFile::without_fragments)
    }

    /// Reads one file to format it, which is possible also with mistakes in its paths.
    pub fn load_to_format(&self, path: &Path) -> Result<Loaded, UrlsError> {
        self.load_by(path, Ok)
    }

    fn load_by(
        &self,
        path: &Path,
        accept: impl FnOnce(DomainFile) -> Result<DomainFile, DomainFileError>,
    ) -> Result<Loaded, UrlsError> {
        let text = self.read(path)?;
        let file = DomainFile::parse(domain_name(path), &text)
            .and_then(accept)
            .map_err(|source| UrlsError::File { path: path.to_owned(), source })?;
        Ok(Loaded { path: path.to_owned(), text, file })
    }

    /// Reads all files, in the order of their names.
    pub fn load_all(&self) -> Result<Vec<Loaded>, UrlsError> {
        self.paths()?.iter().map(|path| self.load(path)).collect()
    }

    /// The file for a URL's host: the one named by the host, or else one with the host as an alias.
    pub fn find(&self, target: &Target) -> Result<Loaded, UrlsError> {
        let heads = self.heads()?;
        match of_host(heads.iter().map(|head| &head.file), target) {
            Some(at) => self.load(&heads[at].path),
            None => Err(UrlsError::UnknownDomain { host: target.host.clone() }),
        }
    }

    /// The settings of all domains, in the order of their names. Of each file only the beginning is
    /// read, if it has the usual form.
    pub fn heads(&self) -> Result<Vec<DomainHead>, UrlsError> {
        self.paths()?.into_iter().map(|path| self.head(path)).collect()
    }

    fn head(&self, path: PathBuf) -> Result<DomainHead, UrlsError> {
        let domain = match read_domain(self.open_file(&path)?) {
            Ok(Streamed::Usual(domain)) => domain,
            // Reading all of it finds the place of a mistake.
            Ok(Streamed::Unusual) | Err(_) => self.load(&path)?.file.domain,
        };
        let mut file = DomainFile::new(domain_name(&path));
        file.domain = domain;
        Ok(DomainHead { path, file, is_new: false })
    }

    /// Which of these paths have a record, in memory for one record at a time.
    pub fn known_paths(&self, path: &Path, wanted: &BTreeSet<String>) -> Result<HashSet<String>, UrlsError> {
        let mut known = HashSet::new();
        let scanned = scan(self.open_file(path)?, |path| known.extend(wanted.get(path).cloned()));
        match scanned {
            Ok(Streamed::Usual(_)) => Ok(known),
            Ok(Streamed::Unusual) | Err(_) => {
                let paths = self.load(path)?.file.records.into_iter().map(|record| record.path);
                Ok(paths.filter(|path| wanted.contains(path)).collect())
            }
        }
    }

    /// Adds records to a file, which becomes canonical. A file of the usual form is copied one
    /// record at a time. `on_loss` is called with the lines of comments before they are lost.
    pub fn add_records(
        &self,
        head: &DomainHead,
        mut records: BTreeMap<String, Expectation>,
        on_loss: &mut dyn FnMut(&[u64]),
    ) -> Result<(), UrlsError> {
        records.values_mut().for_each(Expectation::sort_categories);
        let path = &head.path;
        if head.is_new {
            let mut file = head.file.clone();
            file.records.extend(records.into_values());
            return self.save_text(path, &file.text());
        }
        if let Ok(Streamed::Usual(about)) = scan(self.open_file(path)?, |path| drop(records.remove(path))) {
            if !about.comments.is_empty() {
                on_loss(&about.comments);
            }
            let source = self.open_file(path)?;
            let copy = |output: &mut dyn Write| copy_with(source, &about, records.into_values(), output);
            return self.files.replace_with(path, copy).map_err(UrlsError::write(path));
        }
        let mut loaded = self.load(path)?;
        if !loaded.file.comments.is_empty() {
            on_loss(&loaded.file.comments);
        }
        for record in records
            .into_values()
            .filter(|record| loaded.file.find(&record.path).is_none())
            .collect::<Vec<_>>()
        {
            loaded.file.insert(record);
        }
        self.save(&loaded)
    }

    fn open_file(&self, path: &Path) -> Result<BufReader<File>, UrlsError> {
        Ok(BufReader::new(self.files.open_to_read(path).map_err(UrlsError::read(path))?))
    }

    /// Whether a file is named by that host.
    pub fn names(&self, host: &str) -> Result<bool, UrlsError> {
        let name = format!("{host}{FILE_SUFFIX}");
        Ok(self.paths()?.iter().any(|path| path.file_name().is_some_and(|file| *file == *name)))
    }

    /// A new file for a host that has none. It is written when it is saved.
    pub fn new_file(&self, host: &str) -> Result<DomainHead, UrlsError> {
        let fits = |host: &str| {
            !host.is_empty()
                && host.len() <= MAX_HOST_NAME_BYTES
                && !host.starts_with('.')
                && !host.contains(|letter: char| letter.is_control() || "/\\%?#<>\"|* ".contains(letter))
        };
        if !fits(host) {
            return Err(UrlsError::DomainName { host: host.to_owned() });
        }
        let path = self.folder.join(format!("{host}{FILE_SUFFIX}"));
        Ok(DomainHead { path, file: DomainFile::new(host), is_new: true })
    }

    /// Replaces a file by its current content, atomically.
    pub fn save(&self, loaded: &Loaded) -> Result<(), UrlsError> {
        self.save_text(&loaded.path, &loaded.file.text())
    }

    /// Replaces the text of a file, atomically.
    pub fn save_text(&self, path: &Path, text: &str) -> Result<(), UrlsError> {
        self.files.replace(path, text.as_bytes()).map_err(UrlsError::write(path))
    }

    /// Waits for the lock. The folder itself is locked, so that no lock file lies among the domain
    /// files.
    pub fn edit(&self) -> Result<Editing, UrlsError> {
        let made = Made::folder(&self.files, &self.folder)?;
        let lock = self.files.open_folder(&self.folder).map_err(UrlsError::read(&self.folder))?;
        match lock.lock() {
            Ok(()) => Ok(Editing { _lock: Some(lock), _made: made }),
            // Some file systems have no locks; editing there is as safe as with any editor.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Editing { _lock: None, _made: made })
            }
            Err(error) => Err(UrlsError::Read { path: self.folder.clone(), source: error }),
        }
    }

    /// The text of a regular file, up to the size limit.
    fn read(&self, path: &Path) -> Result<String, UrlsError> {
        let bytes = match self.files.read(path, MAX_FILE_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(UrlsError::read(path)(io::ErrorKind::NotFound.into())),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(UrlsError::TooLong { path: path.to_owned(), most: MAX_FILE_BYTES });
            }
            Err(error) => return Err(UrlsError::read(path)(error)),
        };
        String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
            UrlsError::NotText { path: path.to_owned(), line }
        })
    }
}

/// The domain of a file, by the name of the file.
fn domain_name(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(FILE_SUFFIX).unwrap_or(name)
}

/// The file for a URL's host: the one named by the host, or else one with the host as an alias.
pub fn of_host<'a>(
    mut files: impl Iterator<Item = &'a DomainFile> + Clone,
    target: &Target,
) -> Option<usize> {
    let named = files.clone().position(|file| file.name.to_lowercase() == target.host);
    named.or_else(|| files.position(|file| target.is_of(file)))
}
