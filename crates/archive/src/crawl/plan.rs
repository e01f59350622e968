//! What follows from an answer: which of its links are taken, and on which errand.
//!
//! Pure, and shared by all threads of a run.

use std::borrow::Cow;
use std::sync::Arc;

use super::address::asked;
use super::errand::{DEEPEST_SITEMAP, Errand, LONGEST_CHAIN};
use super::itinerary::Itinerary;
use super::scope::{Rule, Scope, ScopeKind};
use super::settings::Settings;
use super::settle::by_spelling;
use varve_core::url::page_identity;
use varve_page::links::{Link, Place, Role};

/// What is asked for when a text is a URL; none for what is not asked for.
pub(crate) type Spelling = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings of a run, made ready.
pub(crate) struct Plan {
    /// As they were given.
    pub(crate) settings: Settings,
    /// Where it may go.
    pub(crate) scope: Scope,
    /// The plan that is followed, if one is.
    itinerary: Option<Itinerary>,
    /// What is asked for.
    spelling: Spelling,
    /// Whether several spellings may be one URL; else the one that is asked for is the only one.
    has_spellings: bool,
}

/// A link that is worth following.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lead {
    /// What is asked for, unless it was asked for already by another spelling.
    pub(crate) url: String,
    /// What tells whether it was, where that is another text.
    pub(crate) key: Option<String>,
    /// Why.
    pub(crate) errand: Errand,
    /// Whether it is where the answer sends its reader.
    pub(crate) redirect: bool,
    /// Why it is only listed, and not followed.
    pub(crate) refusal: Option<Refusal>,
}

/// Why a link is not followed that would be else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Refusal {
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

impl Refusal {
    /// The rule under which it is listed.
    pub(crate) const fn rule(self) -> Rule {
        match self {
            Self::NoFollow => Rule::NoFollow,
            Self::Nested => Rule::Sitemaps,
            Self::Loop => Rule::Loop,
            Self::Scheme => Rule::Scheme,
            Self::Broken => Rule::Broken,
        }
    }
}

impl Lead {
    /// What tells whether it was asked for already.
    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.url)
    }
}

impl Plan {
    /// A run with these settings, whose seeds are as they are asked for.
    pub(crate) fn new(settings: Settings) -> Self {
        Self { has_spellings: true, ..Self::spelled(settings, Arc::new(asked)) }
    }

