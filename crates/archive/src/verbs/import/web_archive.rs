//! Imports WARC and ARC files, and those in WACZ files.

use std::path::{Path, PathBuf};

use varve_core::RecordId;
use varve_repository::history::ArchiveHistoryWriter;
use varve_store::NewObject;
use varve_warc::digest::Algorithm;
use varve_warc::write::RecordUri;

use super::report::FileImported;
use super::source_file::{SourceFile, SourceLocation, list_package};
use super::warc_records::{ImportPart, WarcImport};
use crate::error::ArchiveError;

/// What the archive notes about a file that was imported completely.
const DONE_NOTE: &[u8] = br#"{"imported":true}"#;
const DONE_NOTE_TYPE: &str = "application/json";

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The message of the versions; by default it names the file.
    pub message: Option<String>,
    /// Their author.
    pub author: Option<String>,
}

/// What became of a file, or why it could not be read.
pub type FileResult = (PathBuf, Result<FileImported, ArchiveError>);

/// Imports files. The records of all files are stored before the first version is made, so the order
/// of the files matters neither to revisits nor to the order of versions. `progress` gets the number of
/// bytes just read; every file is read twice. A file that cannot be read does not keep others from
/// being imported; an error of the archive does.
pub fn import(
    history: &ArchiveHistoryWriter,
    request: &Request,
    progress: &dyn Fn(u64),
) -> Result<Vec<FileResult>, ArchiveError> {
    let mut import = WarcImport::new(history, request.message.clone(), request.author.clone())?;
    let mut results: Vec<FileResult> = Vec::new();
    let mut parts: Vec<(usize, SourceLocation, ImportPart)> = Vec::new();
    for path in &request.files {
        let listed = match files_of(history, path) {
            Ok(listed) => listed,
            Err(error) if is_about_file(&error) => {
                results.push((path.clone(), Err(error)));
                continue;
            }
            Err(error) => return Err(error),
        };
        for (location, findings) in listed {
            let result = match file(history, &mut import, &location, progress) {
                Ok((mut imported, of_file)) => {
                    findings.into_iter().for_each(|(offset, message)| imported.add_finding(offset, message));
                    let number = results.len();
                    parts.extend(of_file.into_iter().map(|part| (number, location.clone(), part)));
                    Ok(imported)
                }
                Err(error) if is_about_file(&error) => Err(error),
                Err(error) => return Err(error),
            };
            results.push((location.shown_path(), result));
        }
    }
    import.store_rows()?;
    for (number, location, part) in parts.iter_mut().filter(|(_, _, part)| !part.unresolved.is_empty()) {
        let Some((_, Ok(report))) = results.get_mut(*number) else { continue };
        let temporary = history.writer().layout().temporary_folder();
        let source = SourceFile::open(location, &temporary, &|_| {})?;
        if source.hex_digest() == report.sha256 {
            import.late_revisits(&source, part, report)?;
        } else {
            report.add_finding(0, "the file changed while it was imported: import it again");
        }
    }
    parts.sort_by_key(|(_, _, part)| part.newest);
    for (number, _, part) in parts {
        if let (Some(version), Some((_, Ok(report)))) = (import.make_version(part)?, results.get_mut(number))
        {
            report.versions.push(version);
        }
    }
    import.add_to_head()?;
    note_done(history, results.iter().filter_map(|(_, result)| result.as_ref().ok()))?;
    // The next search adds the texts of the new versions to its index, as after a commit.
    Ok(results)
}

/// Whether an error is about a file to import, and not about the archive.
fn is_about_file(error: &ArchiveError) -> bool {
    use ArchiveError::{ImportOpen, ImportPackage, ImportRead, NotImportable};
    matches!(error, ImportRead { .. } | ImportOpen { .. } | ImportPackage { .. } | NotImportable(_))
}

/// A file with records, and the byte offsets and messages of what is wrong with its package.
type ListedFile = (SourceLocation, Vec<(u64, String)>);

/// The files with records at a path: the file itself, or those in a package. The defects of a package
/// are reported with its first file.
fn files_of(history: &ArchiveHistoryWriter, path: &Path) -> Result<Vec<ListedFile>, ArchiveError> {
    let location = SourceLocation::file(path);
    let temporary = history.writer().layout().temporary_folder();
    let Some(listing) = list_package(&location, &temporary)? else { return Ok(vec![(location, Vec::new())]) };
    if listing.files.is_empty() {
        return Err(ArchiveError::NotImportable(path.to_owned()));
    }
    let mut findings = Some(listing.findings);
    Ok(listing.files.into_iter().map(|file| (file, findings.take().unwrap_or_default())).collect())
}

fn file(
    history: &ArchiveHistoryWriter,
    import: &mut WarcImport<'_>,
    location: &SourceLocation,
    progress: &dyn Fn(u64),
) -> Result<(FileImported, Vec<ImportPart>), ArchiveError> {
    let source = SourceFile::open(location, &history.writer().layout().temporary_folder(), progress)?;
    let mut report = FileImported {
        path: source.path.to_string_lossy().into_owned(),
        sha256: source.hex_digest(),
        bytes: source.length,
        ..FileImported::default()
    };
    if history.writer().store().has(&done_note(&report.sha256))? {
        report.already = true;
        progress(source.length);
        return Ok((report, Vec::new()));
    }
    let parts = import.file(&source, &mut report, progress)?;
    Ok((report, parts))
}

/// Notes that files were imported completely. One with findings is read again at the next import,
/// which reports them again.
fn note_done<'a>(
    history: &ArchiveHistoryWriter,
    reports: impl Iterator<Item = &'a FileImported>,
) -> Result<(), ArchiveError> {
    let store = history.writer().store();
    let mut packer = store.packer()?;
    for report in reports.filter(|report| !report.already && report.complaints() == 0) {
        let refers_to = Some(note_about(&report.sha256));
        let date = history.writer().now();
        let object = NewObject { date, content_type: DONE_NOTE_TYPE.to_owned(), refers_to, known: None };
        store.store_bytes(&mut packer, &object, DONE_NOTE)?;
    }
    // The catalog has read the silos up to here.
    Ok(history.apply(Vec::new())?)
}

/// The id of that note.
fn done_note(sha256: &str) -> RecordId {
    let content = Algorithm::Sha256.digest(DONE_NOTE);
    let id = RecordUri::of_metadata(note_about(sha256).as_str(), &content).sha256();
    RecordId::new(id.unwrap_or_default())
}

fn note_about(sha256: &str) -> RecordUri {
    RecordUri::escaped(&format!("urn:sha256:{sha256}"))
}
