//! The folder of an index: made once for one state of the files, then only read.
//!
//! The name of the folder is a digest of the archive's path and of the state of each file. An index
//! is therefore never changed, two processes need no lock, and an index that no longer describes
//! the files is simply not found. It is made under a temporary name and named when it is complete.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use varve_core::catalog::{Catalog, CatalogError};
use varve_warc::WarcReader;
use varve_warc::parallel::{PartOptions, read_parts};
use varve_warc::rules::ReportingMode;
use varve_wire::ReadAt;

use crate::catalog_rows::fill_catalog;
use crate::error::WebArchiveError;
use crate::file_state::FileState;
use crate::finding::ArchiveFinding;
use crate::record_files::{FileKind, FileList, RecordBytes, RecordFile, list_package};
use crate::record_places::{IndexedRecordFile, PLACES_FILE, ReadFile, write_places};
use crate::revisits::resolve_revisits;
use crate::scan_records::{IndexableRecord, ScannedPart, scan_part};
use crate::staging::{FilePlace, STAGING_FILE, Staging};
use crate::version_key::VersionKey;

/// The version of the databases of an index. Another one makes all of them again.
const INDEX_FORMAT: &str = "web archive index 2\n";
/// The name of the catalog in the folder of an index.
pub(crate) const CATALOG_FILE: &str = "catalog.db";
/// Maximum number of findings of a file that are kept; further ones are counted.
const MAX_FINDINGS_PER_FILE: usize = 1_000;
/// The folder of all indexes in the folder that the caller names.
const INDEXES_FOLDER: &str = "web-archives";
/// A folder that is unfinished for longer was left by a process that was killed.
const MAX_UNFINISHED_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The start of the names of folders that are being made.
const UNFINISHED_PREFIX: &str = "unfinished-";

/// Creates the catalog with a path.
pub type CreateCatalog = dyn Fn(&Path) -> Result<Box<dyn Catalog>, CatalogError>;

/// Makes catalogs. The caller owns their tables.
pub struct CatalogMaker<'a> {
    /// Creates the catalog with this path.
    pub create: &'a CreateCatalog,
    /// The path of a page in a working tree, from its URL.
    pub path_of: fn(&str) -> String,
}

/// The files of an archive with their states.
pub(crate) struct ArchiveState {
    pub(crate) list: FileList,
    pub(crate) states: Vec<FileState>,
}

impl ArchiveState {
    /// The state of the listed files now.
    pub(crate) fn of(list: FileList) -> Result<Self, WebArchiveError> {
        let state = |path: &Path| File::open(path).and_then(|file| FileState::of(&file));
        let states =
            list.files.iter().map(|file| state(&file.full).map_err(WebArchiveError::read(&file.full)));
        let states = states.collect::<Result<_, _>>()?;
        Ok(Self { list, states })
    }

    /// The folder of the index for this state, below `cache`: one folder for an archive, and in it
    /// one for each state.
    fn folder(&self, cache: &Path, root: &Path) -> PathBuf {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let archive = Sha256::digest(root.as_os_str().as_encoded_bytes());
        let mut hasher = Sha256::new();
        hasher.update(INDEX_FORMAT);
        for (file, state) in self.list.files.iter().zip(&self.states) {
            hasher.update(file.relative.as_os_str().as_encoded_bytes());
            hasher.update([0]);
            state.add_to(&mut hasher);
        }
        cache.join(INDEXES_FOLDER).join(short_hex(&archive)).join(short_hex(&hasher.finalize()))
    }
}

