//! `purge`: permanently removes data from the silos, and records the removal.
//!
//! No other operation removes data from silos. It writes new silos beside the old ones, without the
//! removed data: captures and committed bodies of some URLs, whole versions, objects and trees.
//! Silos before the first affected one are kept as hard links, so the archive does not exist twice.
//! Each removed record leaves a tombstone.
//!
//! Index and catalog of the new silos are built before they are in place. Then the two folders of
//! silos are exchanged in one step, and the new index and catalog follow. An interruption before
//! that step leaves the old archive intact, and one after it the new archive. A mark among the new
//! silos says that index and catalog are ready but not in place. The next writer moves them there
//! (`pending_swap`).
//!
//! A dictionary contains text of pages, so no old dictionary stays when something is removed
//! (`dictionary`).
//!
//! A version lists what it changed. Pages of a removed version that its child still shows become
//! pages of the child (`adopt`), so the states of the remaining versions stay as they are.
//!
//! The manifests of remaining versions are not changed, since their digests are the ids of the
//! versions. A removed page is still listed in them, by URL and digest. It therefore leaves its own
//! tombstone, which hides it in all earlier versions, even if its body stays because something else
//! references it.

mod adopt;
mod choose;
mod dictionary;
mod holders;
mod replace;

use std::collections::HashSet;

use varve_core::body::BodySource;
use varve_core::fact::{AdoptedPages, StateChanges, Tombstone, media_type};
use varve_core::{Moment, RecordId, VersionId};
use varve_store::purge::{copy_silos_without, first_to_copy};
use varve_store::record::record_uri;
use varve_store::{NewObject, StoreError, StoreWriter};
use varve_warc::write::Packer;

use super::capture::refuse_user_info;
use crate::error::ArchiveError;
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::history::parts_of;

pub use choose::PurgeSelection;
pub use dictionary::Dictionaries;
pub use varve_core::pattern::{AtSign, GroupPattern};
pub use varve_store::purge::PromotedRevisit;

/// Maximum number of pages in one record of adopted pages.
const MAX_ADOPTED_PAGES: usize = 1_000;

/// What to remove, and why.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Captures and committed pages of these URLs.
    pub urls: Vec<String>,
    /// Captures and pages whose URL matches one of these patterns.
    pub patterns: Vec<GroupPattern>,
    /// These versions, with everything that only they reference.
    pub versions: Vec<VersionId>,
    /// These objects; for trees, with everything that only they reference.
    pub objects: Vec<RecordId>,
    /// The person who requests the removal.
    pub who: String,
    /// The reason.
    pub why: String,
}

/// The result of a purge, for the records of the requester.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The tombstones, one for each removed record.
    pub tombstones: Vec<Tombstone>,
    /// The tombstones of committed pages removed from remaining versions: one for each URL and
    /// body.
    pub pages: Vec<Tombstone>,
    /// Number of records kept.
    pub kept: u64,
    /// Revisits that became responses because their original was removed.
    pub promoted: Vec<PromotedRevisit>,
    /// What was done with the dictionaries.
    pub dictionaries: Dictionaries,
    /// Bytes of the silos before the first affected one, whose files are unchanged.
    pub bytes_untouched: u64,
    /// Bytes of all silos before the purge.
    pub bytes_before: u64,
    /// Bytes of all silos after the purge.
    pub bytes_after: u64,
}

impl Report {
    /// The pages without a removed record of their own, mostly because others reference their
    /// bodies.
    pub fn pages_alone(&self) -> impl Iterator<Item = &Tombstone> {
        choose::pages_alone(&self.tombstones, &self.pages)
    }
}

/// Computes what would be removed; changes nothing.
pub fn plan(writer: &ArchiveWriter, request: &Request) -> Result<PurgeSelection, ArchiveError> {
    if request.why.trim().is_empty() {
        return Err(ArchiveError::NoReason);
    }
    for url in &request.urls {
        refuse_user_info(url)?;
    }
    PurgeSelection::of(writer, request)
}

