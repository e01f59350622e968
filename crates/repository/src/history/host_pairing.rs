//! Which pages of two hosts are the same page of two versions.
//!
//! Knows hosts and nothing of pages: `CapturePairs` applies the rule to pages with one path.

/// When pages of two hosts are a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostPairing {
    /// Never.
    #[default]
    SameHost,
    /// If the user named the hosts as a pair.
    Named(Vec<HostPair>),
    /// If each page is the only one with its path in its version. This is the rule of Moku, whose
    /// sites are known by paths: the site has moved, which is a change.
    OnlyAtPath,
}

/// Two hosts whose pages are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPair {
    /// The host in the older version, with its port if it has one.
    pub older: String,
    /// The host in the newer version.
    pub newer: String,
}

impl HostPair {
    pub(super) fn is_older(&self, url: &str) -> bool {
        host_of(url).eq_ignore_ascii_case(bare_host(&self.older))
    }

    pub(super) fn is_newer(&self, url: &str) -> bool {
        host_of(url).eq_ignore_ascii_case(bare_host(&self.newer))
    }
}

/// Whether two URLs have the same host, ignoring the scheme and a leading `www.`.
pub(super) fn is_one_host(urls: [&str; 2]) -> bool {
    let [one, other] = urls.map(host_of);
    one.eq_ignore_ascii_case(other)
}

/// The host of a URL with its port, without a leading `www.`.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    bare_host(rest.split(['/', '?', '#']).next().unwrap_or_default())
}

fn bare_host(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}
