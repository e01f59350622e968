//! The links of a response, each once.
//!
//! Bodies are read as streams, and the links that are remembered are bounded, so that no page can
//! fill the memory. Each occurrence of a link is first compared as text: a URL is parsed once for a
//! page, however often the page names it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

use varve_core::headers::Headers;
use varve_core::secret::ShownUrl;
use varve_core::url::{RequestUrl, resolve};
use varve_page::links::{LinkFormat, LinkLimits, LinkPlace, LinkRole, LinkStop, PageLink, extract};

use super::crawl_policy::{CrawlPolicy, LinkDecision, is_frame};
use super::discovered_link::{DiscoveredLink, ResponseLinks, UnfollowedLink};
use super::fetch_reason::FetchReason;
use super::skip_rule::SkipRule;

/// Maximum number of occurrences of links that are examined in one response.
const MAX_LINKS: u64 = 200_000;
/// Maximum number of different links of one response that are followed.
const MAX_FOLLOWED_LINKS: usize = 60_000;
/// Maximum number of bytes of a body that are read for links.
const MAX_BODY_BYTES: u64 = 64 << 20;
/// The header with the target of a redirect.
const LOCATION_HEADER: &str = "location";
/// Maximum length of a text that is reported although it is not a web URL, such as a `data:` URL.
const MAX_REPORTED_URL_BYTES: usize = 2000;

/// The parsed head of a response.
pub(crate) struct ParsedHead<'a> {
    /// Its URL.
    pub(crate) url: &'a RequestUrl,
    /// Its status.
    pub(crate) status: u16,
    /// Its headers.
    pub(crate) headers: &'a Headers,
}

/// The links of a response. A body that cannot be read gives those before the damage. `each` gets
/// every link, followed or not.
pub(crate) fn extract_links(
    policy: &CrawlPolicy,
    reason: FetchReason,
    head: &ParsedHead<'_>,
    body: &mut dyn Read,
    each: &mut dyn FnMut(&str),
) -> ResponseLinks {
    let limits = LinkLimits { links: MAX_LINKS, bytes: MAX_BODY_BYTES, ..LinkLimits::default() };
    // The hashes are enough: two links of one page with the same hash are rarer than pages.
    let (mut texts, mut found, hasher) = (HashSet::new(), HashSet::new(), RandomState::new());
    let mut links = ResponseLinks::default();
    let mut take = |link: PageLink<'_>| {
        if is_unused_location(&link, head.status) {
            return;
        }
        each(&link.target);
        let occurrence = (&link.target, link.role, link.nofollow, link.guessed, place_class(&link));
        if !texts.insert(hasher.hash_one(occurrence)) {
            return;
        }
        match policy.decide(head.url, reason, &link) {
            Some(LinkDecision::Follow(link))
                if link.is_redirect || link.url.as_str() != head.url.as_str() =>
            {
                if found.insert(hasher.hash_one(&link)) {
                    match links.followed.len() < MAX_FOLLOWED_LINKS {
                        true => links.followed.push(link),
                        false => links.over_limit.push(link.url.as_str()),
                    }
                }
            }
            Some(LinkDecision::Report(link)) => links.unfollowed.push(link),
            Some(LinkDecision::Follow(_)) | None => {}
        }
    };
    let extracted = extract(kind(reason, head), head.url.as_str(), head.headers, body, limits, &mut take);
    let extracted = extracted.unwrap_or_default();
    links.stopped_at = extracted.report.stopped.and_then(|stop| match stop {
        LinkStop::Links => Some("200,000 links"),
        LinkStop::Bytes => Some("64 MiB"),
        LinkStop::Malformed => None,
    });
    if extracted.metadata.robots.nofollow && policy.settings.scope.obey_nofollow {
        let is_navigation = |link: &mut DiscoveredLink| link.reason.is_page() && !link.is_redirect;
        let unfollowed = links.followed.extract_if(.., is_navigation);
        let report = |link: DiscoveredLink| UnfollowedLink::new(&link.url, SkipRule::NoFollow);
        links.unfollowed.extend(unfollowed.map(report));
    }
    links.unfollowed.extend(foreign_redirect(head));
    links
}

/// The class of a link's place, as far as the policy distinguishes places.
fn place_class(link: &PageLink<'_>) -> u8 {
    match &link.place {
        LinkPlace::Header(LOCATION_HEADER) => 3,
        LinkPlace::Attribute { .. } if is_frame(link) => 2,
        LinkPlace::Attribute { .. } => 1,
        _ => 0,
    }
}

