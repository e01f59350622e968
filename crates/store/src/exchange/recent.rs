//! Payloads that were kept a moment ago: the index does not know them before they are synced, and a crawl meets the same
//! answer at many URLs within seconds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use varve_warc::digest::Digest;

use super::Original;

/// So many are remembered: a few megabytes.
const MOST: usize = 16 << 10;

/// What was kept lately, by body.
#[derive(Default)]
pub(super) struct Recent(Mutex<State>);

#[derive(Default)]
struct State {
    by_body: HashMap<[u8; 32], (Digest, Original)>,
    order: VecDeque<[u8; 32]>,
}

impl Recent {
    /// The record that holds this body with this payload.
    pub(super) fn find(&self, body: &[u8; 32], payload: &Digest) -> Option<Original> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.by_body.get(body).filter(|(held, _)| held == payload).map(|(_, original)| original.clone())
    }

    pub(super) fn remember(&self, body: [u8; 32], payload: Digest, original: Original) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.by_body.insert(body, (payload, original)).is_none() {
            state.order.push_back(body);
        }
        if state.order.len() > MOST
            && let Some(oldest) = state.order.pop_front()
        {
            state.by_body.remove(&oldest);
        }
    }
}
