//! `import` of a Crystal project: each revision becomes an exchange, and the project becomes one
//! version.
//!
//! Responses are stored with their times; a 304 refers to the response it stands for. A failed
//! download has no response and is stored as a fact, as are all rows. The run id is a digest over
//! the project, so importing it again finds the run and adds nothing. An interrupted import
//! continues where it stopped, since every record is identified by its content.
//!
//! A project that has grown since is another run, of its new revisions. Its version also contains
//! the pages of the earlier ones, since a version is a complete state.
//!
//! Not imported are files that no row names, unreadable rows, Crystal's own files around them, and
//! rows about URLs with a user name or a password, because no silo holds credentials.

pub(super) mod exchange;
mod parts;
mod run;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use varve_catalog::CatalogRow;
use varve_core::fact::{Manifest, ManifestPage, RunSummary, StateChanges, sort_pages};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{ListCursor, VersionFilter};
use varve_core::receipt::Receipt;
use varve_core::secret::ShownUrl;
use varve_core::{RecordId, RunId, VersionId};
use varve_crystal::{Error, Project, ProjectAlias, ResourceId, Revision};
use varve_store::exchange::{ExchangeWriter, KeptExchange};
use varve_store::record::field;
use varve_warc::write::Packer;

use super::fact::{ProjectFact, RevisionRow};
use super::seal::Seal;
use crate::error::ArchiveError;
use parts::FactParts;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::history::write_version;
use varve_repository::page_path::page_path;
use varve_repository::rows::row_of_receipt;
use varve_repository::search::index_new_versions;

/// Number of captures per sync and transaction.
const ROWS_PER_BATCH: usize = 1000;

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProjectImported {
    /// The version made from the project.
    pub version: Option<VersionId>,
    /// Whether the project was imported before. Then nothing was added, and the counts below are 0.
    pub already: bool,
    /// Revisions read.
    pub revisions: u64,
    /// Responses that the archive did not have.
    pub new: u64,
    /// Revisions that record a failure.
    pub errors: u64,
    /// Revisions whose body is missing from the project.
    pub missing: u64,
    /// Cookies that were encrypted.
    pub cookies: u64,
    /// Total bytes of all bodies.
    pub bytes: u64,
    /// Unreadable rows that were skipped.
    pub left_behind: u64,
    /// Rows that were skipped because a URL in them has a user name or a password.
    pub with_user_info: u64,
    /// Whether the version could not be added to the search index. The next search tries again, and
    /// reports the error.
    #[serde(skip)]
    pub is_unindexed: bool,
}

/// Imports the project at `path`. `progress` is called for each revision.
pub fn import(
    history: &ArchiveHistoryWriter,
    path: &Path,
    progress: &dyn Fn(u64),
) -> Result<ProjectImported, ArchiveError> {
    let project = Project::open(path)?;
    let run = run::run_of(&project)?;
    if let Some(version) = version_of_run(history, run)? {
        return Ok(ProjectImported { version: Some(version), already: true, ..ProjectImported::default() });
    }
    let importing = ProjectImport {
        history,
        project: &project,
        keeper: ExchangeWriter::new(history.writer().store()),
        packer: history.writer().store().packer()?,
        run,
        seal: None,
        refused: HashSet::new(),
        records: HashSet::new(),
        pages: BTreeMap::new(),
        rows: Vec::new(),
        done: ProjectImported::default(),
    };
    importing.all(progress)
}

/// The version made from a run.
fn version_of_run(history: &ArchiveHistoryWriter, run: RunId) -> Result<Option<VersionId>, ArchiveError> {
    const REVISIONS_PER_QUERY: usize = 500;
    let mut after = None;
    loop {
        let page = ListCursor { after, limit: REVISIONS_PER_QUERY };
        let found = history.catalog().versions(&VersionFilter::default(), page)?;
        if let Some(info) = found.iter().find(|info| info.version.run == Some(run)) {
            return Ok(Some(info.version.id));
        }
        match found.last() {
            Some(last) if found.len() == REVISIONS_PER_QUERY => after = Some(last.version.id),
            _ => return Ok(None),
        }
    }
}

