//! History: one code over every layout that keeps it.
//!
//! [`HistoryReader`] is the reading face: versions, captures, bodies. [`HistoryWriter`] can add to them. A varve archive and a
//! Moku site have both, a Crystal project is read, and every verb about history is written once, against these. What differs between the layouts
//! is in their files, and nowhere else.

mod archive;
mod atomic_replace;
mod capture_pairs;
mod catalog_filler;
mod crystal;
mod database_users;
mod head;
mod head_state;
mod history_audit;
mod loaded_page;
mod moku;
mod moku_head;
mod open_layout;
mod packer_pool;
mod page_files;
mod page_lists;
mod pages_by_key;
mod removal;
mod resolve_version;
mod run_records;
mod run_seals;
mod store_bodies;
mod stored_diff;
mod tree_update;
mod version_pages;
mod working_tree;
mod write_version;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use varve_catalog::{Catalog, CatalogRead, LatestPageList};
use varve_core::body::{BodyError, StoredBody};
use varve_core::fact::PageList;
use varve_core::headers::Redaction;
use varve_core::history::{Capture, CaptureChoice, CaptureFilter, ListCursor};
use varve_core::receipt::Renderings;
use varve_core::{BodyId, Moment, RecordId, VersionId};
use varve_store::body::LooseBodies;

use crate::error::RepositoryError;

pub use archive::catch_up;
pub use archive::{ArchiveHistoryReader, ArchiveHistoryWriter};
pub use atomic_replace::replace;
pub use capture_pairs::{CapturePair, CapturePairs, PageChange};
pub use catalog_filler::OmittedRow;
pub use catalog_filler::{CatalogFiller, FilledCatalog};
pub use crystal::CrystalHistoryReader;
pub use crystal::time_of_revision;
pub use head::HeadMove;
pub use head_state::HeadState;
pub use history_audit::HistoryAudit;
pub use loaded_page::{LoadedPage, MAX_COMPARED_BYTES, STATUS_NOT_MODIFIED, headers_of, with_full_response};
pub use moku::{MokuHistoryReader, MokuHistoryWriter, MokuWriterOptions};
pub use open_layout::{
    Layout, detect_layout, open_reader, open_reader_choosing, open_writer, open_writer_of,
};
pub use page_files::{are_headers_of, digest_of, original_folder};
pub use page_lists::{FindPageList, PageLists, manifest_with_list};
pub use removal::{open_body_or_removal, removal_of};
pub use resolve_version::{known_version, named_version, parse_version_time};
pub use resolve_version::{resolve_named_version, resolve_version};
pub use stored_diff::{stored_diff, whole_stored_diff};
pub use tree_update::{
    CheckoutReport, CoveredPages, record_covered, update_tree, write_tree, write_tree_lossy,
};
pub use version_pages::VersionPages;
pub use working_tree::WorkingTree;
pub use working_tree::{BODY_FILE, HEADERS_FILE, PageFolder, tree_folder};
pub use write_version::{KeptIntent, half_entered_error, pairs_with_parent, write_version, write_with_diff};

/// A part of a body that must be read from its beginning.
fn body_range(
    mut body: Box<dyn Read + Send>,
    start: u64,
    end: u64,
) -> Result<Box<dyn Read + Send>, RepositoryError> {
    let failed = |error| RepositoryError::Body(BodyError::new(error));
    io::copy(&mut body.by_ref().take(start), &mut io::sink()).map_err(failed)?;
    Ok(Box::new(body.take(end.saturating_sub(start))))
}

/// What can be read of a layout.
pub trait HistoryReader: Send + Sync {
    /// Its rows.
    fn catalog(&self) -> &dyn CatalogRead;

    /// The version that the next one descends from.
    fn head(&self) -> Result<Option<VersionId>, RepositoryError>;

    /// Where HEAD points as soon as somebody has opened this for writing, which may mend it.
    fn repaired_head_target(&self) -> Result<Option<VersionId>, RepositoryError> {
        self.head()
    }

