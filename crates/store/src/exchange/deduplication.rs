//! Deduplication: decides whether a response repeats a stored one, so that it is written as a
//! `revisit` without its payload.
//!
//! A response is a duplicate if a stored response has the same payload and the same body. The index
//! finds stored responses once they are synced. Newer ones are remembered in memory, because a
//! crawl receives the same response from many URLs within seconds. A 304 response is a revisit of
//! the record that the caller names.
//!
//! Does not write records. Objects, which have no payload, are deduplicated by their id in
//! [`StoreWriter`].

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use varve_core::receipt::Receipt;
use varve_core::{BodyId, RecordId};
use varve_warc::digest::Digest;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::Profile;

use super::examined_response::{ExaminedResponse, STATUS_NOT_MODIFIED};
use super::{NewExchange, RevisitOriginal, payload_of};
use crate::error::StoreError;
use crate::record::{body_of_digest, record_and_body_ids};
use crate::writer::StoreWriter;

/// Maximum number of payloads, a few megabytes.
const MAX_RECENT_PAYLOADS: usize = 16 << 10;

/// Finds the stored response that a new one repeats. Many threads may share it.
pub(super) struct Deduplicator<'a> {
    writer: &'a StoreWriter,
    recent: RecentPayloads,
}

impl<'a> Deduplicator<'a> {
    /// Deduplicates against a store.
    pub(super) fn new(writer: &'a StoreWriter) -> Self {
        Self { writer, recent: RecentPayloads::default() }
    }

    /// The record that a response repeats, if any, and the kind of revisit that it becomes.
    pub(super) fn find_original(
        &self,
        exchange: &NewExchange<'_>,
        examined: &ExaminedResponse<'_>,
    ) -> Result<Option<(Profile, RevisitOriginal)>, StoreError> {
        if let (Some(STATUS_NOT_MODIFIED), Some(original)) = (examined.status(), &exchange.unchanged) {
            return Ok(Some((profile_of(original), original.clone())));
        }
        if let Some(original) = exchange.source.as_ref().and_then(|source| source.repeats.as_ref()) {
            return Ok(Some((profile_of(original), original.clone())));
        }
        let Some(payload) = examined.facts.payload else { return Ok(None) };
        if exchange.truncated.is_some() || examined.payload_length == 0 {
            return Ok(None);
        }
        let Some(body) = body_of_digest(&examined.body) else { return Ok(None) };
        let found = match self.recent.find(&body, &payload) {
            Some(original) => Some(original),
            None => self.find_synced(&body, &payload, examined.body_length)?,
        };
        let date = exchange.date.to_string();
        // An exchange that was stored before is not a revisit of itself.
        let another = found.filter(|original| original.url != exchange.url || original.date != date);
        Ok(another.map(|original| (Profile::IdenticalPayloadDigest(payload), original)))
    }

    /// The synced response with this body and this payload.
    fn find_synced(
        &self,
        body: &BodyId,
        payload: &Digest,
        length: u64,
    ) -> Result<Option<RevisitOriginal>, StoreError> {
        let Some(located) = self.writer.find_synced(&RecordId::of_body(*body))? else { return Ok(None) };
        let same = payload_of(&located.header).as_ref() == Some(payload);
        let is_response = located.header.record_type() == RecordType::Response;
        Ok((same && is_response).then(|| original_of(&located.header, located.id, length)).flatten())
    }

    /// Remembers a response that was just written, before it is synced, and returns it as the
    /// original of later ones.
    pub(super) fn remember(
        &self,
        header: &RecordHeader,
        examined: &ExaminedResponse<'_>,
        receipt: &Receipt,
    ) -> Option<RevisitOriginal> {
        let (own, body) = record_and_body_ids(header);
        let (payload, own) = (examined.facts.payload?, own?);
        if header.record_type() != RecordType::Response {
            return None;
        }
        let original = original_of(header, own, receipt.length)?;
        self.recent.remember(body.unwrap_or(own.body()), payload, original.clone());
        Some(original)
    }
}

/// The kind of revisit that refers to a record.
fn profile_of(original: &RevisitOriginal) -> Profile {
    original.payload.map_or(Profile::ServerNotModified, Profile::IdenticalPayloadDigest)
}

pub(super) fn original_of(header: &RecordHeader, id: RecordId, length: u64) -> Option<RevisitOriginal> {
    let (_, body) = record_and_body_ids(header);
    Some(RevisitOriginal {
        record: id,
        url: String::from_utf8_lossy(header.target_uri()?).into_owned(),
        date: String::from_utf8_lossy(header.fields.get("WARC-Date")?).into_owned(),
        payload: header.payload_digest().and_then(Result::ok),
        body: body?,
        length,
    })
}

/// Recently stored payloads, by body.
#[derive(Default)]
struct RecentPayloads(Mutex<RecentPayloadMap>);

#[derive(Default)]
struct RecentPayloadMap {
    by_body: HashMap<BodyId, (Digest, RevisitOriginal)>,
    order: VecDeque<BodyId>,
}

impl RecentPayloads {
    /// The record with this body and this payload.
    fn find(&self, body: &BodyId, payload: &Digest) -> Option<RevisitOriginal> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.by_body.get(body).filter(|(held, _)| held == payload).map(|(_, original)| original.clone())
    }

    fn remember(&self, body: BodyId, payload: Digest, original: RevisitOriginal) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.by_body.insert(body, (payload, original)).is_none() {
            state.order.push_back(body);
        }
        if state.order.len() > MAX_RECENT_PAYLOADS
            && let Some(oldest) = state.order.pop_front()
        {
            state.by_body.remove(&oldest);
        }
    }
}
