//! The policy of a crawl: which links of a response are followed, and for which reason.
//!
//! Pure, and shared by all threads of a run.

use std::sync::Arc;

use varve_core::secret::ShownUrl;
use varve_core::url::RequestUrl;
use varve_page::links::{LinkPlace, LinkRole, PageLink};

use super::compiled_plan::CompiledPlan;
use super::discovered_link::{DiscoveredLink, UnfollowedLink};
use super::fetch_reason::{FetchReason, MAX_EMBED_CHAIN, MAX_FRAME_CHAIN, MAX_SITEMAP_NESTING};
use super::scope::{CrawlScope, ScopeKind};
use super::settings::{CrawlSettings, ScopeSettings};
use super::skip_rule::SkipRule;

/// Reads a text as the URL that is requested for it; `None` for text that is not requested.
pub(crate) type UrlSpelling = Arc<dyn Fn(&str) -> Option<RequestUrl> + Send + Sync>;

/// The rules of a run, compiled from its settings.
pub(crate) struct CrawlPolicy {
    /// The settings.
    pub(crate) settings: CrawlSettings,
    /// Where the run may go.
    pub(crate) scope: CrawlScope,
    plan: Option<CompiledPlan>,
    /// How a layout with its own rules of identity spells URLs.
    spelling: Option<UrlSpelling>,
}

/// The decision about a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkDecision {
    /// It is followed.
    Follow(DiscoveredLink),
    /// It is reported and not followed.
    Report(UnfollowedLink),
}

impl CrawlPolicy {
    /// The rules of a run whose URLs are identified as on the web.
    pub(crate) fn new(settings: CrawlSettings) -> Self {
        let plan = settings.plan.as_ref().map(CompiledPlan::new);
        Self::compile(settings, plan, None)
    }

    /// The rules of a run into a layout with its own rules of identity: every URL has one spelling.
    pub(crate) fn with_spelling(settings: CrawlSettings, spelling: UrlSpelling) -> Self {
        let plan = settings.plan.as_ref().map(|plan| CompiledPlan::with_spelling(plan, &*spelling));
        Self::compile(settings, plan, Some(spelling))
    }

    fn compile(settings: CrawlSettings, plan: Option<CompiledPlan>, spelling: Option<UrlSpelling>) -> Self {
        let ScopeSettings { kind, include, exclude, .. } = &settings.scope;
        let scope = CrawlScope::new(*kind, &settings.seeds, include, exclude);
        Self { settings, scope, plan, spelling }
    }

    /// The URL that is requested for a text; `None` for text that is not requested.
    pub(crate) fn request_url(&self, text: &str) -> Option<RequestUrl> {
        match &self.spelling {
            Some(spelling) => spelling(text),
            None => RequestUrl::parse(text),
        }
    }

    /// The URL of a text that this policy spelled before.
    pub(crate) fn stored_url(&self, text: &str) -> Option<RequestUrl> {
        match self.spelling {
            Some(_) => RequestUrl::verbatim(text),
            None => exact_url(text),
        }
    }

    /// Whether pages at this depth are wanted.
    pub(crate) fn reaches(&self, depth: u32) -> bool {
        self.scope.follows_links() && self.settings.scope.depth.is_none_or(|most| depth <= most)
    }

    /// Whether links of a response to a request for this reason are not followed because of
    /// `--depth`.
    pub(crate) fn is_deepest(&self, reason: FetchReason) -> bool {
        let (FetchReason::Page { depth } | FetchReason::Frame { depth, .. }) = reason else { return false };
        self.settings.scope.depth.is_some_and(|most| depth >= most)
    }

    /// The rule by which the plan leaves a URL out, if it does.
    pub(crate) fn plan_rule(&self, reason: FetchReason, url: &RequestUrl) -> Option<SkipRule> {
        let plan = self.plan.as_ref()?;
        match reason {
            FetchReason::Robots => None,
            FetchReason::Page { depth: 0 } => plan.external_rule(url.as_str()),
            _ => plan.skip_rule(url.as_str()).or_else(|| plan.skip_rule(url.page().as_str())),
        }
    }

    /// The rule by which something embedded is left out, if it is.
    pub(crate) fn embed_rule(&self, reason: FetchReason, url: &RequestUrl) -> Option<SkipRule> {
        self.plan_rule(reason, url).or_else(|| self.scope.exclude_rule(url))
    }