    /// What is wrong with HEAD, if something is.
    fn head_state(&self) -> Result<HeadState, RepositoryError> {
        Ok(HeadState::Right)
    }

    /// The folder whose files mirror HEAD, if this layout has one.
    fn working_tree(&self) -> Option<&Path> {
        None
    }

    /// A version that HEAD names, or named before it was mended, and that has no rows: what only they named may still lie there.
    fn lost_head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(None)
    }

    /// Versions that were committed here and have no rows, though nobody let them go.
    fn lost_versions(&self) -> Result<Vec<VersionId>, RepositoryError> {
        Ok(Vec::new())
    }

    /// Bodies that lie loose and may be swept; none where they lie in silos, which nothing leaves. Whoever is only reading says
    /// when that is.
    fn loose(&self, _now: Moment) -> Option<LooseBodyView<'_>> {
        None
    }

    /// Whether sensitive headers are hidden, in what is shown as in what is kept from now on.
    fn redaction(&self) -> Redaction;

    /// The body of a capture. Reading it to its end checks it.
    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError>;

    /// The bytes of a body from `start` up to, not including, `end`. Whatever can be passed over without reading it is.
    fn open_body_range(
        &self,
        capture: &Capture,
        start: u64,
        end: u64,
    ) -> Result<Box<dyn Read + Send>, RepositoryError> {
        body_range(self.open_body(capture)?, start, end)
    }

    /// Puts the body of a capture into `into`, in place of what is there, and checks it. False when it is longer than `most`
    /// bytes: then it has to be opened.
    fn read_body(&self, capture: &Capture, most: u64, into: &mut Vec<u8>) -> Result<bool, RepositoryError> {
        read_whole_body(self.open_body(capture)?, capture, most, into)
    }

    /// Numbers for captures: their bodies are read most quickly in this order.
    fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        Ok(vec![0; captures.len()])
    }

    /// The head of the answer as it was on the wire, where that was kept.
    fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError>;

    /// The answer's content as it was on the wire, with its content codings, where that was kept. It is not held against a
    /// digest.
    fn open_payload(&self, _capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(None)
    }

    /// The answer as it was on the wire, head, framing and all, where that was kept. It is not held against a digest.
    fn open_wire(&self, _capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(None)
    }

    /// Where the record of a capture lies, for whoever reads silos without varve; none where there are no silos.
    fn record_place(&self, _capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        Ok(None)
    }

    /// What a browser made of a capture, where one did.
    fn renderings(&self, _capture: &Capture) -> Result<Renderings, RepositoryError> {
        Ok(Renderings::default())
    }

    /// The id of a capture's body. Where rows do not have it, the body is read.
    fn body_id(&self, capture: &Capture) -> Result<BodyId, RepositoryError> {
        Ok(capture.body)
    }

    /// Whether versions are kept here. Where none are, a version stands for how everything was at one moment.
    fn has_versions(&self) -> bool {
        true
    }

    /// When the run began that is not finished: it goes on now, was stopped, or broke off.
    fn unfinished_since(&self) -> Result<Option<Moment>, RepositoryError> {
        Ok(None)
    }

    /// Which capture stands for a URL where none is asked for by its time: in a Crystal project, what it was opened with.
    fn choice(&self) -> CaptureChoice {
        CaptureChoice::NewestGood
    }

    /// The captures of a layout without versions, whatever their URL, the newest first.
    fn latest_captures(
        &self,
        _filter: &CaptureFilter,
        _page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, RepositoryError> {
        Ok(Vec::new())
    }
}

/// Reads a body that is open, as [`HistoryReader::read_body`] does.
fn read_whole_body(
    body: impl Read,
    capture: &Capture,
    most: u64,
    into: &mut Vec<u8>,
) -> Result<bool, RepositoryError> {
    into.clear();
    body.take(most.saturating_add(1))
        .read_to_end(into)
        .map_err(|source| RepositoryError::ReadObject { id: capture.body.to_string(), source })?;
    Ok(into.len() as u64 <= most)
}