struct ProjectImport<'a> {
    history: &'a ArchiveHistoryWriter,
    project: &'a Project,
    keeper: ExchangeWriter<'a>,
    packer: Packer,
    run: RunId,
    /// The key for cookies, once one was needed.
    seal: Option<Seal>,
    /// The resources whose URL has a user name or a password.
    refused: HashSet<ResourceId>,
    /// The records of this run.
    records: HashSet<RecordId>,
    /// Responses that an earlier run imported, by their records.
    pages: BTreeMap<RecordId, ManifestPage>,
    rows: Vec<CatalogRow>,
    done: ProjectImported,
}

impl ProjectImport<'_> {
    fn all(mut self, progress: &dyn Fn(u64)) -> Result<ProjectImported, ArchiveError> {
        let mut parts = FactParts::new(self.history, self.run);
        for resource in self.project.resources() {
            let Some(resource) = self.readable(resource)? else { continue };
            if self.takes_url(&resource.url) {
                parts.resource(resource)?;
            } else {
                self.refused.insert(resource.id);
            }
        }
        for revision in self.project.revisions() {
            if let Some(revision) = self.readable(revision)?
                && self.takes_resource(revision.resource)
            {
                parts.revision(self.revision(revision)?)?;
            }
            progress(1);
        }
        self.keep_rows()?;
        let plan = self.project_fact(parts.finish()?)?;
        let version = self.version(plan)?;
        self.done.version = Some(version);
        Ok(self.done)
    }

    /// Whether a row with this URL is imported: not if it has a user name or a password, which no
    /// silo holds.
    fn takes_url(&mut self, url: &str) -> bool {
        self.counted(!ShownUrl(url).has_user_info())
    }

    /// The same for the pattern of a group.
    fn takes_pattern(&mut self, pattern: &str) -> bool {
        self.counted(!ShownUrl(pattern).pattern_has_user_info())
    }

    /// The same for a row about a resource.
    fn takes_resource(&mut self, resource: ResourceId) -> bool {
        self.counted(!self.refused.contains(&resource))
    }

    fn counted(&mut self, is_taken: bool) -> bool {
        self.done.with_user_info += u64::from(!is_taken);
        is_taken
    }

    /// The row; `None` if it is unreadable.
    fn readable<T>(&mut self, row: varve_crystal::Result<T>) -> Result<Option<T>, ArchiveError> {
        match row {
            Ok(row) => Ok(Some(row)),
            Err(Error::Row(_)) => {
                self.done.left_behind += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Stores the response of a revision, and returns the row to record about it.
    fn revision(&mut self, revision: Revision) -> Result<RevisionRow, ArchiveError> {
        self.done.revisions += 1;
        self.done.errors += u64::from(!revision.has_body());
        let cookie = self.sealed(&revision)?;
        let length = if revision.has_body() { self.project.body_length(revision.id)? } else { None };
        self.done.missing += u64::from(revision.has_body() && length.is_none());
        let mut record = None;
        if let Some(length) = length {
            let kept = self.answer(&revision, length)?;
            record = Some(kept.receipt.revisit_of.unwrap_or(kept.receipt.record)).filter(|_| length > 0);
            self.done.bytes += length;
            self.remember(kept)?;
        }
        Ok(RevisionRow {
            id: revision.id.get(),
            resource: revision.resource.get(),
            error: revision.error,
            metadata: revision.metadata,
            length,
            record,
            cookie,
        })
    }

    fn sealed(&mut self, revision: &Revision) -> Result<Option<String>, ArchiveError> {
        let Some(cookie) = &revision.request_cookie else { return Ok(None) };
        self.done.cookies += 1;
        let seal = match self.seal.take() {
            Some(seal) => seal,
            None => {
                let layout = self.history.writer().layout();
                Seal::open_or_make(layout.files(), &layout.secret_key())?
            }
        };
        let sealed = seal.seal(self.run, revision.id.get(), cookie);
        self.seal = Some(seal);
        Ok(Some(sealed))
    }

    /// Makes the row of a stored response. A response that already existed has one; it belongs to
    /// this run if an earlier attempt stored it.
    fn remember(&mut self, kept: KeptExchange) -> Result<(), ArchiveError> {
        let record = kept.receipt.record;
        let is_of_this_run = kept.new || self.records.contains(&record) || self.is_of_this_run(record)?;
        if kept.new {
            self.done.new += 1;
            self.rows.extend(row_of_receipt(&kept.receipt, self.history.redaction()));
        }
        if is_of_this_run {
            self.records.insert(record);
        } else {
            self.pages.insert(record, page_of(kept.receipt, self.history.redaction()));
        }
        if self.rows.len() >= ROWS_PER_BATCH { self.keep_rows() } else { Ok(()) }
    }

    fn is_of_this_run(&self, record: RecordId) -> Result<bool, ArchiveError> {
        let located = self.history.writer().reader().find(&record)?;
        let run = self.run.to_string();
        Ok(located.is_some_and(|located| located.header.fields.get(field::RUN_ID) == Some(run.as_bytes())))
    }

    fn keep_rows(&mut self) -> Result<(), ArchiveError> {
        Ok(self.history.apply(std::mem::take(&mut self.rows))?)
    }

    fn project_fact(&mut self, parts: Vec<RecordId>) -> Result<RecordId, ArchiveError> {
        let mut fact = ProjectFact {
            run: Some(self.run),
            name: name_of(self.project),
            major_version: self.project.version().number(),
            parts,
            ..ProjectFact::default()
        };
        for property in self.project.properties() {
            fact.properties.extend(self.readable(property)?);
        }
        for root in self.project.roots() {
            let root = self.readable(root)?;
            fact.roots.extend(root.filter(|root| self.takes_resource(root.resource)));
        }
        for group in self.project.groups() {
            let group = self.readable(group)?;
            fact.groups.extend(group.filter(|group| self.takes_pattern(&group.url_pattern)));
        }
        for alias in self.project.aliases() {
            let alias = self.readable(alias)?;
            let taken = |alias: &ProjectAlias| {
                self.takes_url(&alias.source_url_prefix) && self.takes_url(&alias.target_url_prefix)
            };
            fact.aliases.extend(alias.filter(taken));
        }
        parts::keep(self.history, self.run, &fact)
    }

    fn version(&mut self, plan: RecordId) -> Result<VersionId, ArchiveError> {
        let records: Vec<RecordId> = self.records.drain().collect();
        let captures = records.len() as u64;
        let mut pages: Vec<ManifestPage> = std::mem::take(&mut self.pages).into_values().collect();
        pages.sort_by_key(|page| page.time);
        sort_pages(&mut pages);
        let run = RunSummary { id: self.run, captures, seal: RunSummary::seal_of(records) };
        let parent = self.history.head()?;
        let manifest = Manifest {
            parent,
            message: format!("import of the Crystal project {}", name_of(self.project)),
            author: None,
            time: self.history.now(),
            run: Some(run),
            coverage: None,
            inline: StateChanges { pages, ..StateChanges::default() },
            changes: Vec::new(),
            plan: Some(plan),
            expectations: BTreeMap::new(),
            source: None,
        };
        let version = write_version(&self.history.into(), &manifest)?;
        self.history.move_head(parent, version)?;
        self.done.is_unindexed = index_new_versions(self.history).is_err();
        Ok(version)
    }
}

/// The page of a response, for a version whose run did not import it.
fn page_of(receipt: Receipt, redaction: Redaction) -> ManifestPage {
    ManifestPage {
        path: page_path(&receipt.url),
        url: receipt.url,
        time: receipt.time,
        status: receipt.status,
        headers: HeaderView::of(&receipt.headers, redaction),
        body: receipt.body,
        length: receipt.length,
        record: Some(receipt.record),
        truncated: receipt.truncated.is_some(),
    }
}

fn name_of(project: &Project) -> String {
    let name = project.path().file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
