//! The authors of a page.
//!
//! The first source that names somebody decides: linked data, `meta` elements, microdata, links to
//! authors, elements marked as bylines, and a line that begins with "by" beside the title.

use super::MetadataInput;
use super::date::written::{DayOrder, first_date};
use super::facts::{PageFacts, PropertyEntry};
use super::linked_data::{ItemKind, LinkedItems, kind_of_type};
use super::person_name::{names, without_leading_words};
use super::region::{PageLayout, Region};
use super::site::{is_site, is_thread};
use super::text::{comparable, shown_text, text_below};
use std::ops::Range;

/// Maximum number of authors of a page.
const MAX_AUTHORS: usize = 64;

/// Maximum length of a byline.
const MAX_BYLINE_BYTES: usize = 160;

/// Maximum length of the text between the title and a byline.
const MAX_TITLE_DISTANCE_BYTES: usize = 600;

/// The authors of a page.
///
/// The name of the site as author says little: if the byline names somebody, it is taken instead.
pub(super) fn authors(
    input: &MetadataInput<'_>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    layout: PageLayout<'_>,
    site: &[String],
) -> Vec<String> {
    let search = AuthorSearch { facts, layout, is_thread: is_thread(input.requested_url, items) };
    let sources: [&dyn Fn() -> Vec<String>; 7] = [
        &|| cited(facts),
        &|| linked(input, items),
        &|| declared(facts),
        &|| search.in_microdata(),
        &|| search.by_relation(),
        &|| search.marked(),
        &|| search.in_text(),
    ];
    let is_site_alone = |names: &[String]| matches!(names, [name] if is_site(name, site));
    let mut site_alone = Vec::new();
    for source in sources {
        let names = distinct(source());
        if is_site_alone(&names) {
            site_alone = names;
        } else if !names.is_empty() {
            return names;
        }
    }
    site_alone
}

/// Looks for authors that readers see.
#[derive(Debug, Clone, Copy)]
struct AuthorSearch<'f> {
    facts: &'f PageFacts<'f>,
    layout: PageLayout<'f>,
    is_thread: bool,
}

fn distinct(names: Vec<String>) -> Vec<String> {
    let mut authors: Vec<String> = Vec::new();
    for name in names.into_iter().take(MAX_AUTHORS) {
        if !authors.iter().any(|known| comparable(known) == comparable(&name)) {
            authors.push(name);
        }
    }
    authors
}

/// The authors in the metadata for citations, which names them all.
fn cited(facts: &PageFacts<'_>) -> Vec<String> {
    facts.meta_contents("citation_author").flat_map(names).collect()
}

fn linked(input: &MetadataInput<'_>, items: &LinkedItems<'_>) -> Vec<String> {
    let Some((kind, item)) = items.main(input.requested_url) else { return Vec::new() };
    if kind == ItemKind::Page {
        return Vec::new();
    }
    let of = |key| items.names(item, key).into_iter().flat_map(names).collect::<Vec<_>>();
    ["author", "creator"].into_iter().map(of).find(|names| !names.is_empty()).unwrap_or_default()
}

/// Names of `meta` elements with authors, in order of trust.
const AUTHOR_METAS: [&str; 13] = [
    "author",
    "article:author",
    "og:article:author",
    "article:author_name",
    "parsely-author",
    "sailthru.author",
    "cxenseparse:author",
    "dc.creator",
    "dcterms.creator",
    "dc.contributor",
    "byl",
    "authors",
    "article_author",
];

fn declared(facts: &PageFacts<'_>) -> Vec<String> {
    let of = |name: &&str| facts.meta_contents(name).flat_map(names).collect::<Vec<_>>();
    AUTHOR_METAS.iter().map(of).find(|names| !names.is_empty()).unwrap_or_else(|| {
        let label = |name: &str| {
            facts.meta_content(&[name]).is_some_and(|label| label.eq_ignore_ascii_case("written by"))
        };
        let data = if label("twitter:label1") { "twitter:data1" } else { "twitter:data2" };
        let is_labelled = label("twitter:label1") || label("twitter:label2");
        facts.meta_content(&[data]).filter(|_| is_labelled).map(names).unwrap_or_default()
    })
}