    /// The rule by which a page is left out, if it is.
    pub(crate) fn page_rule(&self, reason: FetchReason, url: &RequestUrl) -> Option<SkipRule> {
        self.plan_rule(reason, url).or_else(|| self.scope.page_rule(url))
    }

    /// Whether a complete run requests a URL wherever it is linked. What is only embedded in pages is
    /// not covered by a scope of single pages or a plan.
    pub(crate) fn covers(&self, url: &RequestUrl) -> bool {
        let is_planned = match (self.settings.scope.kind, &self.plan) {
            (ScopeKind::Plan, Some(plan)) => plan.names(url),
            (ScopeKind::Plan, None) => false,
            _ => true,
        };
        is_planned && self.page_rule(FetchReason::Page { depth: 1 }, url).is_none()
    }

    /// Decides about a link in the response at `from`; `None` if it is neither followed nor
    /// reported. A link with a user name or a password is reported instead of followed: the site
    /// did not give them to this archive.
    pub(crate) fn decide(
        &self,
        from: &RequestUrl,
        reason: FetchReason,
        link: &PageLink<'_>,
    ) -> Option<LinkDecision> {
        if !ShownUrl(&link.target).has_user_info() {
            return self.decide_about(from, reason, (link, self.request_url(&link.target)?));
        }
        match self.decide_about(from, reason, (link, RequestUrl::parse(&link.target)?))? {
            LinkDecision::Follow(link) => {
                Some(LinkDecision::Report(UnfollowedLink::new(&link.url, SkipRule::UserInfo)))
            }
            report @ LinkDecision::Report(_) => Some(report),
        }
    }

    fn decide_about(
        &self,
        from: &RequestUrl,
        reason: FetchReason,
        (link, url): (&PageLink<'_>, RequestUrl),
    ) -> Option<LinkDecision> {
        let url = match &self.plan {
            Some(plan) => plan.apply_aliases(url),
            None => url,
        };
        let reason = match link.role {
            LinkRole::Redirect => return redirect_link(from, url, reason, link),
            LinkRole::Embed => embed_reason(reason, link)?,
            LinkRole::Sitemap => self.sitemap_reason(reason)?,
            LinkRole::Navigate | LinkRole::Alternate | LinkRole::Canonical | LinkRole::Feed => {
                self.navigation_reason((from, reason), link, &url)?
            }
        };
        let is_nofollow =
            self.settings.scope.obey_nofollow && link.nofollow && link.role != LinkRole::Sitemap;
        let report = |rule| LinkDecision::Report(UnfollowedLink::new(&url, rule));
        Some(match reason {
            FetchReason::Sitemap { nesting } if nesting > MAX_SITEMAP_NESTING => report(SkipRule::Sitemaps),
            FetchReason::Page { .. } if is_nofollow => report(SkipRule::NoFollow),
            _ => LinkDecision::Follow(DiscoveredLink::new(url, reason)),
        })
    }

    fn navigation_reason(
        &self,
        (from, reason): (&RequestUrl, FetchReason),
        link: &PageLink<'_>,
        url: &RequestUrl,
    ) -> Option<FetchReason> {
        if link.guessed {
            return None;
        }
        if let Some(plan) = self.plan.as_ref().filter(|_| self.settings.scope.kind == ScopeKind::Plan) {
            let (FetchReason::Page { depth } | FetchReason::Frame { depth, .. }) = reason else {
                return None;
            };
            let spellings = [link.target.as_str(), url.as_str(), url.page().as_str()];
            let group = plan.matching_group((from.as_str(), depth), &spellings)?;
            return Some(FetchReason::Page { depth: group });
        }
        let depth = match reason {
            FetchReason::Page { depth } => depth.saturating_add(1),
            // A frame of another site is not part of the page, and neither are its links.
            FetchReason::Frame { .. } if !self.scope.contains(from.page()) => return None,
            FetchReason::Frame { depth, .. } => depth.saturating_add(1),
            // A page that a sitemap lists is as near to a seed as a link of the seed.
            FetchReason::Sitemap { .. } => 1,
            FetchReason::Embed { .. } | FetchReason::Robots => return None,
        };
        self.reaches(depth).then_some(FetchReason::Page { depth })
    }

    fn sitemap_reason(&self, reason: FetchReason) -> Option<FetchReason> {
        let nesting = match reason {
            FetchReason::Sitemap { nesting } => nesting.saturating_add(1),
            FetchReason::Page { .. } => 0,
            FetchReason::Embed { .. } | FetchReason::Frame { .. } | FetchReason::Robots => return None,
        };
        self.reaches(1).then_some(FetchReason::Sitemap { nesting })
    }
}

/// The URL of a text that is stored as it is.
pub(crate) fn exact_url(text: &str) -> Option<RequestUrl> {
    RequestUrl::parse(text).filter(|url| url.as_str() == text).or_else(|| RequestUrl::verbatim(text))
}

/// The target of a redirect. A server may redirect to another spelling of the page that was
/// requested, with its own order of parameters or with a marker: then only that spelling will do. A
/// page that reloads itself is no redirect.
fn redirect_link(
    from: &RequestUrl,
    url: RequestUrl,
    reason: FetchReason,
    link: &PageLink<'_>,
) -> Option<LinkDecision> {
    if url.as_str() == from.as_str() && !matches!(link.place, LinkPlace::Header(_)) {
        return None;
    }
    let is_exact = url.page() == from.page();
    let link = if is_exact { DiscoveredLink::exact(url, reason) } else { DiscoveredLink::new(url, reason) };
    Some(LinkDecision::Follow(DiscoveredLink { is_redirect: true, ..link }))
}

/// The reason to fetch something embedded. Chains of embedded things are limited. A text that only
/// looks like a URL in a script or a JSON document is ignored.
fn embed_reason(reason: FetchReason, link: &PageLink<'_>) -> Option<FetchReason> {
    let (chain, depth) = match reason {
        FetchReason::Page { depth } => (1, Some(depth)),
        FetchReason::Frame { depth, chain } => (chain + 1, Some(depth)),
        FetchReason::Embed { chain } => (chain + 1, None),
        FetchReason::Sitemap { .. } | FetchReason::Robots => return None,
    };
    let is_guess = link.guessed && !matches!(link.place, LinkPlace::Attribute { .. });
    let (reason, longest) = match depth.filter(|_| is_frame(link)) {
        Some(depth) => (FetchReason::Frame { depth, chain }, MAX_FRAME_CHAIN),
        None => (FetchReason::Embed { chain }, MAX_EMBED_CHAIN),
    };
    (chain <= longest && !is_guess).then_some(reason)
}

/// Whether a link leads to the document of a frame.
pub(super) fn is_frame(link: &PageLink<'_>) -> bool {
    matches!(&link.place, LinkPlace::Attribute { element, .. } if matches!(element.as_ref(), "frame" | "iframe"))
}

#[cfg(test)]
mod tests {
    use super::super::scope::ScopeKind;
    use super::*;
    use std::borrow::Cow;

