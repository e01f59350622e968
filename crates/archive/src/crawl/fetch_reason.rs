//! Why a URL is fetched, which decides what follows from it.
//!
//! The same URL may be wanted for two reasons, as a page and as a part of another. It is fetched once; the second
//! reason finds the first one's capture and takes from it what it needs. So what an archive holds in the end does not
//! depend on which reason came first.

/// Pages embed style sheets that import others that embed fonts: no chain is longer.
pub(crate) const MAX_EMBED_CHAIN: u8 = 5;
/// More than the length of any chain.
const FRAME_CHAIN_RADIX: u32 = 16;
/// Sitemaps name sitemaps: no further than this.
pub(crate) const MAX_SITEMAP_NESTING: u8 = 3;

/// A reason to fetch something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FetchReason {
    /// A page, so many links away from a seed.
    Page {
        /// Zero for a seed.
        depth: u32,
    },
    /// A part of a page, or of such a part.
    Embed {
        /// One for a part of a page.
        chain: u8,
    },
    /// A document in a frame of a page: a part of the page, whose links are the page's links as far as it lies in the scope.
    Frame {
        /// How many links its page is away from a seed.
        depth: u32,
        /// One for a frame of a page, two for a frame in that.
        chain: u8,
    },
    /// A sitemap, named by so many others.
    Sitemap {
        /// Zero for one that the site names itself.
        nesting: u8,
    },
    /// The file that tells robots what not to do.
    Robots,
}

impl FetchReason {
    /// A letter, as the frontier keeps it.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Page { .. } => 'p',
            Self::Embed { .. } => 'e',
            Self::Frame { .. } => 'f',
            Self::Sitemap { .. } => 'l',
            Self::Robots => 'r',
        }
    }

    /// Its number, as the frontier keeps it.
    pub(crate) const fn steps(self) -> u32 {
        match self {
            Self::Page { depth } => depth,
            Self::Embed { chain } => chain as u32,
            // The nearest first, as the frontier has it.
            Self::Frame { depth, chain } => {
                depth.saturating_mul(FRAME_CHAIN_RADIX).saturating_add(chain as u32)
            }
            Self::Sitemap { nesting } => nesting as u32,
            Self::Robots => 0,
        }
    }

    /// The errand of a letter and a number.
    pub(crate) fn read(letter: char, steps: u32) -> Option<Self> {
        let small = u8::try_from(steps).unwrap_or(u8::MAX);
        Some(match letter {
            'p' => Self::Page { depth: steps },
            'e' => Self::Embed { chain: small },
            'f' => Self::Frame { depth: steps / FRAME_CHAIN_RADIX, chain: (steps % FRAME_CHAIN_RADIX) as u8 },
            'l' => Self::Sitemap { nesting: small },
            'r' => Self::Robots,
            _ => return None,
        })
    }

    /// What comes first: lists of pages, then the parts of pages that are here, then pages, those near a seed first.
    pub(crate) fn priority(self) -> u32 {
        match self {
            Self::Robots | Self::Sitemap { .. } => 0,
            Self::Embed { .. } | Self::Frame { .. } => 1,
            Self::Page { depth } => depth.saturating_add(2),
        }
    }

    /// Whether it is wanted as a part of something else.
    pub(crate) const fn is_page_part(self) -> bool {
        matches!(self, Self::Embed { .. } | Self::Frame { .. })
    }

    /// Whether more follows from it the nearer it is to a seed.
    pub(crate) const fn depends_on_depth(self) -> bool {
        matches!(self, Self::Page { .. } | Self::Frame { .. })
    }

    /// Whether its answer counts as a page.
    pub(crate) const fn is_page(self) -> bool {
        matches!(self, Self::Page { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_read_back() {
        for errand in [
            FetchReason::Page { depth: 70_000 },
            FetchReason::Embed { chain: 3 },
            FetchReason::Frame { depth: 70_000, chain: MAX_EMBED_CHAIN },
            FetchReason::Sitemap { nesting: 0 },
            FetchReason::Robots,
        ] {
            assert_eq!(FetchReason::read(errand.letter(), errand.steps()), Some(errand));
        }
        assert_eq!(FetchReason::read('x', 0), None);
    }
}
