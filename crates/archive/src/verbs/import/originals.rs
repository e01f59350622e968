//! Finds the stored response that an imported revisit repeats.
//!
//! A revisit names its original by the id of a record, by target URI and date, or only by the
//! digest of the payload. They are tried in this order: first among the records imported just now,
//! which no index has yet, then in the archive.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use varve_core::Moment;
use varve_core::history::{CaptureFilter, ListCursor, TimeOrder};
use varve_repository::RepositoryError;
use varve_repository::history::ArchiveHistoryWriter;
use varve_store::exchange::RevisitOriginal;
use varve_store::record::SourceKey;
use varve_warc::date::Date;
use varve_warc::record::RecordHeader;

use crate::error::ArchiveError;

/// Keys of recent records that are held in memory. More than the records between two syncs have.
const MAX_RECENT_KEYS: usize = 48 << 10;
/// Captures of one URL at one instant that are considered.
const MAX_CAPTURES_AT_INSTANT: usize = 8;

/// Finds originals.
pub(super) struct Originals<'a> {
    history: &'a ArchiveHistoryWriter,
    recent: HashMap<OriginalKey, Rc<RevisitOriginal>>,
    order: VecDeque<OriginalKey>,
}

/// A way to name a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OriginalKey {
    Record(Vec<u8>),
    Target {
        url: String,
        date: String,
    },
    /// The digest as text.
    Payload(String),
}

impl<'a> Originals<'a> {
    pub(super) fn new(history: &'a ArchiveHistoryWriter) -> Self {
        Self { history, recent: HashMap::new(), order: VecDeque::new() }
    }

    /// Remembers a record that was just imported, with the record that holds its payload.
    pub(super) fn remember(&mut self, source: &RecordHeader, original: RevisitOriginal) {
        let original = Rc::new(original);
        let target = key_of_target(source.target_uri(), source.date());
        let id = source.record_id().map(|id| OriginalKey::Record(id.to_vec()));
        for key in [id, target, key_of_payload(source)].into_iter().flatten() {
            if self.recent.insert(key.clone(), Rc::clone(&original)).is_none() {
                self.order.push_back(key);
            }
        }
        while self.order.len() > MAX_RECENT_KEYS {
            if let Some(oldest) = self.order.pop_front() {
                self.recent.remove(&oldest);
            }
        }
    }

    /// The record with the payload of a revisit.
    pub(super) fn find(&self, revisit: &RecordHeader) -> Result<Option<RevisitOriginal>, ArchiveError> {
        let id = revisit.reference("WARC-Refers-To").map(|id| OriginalKey::Record(id.to_vec()));
        let date = revisit.fields.get("WARC-Refers-To-Date").and_then(Date::parse);
        let target = key_of_target(revisit.reference("WARC-Refers-To-Target-URI"), date);
        for key in [id, target, key_of_payload(revisit)].into_iter().flatten() {
            if let Some(original) = self.recent.get(&key) {
                return Ok(Some(RevisitOriginal::clone(original)));
            }
            if let Some(original) = self.find_stored(&key, revisit)? {
                return Ok(Some(original));
            }
        }
        Ok(None)
    }

    fn find_stored(
        &self,
        key: &OriginalKey,
        revisit: &RecordHeader,
    ) -> Result<Option<RevisitOriginal>, ArchiveError> {
        let reader = self.history.writer().reader();
        let stored = |found: Result<_, varve_store::StoreError>| Ok(found.map_err(RepositoryError::from)?);
        match key {
            OriginalKey::Record(id) => stored(reader.original_of_source(&SourceKey::Record(id.clone()))),
            OriginalKey::Payload(_) => match revisit.payload_digest() {
                Some(Ok(digest)) => stored(reader.original_of_source(&SourceKey::Payload(digest))),
                _ => Ok(None),
            },
            OriginalKey::Target { url, date } => {
                let instant = Date::parse(date.as_bytes()).map(|date| Moment::from(date.instant));
                let filter = CaptureFilter { since: instant, until: instant, committed_only: false };
                let cursor = ListCursor::first(MAX_CAPTURES_AT_INSTANT);
                let order = TimeOrder::NewestFirst;
                for capture in self.history.catalog().captures_of(url, &filter, order, cursor)? {
                    let Some(record) = capture.record else { continue };
                    if let Some(original) = stored(reader.original_of_capture(&record))? {
                        return Ok(Some(original));
                    }
                }
                Ok(None)
            }
        }
    }
}

fn key_of_target(url: Option<&[u8]>, date: Option<Date>) -> Option<OriginalKey> {
    let url = String::from_utf8_lossy(url?).into_owned();
    Some(OriginalKey::Target { url, date: date?.to_string() })
}

/// The key by payload. The digest of no bytes names no original: some programs write it on every
/// revisit whose response had no body.
fn key_of_payload(header: &RecordHeader) -> Option<OriginalKey> {
    let digest = header.payload_digest()?.ok()?;
    let is_empty = digest.algorithm().digest(b"") == digest;
    (!is_empty).then(|| OriginalKey::Payload(digest.to_string()))
}
