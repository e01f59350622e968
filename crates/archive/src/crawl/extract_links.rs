//! The leads in an answer, each once.
//!
//! Bodies are read as streams; what is remembered is bounded, so that no page can fill the memory.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

use varve_core::headers::Headers;
use varve_core::url::resolve;
use varve_page::links::{Kind, Limits, Link, Place, Role, extract};

use super::address::asked;
use super::crawl_policy::{CrawlPolicy, DiscoveredLink, UnfollowedReason};
use super::fetch_reason::FetchReason;

/// So many links of one answer are looked at.
const MAX_LINKS: u64 = 200_000;
/// So many different ones are followed.
const MAX_FOLLOWED_LINKS: usize = 60_000;
/// So much of a body is read for links.
const MAX_BODY_BYTES: u64 = 64 << 20;

/// Where redirects say where they lead.
const LOCATION_HEADER: &str = "location";
/// A longer address of what is not on the web, such as a picture in itself, is not listed.
const MAX_REPORTED_URL_BYTES: usize = 2000;

/// What an answer says, as far as links go.
pub(crate) struct ParsedHead<'a> {
    /// Its address.
    pub(crate) url: &'a str,
    /// Its status.
    pub(crate) status: u16,
    /// Its headers.
    pub(crate) headers: &'a Headers,
}

/// The leads in an answer. A body that cannot be read gives what was found before it broke. `each` is told every link,
/// whether or not it is followed.
pub(crate) fn extract_links(
    plan: &CrawlPolicy,
    errand: FetchReason,
    answer: &ParsedHead<'_>,
    body: &mut dyn Read,
    each: &mut dyn FnMut(&str),
) -> Vec<DiscoveredLink> {
    let kind = kind(errand, answer);
    let limits = Limits { links: MAX_LINKS, bytes: MAX_BODY_BYTES, ..Limits::default() };
    // Their hashes will do: two in a page that share one are rarer than pages.
    let (mut seen, hasher) = (HashSet::new(), RandomState::new());
    let mut found: Vec<DiscoveredLink> = Vec::new();
    let mut take = |link: Link<'_>| {
        if found.len() >= MAX_FOLLOWED_LINKS || is_no_redirect(&link, answer.status) {
            return;
        }
        each(&link.target);
        let is_location = link.place == Place::Header(LOCATION_HEADER);
        let mut lead = plan.link_to_follow(answer.url, errand, &link);
        if let Some(lead) = lead.as_mut().filter(|lead| is_location && lead.url == answer.url) {
            lead.unfollowed = Some(UnfollowedReason::Loop);
        }
        if let Some(lead) = lead.filter(|lead| is_location || lead.url != answer.url)
            && seen.insert(hasher.hash_one(&lead))
        {
            found.push(lead);
        }
    };
    let foreign = foreign_redirect(answer, errand);
    let extracted = extract(kind, answer.url, answer.headers, body, limits, &mut take);
    let shy = extracted.is_ok_and(|extracted| extracted.metadata.robots.nofollow);
    if shy && plan.settings.obey_nofollow {
        for lead in found.iter_mut().filter(|lead| lead.reason.is_page() && !lead.redirect) {
            lead.unfollowed = Some(UnfollowedReason::NoFollow);
        }
    }
    found.extend(foreign);
    found
}

/// Where an answer sends its reader, if that is not on the web or no URL at all: it is listed, and not followed.
fn foreign_redirect(answer: &ParsedHead<'_>, errand: FetchReason) -> Option<DiscoveredLink> {
    let location =
        answer.headers.get_text(LOCATION_HEADER).filter(|_| (300..400).contains(&answer.status))?;
    let (url, refusal) = match resolve(answer.url, location.trim()) {
        Ok(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
            (url, UnfollowedReason::Scheme)
        }
        Ok(url) if asked(&url).is_some() => return None,
        Ok(url) => (url, UnfollowedReason::Broken),
        Err(_) => (location.trim().to_owned(), UnfollowedReason::Broken),
    };
    let is_short = url.len() <= MAX_REPORTED_URL_BYTES;
    is_short.then_some(DiscoveredLink {
        url,
        key: None,
        reason: errand,
        redirect: true,
        unfollowed: Some(refusal),
    })
}

/// A `Location` sends nobody anywhere unless the status says so.
fn is_no_redirect(link: &Link<'_>, status: u16) -> bool {
    link.role == Role::Redirect
        && link.place == Place::Header(LOCATION_HEADER)
        && !(300..400).contains(&status)
}

/// How the body is read. An answer that is no page in itself, as a redirect or an error, has only its headers read.
fn kind(errand: FetchReason, answer: &ParsedHead<'_>) -> Kind {
    let has_page = matches!(answer.status, 200..=299 | 304);
    let content_type = answer.headers.get_text("content-type");
    match errand {
        _ if !has_page => Kind::Opaque,
        FetchReason::Robots => Kind::Opaque,
        FetchReason::Sitemap { .. } => Kind::Listing,
        FetchReason::Page { .. } | FetchReason::Embed { .. } | FetchReason::Frame { .. } => {
            Kind::of(content_type.as_deref(), answer.url)
        }
    }
}
