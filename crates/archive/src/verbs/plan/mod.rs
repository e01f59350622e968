//! `plan`: reads and edits the plan, which says what users want captured.
//!
//! The plan is one file of the archive, `plan.yaml`. It is replaced atomically, so readers see
//! either the old or the new plan. While one process edits, others wait. A running crawl has its
//! own copy and is not affected. A Crystal project stores its plan in its own tables;
//! [`crate::verbs::crystal`] reads and writes them.

pub mod members;
pub mod private_roots;
pub mod suggest;
pub mod tree;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use varve_yaml::comments;

use super::crystal::OpenReport;
use super::crystal::plan as project_plan;
use crate::error::ArchiveError;
use varve_repository::{ArchivePaths, Layout, RepositoryError, detect_layout};

pub use varve_core::alias::Alias;
pub use varve_plan::{EditError, Group, Plan, Problem, Removed, Root};

/// Maximum length of `plan.yaml`, in bytes.
const MAX_PLAN_BYTES: u64 = varve_yaml::MAX_TEXT_BYTES as u64;

/// A plan and the file it was read from.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The file.
    pub path: PathBuf,
    /// The plan; empty if there is no file.
    pub plan: Plan,
    /// The lines of comments that are lost when the file is written.
    pub comments: Vec<u64>,
    /// Whether the file exists.
    pub exists: bool,
}

/// A notice for the caller who changes a plan.
pub enum PlanNotice<'a> {
    /// The comments of this file are lost when it is written.
    CommentsLost(&'a PlanFile),
    /// Repairs made when the project was opened.
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
    let text = match layout.files().read_text(&path, MAX_PLAN_BYTES) {
        Ok(Some(text)) => text,
        Ok(None) => {
            return Ok(PlanFile { path, plan: Plan::default(), comments: Vec::new(), exists: false });
        }
        Err(source) => return Err(RepositoryError::Read { path, source }.into()),
    };
    match Plan::parse(&text) {
        Ok(plan) => Ok(PlanFile { path, plan, comments: comments(&text), exists: true }),
        Err(source) => Err(RepositoryError::Plan { path, source }.into()),
    }
}

/// Changes the plan of an archive. `tell` is called before comments are lost.
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
    layout.files().replace(&file.path, text.as_bytes()).map_err(ArchiveError::write(&file.path))?;
    Ok(changed)
}

/// Whether the plan belongs to a Crystal project.
pub fn is_project(layout: &ArchivePaths) -> bool {
    detect_layout(layout.root()) == Some(Layout::Crystal)
}

/// Waits for other editors. The archive's folder itself is the lock; the archive writer uses
/// another.
fn lock(layout: &ArchivePaths) -> Result<Option<File>, ArchiveError> {
    let root = layout.root();
    let folder = File::open(root).map_err(ArchiveError::read(root))?;
    match folder.lock() {
        Ok(()) => Ok(Some(folder)),
        // Some file systems have no locks. Editing there is as safe as with any editor.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(source) => Err(RepositoryError::Read { path: root.to_owned(), source }.into()),
    }
}
