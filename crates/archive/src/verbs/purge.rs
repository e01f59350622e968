//! `rewrite`: takes things out of the silos for good, and writes down that it did.
//!
//! Nothing else ever does. New silos are written beside the old ones, without what is to go: captures and committed
//! bodies of some URLs, whole versions, objects and trees. Silos before the first that holds any of it stay the files
//! that they are, under a second name, so that an archive is not there twice. Each record that went leaves a tombstone. Index and catalog of the new silos are made
//! while they are not yet in place. Then the two folders of silos change places in one step, and the new index and catalog
//! follow. Whatever stops it, before that step the old archive is whole, after it the new one is: a mark among the new silos says
//! that index and catalog lie ready and are not in place, and the next who opens it for writing puts them there (`unsettled`).
//!
//! A dictionary holds pages as they were, so that none stays when something goes (`dictionary`).
//!
//! The manifests of versions that stay are not touched, since their digests are the ids of the versions: a page that
//! went is still listed in them, by URL and digest. So it leaves a tombstone of its own, which hides it in all versions
//! before, also where its body stays because something else holds it.

mod choose;
mod dictionary;
mod holders;
mod replace;

use std::collections::{BTreeMap, HashSet};

use varve_core::body::BodySource;
use varve_core::fact::{Tombstone, media_type};
use varve_core::{BodyId, Moment, RecordId, VersionId};
use varve_store::purge::{copy_silos_without, first_to_copy};
use varve_store::{NewObject, StoreWriter};
use varve_warc::write::Packer;

use crate::error::ArchiveError;
use varve_repository::archive::open_silo_files;
use varve_repository::archive_writer::ArchiveWriter;

pub use choose::PurgeSelection;
pub use dictionary::Dictionaries;
pub use varve_core::pattern::{AtSign, GroupPattern};
pub use varve_store::purge::PromotedRevisit;

/// What is to go, and why.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Captures and committed pages of these URLs.
    pub urls: Vec<String>,
    /// Those whose URL matches one of these patterns.
    pub patterns: Vec<GroupPattern>,
    /// These versions, with all that only they hold.
    pub versions: Vec<VersionId>,
    /// These objects, of trees with all that only they hold.
    pub objects: Vec<RecordId>,
    /// Who wants it.
    pub who: String,
    /// Why.
    pub why: String,
}

/// What was done: for the records of whoever asked for it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The tombstones: one for each record that is gone.
    pub tombstones: Vec<Tombstone>,
    /// Those of committed pages that are out of versions that stay: each URL once for each body that it had.
    pub pages: Vec<Tombstone>,
    /// Records that stayed.
    pub kept: u64,
    /// Revisits that became responses because their original went.
    pub promoted: Vec<PromotedRevisit>,
    /// What became of dictionaries.
    pub dictionaries: Dictionaries,
    /// Bytes of silos before the first that held something of it: they are the files that they were.
    pub bytes_untouched: u64,
    /// Bytes of all silos before.
    pub bytes_before: u64,
    /// Bytes of all silos after.
    pub bytes_after: u64,
}

impl Report {
    /// Records that are gone, by kind.
    pub fn by_kind(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for tombstone in &self.tombstones {
            *counts.entry(tombstone.kind.as_str()).or_default() += 1;
        }
        counts
    }

    /// The pages that no record that is gone tells of: mostly because others hold their bodies.
    pub fn pages_alone(&self) -> impl Iterator<Item = &Tombstone> {
        choose::pages_alone(&self.tombstones, &self.pages)
    }
}

/// Finds out what would go; changes nothing.
pub fn plan(writer: &ArchiveWriter, request: &Request) -> Result<PurgeSelection, ArchiveError> {
    if request.why.trim().is_empty() {
        return Err(ArchiveError::NoReason);
    }
    PurgeSelection::of(writer, request)
}

/// Writes new silos without what was chosen, and puts them in the place of the old ones.
pub fn perform(
    writer: ArchiveWriter,
    request: &Request,
    choice: &PurgeSelection,
    progress: &dyn Fn(u64),
) -> Result<Report, ArchiveError> {
    let now = Moment::from(writer.now().instant);
    let bytes_before = replace::bytes(writer.layout())?;
    let dropped: HashSet<RecordId> = choice.records.iter().map(|gone| gone.record).collect();
    let renewed = dictionary::renewed(&writer, &dropped)?;
    let first = choice.first_silo().into_iter().chain(renewed.first_silo).min();
    let first = first_to_copy(&open_silo_files(writer.layout()), first)?;
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
    let replaced = done.promoted.iter().map(|promoted| choice.replaced(promoted, now));
    receipt.tombstones.extend(replaced.map(to_tombstone));
    receipt.pages.extend(choice.pages.iter().cloned().map(to_tombstone));
    receipt.promoted = done.promoted;
    let mut packer = new.store().small_packer()?;
    for tombstone in receipt.tombstones.iter().chain(&receipt.pages) {
        bury(new.store(), &mut packer, writer.now(), tombstone)?;
    }
    let layout = writer.layout().clone();
    new.finish(&writer)?;
    receipt.bytes_after = replace::bytes(&layout)?;
    Ok(receipt)
}

/// Keeps bodies as objects of their own that only answers held which went; says how many.
fn keep_bodies(
    writer: &ArchiveWriter,
    store: &StoreWriter,
    choice: &PurgeSelection,
) -> Result<u64, ArchiveError> {
    let (old, mut packer) = (writer.reader(), store.small_packer()?);
    let mut kept = 0;
    for body in &choice.answered {
        if store.has(body.as_bytes())? {
            continue;
        }
        if let Some(mut bytes) = old.open_body(&BodyId::new(*body.as_bytes()))? {
            let content_type = "application/octet-stream".to_owned();
            let object = NewObject { date: writer.now(), content_type, refers_to: None, known: None };
            store.store_reader(&mut packer, &object, &mut bytes)?;
            kept += 1;
        }
    }
    Ok(kept)
}

/// Writes a tombstone down.
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
        refers_to: Some(tombstone.record.to_string()),
        known: None,
    };
    store.store_bytes(packer, &object, &json)?;
    Ok(())
}
