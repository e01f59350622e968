//! The user's intent, stored with each version: the plan and the expectations in force.
//!
//! Both are files that users write, and neither can be derived from recorded data. Their texts are
//! stored as objects that manifests name, so they can be restored from the silos alone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use varve_file::RootedFiles;
use varve_repository::RepositoryError;

use varve_core::fact::Manifest;
use varve_core::{RecordId, VersionId};

use varve_plan::Plan;

use super::commit::KeptIntent;
use super::get;
use crate::error::ArchiveError;
use varve_repository::archive::{Archive, hex_digits};
use varve_repository::history::{ArchiveHistoryReader, ArchiveHistoryWriter, BodyInput};

/// The media type of both.
const YAML_MEDIA_TYPE: &str = "application/yaml";
/// The suffix of a file of expectations.
const YAML_SUFFIX: &str = ".yaml";
/// Maximum length of a file that users edit, in bytes.
const MAX_FILE_BYTES: u64 = varve_yaml::MAX_TEXT_BYTES as u64;

/// Stores the current plan and expectations of an archive.
pub fn keep(history: &ArchiveHistoryWriter) -> Result<KeptIntent, ArchiveError> {
    let (layout, mut worker) = (history.writer().layout(), history.body_worker());
    let files = layout.files();
    let mut keep = |path: &Path| -> Result<Option<RecordId>, ArchiveError> {
        let Some(bytes) = read(files, path)? else { return Ok(None) };
        Ok(Some(RecordId::of_body(worker(BodyInput::Bytes(&bytes), YAML_MEDIA_TYPE)?.id)))
    };
    let plan = keep(&layout.plan())?;
    let mut expectations = BTreeMap::new();
    for (name, path) in expectation_files(files, &layout.expectations())? {
        expectations.extend(keep(&path)?.map(|id| (name, id)));
    }
    Ok(KeptIntent { plan, expectations })
}

/// The bytes of a file; `None` if there is no file.
fn read(files: &RootedFiles, path: &Path) -> Result<Option<Vec<u8>>, ArchiveError> {
    files.read(path, MAX_FILE_BYTES).map_err(ArchiveError::read(path))
}

/// The names and paths of the files of expectations, by name. Anything with such a name that is not
/// a regular file is an error when it is read.
fn expectation_files(files: &RootedFiles, folder: &Path) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let entries = files.list(folder).map_err(ArchiveError::read(folder))?;
    let named = entries.iter().filter_map(|entry| entry.name.to_str());
    let named = named.filter(|name| is_expectations(name));
    Ok(named.map(|name| (name.to_owned(), folder.join(name))).collect())
}

fn is_expectations(name: &str) -> bool {
    name.ends_with(YAML_SUFFIX) && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// The plan that was in force when a version was made, if there was one, and the number of
/// expectation files.
pub(crate) fn plan_of(
    history: &ArchiveHistoryReader,
    version: VersionId,
) -> Result<(Option<Plan>, u64), ArchiveError> {
    let (archive, manifest) = (history.archive(), manifest(history, version)?);
    let expectations = manifest.expectations.len() as u64;
    let Some(id) = manifest.plan.filter(|id| is_plan(archive, *id)) else { return Ok((None, expectations)) };
    let text = object(archive, id)?;
    let plan = Plan::parse(&String::from_utf8_lossy(&text))
        .map_err(|source| RepositoryError::Plan { path: archive.layout().plan(), source })?;
    Ok((Some(plan), expectations))
}

/// The result for one restored file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredIntent {
    /// The file.
    pub path: PathBuf,
    /// Whether it was written; otherwise it already had the same content.
    pub written: bool,
}

/// Whether an object is a varve plan. For an imported project, the plan of the other program is
/// stored in its place, in that program's format.
fn is_plan(archive: &Archive, id: RecordId) -> bool {
    let found = archive.ask(|store| Ok(store.find(&id)?)).ok().flatten();
    let media_type = found.and_then(|found| found.header.fields.get("Content-Type").map(<[u8]>::to_vec));
    !media_type.is_some_and(|media_type| media_type.starts_with(b"application/vnd.varve."))
}

/// Restores the plan and the expectations of a version. A file with different content is
/// overwritten only with `force`. Without it, nothing is written if there is such a file.
pub fn restore(
    history: &ArchiveHistoryReader,
    version: VersionId,
    force: bool,
) -> Result<Vec<RestoredIntent>, ArchiveError> {
    let archive = history.archive();
    let manifest = manifest(history, version)?;
    let layout = archive.layout();
    let mut wanted: Vec<(PathBuf, RecordId)> = Vec::new();
    if let Some(id) = manifest.plan.filter(|id| is_plan(archive, *id)) {
        wanted.push((layout.plan(), id));
    }
    let safe = manifest.expectations.into_iter().filter(|(name, _)| is_expectations(name));
    wanted.extend(safe.map(|(name, id)| (layout.expectations().join(name), id)));
    if wanted.is_empty() {
        return Err(ArchiveError::NoIntent(version.to_string()));
    }
    let mut files = Vec::new();
    for (path, id) in wanted {
        let text = object(archive, id)?;
        let now = read(layout.files(), &path)?;
        if !force && now.as_ref().is_some_and(|now| *now != text) {
            return Err(ArchiveError::Exists(path));
        }
        files.push((now.as_ref() != Some(&text), path, text));
    }
    files.into_iter().map(|(differs, path, text)| write(layout.files(), differs, path, &text)).collect()
}

fn write(
    files: &RootedFiles,
    differs: bool,
    path: PathBuf,
    text: &[u8],
) -> Result<RestoredIntent, ArchiveError> {
    if differs {
        let folder = path.parent().unwrap_or(Path::new("."));
        files.make_folders(folder).map_err(ArchiveError::write(folder))?;
        files.replace(&path, text).map_err(ArchiveError::write(&path))?;
    }
    Ok(RestoredIntent { path, written: differs })
}

fn manifest(history: &ArchiveHistoryReader, version: VersionId) -> Result<Manifest, ArchiveError> {
    let missing = || RepositoryError::NoVersion { text: version.to_string() };
    let info = history.catalog().version(&version)?.ok_or_else(missing)?;
    let record = info.version.record.ok_or_else(missing)?;
    let json = object(history.archive(), record)?;
    let unreadable =
        |error| RepositoryError::ReadObject { id: hex_digits(record), source: io::Error::other(error) };
    Ok(serde_json::from_slice(&json).map_err(unreadable)?)
}

fn object(archive: &Archive, id: RecordId) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    let found = get::find(archive, &hex_digits(id))?;
    found.write_to(None, &mut bytes, &|_| {}).map_err(|error| match error {
        get::GetError::Archive(error) => error,
        get::GetError::Output(source) => RepositoryError::ReadObject { id: hex_digits(id), source }.into(),
    })?;
    Ok(bytes)
}
