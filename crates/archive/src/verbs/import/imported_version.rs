//! Makes the version of an imported file, and gives it its place in history.
//!
//! The time of the version is that of its newest capture. It descends from the newest ancestor of
//! HEAD that is not younger, and becomes HEAD only if that is HEAD itself: an old file does not
//! replace newer pages in the state of HEAD. Versions beside HEAD end in one more version, a child of
//! HEAD with the pages that HEAD lacked, so that everything imported is found there.

use std::collections::BTreeMap;

use varve_catalog::CatalogRow;
use varve_catalog::UrlMatch;
use varve_core::fact::{
    HeadMoved, Manifest, ManifestPage, RunSummary, StateChanges, VersionSource, media_type, sort_pages,
};
use varve_core::history::{Capture, ListCursor, VersionFilter};
use varve_core::{Moment, RecordId, RunId, VersionId};
use varve_repository::history::{ArchiveHistoryWriter, StateChange, VersionChanges, write_version};

use crate::error::ArchiveError;

/// Versions that are read at once.
const VERSIONS_PER_QUERY: usize = 500;
/// Pages that are compared at once.
const PAGES_PER_QUERY: usize = 500;
/// Moves of HEAD that may be recorded with one time.
const MAX_EQUAL_MOVES: i64 = 1_000_000;

/// A version to be made.
pub(super) struct NewImportedVersion {
    /// The run of its captures.
    pub(super) run: RunId,
    /// The file that it comes from.
    pub(super) source: VersionSource,
    /// The message; `None` for one that names the file.
    pub(super) message: Option<String>,
    /// The author.
    pub(super) author: Option<String>,
    /// The time of its newest capture.
    pub(super) time: Moment,
    /// Pages that are no exchanges.
    pub(super) pages: Vec<ManifestPage>,
}

/// Makes versions and remembers the last one.
pub(super) struct VersionMaker<'a> {
    history: &'a ArchiveHistoryWriter,
    /// The runs that are versions.
    runs: BTreeMap<RunId, VersionId>,
    /// The last version made here, with its time.
    last: Option<(VersionId, Moment)>,
    /// The last version made here that did not become HEAD.
    beside_head: Option<VersionId>,
}

impl<'a> VersionMaker<'a> {
    /// Reads which runs are versions.
    pub(super) fn new(history: &'a ArchiveHistoryWriter) -> Result<Self, ArchiveError> {
        let mut runs = BTreeMap::new();
        let mut after = None;
        loop {
            let cursor = ListCursor { after, limit: VERSIONS_PER_QUERY };
            let found = history.catalog().versions(&VersionFilter::default(), cursor)?;
            runs.extend(found.iter().filter_map(|info| Some((info.version.run?, info.version.id))));
            match found.last() {
                Some(last) if found.len() == VERSIONS_PER_QUERY => after = Some(last.version.id),
                _ => return Ok(Self { history, runs, last: None, beside_head: None }),
            }
        }
    }

    /// The version that a run is.
    pub(super) fn version_of(&self, run: &RunId) -> Option<VersionId> {
        self.runs.get(run).copied()
    }

    /// Makes a version. `None` if there is nothing in it. The rows of its captures are stored.
    pub(super) fn make(&mut self, mut new: NewImportedVersion) -> Result<Option<VersionId>, ArchiveError> {
        if let Some(version) = self.version_of(&new.run) {
            // The same file twice in one import.
            return Ok(Some(version));
        }
        let mut records: Vec<RecordId> = Vec::new();
        self.history.rows().each_record_of_run(&new.run, &mut |record| records.push(record))?;
        if records.is_empty() && new.pages.is_empty() {
            return Ok(None);
        }
        sort_pages(&mut new.pages);
        let time = new.time.min(self.history.now());
        let captures = records.len() as u64;
        let (head, parent) = (self.history.head()?, self.parent_at(time)?);
        let manifest = Manifest {
            parent,
            message: new.message.unwrap_or_else(|| format!("import of {}", new.source.file)),
            author: new.author,
            time,
            run: Some(RunSummary { id: new.run, captures, seal: RunSummary::seal_of(records) }),
            coverage: None,
            inline: StateChanges { pages: new.pages, ..StateChanges::default() },
            changes: Vec::new(),
            plan: None,
            expectations: BTreeMap::new(),
            source: Some(new.source),
        };
        let version = write_version(&self.history.into(), &manifest)?;
        match head {
            Some(head) if parent != Some(head) => {
                self.keep_head(head)?;
                self.beside_head = Some(version);
            }
            _ => self.history.move_head(head, version)?,
        }
        self.runs.insert(new.run, version);
        self.last = Some((version, time));
        Ok(Some(version))
    }

