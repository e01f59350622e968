//! What pages in browsers were answered lately, so that nothing is asked for twice: not by two pages at the same time, not twice by
//! one, and not by the run beside them.
//!
//! An answer is in a silo, and found there, only after its page is done. Until then it is here, and for as long as there is room. What may not
//! be given again, by the word of its server, is not: it is asked for as often as a page wants it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use varve_core::exchange::Exchange;
use varve_wire::ResponseHead;

/// So many bytes are held, all together.
const MAX_CACHED_BYTES: u64 = 64 << 20;
/// And so many answers.
const MAX_CACHED_RESPONSES: usize = 4096;
/// An answer that is longer is not held, nor read again from where it is kept.
pub(crate) const MAX_RESPONSE_BYTES: u64 = 16 << 20;

/// What was asked and answered lately.
#[derive(Default)]
pub(crate) struct ResponseCache {
    state: Mutex<CacheState>,
    /// Something was answered, or will not be.
    changed: Notify,
}

#[derive(Default)]
struct CacheState {
    slots: HashMap<String, CacheSlot>,
    /// What is held, the oldest first, each with its size.
    order: VecDeque<(String, u64)>,
    bytes: u64,
}

enum CacheSlot {
    /// A page asks for it.
    Asking,
    /// It was answered.
    Held(Box<Exchange>),
    /// A page sent something there: what was answered before may be so no longer.
    Outdated,
}

/// What is known of a URL.
pub(crate) enum CachedResponse {
    /// Nothing.
    Nothing,
    /// A page asks for it.
    Asking,
    /// It was answered.
    Held(Box<Exchange>),
    /// What is known of it counts no longer.
    Outdated,
}

impl ResponseCache {
    /// What is known of a URL now.
    pub(crate) fn look(&self, url: &str) -> CachedResponse {
        match self.state().slots.get(url) {
            None => CachedResponse::Nothing,
            Some(CacheSlot::Asking) => CachedResponse::Asking,
            Some(CacheSlot::Held(exchange)) => CachedResponse::Held(exchange.clone()),
            Some(CacheSlot::Outdated) => CachedResponse::Outdated,
        }
    }

    /// What is known of a URL once nobody asks for it.
    pub(crate) async fn look_when_quiet(&self, url: &str) -> CachedResponse {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on nothing is missed.
            changed.as_mut().enable();
            match self.look(url) {
                CachedResponse::Asking => changed.await,
                look => return look,
            }
        }
    }

    /// Someone asks for a URL, unless somebody else does.
    pub(crate) fn ask(self: &Arc<Self>, url: &str) -> Option<CacheReservation> {
        let mut state = self.state();
        if matches!(state.slots.get(url), Some(CacheSlot::Asking)) {
            return None;
        }
        state.slots.insert(url.to_owned(), CacheSlot::Asking);
        Some(CacheReservation { memory: Arc::clone(self), url: url.to_owned() })
    }

    /// Something is sent to a URL.
    pub(crate) fn outdate(&self, url: &str) {
        let mut state = self.state();
        if !matches!(state.slots.get(url), Some(CacheSlot::Asking)) {
            state.slots.insert(url.to_owned(), CacheSlot::Outdated);
            state.order.push_back((url.to_owned(), 0));
            state.make_room();
        }
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn hold(&mut self, url: &str, exchange: Exchange) {
        let size = exchange.response.len();
        self.slots.insert(url.to_owned(), CacheSlot::Held(Box::new(exchange)));
        self.order.push_back((url.to_owned(), size));
        self.bytes += size;
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.bytes > MAX_CACHED_BYTES || self.order.len() > MAX_CACHED_RESPONSES {
            let Some((url, size)) = self.order.pop_front() else { return };
            self.bytes -= size;
            if !matches!(self.slots.get(&url), Some(CacheSlot::Asking)) {
                self.slots.remove(&url);
            }
        }
    }
}

/// A question under way. Dropped without an answer, it may be asked by another.
pub(crate) struct CacheReservation {
    memory: Arc<ResponseCache>,
    url: String,
}

impl CacheReservation {
    /// An answer came.
    pub(crate) fn answered(self, exchange: &Exchange) {
        let head = exchange.head().ok().flatten();
        let is_whole = exchange.truncated.is_none() && exchange.response.len() <= MAX_RESPONSE_BYTES;
        if is_whole && head.is_some_and(|head| is_reusable(&head)) {
            self.memory.state().hold(&self.url, exchange.clone());
        }
    }
}

impl Drop for CacheReservation {
    fn drop(&mut self) {
        let mut state = self.memory.state();
        if matches!(state.slots.get(&self.url), Some(CacheSlot::Asking)) {
            state.slots.remove(&self.url);
        }
        drop(state);
        self.memory.changed.notify_waiters();
    }
}

/// Whether an answer is one for whoever asks. A piece of something is not, nor what depends on who asks, nor that a server could not
/// answer now.
pub(crate) fn is_reusable(head: &ResponseHead<'_>) -> bool {
    let says = |name: &str, word: &str| {
        let values = head.headers.get_text(name).unwrap_or_default().to_ascii_lowercase();
        values.split(',').any(|value| value.trim() == word)
    };
    let is_whole = !matches!(head.status, 0 | 206 | 304 | 416 | 429 | 500..);
    is_whole && !says("cache-control", "no-store") && !says("vary", "*") && !says("vary", "origin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(head: &str, length: usize) -> Exchange {
        let response = [format!("HTTP/1.1 {head}\r\n\r\n").into_bytes(), vec![b'x'; length]].concat();
        Exchange {
            url: "http://h/".to_owned(),
            at: varve_core::Moment::from_seconds(0),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: response.into(),
            interim: 0,
            ip: None,
            protocol: Vec::new(),
            cipher: None,
            timing: Default::default(),
            truncated: None,
            trailers: Vec::new(),
        }
    }

    #[test]
    fn what_is_reusable_is_held_and_the_rest_is_not() {
        let memory = Arc::new(ResponseCache::default());
        let held = |head: &str| {
            let asking = memory.ask("http://h/").unwrap();
            assert!(memory.ask("http://h/").is_none(), "one asks at a time");
            asking.answered(&exchange(head, 1));
            matches!(memory.look("http://h/"), CachedResponse::Held(_))
        };
        assert!(held("200 OK"));
        assert!(held("404 Not Found\r\nCache-Control: no-cache\r\nVary: Accept-Encoding"));
        for head in [
            "200 OK\r\nCache-Control: private, No-Store",
            "200 OK\r\nVary: Accept, Origin",
            "206 Partial Content",
            "503 Service Unavailable",
            "no HTTP",
        ] {
            assert!(!held(head), "{head}");
        }
        memory.outdate("http://h/");
        assert!(matches!(memory.look("http://h/"), CachedResponse::Outdated));
        drop(memory.ask("http://h/"));
        assert!(matches!(memory.look("http://h/"), CachedResponse::Nothing), "it came to nothing");
    }

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let memory = Arc::new(ResponseCache::default());
        let size = usize::try_from(MAX_RESPONSE_BYTES).unwrap();
        for number in 0..8 {
            let url = format!("http://h/{number}");
            memory.ask(&url).unwrap().answered(&exchange("200 OK", size - 100));
        }
        let held =
            |number: u32| matches!(memory.look(&format!("http://h/{number}")), CachedResponse::Held(_));
        assert!(!held(0) && held(7));
        assert!(memory.state().bytes <= MAX_CACHED_BYTES);
        memory.ask("http://h/long").unwrap().answered(&exchange("200 OK", size + 1));
        assert!(matches!(memory.look("http://h/long"), CachedResponse::Nothing));
    }
}
