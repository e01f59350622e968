//! `key`: the cleaned form of a URL and the numbers it is found by.
//!
//! The key is for looking up, never an identity: two URLs may share one.

pub use varve_core::url::{KeyReport, UrlError};

/// Cleans `url` and says its keys.
pub fn key(url: &str) -> Result<KeyReport, UrlError> {
    KeyReport::of(url)
}
