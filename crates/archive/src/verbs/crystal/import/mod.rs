//! `import` of a Crystal project: each revision becomes an exchange, the whole becomes one version.
//!
//! Answers become responses, with their times; a 304 refers to what it stands for. A download that failed has no answer
//! and is remembered as a fact, as are all rows. The run is named by a digest over the project, so that importing it again
//! finds that it is here and adds nothing; an import that was interrupted goes on where it stopped, since every record is
//! known by its content. A project that has grown since is another run, of what is new in it; its version has the pages of
//! the earlier ones too, since a version is the whole of how things were.
//!
//! What is left behind: files that no row names, rows that cannot be understood, and Crystal's own files around them.

pub(super) mod exchange;
mod parts;
mod run;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use varve_catalog::CatalogRow;
use varve_core::fact::{Manifest, ManifestPage, RunSummary, sort_pages};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{ListCursor, VersionFilter};
use varve_core::receipt::Receipt;
use varve_core::{RecordId, RunId, VersionId};
use varve_crystal::{Error, Project, Revision};
use varve_store::exchange::{ExchangeWriter, KeptExchange};
use varve_store::record::field;
use varve_warc::write::Packer;

use super::fact::{ProjectFact, RevisionRow};
use super::seal::Seal;
use crate::error::ArchiveError;
use parts::FactParts;
use varve_repository::history::write_version;
use varve_repository::history::{ArchiveHistoryWriter, HistoryReader, HistoryWriter};
use varve_repository::page_path::page_path;
use varve_repository::rows::row_of_receipt;

/// So many captures share a sync and a transaction.
const ROWS_PER_BATCH: usize = 1000;

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectImported {
    /// The version that it is.
    pub version: Option<VersionId>,
    /// Whether it was here already; then nothing was added, and nothing below was counted.
    pub already: bool,
    /// Revisions seen.
    pub revisions: u64,
    /// Answers kept that were not here before.
    pub new: u64,
    /// Revisions that record a failure.
    pub errors: u64,
    /// Revisions whose body is missing from the project.
    pub missing: u64,
    /// Cookies that were sealed.
    pub cookies: u64,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Rows that could not be understood and were left behind.
    pub left_behind: u64,
}

/// Imports the project that `path` means. `progress` hears of each revision.
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
        records: HashSet::new(),
        pages: BTreeMap::new(),
        rows: Vec::new(),
        done: ProjectImported::default(),
    };
    importing.all(progress)
}

/// The version that a run became.
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
    /// The key to cookies, once there was one.
    seal: Option<Seal>,
    /// The records of this run.
    records: HashSet<RecordId>,
    /// Answers that an earlier run brought in, by their records.
    pages: BTreeMap<RecordId, ManifestPage>,
    rows: Vec<CatalogRow>,
    done: ProjectImported,
}

impl ProjectImport<'_> {
    fn all(mut self, progress: &dyn Fn(u64)) -> Result<ProjectImported, ArchiveError> {
        let mut parts = FactParts::new(self.history, self.run);
        for resource in self.project.resources() {
            if let Some(resource) = self.readable(resource)? {
                parts.resource(resource)?;
            }
        }
        for revision in self.project.revisions() {
            if let Some(revision) = self.readable(revision)? {
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

    /// The row, unless it cannot be understood.
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

    /// Keeps the answer of a revision, and gives what is to be written down about it.
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
            None => Seal::open_or_make(&self.history.writer().layout().secret_key())?,
        };
        let sealed = seal.seal(self.run, revision.id.get(), cookie);
        self.seal = Some(seal);
        Ok(Some(sealed))
    }

    /// Makes the row of what was kept. What was here already has one; it is of this run if an earlier try kept it.
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
        let located = self.history.writer().reader().find(record.as_bytes())?;
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
            fact.roots.extend(self.readable(root)?.map(Into::into));
        }
        for group in self.project.groups() {
            fact.groups.extend(self.readable(group)?.map(Into::into));
        }
        for alias in self.project.aliases() {
            fact.aliases.extend(self.readable(alias)?.map(Into::into));
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
        let manifest = Manifest {
            parent: self.history.head()?,
            message: format!("import of the Crystal project {}", name_of(self.project)),
            author: None,
            time: self.history.now(),
            run: Some(run),
            list: None,
            without: Vec::new(),
            pages,
            plan: Some(plan),
            verdicts: None,
            expectations: std::collections::BTreeMap::new(),
        };
        let version = write_version(self.history, &manifest)?;
        self.history.set_head(&version)?;
        Ok(version)
    }
}

/// The page that an answer is, for a version that did not bring it in.
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
