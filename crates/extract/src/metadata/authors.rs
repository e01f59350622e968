//! The authors of a page.
//!
//! The first source that names somebody decides: linked data, `meta` elements, microdata, links to
//! authors, elements marked as bylines, and a line that begins with "by" beside the title.

use super::MetadataInput;
use super::facts::PageFacts;
use super::linked_data::{ItemKind, LinkedItems};
use super::person_name::{names, without_leading_words};
use super::region::{PageLayout, Region};
use super::text::{comparable, text_below};
use varve_page::dom::NodeData;

/// Maximum number of authors of a page.
const MAX_AUTHORS: usize = 64;

/// Maximum length of a byline.
const MAX_BYLINE_BYTES: usize = 160;

/// Maximum length of the text between the title and a byline.
const MAX_TITLE_DISTANCE_BYTES: usize = 600;

/// The authors of a page.
pub(super) fn authors(
    input: &MetadataInput<'_>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    layout: PageLayout<'_>,
) -> Vec<String> {
    let sources: [&dyn Fn() -> Vec<String>; 6] = [
        &|| linked(input, items),
        &|| declared(facts),
        &|| in_microdata(facts, layout),
        &|| by_relation(facts, layout),
        &|| marked(facts, layout),
        &|| in_text(facts, layout),
    ];
    sources.iter().map(|source| distinct(source())).find(|authors| !authors.is_empty()).unwrap_or_default()
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

fn linked(input: &MetadataInput<'_>, items: &LinkedItems<'_>) -> Vec<String> {
    let Some((kind, item)) = items.main(input.requested_url) else { return Vec::new() };
    if kind == ItemKind::Page {
        return Vec::new();
    }
    let of = |key| items.names(item, key).into_iter().flat_map(names).collect::<Vec<_>>();
    ["author", "creator"].into_iter().map(of).find(|names| !names.is_empty()).unwrap_or_default()
}

/// Names of `meta` elements with authors, in order of trust.
const AUTHOR_METAS: [&str; 14] = [
    "citation_author",
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

fn in_microdata(facts: &PageFacts<'_>, layout: PageLayout<'_>) -> Vec<String> {
    let mut authors = Vec::new();
    let properties =
        facts.properties.iter().filter(|property| matches!(property.name.as_str(), "author" | "creator"));
    for property in properties.filter(|property| layout.region(property.node) == Region::Main) {
        let end = facts.tree.nodes()[property.node].end;
        let inner = facts
            .properties
            .iter()
            .find(|inner| inner.name == "name" && (property.node..end).contains(&inner.node))
            .map_or_else(|| facts.property_value(property), |inner| facts.property_value(inner));
        authors.extend(names(&inner));
        if is_thread_type(property.item_type) && !authors.is_empty() {
            break;
        }
    }
    authors
}

/// Whether an item is one of many in a thread: the first has started it.
fn is_thread_type(item_type: &str) -> bool {
    !matches!(super::linked_data::kind_of_type(item_type), Some(ItemKind::Article | ItemKind::Work))
}

fn by_relation(facts: &PageFacts<'_>, layout: PageLayout<'_>) -> Vec<String> {
    let links = facts.relations.iter().filter(|node| facts.has_relation(**node, "author"));
    links
        .filter(|node| layout.region(**node) == Region::Main)
        .find_map(|node| {
            let found = byline_names(&text_below(facts.tree, *node, MAX_BYLINE_BYTES));
            (!found.is_empty()).then_some(found)
        })
        .unwrap_or_default()
}

fn marked(facts: &PageFacts<'_>, layout: PageLayout<'_>) -> Vec<String> {
    let marks = facts.author_marks.iter().filter(|node| layout.region(**node) == Region::Main);
    marks
        .filter_map(|node| {
            let text = text_below(facts.tree, *node, MAX_BYLINE_BYTES + 1);
            (text.len() <= MAX_BYLINE_BYTES).then(|| byline_names(&text))
        })
        .find(|names| !names.is_empty())
        .unwrap_or_default()
}

/// The names in a byline: what stands before a date or a separator.
fn byline_names(text: &str) -> Vec<String> {
    let text = without_leading_words(text);
    let end = text
        .find(|letter: char| letter.is_ascii_digit() || matches!(letter, '|' | '•' | '·'))
        .unwrap_or(text.len());
    let end = [" on ", " in ", " Updated", " Published", " Posted"]
        .iter()
        .filter_map(|word| text.find(word))
        .min()
        .unwrap_or(end)
        .min(end);
    names(&text[..end])
}

/// A line "by …" beside the title.
fn in_text(facts: &PageFacts<'_>, layout: PageLayout<'_>) -> Vec<String> {
    let Some(title) = layout.title() else { return Vec::new() };
    let nodes = facts.tree.nodes();
    let mut length = 0;
    for node in &nodes[nodes[title].end..] {
        let NodeData::Text(text) = &node.data else { continue };
        let text = text.trim();
        if text.is_empty() || matches!(nodes[node.parent].name(), Some("script" | "style" | "noscript")) {
            continue;
        }
        length += text.len();
        if length > MAX_TITLE_DISTANCE_BYTES {
            break;
        }
        let is_line = text.len() <= MAX_BYLINE_BYTES
            && text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("by "));
        if is_line {
            return byline_names(text);
        }
    }
    Vec::new()
}