    /// The same, where every URL has one spelling of its own.
    pub(crate) fn spelled(settings: Settings, spelling: Spelling) -> Self {
        let Settings { seeds, scope, include, exclude, .. } = &settings;
        let scope = Scope::new(*scope, seeds, include, exclude);
        let itinerary = settings.plan.as_ref().map(|plan| Itinerary::spelled(plan, &*spelling));
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
    pub(crate) fn lead_to(&self, url: String, errand: Errand) -> Lead {
        let key = match self.address(&url) {
            Cow::Borrowed(_) => None,
            Cow::Owned(key) => Some(key),
        };
        Lead { url, key, errand, redirect: false, refusal: None }
    }

    /// The lead to where an answer sends its reader. A server may send them to another spelling of what they asked for, to
    /// its own order of parameters or to one with a mark in it: then it is that spelling that counts, and no other.
    fn onward(&self, from: &str, url: String, errand: Errand) -> Lead {
        let lead = Lead { redirect: true, ..self.lead_to(url, errand) };
        if lead.key() != self.address(from) {
            return lead;
        }
        Lead { key: Some(by_spelling(&lead.url)), ..lead }
    }

    /// Whether pages so many links away from a seed are wanted.
    pub(crate) fn reaches(&self, depth: u32) -> bool {
        self.scope.follows_links() && self.settings.depth.is_none_or(|most| depth <= most)
    }

    /// Why the plan that is followed does not want something, if it does not.
    pub(crate) fn unplanned(&self, errand: Errand, url: &str) -> Option<Rule> {
        let itinerary = self.itinerary.as_ref()?;
        match errand {
            Errand::Robots => None,
            Errand::Page { depth: 0 } => itinerary.never(url),
            _ => itinerary.refuses(url).or_else(|| itinerary.refuses(&self.address(url))),
        }
    }

    /// What a link in an answer at `from` leads to; none if it is neither followed nor listed.
    pub(crate) fn lead(&self, from: &str, errand: Errand, link: &Link<'_>) -> Option<Lead> {
        let url = self.asked(&link.target)?;
        let url = self.itinerary.iter().fold(url, |url, itinerary| itinerary.meant(url));
        let errand = match link.role {
            Role::Redirect => return Some(self.onward(from, url, errand)),
            Role::Embed => embedded(errand, link)?,
            Role::Sitemap => self.listed(errand)?,
            Role::Navigate | Role::Alternate | Role::Canonical | Role::Feed => {
                self.navigated((from, errand), link, &url)?
            }
        };
        let is_shy = self.settings.nofollow && link.nofollow && link.role != Role::Sitemap;
        let refusal = match errand {
            Errand::Listing { nesting } if nesting > DEEPEST_SITEMAP => Some(Refusal::Nested),
            Errand::Page { .. } if is_shy => Some(Refusal::NoFollow),
            _ => None,
        };
        Some(Lead { refusal, ..self.lead_to(url, errand) })
    }

    fn navigated(&self, (from, errand): (&str, Errand), link: &Link<'_>, url: &str) -> Option<Errand> {
        if link.guessed {
            return None;
        }
        if let Some(itinerary) = self.itinerary.as_ref().filter(|_| self.settings.scope == ScopeKind::Plan) {
            let (Errand::Page { depth } | Errand::Frame { depth, .. }) = errand else { return None };
            let links = [link.target.as_str(), url, &self.address(url)];
            return itinerary.step((from, depth), &links).map(|depth| Errand::Page { depth });
        }
        let depth = match errand {
            Errand::Page { depth } => depth.saturating_add(1),
            // What strangers show in a frame is theirs: its links are no links of the page.
            Errand::Frame { .. } if !self.scope.holds(&self.address(from)) => return None,
            Errand::Frame { depth, .. } => depth.saturating_add(1),
            // A list of pages is as near to a seed as a link on it.
            Errand::Listing { .. } => 1,
            Errand::Embed { .. } | Errand::Robots => return None,
        };
        self.reaches(depth).then_some(Errand::Page { depth })
    }

    fn listed(&self, errand: Errand) -> Option<Errand> {
        let nesting = match errand {
            Errand::Listing { nesting } => nesting.saturating_add(1),
            Errand::Page { .. } => 0,
            Errand::Embed { .. } | Errand::Frame { .. } | Errand::Robots => return None,
        };
        self.reaches(1).then_some(Errand::Listing { nesting })
    }
}

/// What a page embeds, it embeds by chains of limited length. What only looks like an address in a script or a JSON
/// document is left alone.
fn embedded(errand: Errand, link: &Link<'_>) -> Option<Errand> {
    let (chain, depth) = match errand {
        Errand::Page { depth } => (1, Some(depth)),
        Errand::Frame { depth, chain } => (chain + 1, Some(depth)),
        Errand::Embed { chain } => (chain + 1, None),
        Errand::Listing { .. } | Errand::Robots => return None,
    };
    let far_fetched = link.guessed && !matches!(link.place, Place::Attribute { .. });
    let part = match depth.filter(|_| is_frame(link)) {
        Some(depth) => Errand::Frame { depth, chain },
        None => Errand::Embed { chain },
    };
    (chain <= LONGEST_CHAIN && !far_fetched).then_some(part)
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

    fn plan(scope: ScopeKind, depth: Option<u32>) -> Plan {
        Plan::new(Settings { seeds: vec!["http://h/".to_owned()], scope, depth, ..Settings::default() })
    }

    #[test]
    fn depth_and_chains_end() {
        let plan = plan(ScopeKind::Host, Some(2));
        let leads = |errand, role| {
            let lead = plan.lead("http://h/", errand, &link("http://h/x#y", role));
            lead.filter(|lead| lead.refusal.is_none()).map(|lead| lead.errand)
        };
        let (near, far) = (Errand::Page { depth: 1 }, Errand::Page { depth: 2 });
        assert_eq!(leads(near, Role::Navigate), Some(far));
        assert_eq!(leads(far, Role::Navigate), None);
        assert_eq!(leads(far, Role::Redirect), Some(far));
        assert_eq!(leads(far, Role::Embed), Some(Errand::Embed { chain: 1 }));
        assert_eq!(leads(Errand::Embed { chain: LONGEST_CHAIN }, Role::Embed), None);
        assert_eq!(leads(Errand::Embed { chain: 1 }, Role::Navigate), None);
        assert_eq!(leads(Errand::Listing { nesting: DEEPEST_SITEMAP }, Role::Sitemap), None);
        assert_eq!(leads(Errand::Listing { nesting: 0 }, Role::Navigate), Some(near));
    }

    /// Its links are the page's own, at its depth; what strangers show in a frame leads nowhere.
    #[test]
    fn a_frame_is_a_part_that_leads_on() {
        let plan = plan(ScopeKind::Host, Some(2));
        let place = Place::Attribute { element: "iframe".into(), attribute: "src".into() };
        let frame = Link { place, ..link("http://h/nav", Role::Embed) };
        let leads = |from, errand, link| plan.lead(from, errand, link).map(|lead| lead.errand);
        let shown = Errand::Frame { depth: 1, chain: 1 };
        assert_eq!(leads("http://h/", Errand::Page { depth: 1 }, &frame), Some(shown));
        assert_eq!(leads("http://h/a", shown, &frame), Some(Errand::Frame { depth: 1, chain: 2 }));
        assert_eq!(leads("http://h/a", Errand::Frame { depth: 0, chain: LONGEST_CHAIN }, &frame), None);
        assert_eq!(leads("http://h/a", Errand::Embed { chain: 1 }, &frame), Some(Errand::Embed { chain: 2 }));
        let onward = link("http://h/x", Role::Navigate);
        assert_eq!(leads("http://h/nav", shown, &onward), Some(Errand::Page { depth: 2 }));
        assert_eq!(leads("http://h/nav", Errand::Frame { depth: 2, chain: 1 }, &onward), None);
        assert_eq!(leads("http://ads/nav", shown, &onward), None);
    }

    #[test]
    fn a_single_page_brings_its_parts_and_nothing_else() {
        let plan = plan(ScopeKind::Page, None);
        let seed = Errand::Page { depth: 0 };
        assert_eq!(plan.lead("http://h/", seed, &link("http://h/a", Role::Navigate)), None);
        assert_eq!(plan.lead("http://h/", seed, &link("http://h/a", Role::Sitemap)), None);
        assert!(plan.lead("http://h/", seed, &link("http://cdn/a", Role::Embed)).is_some());
    }

    #[test]
    fn what_asks_not_to_be_followed_is_not_unless_told() {
        let mut plan = plan(ScopeKind::Host, None);
        let shy = Link { nofollow: true, ..link("http://h/a", Role::Navigate) };
        let refusal =
            |plan: &Plan| plan.lead("http://h/", Errand::Page { depth: 0 }, &shy).map(|lead| lead.refusal);
        assert_eq!(refusal(&plan), Some(Some(Refusal::NoFollow)));
        plan.settings.nofollow = false;
        assert_eq!(refusal(&plan), Some(None));
        let guessed = Link { guessed: true, ..link("http://h/a", Role::Embed) };
        assert_eq!(plan.lead("http://h/", Errand::Page { depth: 0 }, &guessed), None);
    }
}