impl AuthorSearch<'_> {
    fn in_microdata(&self) -> Vec<String> {
        let mut authors = Vec::new();
        let is_author = |name: &str| matches!(name, "author" | "creator");
        let properties = self.facts.properties.iter().filter(|property| is_author(&property.name));
        for property in properties.filter(|property| self.is_of_page(property.node)) {
            let end = self.facts.tree.nodes()[property.node].end;
            let is_inner = |inner: &&PropertyEntry<'_>| {
                inner.name == "name" && (property.node..end).contains(&inner.node)
            };
            let named = self.facts.properties.iter().find(is_inner).unwrap_or(property);
            authors.extend(names(&self.facts.property_value(named)));
            let is_work =
                matches!(kind_of_type(property.item_type), Some(ItemKind::Article | ItemKind::Work));
            if !is_work && !authors.is_empty() {
                // One of many items, such as posts: the first is that of the page.
                break;
            }
        }
        authors
    }

    fn by_relation(&self) -> Vec<String> {
        let links = self.facts.relations.iter().filter(|node| self.facts.has_relation(**node, "author"));
        self.first_names(links.copied())
    }

    fn marked(&self) -> Vec<String> {
        let is_user = |node: usize| {
            let names =
                ["class", "id"].map(|name| self.facts.tree.nodes()[node].attribute(name).unwrap_or_default());
            names.iter().any(|names| names.to_ascii_lowercase().contains("user"))
        };
        let marks = self.facts.author_marks.iter().copied();
        self.first_names(marks.filter(|node| self.is_thread || !is_user(*node)))
    }

    /// The names in the first of these elements that is part of the page and has some.
    fn first_names(&self, nodes: impl Iterator<Item = usize>) -> Vec<String> {
        nodes
            .filter(|node| self.is_of_page(*node))
            .filter(|node| text_below(self.facts.tree, *node, MAX_BYLINE_BYTES + 1).len() <= MAX_BYLINE_BYTES)
            .map(|node| self.byline(node..self.facts.tree.nodes()[node].end))
            .find(|names| !names.is_empty())
            .unwrap_or_default()
    }

    /// The names at the beginning of a byline: they end at a text that is neither a name nor joins
    /// two.
    fn byline(&self, places: Range<usize>) -> Vec<String> {
        let mut found = Vec::new();
        let mut is_joined = true;
        for place in places {
            let Some(text) = shown_text(self.facts.tree, place) else { continue };
            let text = without_leading_words(text);
            let is_joiner = matches!(
                text.trim_matches([',', ' ']).to_lowercase().as_str(),
                "" | "and" | "&" | "und" | "et"
            );
            if is_joiner {
                is_joined = true;
                continue;
            }
            if !is_joined {
                break;
            }
            is_joined = text.ends_with(',');
            let is_name = |name: &String| self.is_thread || !name.bytes().any(|byte| byte.is_ascii_digit());
            found.extend(byline_names(&text).into_iter().filter(is_name));
        }
        found
    }

    /// A line "by …" beside the title.
    fn in_text(&self) -> Vec<String> {
        let Some(title) = self.layout.title() else { return Vec::new() };
        let nodes = self.facts.tree.nodes();
        let mut length = 0;
        for place in nodes[title].end..nodes.len() {
            let Some(text) = shown_text(self.facts.tree, place) else { continue };
            length += text.len();
            if length > MAX_TITLE_DISTANCE_BYTES {
                break;
            }
            let is_introduced = text.eq_ignore_ascii_case("by")
                || text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("by "))
                || text.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("written by "));
            if is_introduced && text.len() <= MAX_BYLINE_BYTES && self.is_of_page(place) {
                return self.byline(place..nodes.len().min(place + MAX_BYLINE_NODES));
            }
        }
        Vec::new()
    }

    /// Whether a node is part of the page, and not of what is around it.
    fn is_of_page(&self, node: usize) -> bool {
        match self.layout.region(node) {
            Region::Main => self.is_thread || !self.layout.is_in_card(node),
            Region::Comments => self.is_thread,
            Region::Frame | Region::Related => false,
        }
    }
}

/// Maximum number of nodes of a byline.
const MAX_BYLINE_NODES: usize = 24;

/// The names in a text: what stands before a date or a separator.
fn byline_names(text: &str) -> Vec<String> {
    let ends = [" on ", " in ", " Updated", " Published", " Posted", "Updated ", "|", "•", "·"];
    let end = ends.iter().filter_map(|word| text.find(word)).min().unwrap_or(text.len());
    let date = first_date(text, DayOrder::DayFirst).map_or(text.len(), |date| date.start);
    names(&text[..end.min(date)])
}
