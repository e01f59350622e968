//! Metadata of a page: title, canonical address, language and directives for robots.
//!
//! Only what a crawl needs. Authors, dates and text are not read here.

use crate::dom::{HtmlTree, NodeData};
use varve_core::headers::Headers;
use varve_core::url::{Candidates, Canonical, canonical};

/// Maximum length of a text. Longer texts are cut.
const MAX_TEXT_BYTES: usize = 4096;
/// Maximum number of `og:` and `twitter:` texts.
const MAX_SOCIAL_TEXTS: usize = 64;

/// The directives of a page for robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RobotsMeta {
    /// `noindex`.
    pub noindex: bool,
    /// `nofollow`: no link of the page may be followed.
    pub nofollow: bool,
    /// `noarchive`.
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

    /// Adds other directives.
    pub(crate) fn merge(&mut self, other: Self) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
    }

    /// The directives of `X-Robots-Tag` headers for all robots. Headers for a named robot are
    /// ignored.
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

/// Metadata of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageMetadata {
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
    /// The `lang` of the page, as written.
    pub language: Option<String>,
    /// Directives for robots, from the page and its headers.
    pub robots: RobotsMeta,
}

impl PageMetadata {
    /// The metadata of a page that is already parsed. [`crate::links::extract`] reads the same from
    /// a stream.
    pub fn of_tree(tree: &HtmlTree) -> Self {
        let mut collector = MetadataCollector::default();
        let nodes = tree.nodes();
        let mut place = 0;
        while let Some(node) = nodes.get(place) {
            // Inside graphics a `title` is a tooltip, and content of a template is in no document.
            let is_apart = matches!(node.name(), Some("svg" | "math" | "template"));
            match node.name() {
                Some("title") => tree.children(place).for_each(|child| {
                    if let NodeData::Text(text) = &nodes[child].data {
                        collector.title(text);
                    }
                }),
                Some(name) if !is_apart => {
                    collector.tag(name, |attribute| node.attribute(attribute).unwrap_or_default());
                }
                _ => {}
            }
            place = if is_apart { node.end } else { place + 1 };
        }
        collector.metadata
    }

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

/// Gathers metadata from the tags of a page.
#[derive(Debug, Default)]
pub(crate) struct MetadataCollector {
    pub(crate) metadata: PageMetadata,
}

impl MetadataCollector {
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
        if is_social && metadata.social.len() < MAX_SOCIAL_TEXTS {
            metadata.social.push(cut(content).to_owned());
        }
    }

    fn link(&mut self, rel: &str, hreflang: &str, href: &str) {
        let has = |word: &str| rel.split_ascii_whitespace().any(|given| given.eq_ignore_ascii_case(word));
        let metadata = &mut self.metadata;
        if has("canonical") && metadata.canonical_link.is_none() {
            // An empty value still overrides later ones.
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

/// Sets a value if it is the first that is not empty.
fn set(field: &mut Option<String>, text: &str) {
    if field.is_none() && !text.trim().is_empty() {
        *field = Some(cut(text.trim()).to_owned());
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}
