//! What a page says about itself: its title, its address, its language, and what it asks of robots.
//!
//! Only the head of things that steer a crawl. Authors, dates and text are another module's work.

use std::io::Read;
use varve_core::headers::Headers;
use varve_core::url::{Candidates, Canonical, canonical};

/// Texts longer than this are cut, in bytes.
const LONGEST: usize = 4096;
/// So many social texts are kept.
const MOST_SOCIAL: usize = 64;

/// What a page asks of robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RobotsMeta {
    /// Not to be shown in an index.
    pub noindex: bool,
    /// None of its links is to be followed.
    pub nofollow: bool,
    /// Not to be shown from an archive.
    pub noarchive: bool,
}

impl RobotsMeta {
    /// Adds the directives of a `robots` meta element or an `X-Robots-Tag` header.
    fn add(&mut self, directives: &str) {
        for directive in directives.split([',', ' ']).map(str::trim) {
            let is = |name: &str| directive.eq_ignore_ascii_case(name);
            self.noindex |= is("noindex") || is("none");
            self.nofollow |= is("nofollow") || is("none");
            self.noarchive |= is("noarchive") || is("none");
        }
    }

    /// Adds what another place asks for.
    pub(crate) fn merge(&mut self, other: Self) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
    }

    /// What the `X-Robots-Tag` headers ask of every robot. Lines for one robot alone are left to that robot.
    pub fn from_headers(headers: &Headers) -> Self {
        let mut robots = Self::default();
        for value in headers.get_all("x-robots-tag") {
            let text = varve_core::headers::decode_header_text(value);
            let named = text.split_once(':').is_some_and(|(name, _)| !name.contains([',', ' ']));
            if !named || text.trim_start().to_ascii_lowercase().starts_with("unavailable_after") {
                robots.add(&text);
            }
        }
        robots
    }
}

/// What a page says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// The text of the first `title`.
    pub title: Option<String>,
    /// The target of the first `link rel=canonical`, as it was written.
    pub canonical_link: Option<String>,
    /// `og:url`, as it was written.
    pub og_url: Option<String>,
    /// `twitter:url`, as it was written.
    pub twitter_url: Option<String>,
    /// The target of `link rel=alternate hreflang=x-default`, as it was written.
    pub default_language: Option<String>,
    /// All `og:` and `twitter:` contents, in order.
    pub social: Vec<String>,
    /// The language of the page, as it names it.
    pub language: Option<String>,
    /// What it asks of robots, in the page and in its headers.
    pub robots: RobotsMeta,
}

impl Metadata {
    /// The canonical URL of the page that was asked for as `requested`.
    pub fn canonical(&self, requested: &str) -> Canonical {
        let candidates = Candidates {
            og_url: self.og_url.as_deref(),
            twitter_url: self.twitter_url.as_deref(),
            canonical_link: self.canonical_link.as_deref(),
            default_language: self.default_language.as_deref(),
            social: self.social.iter().map(String::as_str).collect(),
        };
        canonical(requested, &candidates)
    }
}

/// Reads what a page says about itself. Where links are wanted as well, [`crate::links::extract`] gives both at once.
pub fn read(url: &str, headers: &Headers, body: impl Read) -> Result<Metadata, crate::links::LinkError> {
    let limits = crate::links::Limits::default();
    let extracted = crate::links::extract(crate::links::Kind::Html, url, headers, body, limits, &mut |_| {})?;
    Ok(extracted.metadata)
}

/// Gathers metadata from the tags of a page.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) metadata: Metadata,
}

impl Collector {
    /// Takes a start tag.
    pub(crate) fn tag<'t>(&mut self, name: &str, text: impl Fn(&str) -> &'t str) {
        match name {
            "html" | "body" => set(&mut self.metadata.language, text("lang")),
            "meta" => self.meta(text("property"), text("name"), text("http-equiv"), text("content")),
            "link" => self.link(text("rel"), text("hreflang"), text("href")),
            _ => {}
        }
    }

    fn meta(&mut self, property: &str, name: &str, http_equiv: &str, content: &str) {
        let name = if property.is_empty() { name } else { property }.trim().to_ascii_lowercase();
        let metadata = &mut self.metadata;
        match name.as_str() {
            "robots" => metadata.robots.add(content),
            "og:url" => set(&mut metadata.og_url, content),
            "twitter:url" => set(&mut metadata.twitter_url, content),
            "language" | "dc.language" => set(&mut metadata.language, content),
            _ if http_equiv.eq_ignore_ascii_case("content-language") => set(&mut metadata.language, content),
            _ => {}
        }
        let is_social = name.starts_with("og:") || name.starts_with("twitter:");
        if is_social && metadata.social.len() < MOST_SOCIAL {
            metadata.social.push(cut(content).to_owned());
        }
    }

    fn link(&mut self, rel: &str, hreflang: &str, href: &str) {
        let has = |word: &str| rel.split_ascii_whitespace().any(|given| given.eq_ignore_ascii_case(word));
        let metadata = &mut self.metadata;
        if has("canonical") && metadata.canonical_link.is_none() {
            // An empty one still says something: that there is no other.
            metadata.canonical_link = Some(cut(href).to_owned());
        } else if has("alternate") && hreflang.trim().eq_ignore_ascii_case("x-default") {
            set(&mut metadata.default_language, href);
        }
    }

    /// Takes the text of a `title`.
    pub(crate) fn title(&mut self, text: &str) {
        if self.metadata.title.is_none() {
            let words: Vec<&str> = cut(text).split_whitespace().collect();
            self.metadata.title = Some(words.join(" ")).filter(|title| !title.is_empty());
        }
    }
}

/// What is said first counts, and nothing is not said.
fn set(field: &mut Option<String>, text: &str) {
    if field.is_none() && !text.trim().is_empty() {
        *field = Some(cut(text.trim()).to_owned());
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}
