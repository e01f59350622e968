//! `plan`: what people want captured, read and edited.
//!
//! The plan is one file of the archive, `plan.yaml`. It is replaced as a whole, so at every instant there is the old one
//! or the new one; while one process edits, others wait. A crawl that is under way has its own copy and does not mind.
//! A Crystal project keeps its plan in tables of its own: [`crate::verbs::crystal`] knows them.

pub mod suggest;

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use varve_repository::RepositoryError;

use varve_yaml::comments;

use super::crystal::OpenReport;
use super::crystal::plan as project_plan;
use crate::error::ArchiveError;
use varve_repository::archive_paths::ArchivePaths;
use varve_repository::history::{Layout, detect_layout};

pub use varve_core::alias::Alias;
pub use varve_plan::{EditError, Group, Plan, Problem, Removed, Root};

/// A plan with where it came from.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The file.
    pub path: PathBuf,
    /// What it says; nothing, where there is no file.
    pub plan: Plan,
    /// The lines whose comments are lost when it is written.
    pub comments: Vec<u64>,
    /// Whether there is a file.
    pub exists: bool,
}

/// What whoever changes a plan should hear of.
pub enum PlanNotice<'a> {
    /// Comments of this file are lost when it is written.
    CommentsLost(&'a PlanFile),
    /// This had to be put in order when the project was opened.
    PutInOrder(&'a OpenReport),
}

/// Reads the plan of an archive.
pub fn load(layout: &ArchivePaths) -> Result<PlanFile, ArchiveError> {
    if is_project(layout) {
        let (path, plan) = (layout.root().to_owned(), project_plan::load(layout.root())?);
        return Ok(PlanFile { path, plan, comments: Vec::new(), exists: true });
    }
    if !layout.is_archive() {
        return Err(RepositoryError::NotAnArchive { path: layout.root().to_owned() }.into());
    }
    let path = layout.plan();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(PlanFile { path, plan: Plan::default(), comments: Vec::new(), exists: false });
        }
        Err(source) => return Err(RepositoryError::Read { path, source }.into()),
    };
    match Plan::parse(&text) {
        Ok(plan) => Ok(PlanFile { path, plan, comments: comments(&text), exists: true }),
        Err(source) => Err(RepositoryError::Plan { path, source }.into()),
    }
}

/// Changes the plan of an archive. `tell` hears of lost comments before they are lost.
pub fn edit<T>(
    layout: &ArchivePaths,
    tell: &mut dyn FnMut(PlanNotice<'_>),
    change: impl FnOnce(&mut Plan) -> Result<T, EditError>,
) -> Result<T, ArchiveError> {
    if is_project(layout) {
        return project_plan::edit(layout.root(), &mut |report| tell(PlanNotice::PutInOrder(report)), change);
    }
    let _lock = lock(layout)?;
    let mut file = load(layout)?;
    let changed = change(&mut file.plan)?;
    if !file.comments.is_empty() {
        tell(PlanNotice::CommentsLost(&file));
    }
    let text = file.plan.text();
    varve_file::replace(&file.path, text.as_bytes()).map_err(ArchiveError::write(&file.path))?;
    Ok(changed)
}

/// Whether the plan is that of a Crystal project.
pub fn is_project(layout: &ArchivePaths) -> bool {
    detect_layout(layout.root()) == Some(Layout::Crystal)
}

/// Waits until nobody else edits. The archive's folder itself is the lock: its writer has another.
fn lock(layout: &ArchivePaths) -> Result<Option<File>, ArchiveError> {
    let root = layout.root();
    let folder = File::open(root).map_err(ArchiveError::read(root))?;
    match folder.lock() {
        Ok(()) => Ok(Some(folder)),
        // Some file systems have no locks; editing there is as safe as with any editor.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(source) => Err(RepositoryError::Read { path: root.to_owned(), source }.into()),
    }
}
