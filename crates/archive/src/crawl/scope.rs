//! Where a crawl may go: the scope around its seeds, and the patterns of its user.
//!
//! Only navigations are held to the scope: what a page embeds is part of it, on whatever host it lies. A pattern that
//! excludes counts for both.

use serde::{Deserialize, Serialize};
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::page_identity;

use super::address::host_of;

/// How far around its seeds a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The seeds themselves.
    #[default]
    Page,
    /// What begins as a seed does, up to its last slash.
    Prefix,
    /// The host of a seed, with `www.` before it or not, by http or https.
    Host,
    /// The registered domain of a seed, with all hosts below it.
    Domain,
    /// What a plan asks for: it has chosen before the scope is asked.
    Plan,
}

impl ScopeKind {
    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Prefix => "prefix",
            Self::Host => "host",
            Self::Domain => "domain",
            Self::Plan => "plan",
        }
    }
}

/// Why a URL is not fetched, by the name under which it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipRule {
    /// It lies outside the scope.
    Scope,
    /// No pattern that must match does.
    Include,
    /// A pattern excludes it.
    Exclude(String),
    /// The site asks robots not to; with the line of its file, where one says so.
    Robots(Option<usize>),
    /// It looks like one of endlessly many.
    Trap(varve_core::trap::Trap),
    /// A limit of the run was reached.
    Limit(&'static str),
    /// Too many redirects led to it.
    Redirects,
    /// Too many sitemaps were read, or one names another too often in a row.
    Sitemaps,
    /// The link, or the page that it is on, asks not to be followed.
    NoFollow,
    /// A group of the plan leaves it out.
    DoNotDownload(String),
    /// An alias of the plan leaves it on the live web.
    External,
    /// Its host asks to be left alone for longer than the run waits.
    RetryAfter,
    /// Its address is one that may not be asked.
    Guard,
    /// It is a redirect to what redirected to it.
    Loop,
    /// It is a redirect to what is not on the web.
    Scheme,
    /// It is a redirect to what is no URL.
    Broken,
}

impl SkipRule {
    /// The word for what the guard refuses, among failures and among rules.
    pub(crate) const GUARD: &'static str = "guard";
}

impl std::fmt::Display for SkipRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scope => f.write_str("scope"),
            Self::Include => f.write_str("include"),
            Self::Exclude(pattern) => write!(f, "exclude:{pattern}"),
            Self::Robots(Some(line)) => write!(f, "robots:line {line}"),
            Self::Robots(None) => f.write_str("robots:unavailable"),
            Self::Trap(trap) => write!(f, "trap:{trap}"),
            Self::Limit(which) => write!(f, "limit:{which}"),
            Self::Redirects => f.write_str("redirects"),
            Self::Sitemaps => f.write_str("sitemaps"),
            Self::NoFollow => f.write_str("nofollow"),
            Self::DoNotDownload(group) => write!(f, "plan:do_not_download:{group}"),
            Self::External => f.write_str("plan:external"),
            Self::RetryAfter => f.write_str("retry-after"),
            Self::Guard => f.write_str(Self::GUARD),
            Self::Loop => f.write_str("redirects:loop"),
            Self::Scheme => f.write_str("redirects:scheme"),
            Self::Broken => f.write_str("redirects:broken"),
        }
    }
}

/// The scope of a run.
pub(crate) struct CrawlScope {
    kind: ScopeKind,
    /// For each seed what an address in its scope begins with, is at, or ends with, as the kind says.
    roots: Vec<String>,
    include: Vec<GroupPattern>,
    exclude: Vec<GroupPattern>,
}

impl CrawlScope {
    /// The scope around seeds.
    pub(crate) fn new(kind: ScopeKind, seeds: &[String], include: &[String], exclude: &[String]) -> Self {
        let patterns = |texts: &[String]| {
            texts.iter().map(|text| GroupPattern::new(text, AtSign::Literal)).collect::<Vec<_>>()
        };
        let address = |seed: &String| page_identity(seed).unwrap_or_else(|| seed.clone());
        let mut roots: Vec<String> = seeds.iter().map(|seed| root_of(kind, &address(seed))).collect();
        roots.sort();
        roots.dedup();
        Self { kind, roots, include: patterns(include), exclude: patterns(exclude) }
    }

    /// Whether navigations lead anywhere at all.
    pub(crate) fn follows_links(&self) -> bool {
        !matches!(self.kind, ScopeKind::Page | ScopeKind::Plan)
    }

    /// Why a page is not fetched, if it is not. It lies where its address does; a pattern may be written for what is asked
    /// for or for the address.
    pub(crate) fn page_rule(&self, url: &str, address: &str) -> Option<SkipRule> {
        if let Some(rule) = self.exclude_rule(url, address) {
            return Some(rule);
        }
        if !self.contains(address) {
            return Some(SkipRule::Scope);
        }
        let misses =
            !self.include.is_empty() && !self.include.iter().any(|pattern| matches(pattern, url, address));
        misses.then_some(SkipRule::Include)
    }