fn short_hex(digest: &[u8]) -> String {
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// An index, and the temporary folder that it is in, if it is not kept.
pub(crate) struct IndexFolder {
    pub(crate) path: PathBuf,
    pub(crate) temporary: Option<tempfile::TempDir>,
}

/// Finds the index for the state of the files, or makes it. Without `cache` it is made in a
/// temporary folder.
pub(crate) fn find_or_make(
    root: &Path,
    archive: &ArchiveState,
    cache: Option<&Path>,
    maker: &CatalogMaker<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<IndexFolder, WebArchiveError> {
    let Some(cache) = cache else {
        let folder = tempfile::tempdir().map_err(WebArchiveError::write(&std::env::temp_dir()))?;
        make_index(archive, folder.path(), maker, progress)?;
        return Ok(IndexFolder { path: folder.path().to_owned(), temporary: Some(folder) });
    };
    let path = archive.folder(cache, root);
    if path.join(PLACES_FILE).is_file() {
        return Ok(IndexFolder { path, temporary: None });
    }
    let parent = path.parent().unwrap_or(cache);
    std::fs::create_dir_all(parent).map_err(WebArchiveError::write(parent))?;
    let unfinished = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempdir_in(parent);
    let unfinished = unfinished.map_err(WebArchiveError::write(parent))?;
    make_index(archive, unfinished.path(), maker, progress)?;
    // Another process may have made the same index meanwhile.
    if std::fs::rename(unfinished.path(), &path).is_err() && !path.join(PLACES_FILE).is_file() {
        return Ok(IndexFolder { path: unfinished.path().to_owned(), temporary: Some(unfinished) });
    }
    remove_other_states(parent, &path);
    Ok(IndexFolder { path, temporary: None })
}

/// Removes the indexes of earlier states, and those that a killed process left unfinished. A process
/// that has one open keeps reading it.
fn remove_other_states(parent: &Path, current: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_unfinished = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED_PREFIX.as_bytes());
        let is_left = !is_unfinished || is_older(&entry, MAX_UNFINISHED_AGE);
        if entry.path() != current && is_left {
            // An index that stays costs space and nothing else.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a folder was last changed more than `age` ago.
fn is_older(entry: &std::fs::DirEntry, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|about| about.modified()).ok();
    modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|elapsed| elapsed > age)
}

/// Reads all files and makes the index in an empty folder.
fn make_index(
    archive: &ArchiveState,
    folder: &Path,
    maker: &CatalogMaker<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), WebArchiveError> {
    let staging_path = folder.join(STAGING_FILE);
    let failed = |error: varve_sqlite::UnlocatedError| WebArchiveError::from(error.at(&staging_path));
    let mut reading = IndexMaking {
        staging: Staging::create(folder).map_err(failed)?,
        record_files: Vec::new(),
        findings: archive.list.findings.clone(),
        folder,
    };
    for no in 0..archive.list.files.len() {
        reading.read_file(no, archive, progress)?;
    }
    resolve_revisits(reading.staging.connection()).map_err(failed)?;
    reading.note_totals().map_err(failed)?;
    let catalog_path = folder.join(CATALOG_FILE);
    let catalog = (maker.create)(&catalog_path)?;
    fill_catalog(reading.staging.connection(), &*catalog, maker.path_of, &catalog_path)?;
    drop(catalog);
    let IndexMaking { staging, record_files, findings, .. } = reading;
    drop(staging);
    let files: Vec<ReadFile> = archive
        .list
        .files
        .iter()
        .zip(&archive.states)
        .map(|(file, state)| ReadFile { relative: file.relative.clone(), state: *state })
        .collect();
    let places_path = folder.join(PLACES_FILE);
    write_places(folder, &files, &record_files, &findings)
        .map_err(|error| WebArchiveError::from(error.at(&places_path)))?;
    std::fs::remove_file(&staging_path).map_err(WebArchiveError::write(&staging_path))?;
    for path in [catalog_path, places_path] {
        File::open(&path).and_then(|file| file.sync_all()).map_err(WebArchiveError::write(&path))?;
    }
    Ok(())
}

/// An index that is being made.
struct IndexMaking<'a> {
    staging: Staging,
    record_files: Vec<IndexedRecordFile>,
    findings: Vec<ArchiveFinding>,
    folder: &'a Path,
}

