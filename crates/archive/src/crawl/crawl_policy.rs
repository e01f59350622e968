//! What follows from an answer: which of its links are taken, and on which errand.
//!
//! Pure, and shared by all threads of a run.

use std::borrow::Cow;
use std::sync::Arc;

use super::address::asked;
use super::compiled_plan::CompiledPlan;
use super::fetch_reason::{FetchReason, MAX_EMBED_CHAIN, MAX_SITEMAP_NESTING};
use super::handle_response::by_spelling;
use super::scope::{CrawlScope, ScopeKind, SkipRule};
use super::settings::CrawlSettings;
use varve_core::url::page_identity;
use varve_page::links::{Link, Place, Role};

/// What is asked for when a text is a URL; none for what is not asked for.
pub(crate) type Spelling = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings of a run, made ready.
pub(crate) struct CrawlPolicy {
    /// As they were given.
    pub(crate) settings: CrawlSettings,
    /// Where it may go.
    pub(crate) scope: CrawlScope,
    /// The plan that is followed, if one is.
    itinerary: Option<CompiledPlan>,
    /// What is asked for.
    spelling: Spelling,
    /// Whether several spellings may be one URL; else the one that is asked for is the only one.
    has_spellings: bool,
}

/// A link that is worth following.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DiscoveredLink {
    /// What is asked for, unless it was asked for already by another spelling.
    pub(crate) url: String,
    /// What tells whether it was, where that is another text.
    pub(crate) key: Option<String>,
    /// Why.
    pub(crate) reason: FetchReason,
    /// Whether it is where the answer sends its reader.
    pub(crate) redirect: bool,
    /// Why it is only listed, and not followed.
    pub(crate) unfollowed: Option<UnfollowedReason>,
}

/// Why a link is not followed that would be else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UnfollowedReason {
    /// The link, or its page, asks for it.
    NoFollow,
    /// Sitemaps name sitemaps, too often in a row.
    Nested,
    /// It is a redirect to itself.
    Loop,
    /// It is a redirect to what is not on the web.
    Scheme,
    /// It is a redirect to what is no URL.
    Broken,
}

impl UnfollowedReason {
    /// The rule under which it is listed.
    pub(crate) const fn rule(self) -> SkipRule {
        match self {
            Self::NoFollow => SkipRule::NoFollow,
            Self::Nested => SkipRule::Sitemaps,
            Self::Loop => SkipRule::Loop,
            Self::Scheme => SkipRule::Scheme,
            Self::Broken => SkipRule::Broken,
        }
    }
}

impl DiscoveredLink {
    /// What tells whether it was asked for already.
    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.url)
    }
}

impl CrawlPolicy {
    /// A run with these settings, whose seeds are as they are asked for.
    pub(crate) fn new(settings: CrawlSettings) -> Self {
        Self { has_spellings: true, ..Self::with_spelling(settings, Arc::new(asked)) }
    }

    /// The same, where every URL has one spelling of its own.
    pub(crate) fn with_spelling(settings: CrawlSettings, spelling: Spelling) -> Self {
        let CrawlSettings { seeds, scope, include, exclude, .. } = &settings;
        let scope = CrawlScope::new(*scope, seeds, include, exclude);
        let itinerary = settings.plan.as_ref().map(|plan| CompiledPlan::with_spelling(plan, &*spelling));
        Self { settings, scope, itinerary, spelling, has_spellings: false }
    }

    /// What is asked for when a text is a URL.
    pub(crate) fn asked(&self, text: &str) -> Option<String> {
        (self.spelling)(text)
    }

