//! History: one interface over every layout that keeps it.
//!
//! [`HistoryReader`] reads versions, captures and bodies. [`HistoryWriter`] adds to them. A varve
//! archive and a Moku site implement both; a Crystal project is read-only. Every history command is
//! written once, against these traits. Differences between the layouts are confined to the modules
//! of the layouts.

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
pub use open_layout::{open_reader, open_reader_choosing, open_writer, open_writer_of};
pub use page_files::digest_of;
pub use page_lists::{FindPageList, PageLists, manifest_with_list};
pub use removal::{open_body_or_removal, removal_of};
pub use resolve_version::{known_version, named_version, parse_version_time};
pub use resolve_version::{resolve_named_version, resolve_version};
pub use stored_diff::{stored_diff, whole_stored_diff};
pub use tree_update::{
    CheckoutReport, CoveredPages, record_covered, update_tree, write_tree, write_tree_lossy,
};
pub use varve_moku::{BODY_FILE, HEADERS_FILE, are_headers_of, original_folder};
pub use version_pages::VersionPages;
pub use working_tree::WorkingTree;
pub use working_tree::{PageFolder, tree_folder};
pub use write_version::{KeptIntent, half_entered_error, pairs_with_parent, write_version, write_with_diff};

/// A range of a body that can only be read sequentially from its start.
fn body_range(
    mut body: Box<dyn Read + Send>,
    start: u64,
    end: u64,
) -> Result<Box<dyn Read + Send>, RepositoryError> {
    let failed = |error| RepositoryError::Body(BodyError::new(error));
    io::copy(&mut body.by_ref().take(start), &mut io::sink()).map_err(failed)?;
    Ok(Box::new(body.take(end.saturating_sub(start))))
}

/// Read access to a layout.
pub trait HistoryReader: Send + Sync {
    /// The catalog rows.
    fn catalog(&self) -> &dyn CatalogRead;

    /// The version that becomes the parent of the next one.
    fn head(&self) -> Result<Option<VersionId>, RepositoryError>;

    /// The version that HEAD points to after the next writer has opened the layout and possibly
    /// repaired HEAD.
    fn repaired_head_target(&self) -> Result<Option<VersionId>, RepositoryError> {
        self.head()
    }

    /// The state of HEAD, including any fault.
    fn head_state(&self) -> Result<HeadState, RepositoryError> {
        Ok(HeadState::Right)
    }

    /// The folder whose files mirror HEAD, if this layout has one.
    fn working_tree(&self) -> Option<&Path> {
        None
    }

    /// A version that HEAD names, or named before a repair, and that has no rows. Bodies that only
    /// those rows referenced may still be stored.
    fn lost_head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(None)
    }

    /// Versions that were committed here and have no rows, although no user removed them.
    fn lost_versions(&self) -> Result<Vec<VersionId>, RepositoryError> {
        Ok(Vec::new())
    }

    /// Loose bodies, which housekeeping may sweep. `None` if bodies are stored in silos, from which
    /// nothing is removed. A read-only caller passes the current time.
    fn loose(&self, _now: Moment) -> Option<LooseBodyView<'_>> {
        None
    }

    /// Whether sensitive headers are redacted, both in output and in captures stored from now on.
    fn redaction(&self) -> Redaction;

    /// Opens the body of a capture. Reading it to the end verifies it.
    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError>;

    /// Opens the bytes of a body from `start` up to, but not including, `end`. Bytes that can be
    /// skipped without reading are skipped.
    fn open_body_range(
        &self,
        capture: &Capture,
        start: u64,
        end: u64,
    ) -> Result<Box<dyn Read + Send>, RepositoryError> {
        body_range(self.open_body(capture)?, start, end)
    }

    /// Reads and verifies the body of a capture, replacing the contents of `into`. Returns false if
    /// the body is longer than `most` bytes; the caller then has to use
    /// [`open_body`](Self::open_body).
    fn read_body(&self, capture: &Capture, most: u64, into: &mut Vec<u8>) -> Result<bool, RepositoryError> {
        read_whole_body(self.open_body(capture)?, capture, most, into)
    }

    /// Sort keys for captures: reading their bodies in ascending order is fastest.
    fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        Ok(vec![0; captures.len()])
    }

    /// The response head as received on the wire, if it was stored.
    fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError>;

    /// The response content as received on the wire, with its content codings, if it was stored. It
    /// is not verified against a digest.
    fn open_payload(&self, _capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(None)
    }

    /// The response as received on the wire, including head and framing, if it was stored. It is
    /// not verified against a digest.
    fn open_wire(&self, _capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(None)
    }

    /// The location of a capture's record, for tools that read silos without varve. `None` if the
    /// layout has no silos.
    fn record_place(&self, _capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        Ok(None)
    }

    /// The renderings that a browser made of a capture, if any.
    fn renderings(&self, _capture: &Capture) -> Result<Renderings, RepositoryError> {
        Ok(Renderings::default())
    }

    /// The id of a capture's body. If the rows do not hold it, the body is read to compute it.
    fn body_id(&self, capture: &Capture) -> Result<BodyId, RepositoryError> {
        Ok(capture.body)
    }

    /// Whether the layout keeps versions. If not, a version stands for the state of everything at
    /// one moment.
    fn has_versions(&self) -> bool {
        true
    }

    /// The start time of the unfinished run, if any: it is still in progress, was stopped, or was
    /// interrupted.
    fn unfinished_since(&self) -> Result<Option<Moment>, RepositoryError> {
        Ok(None)
    }

    /// The capture that represents a URL when the caller gives no time. In a Crystal project, the
    /// choice it was opened with.
    fn choice(&self) -> CaptureChoice {
        CaptureChoice::NewestGood
    }

    /// The captures of a layout without versions, for all URLs, newest first.
    fn latest_captures(
        &self,
        _filter: &CaptureFilter,
        _page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, RepositoryError> {
        Ok(Vec::new())
    }
}

