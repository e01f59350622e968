//! A cache of responses that pages in browsers received recently, so that no URL is requested
//! twice: not by two pages at once, not by one page, and not by the run itself.
//!
//! A response is in a silo, and found there, only after its page is done. Until then it is here, as
//! long as there is room. A response whose headers forbid reuse is not: it is requested as often as
//! a page wants it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use varve_core::exchange::Exchange;
use varve_wire::ResponseHead;

/// The total size of all cached responses.
const MAX_CACHED_BYTES: u64 = 64 << 20;
/// The number of cached responses.
const MAX_CACHED_RESPONSES: usize = 4096;
/// A longer response is neither cached nor read from the archive for a page.
pub(crate) const MAX_RESPONSE_BYTES: u64 = 16 << 20;

/// The cache.
#[derive(Default)]
pub(crate) struct ResponseCache {
    state: Mutex<CacheState>,
    /// Notified when a response came or will not come.
    changed: Notify,
}

#[derive(Default)]
struct CacheState {
    slots: HashMap<String, CacheSlot>,
    /// URLs and sizes of cached responses, oldest first.
    order: VecDeque<(String, u64)>,
    bytes: u64,
}

/// The state of a URL in the cache.
#[derive(Clone)]
pub(crate) enum CacheSlot {
    /// A page requests it.
    Asking,
    /// The response is cached.
    Held(Box<Exchange>),
    /// A page sent something there: an earlier response may be outdated.
    Outdated,
}

impl ResponseCache {
    /// The state of a URL now, if the cache knows it.
    pub(crate) fn look(&self, url: &str) -> Option<CacheSlot> {
        self.state().slots.get(url).cloned()
    }

    /// The state of a URL once no page requests it.
    pub(crate) async fn look_when_quiet(&self, url: &str) -> Option<CacheSlot> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Notifications from here on are not missed.
            changed.as_mut().enable();
            match self.look(url) {
                Some(CacheSlot::Asking) => changed.await,
                look => return look,
            }
        }
    }

    /// Reserves a URL for a request, unless another page requests it.
    pub(crate) fn ask(self: &Arc<Self>, url: &str) -> Option<CacheReservation> {
        let mut state = self.state();
        if matches!(state.slots.get(url), Some(CacheSlot::Asking)) {
            return None;
        }
        state.slots.insert(url.to_owned(), CacheSlot::Asking);
        Some(CacheReservation { memory: Arc::clone(self), url: url.to_owned() })
    }

    /// A page sends data to a URL: its cached response is outdated.
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

/// A request in flight. Dropped without a response, another page may request the URL.
pub(crate) struct CacheReservation {
    memory: Arc<ResponseCache>,
    url: String,
}

impl CacheReservation {
    /// The response came.
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

/// Whether a response may be given to another request. A partial one may not, nor one that depends
/// on the client, nor a temporary failure.
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
        let at = varve_core::Moment::from_seconds(0);
        let request = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        Exchange { request, ..Exchange::of_response("http://h/".to_owned(), at, response.into()) }
    }

    #[test]
    fn reusable_responses_are_cached() {
        let memory = Arc::new(ResponseCache::default());
        let held = |head: &str| {
            let asking = memory.ask("http://h/").unwrap();
            assert!(memory.ask("http://h/").is_none(), "one request at a time");
            asking.answered(&exchange(head, 1));
            matches!(memory.look("http://h/"), Some(CacheSlot::Held(_)))
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
        assert!(matches!(memory.look("http://h/"), Some(CacheSlot::Outdated)));
        drop(memory.ask("http://h/"));
        assert!(memory.look("http://h/").is_none(), "there was no response");
    }

    #[test]
    fn the_cache_is_bounded() {
        let memory = Arc::new(ResponseCache::default());
        let size = usize::try_from(MAX_RESPONSE_BYTES).unwrap();
        for number in 0..8 {
            let url = format!("http://h/{number}");
            memory.ask(&url).unwrap().answered(&exchange("200 OK", size - 100));
        }
        let held =
            |number: u32| matches!(memory.look(&format!("http://h/{number}")), Some(CacheSlot::Held(_)));
        assert!(!held(0) && held(7));
        assert!(memory.state().bytes <= MAX_CACHED_BYTES);
        memory.ask("http://h/long").unwrap().answered(&exchange("200 OK", size + 1));
        assert!(memory.look("http://h/long").is_none());
    }
}