/// The target of a redirect, if it is not on the web or no URL at all. It is reported and not
/// followed.
fn foreign_redirect(head: &ParsedHead<'_>) -> Option<UnfollowedLink> {
    let location = head.headers.get_text(LOCATION_HEADER).filter(|_| (300..400).contains(&head.status))?;
    let (text, rule) = match resolve(head.url.as_str(), location.trim()) {
        Ok(url) if !url.starts_with("http://") && !url.starts_with("https://") => (url, SkipRule::Scheme),
        Ok(url) if RequestUrl::parse(&url).is_some() => return None,
        Ok(url) => (url, SkipRule::Broken),
        Err(_) => (location.trim().to_owned(), SkipRule::Broken),
    };
    let shown = ShownUrl(&text).to_string();
    (shown.len() <= MAX_REPORTED_URL_BYTES).then(|| UnfollowedLink::foreign(shown, rule))
}

/// A `Location` counts only with a status that redirects.
fn is_unused_location(link: &PageLink<'_>, status: u16) -> bool {
    link.role == LinkRole::Redirect
        && link.place == LinkPlace::Header(LOCATION_HEADER)
        && !(300..400).contains(&status)
}

/// The format in which the body is read. If the response is not a page, such as a redirect or an
/// error, only its headers are read.
fn kind(reason: FetchReason, head: &ParsedHead<'_>) -> LinkFormat {
    let has_page = matches!(head.status, 200..=299 | 304);
    let content_type = head.headers.get_text("content-type");
    match reason {
        _ if !has_page => LinkFormat::Opaque,
        FetchReason::Robots => LinkFormat::Opaque,
        FetchReason::Sitemap { .. } => LinkFormat::Listing,
        FetchReason::Page { .. } | FetchReason::Embed { .. } | FetchReason::Frame { .. } => {
            LinkFormat::of(content_type.as_deref(), head.url.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::ScopeKind;
    use crate::settings::CrawlSettings;

    fn links_of(body: &str) -> ResponseLinks {
        let settings = CrawlSettings::default().with(|settings| {
            settings.seeds = vec!["http://h/".to_owned()];
            settings.scope.kind = ScopeKind::Host;
        });
        let (policy, url) = (CrawlPolicy::new(settings), RequestUrl::parse("http://h/a").unwrap());
        let mut headers = Headers::new();
        headers.push("Content-Type", "text/html");
        let head = ParsedHead { url: &url, status: 200, headers: &headers };
        extract_links(&policy, FetchReason::Page { depth: 0 }, &head, &mut body.as_bytes(), &mut |_| {})
    }

    #[test]
    fn links_beyond_the_limit_are_listed_once_each() {
        let link = |number: usize| format!("<a href=/{number}></a>");
        let mut body: String = (0..MAX_FOLLOWED_LINKS + 7).map(link).collect();
        body += &link(MAX_FOLLOWED_LINKS + 1);
        body += &link(0);
        let links = links_of(&body);
        assert_eq!((links.followed.len(), links.over_limit.count()), (MAX_FOLLOWED_LINKS, 7));
        assert_eq!(links.stopped_at, None);
        let mut listed = Vec::new();
        links.over_limit.for_each(|url| listed.push(url.to_owned())).unwrap();
        let expected: Vec<String> =
            (MAX_FOLLOWED_LINKS..MAX_FOLLOWED_LINKS + 7).map(|number| format!("http://h/{number}")).collect();
        assert_eq!(listed, expected);
        let same = links_of(&"<a href=/1></a>".repeat(usize::try_from(MAX_LINKS).unwrap() + 1));
        assert_eq!((same.followed.len(), same.over_limit.count()), (1, 0));
        assert_eq!(same.stopped_at, Some("200,000 links"));
    }

    /// The links of a page set with `sign` between the words of each path, as a site has them:
    /// navigation that every page repeats, and links of its own.
    fn page_with_sign(page: usize, sign: &str) -> String {
        let own = (0..200)
            .map(|link| format!("<a href=\"../topic/some{sign}long{sign}title-{page}-{link}\">x</a>"));
        let shared = (0..100).map(|link| format!("<a href=\"/section/common{sign}page-{link}.html\">x</a>"));
        own.chain(shared.clone()).chain(shared).collect()
    }

    /// Every spelling of a path is followed, and a repeated link once.
    #[test]
    fn links_with_signs_in_their_paths_are_all_followed() {
        for sign in ["-", "+", ",", "%20"] {
            let followed = links_of(&page_with_sign(1, sign)).followed;
            assert_eq!(followed.len(), 300, "{sign}");
        }
    }
}
