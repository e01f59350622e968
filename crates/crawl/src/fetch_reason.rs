//! Limits on why a URL is fetched. [`FetchReason`] itself belongs to the frontier, which stores it.
//!
//! A URL may be wanted for two reasons, as a page and as a part of another. It is fetched once; the
//! second reason finds the capture of the first and reads it again. So the result does not depend
//! on which reason came first.

pub(crate) use varve_core::frontier::{FetchKind, FetchReason};

/// The longest chain of embedded resources: a page, a module, its imports, theirs, and so on. Sites
/// that do not bundle their modules have chains of about ten.
pub(crate) const MAX_EMBED_CHAIN: u8 = 20;
/// The longest chain of frames inside frames.
pub(crate) const MAX_FRAME_CHAIN: u8 = 5;
/// How many sitemaps in a row may name each other.
pub(crate) const MAX_SITEMAP_NESTING: u8 = 3;