/// Writes new silos without the selected data, and replaces the old ones with them.
pub fn perform(
    writer: ArchiveWriter,
    request: &Request,
    choice: &PurgeSelection,
    progress: &dyn Fn(u64),
) -> Result<Report, ArchiveError> {
    let now = Moment::from(writer.now().instant);
    let bytes_before = replace::bytes(writer.backends())?;
    let dropped: HashSet<RecordId> = choice.records.iter().map(|gone| gone.record).collect();
    let renewed = dictionary::renewed(&writer, &dropped)?;
    let first = choice.first_silo().into_iter().chain(renewed.first_silo).min();
    let first = first_to_copy(&writer.backends().silos(), first)?;
    let dictionaries = renewed.fate;
    let new = replace::Prepared::begin(&writer, first, renewed)?;
    let done = copy_silos_without(&writer.reader(), first, new.store(), &dropped, progress)?;
    let kept = choice.records_before(first) + done.kept + keep_bodies(&writer, new.store(), choice)?;
    let bytes_untouched = new.linked();
    let mut receipt = Report { kept, dictionaries, bytes_before, bytes_untouched, ..Report::default() };
    let to_tombstone = |mut tombstone: Tombstone| {
        request.who.clone_into(&mut tombstone.who);
        request.why.clone_into(&mut tombstone.why);
        tombstone.time = now;
        tombstone
    };
    receipt.tombstones.extend(choice.records.iter().cloned().map(to_tombstone));
    let replaced = done.promoted.iter().map(|promoted| choice.replaced(promoted));
    receipt.tombstones.extend(replaced.map(to_tombstone));
    receipt.pages.extend(choice.pages.iter().cloned().map(to_tombstone));
    receipt.promoted = done.promoted;
    let mut packer = new.store().small_packer()?;
    for tombstone in receipt.tombstones.iter().chain(&receipt.pages) {
        bury(new.store(), &mut packer, writer.now(), tombstone)?;
    }
    for (version, changes) in &choice.adopted {
        write_adopted(new.store(), &mut packer, (writer.now(), now), *version, changes)?;
    }
    new.finish(&writer)?;
    receipt.bytes_after = replace::bytes(writer.backends())?;
    Ok(receipt)
}

/// Stores bodies that only removed responses held, and that are still needed, as separate objects.
/// Returns their number.
fn keep_bodies(
    writer: &ArchiveWriter,
    store: &StoreWriter,
    choice: &PurgeSelection,
) -> Result<u64, ArchiveError> {
    let (old, mut packer) = (writer.reader(), store.small_packer()?);
    let mut kept = 0;
    for body in &choice.answered {
        if store.has(body)? {
            continue;
        }
        if let Some(mut bytes) = old.open_body(&body.body())? {
            let content_type = "application/octet-stream".to_owned();
            let object = NewObject { date: writer.now(), content_type, refers_to: None, known: None };
            store.store_reader(&mut packer, &object, &mut bytes)?;
            kept += 1;
        }
    }
    Ok(kept)
}

/// Writes the pages that a version adopts.
fn write_adopted(
    store: &StoreWriter,
    packer: &mut Packer,
    (date, time): (varve_warc::date::Date, Moment),
    version: VersionId,
    changes: &StateChanges,
) -> Result<(), ArchiveError> {
    let about = format!("urn:uuid:{version}");
    for (part, changes) in parts_of(changes, MAX_ADOPTED_PAGES).enumerate() {
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        let adopted = AdoptedPages { version, time, part, changes };
        let json = serde_json::to_vec(&adopted).expect("adopted pages can be written as JSON");
        let object = NewObject {
            date,
            content_type: media_type::ADOPTED.to_owned(),
            refers_to: Some(about.parse().map_err(StoreError::from)?),
            known: None,
        };
        store.store_bytes(packer, &object, &json)?;
    }
    Ok(())
}

/// Writes a tombstone.
fn bury(
    store: &StoreWriter,
    packer: &mut Packer,
    date: varve_warc::date::Date,
    tombstone: &Tombstone,
) -> Result<(), ArchiveError> {
    let json = serde_json::to_vec(tombstone).expect("a tombstone can be written as JSON");
    let object = NewObject {
        date,
        content_type: media_type::TOMBSTONE.to_owned(),
        refers_to: Some(record_uri(&tombstone.record)),
        known: None,
    };
    store.store_bytes(packer, &object, &json)?;
    Ok(())
}
