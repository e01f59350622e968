//! Limits on why a URL is fetched. [`FetchReason`] itself belongs to the frontier, which stores it.
//!
//! The same URL may be wanted for two reasons, as a page and as a part of another. It is fetched once; the second
//! reason finds the first one's capture and takes from it what it needs. So what an archive holds in the end does not
//! depend on which reason came first.

pub(crate) use varve_core::frontier::{FetchKind, FetchReason};

/// Pages embed style sheets that import others that embed fonts: no chain is longer.
pub(crate) const MAX_EMBED_CHAIN: u8 = 5;
/// Sitemaps name sitemaps: no further than this.
pub(crate) const MAX_SITEMAP_NESTING: u8 = 3;