    fn link(target: &str, role: LinkRole) -> PageLink<'static> {
        PageLink {
            target: target.to_owned(),
            reference: Cow::Borrowed(""),
            place: LinkPlace::Line,
            role,
            title: None,
            nofollow: false,
            guessed: false,
            offset: None,
        }
    }

    fn policy(scope: ScopeKind, depth: Option<u32>) -> CrawlPolicy {
        let seeds = vec!["http://h/".to_owned()];
        CrawlPolicy::new(CrawlSettings::default().with(|settings| {
            settings.seeds = seeds;
            settings.scope.kind = scope;
            settings.scope.depth = depth;
        }))
    }

    fn followed(
        policy: &CrawlPolicy,
        from: &str,
        reason: FetchReason,
        link: &PageLink<'_>,
    ) -> Option<FetchReason> {
        match policy.decide(&RequestUrl::parse(from).unwrap(), reason, link)? {
            LinkDecision::Follow(link) => Some(link.reason),
            LinkDecision::Report(_) => None,
        }
    }

    #[test]
    fn depth_and_chains_are_limited() {
        let policy = policy(ScopeKind::Host, Some(2));
        let reason = |reason, role| followed(&policy, "http://h/", reason, &link("http://h/x#y", role));
        let (near, far) = (FetchReason::Page { depth: 1 }, FetchReason::Page { depth: 2 });
        assert_eq!(reason(near, LinkRole::Navigate), Some(far));
        assert_eq!(reason(far, LinkRole::Navigate), None);
        assert_eq!(reason(far, LinkRole::Redirect), Some(far));
        assert_eq!(reason(far, LinkRole::Embed), Some(FetchReason::Embed { chain: 1 }));
        assert_eq!(reason(FetchReason::Embed { chain: MAX_EMBED_CHAIN }, LinkRole::Embed), None);
        assert_eq!(reason(FetchReason::Embed { chain: 1 }, LinkRole::Navigate), None);
        assert_eq!(reason(FetchReason::Sitemap { nesting: MAX_SITEMAP_NESTING }, LinkRole::Sitemap), None);
        assert_eq!(reason(FetchReason::Sitemap { nesting: 0 }, LinkRole::Navigate), Some(near));
    }