    /// The newest version that is not younger than `time`, among the ancestors of HEAD and the last
    /// version made here.
    fn parent_at(&self, time: Moment) -> Result<Option<VersionId>, ArchiveError> {
        let mut next = self.history.head()?;
        let mut found = None;
        while let (Some(id), None) = (next, found) {
            let Some(info) = self.history.catalog().version(&id)? else { break };
            found = (info.version.time <= time).then_some((id, info.version.time));
            next = info.version.parent;
        }
        let last = self.last.filter(|(_, at)| *at <= time);
        let newest = match (found, last) {
            (Some(found), Some(last)) if last.1 > found.1 => Some(last),
            (found, last) => found.or(last),
        };
        Ok(newest.map(|(id, _)| id))
    }

    /// Makes the version with the pages of versions beside HEAD that HEAD lacks. `None` if it lacks none.
    pub(super) fn add_to_head(
        &mut self,
        message: Option<String>,
        author: Option<String>,
    ) -> Result<Option<VersionId>, ArchiveError> {
        let (Some(beside), Some(head)) = (self.beside_head.take(), self.history.head()?) else {
            return Ok(None);
        };
        let time = self.history.now();
        let mut changes = VersionChanges::new(self.history, Some(head), time);
        let mut pages = 0;
        let mut last: Option<(String, String)> = None;
        loop {
            let after = last.as_ref().map(|(path, url)| (path.as_str(), url.as_str()));
            let cursor = ListCursor { after, limit: PAGES_PER_QUERY };
            let batch = self.history.catalog().state_in(&beside, cursor)?;
            last = batch.last().map(|page| (page.path.clone(), page.url.clone()));
            let is_last = batch.len() < PAGES_PER_QUERY;
            let urls: Vec<&str> = batch.iter().map(|page| page.url.as_str()).collect();
            let known = self.history.catalog().states_of(&head, &urls, UrlMatch::SamePage)?;
            for (page, known) in batch.into_iter().zip(known) {
                if let (None, Some(capture)) = (known, page.into_shown()) {
                    pages += 1;
                    changes.add(StateChange::Page(page_of(capture)))?;
                }
            }
            if is_last {
                break;
            }
        }
        if pages == 0 {
            return Ok(None);
        }
        let version = changes.write_version(Manifest {
            parent: Some(head),
            message: message.unwrap_or_else(|| "pages of older imported versions".to_owned()),
            author,
            time,
            run: None,
            coverage: None,
            inline: StateChanges::default(),
            changes: Vec::new(),
            plan: None,
            expectations: BTreeMap::new(),
            source: None,
        })?;
        self.history.move_head(Some(head), version)?;
        Ok(Some(version))
    }

    /// Records that HEAD stays, since a rebuild takes the last version for HEAD. Two records with one
    /// time would be one record, so the time of a repeated move is later by microseconds.
    fn keep_head(&self, head: VersionId) -> Result<(), ArchiveError> {
        let now = self.history.now().micros();
        for later in 0..MAX_EQUAL_MOVES {
            let fact = HeadMoved { version: head, time: Moment::from_micros(now + later) };
            let json = serde_json::to_vec(&fact).expect("a move of HEAD can be written as JSON");
            let (_, is_new) =
                self.history.append_fact(&format!("urn:uuid:{head}"), media_type::HEAD, &json)?;
            if is_new {
                break;
            }
        }
        Ok(self.history.apply(vec![CatalogRow::Head(head)])?)
    }
}

/// The page of a capture, for a version that did not make it.
fn page_of(capture: Capture) -> ManifestPage {
    ManifestPage {
        url: capture.url,
        path: capture.path,
        time: capture.time,
        status: capture.status,
        headers: capture.headers,
        body: capture.body,
        length: capture.length.unwrap_or(0),
        record: capture.record,
        truncated: capture.truncated,
    }
}