    /// What all spellings of a URL share.
    pub(crate) fn address<'u>(&self, url: &'u str) -> Cow<'u, str> {
        let address = if self.has_spellings { page_identity(url) } else { None };
        address.filter(|address| address != url).map_or(Cow::Borrowed(url), Cow::Owned)
    }

    /// The lead to a URL that nothing redirects to.
    pub(crate) fn link_to(&self, url: String, errand: FetchReason) -> DiscoveredLink {
        let key = match self.address(&url) {
            Cow::Borrowed(_) => None,
            Cow::Owned(key) => Some(key),
        };
        DiscoveredLink { url, key, reason: errand, redirect: false, unfollowed: None }
    }

    /// The lead to where an answer sends its reader. A server may send them to another spelling of what they asked for, to
    /// its own order of parameters or to one with a mark in it: then it is that spelling that counts, and no other.
    fn redirect_link(&self, from: &str, url: String, errand: FetchReason) -> DiscoveredLink {
        let lead = DiscoveredLink { redirect: true, ..self.link_to(url, errand) };
        if lead.key() != self.address(from) {
            return lead;
        }
        DiscoveredLink { key: Some(by_spelling(&lead.url)), ..lead }
    }

    /// Whether pages so many links away from a seed are wanted.
    pub(crate) fn reaches(&self, depth: u32) -> bool {
        self.scope.follows_links() && self.settings.depth.is_none_or(|most| depth <= most)
    }

    /// Why the plan that is followed does not want something, if it does not.
    pub(crate) fn plan_rule(&self, errand: FetchReason, url: &str) -> Option<SkipRule> {
        let itinerary = self.itinerary.as_ref()?;
        match errand {
            FetchReason::Robots => None,
            FetchReason::Page { depth: 0 } => itinerary.external_rule(url),
            _ => itinerary.skip_rule(url).or_else(|| itinerary.skip_rule(&self.address(url))),
        }
    }

    /// What a link in an answer at `from` leads to; none if it is neither followed nor listed.
    pub(crate) fn link_to_follow(
        &self,
        from: &str,
        errand: FetchReason,
        link: &Link<'_>,
    ) -> Option<DiscoveredLink> {
        let url = self.asked(&link.target)?;
        let url = self.itinerary.iter().fold(url, |url, itinerary| itinerary.apply_aliases(url));
        let errand = match link.role {
            Role::Redirect => return Some(self.redirect_link(from, url, errand)),
            Role::Embed => embed_reason(errand, link)?,
            Role::Sitemap => self.sitemap_reason(errand)?,
            Role::Navigate | Role::Alternate | Role::Canonical | Role::Feed => {
                self.navigation_reason((from, errand), link, &url)?
            }
        };
        let is_shy = self.settings.obey_nofollow && link.nofollow && link.role != Role::Sitemap;
        let refusal = match errand {
            FetchReason::Sitemap { nesting } if nesting > MAX_SITEMAP_NESTING => {
                Some(UnfollowedReason::Nested)
            }
            FetchReason::Page { .. } if is_shy => Some(UnfollowedReason::NoFollow),
            _ => None,
        };
        Some(DiscoveredLink { unfollowed: refusal, ..self.link_to(url, errand) })
    }

    fn navigation_reason(
        &self,
        (from, errand): (&str, FetchReason),
        link: &Link<'_>,
        url: &str,
    ) -> Option<FetchReason> {
        if link.guessed {
            return None;
        }
        if let Some(itinerary) = self.itinerary.as_ref().filter(|_| self.settings.scope == ScopeKind::Plan) {
            let (FetchReason::Page { depth } | FetchReason::Frame { depth, .. }) = errand else {
                return None;
            };
            let links = [link.target.as_str(), url, &self.address(url)];
            return itinerary.matching_group((from, depth), &links).map(|depth| FetchReason::Page { depth });
        }
        let depth = match errand {
            FetchReason::Page { depth } => depth.saturating_add(1),
            // What strangers show in a frame is theirs: its links are no links of the page.
            FetchReason::Frame { .. } if !self.scope.contains(&self.address(from)) => return None,
            FetchReason::Frame { depth, .. } => depth.saturating_add(1),
            // A list of pages is as near to a seed as a link on it.
            FetchReason::Sitemap { .. } => 1,
            FetchReason::Embed { .. } | FetchReason::Robots => return None,
        };
        self.reaches(depth).then_some(FetchReason::Page { depth })
    }

    fn sitemap_reason(&self, errand: FetchReason) -> Option<FetchReason> {
        let nesting = match errand {
            FetchReason::Sitemap { nesting } => nesting.saturating_add(1),
            FetchReason::Page { .. } => 0,
            FetchReason::Embed { .. } | FetchReason::Frame { .. } | FetchReason::Robots => return None,
        };
        self.reaches(1).then_some(FetchReason::Sitemap { nesting })
    }
}

/// What a page embeds, it embeds by chains of limited length. What only looks like an address in a script or a JSON
/// document is left alone.
fn embed_reason(errand: FetchReason, link: &Link<'_>) -> Option<FetchReason> {
    let (chain, depth) = match errand {
        FetchReason::Page { depth } => (1, Some(depth)),
        FetchReason::Frame { depth, chain } => (chain + 1, Some(depth)),
        FetchReason::Embed { chain } => (chain + 1, None),
        FetchReason::Sitemap { .. } | FetchReason::Robots => return None,
    };
    let far_fetched = link.guessed && !matches!(link.place, Place::Attribute { .. });
    let part = match depth.filter(|_| is_frame(link)) {
        Some(depth) => FetchReason::Frame { depth, chain },
        None => FetchReason::Embed { chain },
    };
    (chain <= MAX_EMBED_CHAIN && !far_fetched).then_some(part)
}

/// Whether what a link leads to is shown in a frame.
fn is_frame(link: &Link<'_>) -> bool {
    matches!(&link.place, Place::Attribute { element, .. } if matches!(element.as_ref(), "frame" | "iframe"))
}