    /// The links of a frame are those of its page, at the depth of the page, unless it is of
    /// another site.
    #[test]
    fn a_frame_is_part_of_its_page_and_its_links_are_followed() {
        let policy = policy(ScopeKind::Host, Some(2));
        let place = LinkPlace::Attribute { element: "iframe".into(), attribute: "src".into() };
        let frame = PageLink { place, ..link("http://h/nav", LinkRole::Embed) };
        let reason = |from, reason, link| followed(&policy, from, reason, link);
        let shown = FetchReason::Frame { depth: 1, chain: 1 };
        assert_eq!(reason("http://h/", FetchReason::Page { depth: 1 }, &frame), Some(shown));
        assert_eq!(reason("http://h/a", shown, &frame), Some(FetchReason::Frame { depth: 1, chain: 2 }));
        let last = FetchReason::Frame { depth: 0, chain: MAX_FRAME_CHAIN };
        assert_eq!(reason("http://h/a", last, &frame), None);
        let embed = FetchReason::Embed { chain: 1 };
        assert_eq!(reason("http://h/a", embed, &frame), Some(FetchReason::Embed { chain: 2 }));
        let onward = link("http://h/x", LinkRole::Navigate);
        assert_eq!(reason("http://h/nav", shown, &onward), Some(FetchReason::Page { depth: 2 }));
        assert_eq!(reason("http://h/nav", FetchReason::Frame { depth: 2, chain: 1 }, &onward), None);
        assert_eq!(reason("http://ads/nav", shown, &onward), None);
    }

    #[test]
    fn a_single_page_brings_its_parts_and_nothing_else() {
        let policy = policy(ScopeKind::Page, None);
        let reason =
            |link: &PageLink<'_>| followed(&policy, "http://h/", FetchReason::Page { depth: 0 }, link);
        assert_eq!(reason(&link("http://h/a", LinkRole::Navigate)), None);
        assert_eq!(reason(&link("http://h/a", LinkRole::Sitemap)), None);
        assert!(reason(&link("http://cdn/a", LinkRole::Embed)).is_some());
    }

    #[test]
    fn nofollow_is_obeyed_by_default() {
        let mut policy = policy(ScopeKind::Host, None);
        let nofollow = PageLink { nofollow: true, ..link("http://h/a", LinkRole::Navigate) };
        let from = RequestUrl::parse("http://h/").unwrap();
        let decide = |policy: &CrawlPolicy, link: &PageLink<'_>| {
            policy.decide(&from, FetchReason::Page { depth: 0 }, link)
        };
        let reported = decide(&policy, &nofollow);
        assert!(matches!(reported, Some(LinkDecision::Report(link)) if link.rule == SkipRule::NoFollow));
        policy.settings.scope.obey_nofollow = false;
        assert!(matches!(decide(&policy, &nofollow), Some(LinkDecision::Follow(_))));
        let guessed = PageLink { guessed: true, ..link("http://h/a", LinkRole::Embed) };
        assert_eq!(decide(&policy, &guessed), None);
    }

    #[test]
    fn a_redirect_to_another_spelling_counts_by_its_text() {
        let policy = policy(ScopeKind::Host, None);
        let from = RequestUrl::parse("http://h/a?x=1&y=2").unwrap();
        let decide = |target: &str| {
            let link = PageLink { place: LinkPlace::Header("location"), ..link(target, LinkRole::Redirect) };
            policy.decide(&from, FetchReason::Page { depth: 0 }, &link)
        };
        let Some(LinkDecision::Follow(other)) = decide("http://h/a?y=2&x=1") else { panic!("not followed") };
        assert!(other.is_exact && other.identity().starts_with('='));
        let itself = decide("http://h/a?x=1&y=2");
        assert!(matches!(itself, Some(LinkDecision::Follow(link)) if link.is_exact && link.is_redirect));
    }
}