/// Reads an open body as [`HistoryReader::read_body`] does.
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

/// The location of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The name of the silo, relative to the folder of silos.
    pub file: String,
    /// The byte offset of the record in the silo.
    pub offset: u64,
    /// The length of the record in bytes. `None` for a record so large that measuring it would be
    /// slow.
    pub length: Option<u64>,
}

/// Content to be stored.
pub enum BodyInput<'a> {
    /// An open file, with its name for messages.
    File(File, &'a Path),
    /// Bytes in memory.
    Bytes(&'a [u8]),
}

/// Loose bodies, for housekeeping.
pub struct LooseBodyView<'a> {
    /// The bodies.
    pub bodies: &'a LooseBodies,
    /// An unreferenced body written after this time may belong to a commit in progress.
    pub settled: SystemTime,
    /// Whether another program has the layout open now. It may be about to reference any body that
    /// it finds here.
    pub is_shared: Box<dyn Fn() -> bool + 'a>,
}

/// Stores bodies, on one thread.
pub type BodyWorker<'a> =
    Box<dyn FnMut(BodyInput<'_>, &str) -> Result<StoredBody, RepositoryError> + Send + 'a>;

/// A layout that history can be added to. Only one process has it open for writing at a time.
pub trait HistoryWriter: HistoryReader {
    /// The catalog, for adding rows.
    fn rows(&self) -> &dyn Catalog;

    /// The current time.
    fn now(&self) -> Moment;

    /// The time at the resolution that rows store, which is coarser in some layouts.
    fn stored_time(&self, time: Moment) -> Moment {
        time
    }

    /// Returns a worker that stores bodies. The second argument of the worker is the media type.
    fn body_worker(&self) -> BodyWorker<'_>;

    /// Waits until every body stored so far is durable.
    fn sync_bodies(&self) -> Result<(), RepositoryError>;

    /// Appends a fact, which is durable after the next sync. Returns `None` if the layout stores
    /// facts only as rows.
    fn append_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<Option<RecordId>, RepositoryError>;

    /// Writes a fact durably, together with every body stored before it.
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

    /// The page list written last, and the number of deviations from it so far.
    fn latest_page_list(&self) -> Result<Option<(LatestPageList, PageList)>, RepositoryError> {
        Ok(None)
    }

    /// For each body, whether the index holds it. Reads no body.
    fn are_indexed(&self, bodies: &[BodyId]) -> Result<Vec<bool>, RepositoryError> {
        Ok(vec![false; bodies.len()])
    }

    /// The path of the cache of committed files, and the time this writer was opened, by the clock
    /// of the file system. `None` if the layout has no such cache.
    fn seen_files(&self) -> Option<(PathBuf, SystemTime)> {
        None
    }

    /// Stores rows. Everything the rows are derived from must be durable already.
    fn apply(&self, rows: Vec<varve_catalog::CatalogRow>) -> Result<(), RepositoryError>;

    /// Records that HEAD is about to point to `version`, before the version becomes visible. If
    /// this process dies before it moves HEAD, the next writer moves it, provided that the version
    /// exists by then.
    fn intend_head(&self, version: &VersionId, by: HeadMove) -> Result<(), RepositoryError>;

    /// Clears the intended move of HEAD after the operation failed and its failure was reported.
    fn clear_intended_head(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// Points HEAD to a version.
    fn set_head(&self, version: &VersionId) -> Result<(), RepositoryError>;

    /// Whether each version is stored with its diff against its parent.
    fn keeps_diffs(&self) -> bool;

    /// The repair made to HEAD when this writer was opened, if any. HEAD now points where this
    /// value says.
    fn repaired_head(&self) -> Option<&HeadState> {
        None
    }

    /// Runs `work` while no other process can add rows, not even a program that does not know our
    /// lock.
    fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError>;

    /// Returns the space of deleted rows to the file system, in layouts whose rows are not a cache.
    fn vacuum(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// Gives up the rows of [`lost_head`](HistoryReader::lost_head) for good.
    fn clear_lost_head(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    /// This layout as a reader.
    fn as_reader(&self) -> &dyn HistoryReader;
}
