//! A plan, compiled: which links of a page lead to members of a group.
//!
//! A page has the names of the roots that it is, and of the groups whose patterns match it. A page
//! that a redirect led to may match nothing; it has the name of the page that redirected.
//!
//! With a plan, depth is unused, so the `depth` column of the frontier stores the position of the
//! group that found the page; 0 for a root.

use varve_core::alias::{AliasTarget, Aliases};
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::RequestUrl;
use varve_plan::Plan;

use super::skip_rule::SkipRule;

/// A compiled plan.
pub struct CompiledPlan {
    /// URL and name of each root.
    roots: Vec<(RequestUrl, String)>,
    groups: Vec<PlannedGroup>,
    aliases: Aliases,
}

struct PlannedGroup {
    name: String,
    pattern: GroupPattern,
    found_on: Option<String>,
    do_not_download: bool,
}

impl CompiledPlan {
    /// Compiles a plan.
    pub fn new(plan: &Plan) -> Self {
        Self::with_spelling(plan, &RequestUrl::parse)
    }

    /// The same, for a layout with its own spelling of URLs.
    pub(crate) fn with_spelling(plan: &Plan, spelling: &dyn Fn(&str) -> Option<RequestUrl>) -> Self {
        let aliases = plan.aliases();
        let groups = plan.groups.iter().map(|group| PlannedGroup {
            name: group.name.clone(),
            pattern: GroupPattern::new(&group.pattern, AtSign::Literal),
            found_on: group.found_on.clone(),
            do_not_download: group.do_not_download,
        });
        let mut compiled = Self { roots: Vec::new(), groups: groups.collect(), aliases };
        let root = |url: &str| spelling(url).map(|url| compiled.apply_aliases(url));
        let roots = plan.roots.iter().filter_map(|one| Some((root(&one.url)?, one.name.clone())));
        compiled.roots = roots.collect();
        compiled
    }

    /// The URLs of the roots, with aliases applied.
    pub fn seeds(&self) -> Vec<String> {
        self.roots.iter().map(|(url, _)| url.to_string()).collect()
    }

    /// The URL that an alias stands for.
    pub(crate) fn apply_aliases(&self, url: RequestUrl) -> RequestUrl {
        match self.aliases.apply(url.as_str()) {
            Some(AliasTarget::Internal(other)) => RequestUrl::parse(&other).unwrap_or(url),
            Some(AliasTarget::External(_)) | None => url,
        }
    }

    /// The rule by which a URL is never requested, if there is one.
    pub(crate) fn external_rule(&self, url: &str) -> Option<SkipRule> {
        let is_external = matches!(self.aliases.apply(url), Some(AliasTarget::External(_)));
        is_external.then_some(SkipRule::External)
    }

    /// The rule by which a URL is not requested unless it is a seed, if there is one.
    pub(crate) fn skip_rule(&self, url: &str) -> Option<SkipRule> {
        let out = self.groups.iter().find(|group| group.do_not_download && group.pattern.matches(url));
        self.external_rule(url).or_else(|| out.map(|group| SkipRule::DoNotDownload(group.name.clone())))
    }

    /// The number of the group by which a link on a page is followed, if it is. `links` are the
    /// link as it stands, its URL, and its page identity; a pattern may be written for any of them.
    pub(crate) fn matching_group(&self, page: (&str, u32), links: &[&str]) -> Option<u32> {
        let matches =
            |group: &PlannedGroup, link: &str| group.pattern.matches(link.split('#').next().unwrap_or(link));
        let takes = |group: &PlannedGroup| {
            !group.do_not_download
                && links.iter().any(|link| matches(group, link))
                && group.found_on.as_deref().is_none_or(|name| self.has_name(page, name))
        };
        self.groups.iter().position(takes).and_then(|at| u32::try_from(at + 1).ok())
    }

    /// Whether a URL is a root or matches the pattern of a group that is downloaded.
    pub(crate) fn names(&self, url: &RequestUrl) -> bool {
        let spellings = [url.as_str(), url.page().as_str()];
        let is_member = |group: &PlannedGroup| {
            !group.do_not_download && spellings.iter().any(|text| group.pattern.matches(text))
        };
        self.roots.iter().any(|(root, _)| root.page() == url.page()) || self.groups.iter().any(is_member)
    }

    /// Whether a page has that name.
    fn has_name(&self, (url, step): (&str, u32), name: &str) -> bool {
        let is_root = self.roots.iter().any(|(root, _)| root.as_str() == url);
        let as_root = self.roots.iter().any(|(root, called)| {
            // Which of the roots redirected here is not known: it counts as each of them.
            called == name && (root.as_str() == url || step == 0 && !is_root)
        });
        let as_member = self.groups.iter().enumerate().any(|(at, group)| {
            group.name == name && (group.pattern.matches(url) || u32::try_from(at + 1) == Ok(step))
        });
        as_root || as_member
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> CompiledPlan {
        let text = "
aliases:
- {source: 'http://old/', target: 'http://h/'}
- {source: 'http://out/', target: 'http://out/', external: true}
groups:
- {name: Ads, pattern: 'http://h/ads/**', do_not_download: true}
- {name: Month, pattern: 'http://h/#/', found_on: Home}
- {name: Story, pattern: 'http://h/#/*', found_on: Month}
- {name: Word, pattern: 'http://h/word?b=#&a=#'}
roots:
- {name: About, url: 'http://h/about'}
- {name: Home, url: 'http://old/'}
";
        CompiledPlan::new(&Plan::parse(text).unwrap())
    }

    #[test]
    fn members_are_found_on_their_sources_alone() {
        let plan = compiled();
        let step = |page, link| plan.matching_group(page, &[link]);
        assert_eq!(plan.seeds(), ["http://h/about", "http://h/"]);
        assert_eq!(step(("http://h/", 0), "http://h/7/"), Some(2));
        assert_eq!(step(("http://h/about", 0), "http://h/7/"), None);
        assert_eq!(step(("http://h/7/", 2), "http://h/7/a"), Some(3));
        assert_eq!(step(("http://h/", 0), "http://h/7/a"), None);
        assert_eq!(step(("http://h/", 0), "http://h/ads/x"), None);
    }

    #[test]
    fn a_redirected_page_goes_by_the_name_it_was_asked_for() {
        let plan = compiled();
        assert_eq!(plan.matching_group(("http://h/july", 2), &["x", "http://h/7/a"]), Some(3));
        assert_eq!(plan.matching_group(("http://h/welcome", 0), &["x", "http://h/7/"]), Some(2));
    }

    #[test]
    fn a_pattern_may_be_written_for_the_link_as_it_stands() {
        let target = "http://h/word?a=1&b=2";
        assert_eq!(
            compiled().matching_group(("http://h/", 0), &["http://h/word?b=2&a=1#x", target]),
            Some(4)
        );
    }

    #[test]
    fn external_and_excluded_urls_are_refused() {
        let plan = compiled();
        let old = RequestUrl::parse("http://old/x").unwrap();
        assert_eq!(plan.apply_aliases(old).as_str(), "http://h/x");
        assert_eq!(plan.external_rule("http://out/x"), Some(SkipRule::External));
        assert_eq!(plan.skip_rule("http://h/ads/x"), Some(SkipRule::DoNotDownload("Ads".to_owned())));
        assert_eq!(plan.external_rule("http://h/ads/x"), None);
        assert_eq!(plan.skip_rule("http://h/x"), None);
    }
}
