//! `key`: computes the cleaned form of a URL and its lookup keys.
//!
//! A key is for lookups, never an identity: two URLs may share one.

pub use varve_core::secret::ShownUrl;
pub use varve_core::url::{KeyReport, UrlError};

/// Cleans `url` and returns its keys.
pub fn key(url: &str) -> Result<KeyReport, UrlError> {
    KeyReport::of(url)
}
