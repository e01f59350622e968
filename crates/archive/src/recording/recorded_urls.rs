//! Which exchange of a recording is the capture of its URL.
//!
//! A version has one capture of each URL. A browser requests many URLs again, and the first response
//! is not always the page: it may ask for a login, or redirect to set a cookie. So the first response
//! to a `GET` is a capture, and the first successful one after it as well. All others are recorded as
//! exchanges that are not captures (decision 038), as are other methods and parts of a body.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use varve_core::exchange::Exchange;

/// What a recording has of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecordedState {
    /// A response that is not the page: a redirect, an error, or a truncated one.
    Provisional,
    /// A complete response with the page.
    Complete,
}

/// The URLs that a recording has captures of.
#[derive(Default)]
pub(crate) struct RecordedUrls(Mutex<HashMap<[u8; 16], RecordedState>>);

impl RecordedUrls {
    /// Whether the recording has a complete capture of a URL.
    pub(super) fn is_complete(&self, url: &str) -> bool {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.get(&key(url)) == Some(&RecordedState::Complete)
    }

    /// Whether an exchange is a capture of its URL; then it is noted.
    pub(super) fn admit(&self, exchange: &Exchange) -> bool {
        let Some(status) = exchange.head().ok().flatten().map(|head| head.status) else { return false };
        if !exchange.is_get() || matches!(status, 101 | 206 | 304) {
            return false;
        }
        let is_complete = (200..300).contains(&status) && exchange.truncated.is_none();
        self.note(&exchange.url, is_complete)
    }

    /// Notes a capture of a URL. Whether it says more than the captures before it.
    pub(crate) fn note(&self, url: &str, is_complete: bool) -> bool {
        let state = if is_complete { RecordedState::Complete } else { RecordedState::Provisional };
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = states.get(&key(url)).copied();
        if known >= Some(state) {
            return false;
        }
        states.insert(key(url), state);
        true
    }
}

fn key(url: &str) -> [u8; 16] {
    let digest = Sha256::digest(url.as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::Moment;

    fn exchange(method: &str, status: u16) -> Exchange {
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes();
        let mut exchange =
            Exchange::of_response("http://h/".to_owned(), Moment::from_seconds(0), response.into());
        exchange.request = format!("{method} / HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes();
        exchange
    }

    #[test]
    fn the_first_response_and_the_first_good_one_are_captures() {
        let urls = RecordedUrls::default();
        assert!(urls.admit(&exchange("GET", 302)) && !urls.is_complete("http://h/"));
        assert!(!urls.admit(&exchange("GET", 503)));
        assert!(urls.admit(&exchange("GET", 200)) && urls.is_complete("http://h/"));
        assert!(!urls.admit(&exchange("GET", 200)) && !urls.admit(&exchange("GET", 404)));
    }

    #[test]
    fn other_methods_and_partial_responses_are_no_captures() {
        let urls = RecordedUrls::default();
        for (method, status) in [("POST", 200), ("HEAD", 200), ("GET", 206), ("GET", 304), ("GET", 101)] {
            assert!(!urls.admit(&exchange(method, status)), "{method} {status}");
        }
        assert!(urls.admit(&exchange("GET", 200)));
    }
}
