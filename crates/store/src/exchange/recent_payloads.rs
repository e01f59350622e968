//! Recently stored payloads. They are not in the index before a sync, and a crawl receives the same
//! response from many URLs within seconds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use varve_core::BodyId;
use varve_warc::digest::Digest;

use super::RevisitOriginal;

/// Maximum number of payloads, a few megabytes.
const MAX_RECENT_PAYLOADS: usize = 16 << 10;

/// Recently stored payloads, by body.
#[derive(Default)]
pub(super) struct RecentPayloads(Mutex<RecentPayloadMap>);

#[derive(Default)]
struct RecentPayloadMap {
    by_body: HashMap<BodyId, (Digest, RevisitOriginal)>,
    order: VecDeque<BodyId>,
}

impl RecentPayloads {
    /// The record with this body and this payload.
    pub(super) fn find(&self, body: &BodyId, payload: &Digest) -> Option<RevisitOriginal> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.by_body.get(body).filter(|(held, _)| held == payload).map(|(_, original)| original.clone())
    }

    pub(super) fn remember(&self, body: BodyId, payload: Digest, original: RevisitOriginal) {
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