/// Where a record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The name of the silo, within the folder of silos.
    pub file: String,
    /// Where in it the record begins.
    pub offset: u64,
    /// How many bytes it takes there; not known of a record so long that finding out would take its time.
    pub length: Option<u64>,
}

/// Content on its way in.
pub enum BodyInput<'a> {
    /// An open file, with its name for messages.
    File(File, &'a Path),
    /// Bytes in memory.
    Bytes(&'a [u8]),
}

/// Loose bodies, for those who sweep them.
pub struct LooseBodyView<'a> {
    /// The bodies.
    pub bodies: &'a LooseBodies,
    /// What nobody refers to may still be on its way, if it was written after this.
    pub settled: SystemTime,
    /// Whether another program has the layout open now. It may be about to refer to any body that it finds here.
    pub is_shared: Box<dyn Fn() -> bool + 'a>,
}

/// Keeps bodies, on one thread.
pub type BodyWorker<'a> =
    Box<dyn FnMut(BodyInput<'_>, &str) -> Result<StoredBody, RepositoryError> + Send + 'a>;

/// A layout that history can be added to. One process has it at a time.
pub trait HistoryWriter: HistoryReader {
    /// Its rows, to be added to.
    fn rows(&self) -> &dyn Catalog;

    /// The present.
    fn now(&self) -> Moment;

    /// A time as rows will have it, which in some layouts is coarser.
    fn stored_time(&self, time: Moment) -> Moment {
        time
    }

    /// One that keeps bodies; the second argument of what it does is their media type.
    fn body_worker(&self) -> BodyWorker<'_>;

    /// Waits until every body kept so far is safe.
    fn sync_bodies(&self) -> Result<(), RepositoryError>;

    /// Writes down a fact, which is safe when the next sync is done; none where the layout has no place for facts but
    /// the rows themselves.
    fn append_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<Option<RecordId>, RepositoryError>;

    /// Writes down a fact, safely, and with it every body that was kept before.
    fn write_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<Option<RecordId>, RepositoryError> {
        let record = self.append_fact(about, media_type, json)?;
        self.sync_bodies()?;
        Ok(record)
    }

    /// The list of pages that was written last, and how much was said against it.
    fn latest_page_list(&self) -> Result<Option<(LatestPageList, PageList)>, RepositoryError> {
        Ok(None)
    }

    /// Which of many bodies the index knows, without reading any of them.
    fn are_indexed(&self, bodies: &[BodyId]) -> Result<Vec<bool>, RepositoryError> {
        Ok(vec![false; bodies.len()])
    }

    /// Where it is written down which files were committed last, and when this was opened, by the clock of the disk; none
    /// where nothing is.
    fn seen_files(&self) -> Option<(PathBuf, SystemTime)> {
        None
    }

    /// Keeps rows, after all that they are made from is safe.
    fn apply(&self, rows: Vec<varve_catalog::CatalogRow>) -> Result<(), RepositoryError>;

    /// Says that HEAD is about to point to a version, before anything else shows it: if it does not come to that, whoever
    /// opens the layout next brings it about, if the version is there by then.
    fn intend_head(&self, version: &VersionId, by: HeadMove) -> Result<(), RepositoryError>;

    /// Says that HEAD stays where it is after all: what was intended failed, and was told to have.
    fn clear_intended_head(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// Lets HEAD point to a version.
    fn set_head(&self, version: &VersionId) -> Result<(), RepositoryError>;

    /// Whether each version comes with its diff against its parent.
    fn keeps_diffs(&self) -> bool;

    /// What had to be put right about HEAD when this was opened: it points where this says now.
    fn repaired_head(&self) -> Option<&HeadState> {
        None
    }

    /// Does something while nobody can add rows, not even a program that knows nothing of our lock.
    fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError>;

    /// Gives the room that forgotten rows took back to the disk, where rows are not a cache.
    fn vacuum(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// Lets those rows be gone for good.
    fn clear_lost_head(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// The same, for reading.
    fn as_reader(&self) -> &dyn HistoryReader;
}
