//! History: one interface over every layout that keeps it.
//!
//! [`HistoryReader`] reads versions, captures and bodies. [`HistoryWriter`] adds to them, in a
//! varve archive or a Moku site; a Crystal project and a web archive are read-only. Both are enums of the types of the
//! layouts. Every history command is written once, against these enums. How the layouts differ is
//! known only to the two enums and to the modules of the layouts.

mod archive;
mod capture_pairs;
mod catalog_filler;
mod check_evidence;
mod committed_changes;
mod committed_pages;
mod crystal;
mod database_users;
mod head_state;
mod history_audit;
mod host_pairing;
mod loaded_page;
mod moku;
mod moku_head;
mod open_layout;
mod packer_pool;
mod pages_by_key;
mod pending_changes;
mod reader;
mod removal;
mod resolve_version;
mod run_records;
mod run_seals;
mod state_pages;
mod store_bodies;
mod stored_diff;
mod unlisted_pages;
mod version_pages;
mod web_archive;
mod working_tree;
mod write_version;
mod writer;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use varve_core::body::{BodyError, StoredBody};
use varve_core::history::Capture;
use varve_store::body::LooseBodies;

use crate::error::RepositoryError;

pub use archive::catch_up;
pub use archive::{ArchiveHistoryReader, ArchiveHistoryWriter};
pub use capture_pairs::{CapturePair, CapturePairs, PageChange};
pub use catalog_filler::OmittedRow;
pub use catalog_filler::{CatalogFiller, FilledCatalog};
pub use check_evidence::{detail_of, evidence_capture, evidence_of, named_check};
pub use committed_changes::{ChangeCounts, EachChange, NewCommit, StateChange, each_change_since};
pub use committed_pages::{CommittedPage, CommittedPages, SortedPages};
pub use crystal::CrystalHistoryReader;
pub use crystal::{DownloadFacts, time_of_revision};
pub use head_state::HeadState;
pub use history_audit::{HistoryAudit, subject_of};
pub use host_pairing::{HostPair, HostPairing};
pub use loaded_page::{LoadedPage, MAX_COMPARED_BYTES, STATUS_NOT_MODIFIED, headers_of, with_full_response};
pub use moku::{MokuHistoryReader, MokuHistoryWriter, MokuWriterOptions};
pub use open_layout::{
    ReaderOptions, open_reader, open_reader_choosing, open_reader_with, open_writer, open_writer_of,
};
pub use pending_changes::{FindChanges, PendingChanges};
pub use reader::HistoryReader;
pub use removal::{open_body_or_removal, removal_of};
pub use resolve_version::{known_version, named_version, parse_version_time};
pub use resolve_version::{resolve_named_version, resolve_version};
pub use state_pages::StatePages;
pub use stored_diff::{stored_diff, whole_stored_diff};
pub use unlisted_pages::{CommittedFolder, UnlistedPages};
pub use varve_moku::{BODY_FILE, HEADERS_FILE, are_headers_of, original_folder};
pub use version_pages::VersionPages;
pub use web_archive::WebArchiveHistoryReader;
pub use working_tree::{
    CheckoutReport, CoveredPages, record_covered, remove_from_tree, update_tree, write_tree, write_tree_lossy,
};
pub use working_tree::{MAX_HEADERS_BYTES, PageFolder, WorkingTree, digest_of, tree_folder};
pub use write_version::{
    KeptIntent, VersionChanges, half_entered_error, pairs_with_parent, parts_of, write_version,
    write_with_diff,
};
pub use writer::HistoryWriter;

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