#[cfg(test)]
mod tests {
    use super::super::scope::ScopeKind;
    use super::*;
    use std::borrow::Cow;

    fn link(target: &str, role: Role) -> Link<'static> {
        Link {
            target: target.to_owned(),
            reference: Cow::Borrowed(""),
            place: Place::Line,
            role,
            title: None,
            nofollow: false,
            guessed: false,
            offset: None,
        }
    }

    fn plan(scope: ScopeKind, depth: Option<u32>) -> CrawlPolicy {
        CrawlPolicy::new(CrawlSettings {
            seeds: vec!["http://h/".to_owned()],
            scope,
            depth,
            ..CrawlSettings::default()
        })
    }

    #[test]
    fn depth_and_chains_end() {
        let plan = plan(ScopeKind::Host, Some(2));
        let leads = |errand, role| {
            let lead = plan.link_to_follow("http://h/", errand, &link("http://h/x#y", role));
            lead.filter(|lead| lead.unfollowed.is_none()).map(|lead| lead.reason)
        };
        let (near, far) = (FetchReason::Page { depth: 1 }, FetchReason::Page { depth: 2 });
        assert_eq!(leads(near, Role::Navigate), Some(far));
        assert_eq!(leads(far, Role::Navigate), None);
        assert_eq!(leads(far, Role::Redirect), Some(far));
        assert_eq!(leads(far, Role::Embed), Some(FetchReason::Embed { chain: 1 }));
        assert_eq!(leads(FetchReason::Embed { chain: MAX_EMBED_CHAIN }, Role::Embed), None);
        assert_eq!(leads(FetchReason::Embed { chain: 1 }, Role::Navigate), None);
        assert_eq!(leads(FetchReason::Sitemap { nesting: MAX_SITEMAP_NESTING }, Role::Sitemap), None);
        assert_eq!(leads(FetchReason::Sitemap { nesting: 0 }, Role::Navigate), Some(near));
    }

    /// Its links are the page's own, at its depth; what strangers show in a frame leads nowhere.
    #[test]
    fn a_frame_is_a_part_that_leads_on() {
        let plan = plan(ScopeKind::Host, Some(2));
        let place = Place::Attribute { element: "iframe".into(), attribute: "src".into() };
        let frame = Link { place, ..link("http://h/nav", Role::Embed) };
        let leads = |from, errand, link| plan.link_to_follow(from, errand, link).map(|lead| lead.reason);
        let shown = FetchReason::Frame { depth: 1, chain: 1 };
        assert_eq!(leads("http://h/", FetchReason::Page { depth: 1 }, &frame), Some(shown));
        assert_eq!(leads("http://h/a", shown, &frame), Some(FetchReason::Frame { depth: 1, chain: 2 }));
        assert_eq!(
            leads("http://h/a", FetchReason::Frame { depth: 0, chain: MAX_EMBED_CHAIN }, &frame),
            None
        );
        assert_eq!(
            leads("http://h/a", FetchReason::Embed { chain: 1 }, &frame),
            Some(FetchReason::Embed { chain: 2 })
        );
        let onward = link("http://h/x", Role::Navigate);
        assert_eq!(leads("http://h/nav", shown, &onward), Some(FetchReason::Page { depth: 2 }));
        assert_eq!(leads("http://h/nav", FetchReason::Frame { depth: 2, chain: 1 }, &onward), None);
        assert_eq!(leads("http://ads/nav", shown, &onward), None);
    }

    #[test]
    fn a_single_page_brings_its_parts_and_nothing_else() {
        let plan = plan(ScopeKind::Page, None);
        let seed = FetchReason::Page { depth: 0 };
        assert_eq!(plan.link_to_follow("http://h/", seed, &link("http://h/a", Role::Navigate)), None);
        assert_eq!(plan.link_to_follow("http://h/", seed, &link("http://h/a", Role::Sitemap)), None);
        assert!(plan.link_to_follow("http://h/", seed, &link("http://cdn/a", Role::Embed)).is_some());
    }

    #[test]
    fn what_asks_not_to_be_followed_is_not_unless_told() {
        let mut plan = plan(ScopeKind::Host, None);
        let shy = Link { nofollow: true, ..link("http://h/a", Role::Navigate) };
        let refusal = |plan: &CrawlPolicy| {
            plan.link_to_follow("http://h/", FetchReason::Page { depth: 0 }, &shy).map(|lead| lead.unfollowed)
        };
        assert_eq!(refusal(&plan), Some(Some(UnfollowedReason::NoFollow)));
        plan.settings.obey_nofollow = false;
        assert_eq!(refusal(&plan), Some(None));
        let guessed = Link { guessed: true, ..link("http://h/a", Role::Embed) };
        assert_eq!(plan.link_to_follow("http://h/", FetchReason::Page { depth: 0 }, &guessed), None);
    }
}