impl IndexMaking<'_> {
    /// Reads a file on the disk.
    fn read_file(
        &mut self,
        no: usize,
        archive: &ArchiveState,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(), WebArchiveError> {
        let Some(file) = archive.list.files.get(no) else { return Ok(()) };
        let (records, titles) = match file.kind {
            FileKind::Records => {
                let bytes = RecordBytes::Range { start: 0, length: None };
                (vec![RecordFile { file: no, name: file.name(), package: None, bytes }], Vec::new())
            }
            FileKind::Package => match list_package(no, file, self.folder) {
                Ok(mut content) => {
                    self.findings.append(&mut content.findings);
                    (content.records, content.titles)
                }
                Err(error) => {
                    self.findings.push(unreadable(&file.name(), &error));
                    return Ok(());
                }
            },
        };
        for record_file in records {
            let opened = File::open(&file.full).and_then(|disk| record_file.bytes.open(disk, self.folder));
            match opened {
                Ok(source) => self.read_records(record_file, &*source, &titles, progress)?,
                Err(source) => {
                    let error = WebArchiveError::Read { path: file.full.clone(), source };
                    self.findings.push(unreadable(&record_file.name, &error));
                }
            }
        }
        Ok(())
    }

    /// Reads a file of records. Damage is a finding, and so is a file that cannot be read at all.
    fn read_records(
        &mut self,
        record_file: RecordFile,
        source: &dyn ReadAt,
        titles: &[(String, String)],
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(), WebArchiveError> {
        let name = record_file.name.clone();
        let format = match WarcReader::new(source) {
            Ok(reader) => reader.format(),
            Err(error) => {
                let what = describe(&error);
                self.findings.push(ArchiveFinding::loss(&name, "file-not-read", what));
                return Ok(());
            }
        };
        let package = record_file.package.clone();
        let key = match &package {
            Some(package) => {
                let title = titles.iter().find(|(of, _)| of == package).map(|(_, title)| title.as_str());
                VersionKey::of_package(package, title)
            }
            None => VersionKey::of_file(&name),
        };
        let file = self.record_files.len();
        self.record_files.push(IndexedRecordFile { file: record_file, format });
        let mut entry = RecordEntry { file, name, key, in_package: package.is_some(), has_captures: false };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let work = |reader: &mut WarcReader<&dyn ReadAt>, until: u64| scan_part(reader, until, progress);
        let (mut stored, mut findings) = (Ok(()), Vec::new());
        let read = read_parts(source, PartOptions { threads, size: None }, &work, &mut |part| {
            let ScannedPart { records, findings: found } = part;
            findings.extend(found);
            if stored.is_ok() {
                stored = self.store(&mut entry, &records);
            }
        });
        stored.map_err(|error| error.at(&self.folder.join(STAGING_FILE)))?;
        if let Err(error) = read {
            self.findings.push(ArchiveFinding::loss(&entry.name, "read-error", describe(&error)));
        }
        self.keep_findings(&entry.name, findings);
        Ok(())
    }

    fn store(&mut self, entry: &mut RecordEntry, records: &[IndexableRecord]) -> varve_sqlite::SqlResult<()> {
        self.staging.begin()?;
        for record in records {
            match record {
                IndexableRecord::Info(info) if !entry.in_package => {
                    entry.key = VersionKey::of_info(&entry.name, info, !entry.has_captures);
                }
                IndexableRecord::Capture(_) => entry.has_captures = true,
                IndexableRecord::Info(_) | IndexableRecord::OtherMethod(_) => {}
            }
            let version = match record {
                IndexableRecord::Capture(_) => self.staging.version_no(&entry.key)?,
                _ => 0,
            };
            let place = FilePlace { file: entry.file, name: &entry.name, version };
            self.staging.add(record, &place)?;
        }
        self.staging.commit()
    }

    fn keep_findings(&mut self, file: &str, findings: Vec<varve_warc::rules::WarcFinding>) {
        let defects = findings.into_iter().filter(|found| found.rule.kind() != ReportingMode::Conformance);
        let mut kept: Vec<ArchiveFinding> = defects
            .map(|found| ArchiveFinding {
                file: file.to_owned(),
                offset: Some(found.offset),
                rule: found.rule.code().to_owned(),
                is_loss: found.rule.loses_bytes(),
                message: found.message,
                is_of_records: true,
            })
            .collect();
        if let Some(more) = kept.len().checked_sub(MAX_FINDINGS_PER_FILE).filter(|more| *more > 0) {
            kept.truncate(MAX_FINDINGS_PER_FILE);
            let message = format!("{more} further findings are not kept");
            kept.push(ArchiveFinding::note(file, "further-findings", message));
        }
        self.findings.append(&mut kept);
    }

    /// Adds what is known only after everything was read.
    fn note_totals(&mut self) -> varve_sqlite::SqlResult<()> {
        let sql = "SELECT count(*) FROM captures WHERE is_revisit AND original IS NULL";
        let lost: i64 = self.staging.connection().query_row(sql, [], |row| row.get(0))?;
        if lost > 0 {
            let message = format!("revisits without their originals in these files: {lost}");
            self.findings.push(ArchiveFinding::loss("", "revisit-without-original", message));
        }
        if self.staging.copies() > 0 {
            let message =
                format!("records that are in several files and count once: {}", self.staging.copies());
            self.findings.push(ArchiveFinding::note("", "record-copies", message));
        }
        Ok(())
    }
}

/// A file of records while it is read.
struct RecordEntry {
    file: usize,
    name: String,
    key: VersionKey,
    in_package: bool,
    has_captures: bool,
}

fn unreadable(name: &str, error: &WebArchiveError) -> ArchiveFinding {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    ArchiveFinding::loss(name, "file-not-read", format!("{error}{cause}"))
}

fn describe(error: &varve_warc::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
