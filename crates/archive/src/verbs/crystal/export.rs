//! `export --format crystal`: writes one version, or all versions, as a Crystal project.
//!
//! A version that came from the import of a project becomes that project again: every row with its
//! id, every body byte for byte. Any other version becomes a project of its captures, numbered in
//! the order of their times, with the roots, groups and aliases of the plan. The plan is that of
//! the archive now or, for an older version, the one that was in force then. The project is built beside its final name and renamed at the end, so
//! a crash leaves no incomplete project under that name.

mod captures;
mod plan;
mod restore;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use varve_repository::RepositoryError;

use varve_core::fact::Manifest;
use varve_core::history::{ListCursor, VersionFilter};
use varve_core::{RecordId, VersionId};
use varve_crystal::{CreateOptions, PROJECT_SUFFIX, ProjectWriter, ResolvedPath, resolve};

use super::fact::{MEDIA_TYPE, ProjectFact};
use crate::error::ArchiveError;
use crate::unfinished_folder::UnfinishedFolder;
use varve_repository::archive::hex_digits;
use varve_repository::history::ArchiveHistoryReader;

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectExported {
    /// The project's folder.
    pub path: PathBuf,
    /// Whether it restores a project that was imported.
    pub restored: bool,
    /// Resources written.
    pub resources: u64,
    /// Revisions written.
    pub revisions: u64,
    /// Descriptions of what could not be exported, each with a count.
    pub left_behind: Vec<(String, u64)>,
}

impl ProjectExported {
    fn leave(&mut self, what: &str) {
        self.leave_many(what, 1);
    }

    fn leave_many(&mut self, what: &str, count: u64) {
        match self.left_behind.iter_mut().find(|(known, _)| known == what) {
            Some((_, known)) => *known += count,
            None if count > 0 => self.left_behind.push((what.to_owned(), count)),
            None => {}
        }
    }
}

/// Writes a version as the project `target`, which must not exist. `progress` is called for each
/// revision.
pub fn export(
    history: &ArchiveHistoryReader,
    version: &VersionId,
    target: &Path,
    progress: &dyn Fn(u64),
) -> Result<ProjectExported, ArchiveError> {
    write_project(target, |writer| match project_of(history, version)? {
        Some(fact) => restore::restore(history, &fact, writer, progress),
        None => captures::write(history, &[*version], writer, progress),
    })
}

/// Writes all versions as the project `target`, which must not exist: each capture becomes a
/// revision, in the order of time.
pub fn export_all(
    history: &ArchiveHistoryReader,
    target: &Path,
    progress: &dyn Fn(u64),
) -> Result<ProjectExported, ArchiveError> {
    let mut versions: Vec<VersionId> = Vec::new();
    loop {
        let page = ListCursor { after: versions.last().copied(), limit: VERSIONS_PER_QUERY };
        let found = history.catalog().versions(&VersionFilter::default(), page)?;
        versions.extend(found.iter().map(|info| info.version.id));
        if found.len() < VERSIONS_PER_QUERY {
            break;
        }
    }
    if let [only] = versions[..] {
        return export(history, &only, target, progress);
    }
    write_project(target, |writer| {
        let mut done = captures::write(history, &versions, writer, progress)?;
        for version in &versions {
            if project_of(history, version)?.is_some() {
                done.leave("row ids, failures and cookies of imported projects");
            }
        }
        Ok(done)
    })
}

/// Makes the project `target` with `fill`, completely or not at all.
fn write_project(
    target: &Path,
    fill: impl FnOnce(&mut ProjectWriter) -> Result<ProjectExported, ArchiveError>,
) -> Result<ProjectExported, ArchiveError> {
    let target = match resolve(target)? {
        ResolvedPath::Free(target) => target,
        ResolvedPath::There(path) => return Err(varve_crystal::Error::Exists { path }.into()),
    };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder =
        UnfinishedFolder::begin(parent).map_err(|error| ArchiveError::write(parent)(error.into()))?;
    let unfinished = folder.path().join(format!("export{PROJECT_SUFFIX}"));
    let mut writer = ProjectWriter::create_to_fill(&unfinished, CreateOptions::default())?;
    let mut exported = fill(&mut writer)?;
    writer.close()?;
    fs::rename(&unfinished, &target).map_err(ArchiveError::write(&target))?;
    fs::File::open(parent).and_then(|parent| parent.sync_all()).map_err(ArchiveError::write(parent))?;
    exported.path = target;
    Ok(exported)
}

/// The facts about the project that a version was imported from, if it was.
fn project_of(
    history: &ArchiveHistoryReader,
    version: &VersionId,
) -> Result<Option<ProjectFact>, ArchiveError> {
    let info = crate::verbs::show::version(&history.into(), version)?;
    let Some(record) = info.version.record else { return Ok(None) };
    let manifest: Manifest = read_json(history, record)?;
    let Some(plan) = manifest.plan else { return Ok(None) };
    let object = history.archive().object(plan)?;
    let is_project = object.header().fields.get("Content-Type") == Some(MEDIA_TYPE.as_bytes());
    if is_project { read_json(history, plan).map(Some) } else { Ok(None) }
}

/// Reads a fact by its record.
fn read_json<T: serde::de::DeserializeOwned>(
    history: &ArchiveHistoryReader,
    record: RecordId,
) -> Result<T, ArchiveError> {
    let mut json = Vec::new();
    let mut reader = history.archive().object(record)?.read()?;
    reader
        .read_to_end(&mut json)
        .map_err(|source| RepositoryError::ReadObject { id: hex_digits(record), source })?;
    serde_json::from_slice(&json).map_err(|_| ArchiveError::BadProjectFact(hex_digits(record)))
}

/// Copies a body into a project.
fn body_from(
    writer: &ProjectWriter,
    mut from: impl Read,
    record: RecordId,
) -> Result<varve_crystal::BodyDraft, ArchiveError> {
    let mut body = writer.begin_body()?;
    std::io::copy(&mut from, &mut body)
        .map_err(|source| RepositoryError::ReadObject { id: hex_digits(record), source })?;
    Ok(body)
}

/// Whether the rules of a project forbid the operation, as opposed to a failure.
fn is_refusal(error: &varve_crystal::Error) -> bool {
    matches!(error, varve_crystal::Error::Refused(_))
}

/// Number of versions read per query.
const VERSIONS_PER_QUERY: usize = 1000;
/// Number of revisions per batch of bodies and rows.
const ROWS_PER_BATCH: usize = 1000;
