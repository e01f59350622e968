//! What a version covers: which pages its run or commit asked about, and whether it came to its end.

use serde::{Deserialize, Serialize};

/// What a version covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Which pages it asks about.
    pub scope: CoverageScope,
    /// Whether it asked about all of them. Only then is a page that it does not have gone.
    pub complete: bool,
    /// The number of committed pages that are the same as in the parent's state, and are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchanged: u64,
    /// The URL with a slash at its end below which a committed folder has all pages; empty for all
    /// URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The pages that a run or a commit asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoverageScope {
    /// The named pages.
    Pages,
    /// The pages below a URL.
    Prefix,
    /// The pages of a host.
    Host,
    /// The pages of a domain and its subdomains.
    Domain,
    /// The pages of the plan.
    Plan,
    /// The files of a folder.
    Folder,
}

impl CoverageScope {
    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Prefix => "prefix",
            Self::Host => "host",
            Self::Domain => "domain",
            Self::Plan => "plan",
            Self::Folder => "folder",
        }
    }
}
