//! `moku`: creates Moku sites and changes their settings.

use std::path::Path;

use varve_catalog::CatalogError;
use varve_core::VersionId;
use varve_core::headers::Redaction;

use crate::error::ArchiveError;
use varve_repository::archive_writer::WriterOptions;
use varve_repository::history::{
    MokuHistoryReader, MokuHistoryWriter, MokuWriterOptions, VersionPages, WorkingTree,
};
use varve_repository::tree::require_empty;
use varve_repository::{Layout, RepositoryError, detect_layout};

pub use varve_moku::MokuOptions;

/// The settings of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteInfo {
    /// The project that the site belongs to, if it names one.
    pub project: Option<String>,
    /// Whether sensitive headers of new captures are redacted.
    pub redacts: bool,
    /// Number of tags.
    pub tags: u64,
    /// The version at HEAD.
    pub head: Option<VersionId>,
}

/// The settings to change. Unset fields stay as they are.
#[derive(Clone, Debug, Default)]
pub struct SiteSettings {
    /// The project that the site belongs to.
    pub project: Option<String>,
    /// Whether the site may be taken from another project.
    pub force: bool,
    /// Whether sensitive headers are redacted.
    pub redacts: Option<bool>,
    /// Whether to upgrade the tables of an early Moku version.
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

/// Creates a site in `folder`, which is created if needed and must be empty.
pub fn create(folder: &Path, settings: SiteSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    require_empty(folder)?;
    MokuHistoryWriter::open(folder, &settings.opening(), opening)?;
    Ok(())
}

/// Changes the settings of the site at `root`. A project other than the site's is refused unless
/// forced. If redaction is switched on, the headers in the working tree are redacted as well.
pub fn set(root: &Path, settings: SiteSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    require_site(root)?;
    let hides = settings.redacts == Some(true);
    let history = MokuHistoryWriter::open(root, &settings.opening(), opening)?;
    match history.head()?.filter(|_| hides) {
        Some(head) => Ok(rewrite_headers(&history, root, head)?),
        None => Ok(()),
    }
}

/// Rewrites the headers of all pages in the tree of HEAD; bodies stay as they are.
fn rewrite_headers(history: &MokuHistoryWriter, root: &Path, head: VersionId) -> Result<(), RepositoryError> {
    let mut tree = WorkingTree::new(root);
    VersionPages::new(history.catalog(), Some(head))
        .try_for_each(|page| tree.rewrite_headers(history, &page?))
}

/// The settings of the site at `root`.
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

/// Refuses a site that belongs to another project. Accepts a site without a project, and other
/// layouts, which have none. If the site cannot be read, the code that opens it reports the error.
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
        _ => Err(ArchiveError::NotASite(root.to_owned())),
    }
}
