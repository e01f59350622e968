//! Where a crawl may go: the scope around its seeds, and the patterns of the user.
//!
//! The scope limits navigation only: what a page embeds belongs to the page, on any host. A pattern
//! that excludes counts for both.

use serde::{Deserialize, Serialize};
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::{PageUrl, RequestUrl};

use super::skip_rule::SkipRule;

/// How far around its seeds a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The seeds themselves.
    #[default]
    Page,
    /// URLs that begin like a seed, up to its last slash.
    Prefix,
    /// The host of a seed, with `www.` before it or not, by http or https.
    Host,
    /// The registered domain of a seed, with all hosts below it.
    Domain,
    /// What a plan selects, before the scope is checked.
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

/// The scope of a run.
pub(crate) struct CrawlScope {
    kind: ScopeKind,
    /// For each seed the prefix, host or domain of its scope, as the kind says.
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
        let pages = seeds.iter().filter_map(|seed| PageUrl::parse(seed));
        let mut roots: Vec<String> = pages.map(|page| root_of(kind, &page)).collect();
        roots.sort();
        roots.dedup();
        Self { kind, roots, include: patterns(include), exclude: patterns(exclude) }
    }

    /// Whether links are followed at all.
    pub(crate) fn follows_links(&self) -> bool {
        !matches!(self.kind, ScopeKind::Page | ScopeKind::Plan)
    }

    /// The rule by which a page is not fetched, if there is one. Its identity decides whether it is
    /// in the scope; a pattern may be written for the URL or for the identity.
    pub(crate) fn page_rule(&self, url: &RequestUrl) -> Option<SkipRule> {
        if let Some(rule) = self.exclude_rule(url) {
            return Some(rule);
        }
        if !self.contains(url.page()) {
            return Some(SkipRule::Scope);
        }
        let misses = !self.include.is_empty() && !self.include.iter().any(|pattern| matches(pattern, url));
        misses.then_some(SkipRule::Include)
    }

    /// Whether links are followed on a page.
    pub(crate) fn contains(&self, page: &PageUrl) -> bool {
        match self.kind {
            ScopeKind::Page => false,
            ScopeKind::Plan => true,
            ScopeKind::Prefix => {
                let text = without_scheme(page.as_str());
                self.roots.iter().any(|root| text.starts_with(root.as_str()))
            }
            ScopeKind::Host => self.roots.iter().any(|root| without_www(page.authority()) == root),
            ScopeKind::Domain => self.roots.iter().any(|root| is_below(page.authority(), root)),
        }
    }

    /// The rule by which something embedded is not fetched, if there is one.
    pub(crate) fn exclude_rule(&self, url: &RequestUrl) -> Option<SkipRule> {
        let pattern = self.exclude.iter().find(|pattern| matches(pattern, url))?;
        Some(SkipRule::Exclude(pattern.as_str().to_owned()))
    }

    /// Whether the sitemaps of a host are worth reading.
    pub(crate) fn wants_sitemaps_of(&self, url: &RequestUrl) -> bool {
        let host = url.authority();
        let is_host = |root: &String| root.split('/').next() == Some(host);
        match self.kind {
            ScopeKind::Page | ScopeKind::Plan => false,
            ScopeKind::Prefix => self.roots.iter().any(is_host),
            ScopeKind::Host => self.roots.iter().any(|root| without_www(host) == root),
            ScopeKind::Domain => self.roots.iter().any(|root| is_below(host, root)),
        }
    }
}

fn matches(pattern: &GroupPattern, url: &RequestUrl) -> bool {
    let (text, page) = (url.as_str(), url.page().as_str());
    pattern.matches(text) || text != page && pattern.matches(page)
}

fn root_of(kind: ScopeKind, seed: &PageUrl) -> String {
    let text = seed.as_str();
    match kind {
        ScopeKind::Page | ScopeKind::Plan => text.to_owned(),
        ScopeKind::Prefix => {
            let path = text.split(['?', '#']).next().unwrap_or(text);
            without_scheme(&path[..path.rfind('/').map_or(path.len(), |at| at + 1)]).to_owned()
        }
        ScopeKind::Host => without_www(seed.authority()).to_owned(),
        ScopeKind::Domain => domain_of(seed.authority()).to_owned(),
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

fn without_www(host: &str) -> &str {
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

    fn url(text: &str) -> RequestUrl {
        RequestUrl::parse(text).unwrap()
    }

    fn refused(kind: ScopeKind, seed: &str, text: &str) -> bool {
        CrawlScope::new(kind, &[seed.to_owned()], &[], &[]).page_rule(&url(text)).is_some()
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
        let refuses = |text: &str| scope.page_rule(&url(text));
        assert_eq!(refuses("http://h/a/b"), None);
        assert_eq!(refuses("http://h/b"), Some(SkipRule::Include));
        assert_eq!(refuses("http://h/a/x.pdf"), Some(SkipRule::Exclude("**.pdf".to_owned())));
        assert_eq!(
            scope.exclude_rule(&url("http://cdn/x.pdf?utm_source=a")),
            Some(SkipRule::Exclude("**.pdf".to_owned()))
        );
        assert_eq!(refuses("http://other/a/b"), Some(SkipRule::Scope));
    }
}