    /// Whether an address lies where links are followed.
    pub(crate) fn contains(&self, address: &str) -> bool {
        match self.kind {
            ScopeKind::Page => false,
            ScopeKind::Plan => true,
            ScopeKind::Prefix => {
                self.roots.iter().any(|root| without_scheme(address).starts_with(root.as_str()))
            }
            ScopeKind::Host => self.roots.iter().any(|root| plain_host(address) == root),
            ScopeKind::Domain => self.roots.iter().any(|root| is_below(host_of(address), root)),
        }
    }

    /// Why something embedded is not fetched, if it is not.
    pub(crate) fn exclude_rule(&self, url: &str, address: &str) -> Option<SkipRule> {
        let pattern = self.exclude.iter().find(|pattern| matches(pattern, url, address))?;
        Some(SkipRule::Exclude(pattern.as_str().to_owned()))
    }

    /// Whether the sitemaps of a host are worth reading.
    pub(crate) fn wants_sitemaps_of(&self, origin: &str) -> bool {
        match self.kind {
            ScopeKind::Page | ScopeKind::Plan => false,
            ScopeKind::Prefix => {
                self.roots.iter().any(|root| host_of(&format!("http://{root}")) == host_of(origin))
            }
            ScopeKind::Host => self.roots.iter().any(|root| plain_host(origin) == root),
            ScopeKind::Domain => self.roots.iter().any(|root| is_below(host_of(origin), root)),
        }
    }
}

fn matches(pattern: &GroupPattern, url: &str, address: &str) -> bool {
    pattern.matches(url) || url != address && pattern.matches(address)
}

fn root_of(kind: ScopeKind, seed: &str) -> String {
    match kind {
        ScopeKind::Page | ScopeKind::Plan => seed.to_owned(),
        ScopeKind::Prefix => {
            let path = seed.split(['?', '#']).next().unwrap_or(seed);
            without_scheme(&path[..path.rfind('/').map_or(path.len(), |at| at + 1)]).to_owned()
        }
        ScopeKind::Host => plain_host(seed).to_owned(),
        ScopeKind::Domain => domain_of(host_of(seed)).to_owned(),
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

fn plain_host(url: &str) -> &str {
    let host = host_of(url);
    host.strip_prefix("www.").unwrap_or(host)
}

/// The registered domain of a host; the host itself where there is none, as for addresses.
fn domain_of(host: &str) -> &str {
    let is_address =
        host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || b".:".contains(&byte));
    if is_address || host.contains(':') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: ScopeKind, seed: &str, url: &str) -> bool {
        CrawlScope::new(kind, &[seed.to_owned()], &[], &[]).page_rule(url, url).is_some()
    }

    #[test]
    fn each_scope_holds_what_it_says() {
        let seed = "http://docs.example.co.uk/book/intro?x=1";
        for (kind, inside, outside) in [
            (ScopeKind::Page, "", "http://docs.example.co.uk/book/intro?x=1"),
            (
                ScopeKind::Prefix,
                "https://docs.example.co.uk/book/two/three",
                "http://docs.example.co.uk/books",
            ),
            (ScopeKind::Host, "https://www.docs.example.co.uk/else", "http://example.co.uk/book/"),
            (ScopeKind::Domain, "http://other.example.co.uk/", "http://notexample.co.uk/"),
        ] {
            assert!(inside.is_empty() || !refused(kind, seed, inside), "{kind:?} {inside}");
            assert!(refused(kind, seed, outside), "{kind:?} {outside}");
        }
        assert!(refused(ScopeKind::Domain, "http://127.0.0.1:81/", "http://127.0.0.1:82/"));
        assert!(refused(ScopeKind::Host, "http://h:81/", "http://h/"));
    }

    #[test]
    fn patterns_narrow_the_scope() {
        let seeds = ["http://h/".to_owned()];
        let (include, exclude) = (["http://h/a/**".to_owned()], ["**.pdf".to_owned()]);
        let scope = CrawlScope::new(ScopeKind::Host, &seeds, &include, &exclude);
        let refuses = |url: &str| scope.page_rule(url, url);
        assert_eq!(refuses("http://h/a/b"), None);
        assert_eq!(refuses("http://h/b"), Some(SkipRule::Include));
        assert_eq!(refuses("http://h/a/x.pdf"), Some(SkipRule::Exclude("**.pdf".to_owned())));
        assert_eq!(
            scope.exclude_rule("http://cdn/x.pdf?utm_source=a", "http://cdn/x.pdf"),
            Some(SkipRule::Exclude("**.pdf".to_owned()))
        );
        assert_eq!(refuses("http://other/a/b"), Some(SkipRule::Scope));
    }
}
