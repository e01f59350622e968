//! Limits on why a URL is fetched. [`FetchReason`] itself belongs to the frontier, which stores it.
//!
//! A URL may be wanted for two reasons, as a page and as a part of another. It is fetched once; the
//! second reason finds the capture of the first and reads it again. So the result does not depend
//! on which reason came first.

pub(crate) use varve_core::frontier::{FetchKind, FetchReason};

/// The longest chain of embedded resources: a page, a style sheet, its imports, their fonts.
pub(crate) const MAX_EMBED_CHAIN: u8 = 5;
/// How many sitemaps in a row may name each other.
pub(crate) const MAX_SITEMAP_NESTING: u8 = 3;
