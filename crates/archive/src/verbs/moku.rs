//! `moku`: what only Moku sites have. Making one, and what is set in it.

use std::path::Path;
use varve_repository::RepositoryError;

use varve_catalog::CatalogError;
use varve_core::VersionId;
use varve_core::headers::Redaction;

use crate::error::ArchiveError;
use varve_repository::archive_writer::WriterOptions;
use varve_repository::history::{
    HistoryReader, Layout, MokuHistoryReader, MokuHistoryWriter, MokuWriterOptions, VersionPages,
    WorkingTree, detect_layout,
};
use varve_repository::tree::require_empty;

pub use varve_moku::MokuOptions;

/// What is set in a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteInfo {
    /// The project that it belongs to, if it says so.
    pub project: Option<String>,
    /// Whether sensitive headers of new captures are hidden.
    pub redacts: bool,
    /// How many tags there are.
    pub tags: u64,
    /// Where HEAD points.
    pub head: Option<VersionId>,
}

/// What to set. What is not named stays.
#[derive(Clone, Debug, Default)]
pub struct SiteSettings {
    /// The project that it belongs to.
    pub project: Option<String>,
    /// Whether it may be taken from another project.
    pub force: bool,
    /// Whether sensitive headers are hidden.
    pub redacts: Option<bool>,
    /// Whether the tables of an early Moku become those of today.
    pub upgrade: bool,
}

impl SiteSettings {
    fn opening(self) -> MokuWriterOptions {
        let redaction = self.redacts.map(|hide| if hide { Redaction::On } else { Redaction::Off });
        let options =
            MokuOptions { project_id: self.project, force_project_id: self.force, upgrade: self.upgrade };
        MokuWriterOptions { options, redaction }
    }
}

/// Makes a site in `folder`, which is made if need be and must hold nothing.
pub fn create(folder: &Path, settings: SiteSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    require_empty(folder)?;
    MokuHistoryWriter::open(folder, &settings.opening(), opening)?;
    Ok(())
}

/// Sets what is to be set in the site at `root`. A project that is not the site's is refused, unless it is forced. Where secrets
/// are hidden from now on, the working tree does not show them any longer either.
pub fn set(root: &Path, settings: SiteSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    require_site(root)?;
    let hides = settings.redacts == Some(true);
    let history = MokuHistoryWriter::open(root, &settings.opening(), opening)?;
    match history.head()?.filter(|_| hides) {
        Some(head) => Ok(rewrite_headers(&history, root, head)?),
        None => Ok(()),
    }
}

/// Writes the headers of all pages in the tree of HEAD again; bodies stay as they are.
fn rewrite_headers(history: &MokuHistoryWriter, root: &Path, head: VersionId) -> Result<(), RepositoryError> {
    let mut tree = WorkingTree::new(root);
    VersionPages::new(history.catalog(), Some(head))
        .try_for_each(|page| tree.rewrite_headers(history, &page?))
}

/// What is set in the site at `root`.
pub fn info(root: &Path) -> Result<SiteInfo, ArchiveError> {
    require_site(root)?;
    let site = MokuHistoryReader::open(root)?;
    Ok(SiteInfo {
        project: site.moku().project_id()?,
        redacts: site.moku().redaction()? == Redaction::On,
        tags: site.catalog().tags()?.len() as u64,
        head: site.head()?,
    })
}

/// Refuses a site that belongs to another project. One that belongs to none is anybody's, other layouts have no project, and what
/// cannot be read is told by whoever opens it.
pub fn must_belong(root: &Path, project: &str) -> Result<(), RepositoryError> {
    if detect_layout(root) != Some(Layout::Moku) {
        return Ok(());
    }
    let Ok(site) = MokuHistoryReader::open(root) else { return Ok(()) };
    match site.moku().project_id()? {
        Some(found) if found != project => Err(RepositoryError::Catalog(CatalogError::OtherProject {
            path: site.moku().path().to_owned(),
            wanted: project.to_owned(),
            found,
        })),
        _ => Ok(()),
    }
}

fn require_site(root: &Path) -> Result<(), ArchiveError> {
    match detect_layout(root) {
        Some(Layout::Moku) => Ok(()),
        _ => Err(ArchiveError::NotASite { path: root.to_owned() }),
    }
}
