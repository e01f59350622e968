//! What a page declares of itself and is taken as it is: description, categories, tags, language,
//! image and licence.

use super::MetadataInput;
use super::facts::PageFacts;
use super::linked_data::{LinkedItem, LinkedItems};
use super::text::{field, text_below};
use varve_core::url::resolve;

/// Maximum number of categories, and of tags.
const MAX_KEYWORDS: usize = 64;

/// Maximum length of a category or a tag.
const MAX_KEYWORD_BYTES: usize = 128;

/// The description.
pub(super) fn description(
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    main: Option<&LinkedItem>,
) -> Option<String> {
    let names =
        ["description", "og:description", "twitter:description", "dc.description", "dcterms.description"];
    let meta = names.into_iter().filter_map(|name| facts.meta_content(&[name])).find_map(field);
    meta.or_else(|| field(items.text(main?, &["description", "abstract"])?))
}

/// The sections of the site that the page is in.
pub(super) fn categories(
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    main: Option<&LinkedItem>,
) -> Vec<String> {
    let mut categories = Vec::new();
    for name in [
        "article:section",
        "og:article:section",
        "parsely-section",
        "sailthru.section",
        "category",
        "section",
    ] {
        facts.meta_contents(name).for_each(|content| add_keyword(&mut categories, content));
    }
    if let Some(item) = main {
        items
            .names(item, "articleSection")
            .into_iter()
            .for_each(|section| add_keyword(&mut categories, section));
    }
    categories
}

/// The tags.
pub(super) fn tags(facts: &PageFacts<'_>, items: &LinkedItems<'_>, main: Option<&LinkedItem>) -> Vec<String> {
    let mut tags = Vec::new();
    for name in ["article:tag", "og:article:tag"] {
        facts.meta_contents(name).for_each(|content| add_keyword(&mut tags, content));
    }
    let lists =
        ["keywords", "news_keywords", "citation_keywords", "parsely-tags", "sailthru.tags", "dc.subject"];
    for content in lists.into_iter().flat_map(|name| facts.meta_contents(name)) {
        content.split([',', ';']).for_each(|tag| add_keyword(&mut tags, tag));
    }
    for keyword in main.map(|item| items.names(item, "keywords")).unwrap_or_default() {
        keyword.split([',', ';']).for_each(|tag| add_keyword(&mut tags, tag));
    }
    let links = facts.relations.iter().filter(|node| facts.has_relation(**node, "tag"));
    for node in links.take(MAX_KEYWORDS) {
        add_keyword(&mut tags, &text_below(facts.tree, *node, MAX_KEYWORD_BYTES));
    }
    tags
}

/// Adds a keyword that is not yet in a list.
fn add_keyword(list: &mut Vec<String>, text: &str) {
    if let Some(keyword) = field(text).filter(|keyword| keyword.len() <= MAX_KEYWORD_BYTES)
        && list.len() < MAX_KEYWORDS
        && !list.iter().any(|known| known.eq_ignore_ascii_case(&keyword))
    {
        list.push(keyword);
    }
}

/// The language: that of the element `html`, the header, `meta` elements, and linked data.
pub(super) fn language(
    input: &MetadataInput<'_>,
    declared: Option<&str>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    main: Option<&LinkedItem>,
) -> Option<String> {
    let meta = facts.meta_content(&["og:locale", "citation_language", "dcterms.language", "inlanguage"]);
    let linked = || items.text(main?, &["inLanguage"]);
    [declared, input.content_language, meta].into_iter().flatten().chain(linked()).find_map(language_tag)
}

/// A text as a BCP 47 tag: `en_us` is `en-US`. Of a list, the first.
fn language_tag(text: &str) -> Option<String> {
    let first = text.split([',', ';', ' ']).find(|part| !part.is_empty())?.trim();
    let mut subtags = first.split(['-', '_']);
    let language = subtags.next().filter(|subtag| matches!(subtag.len(), 2..=3))?;
    if !language.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let mut tag = language.to_ascii_lowercase();
    for subtag in subtags.take(3) {
        if !matches!(subtag.len(), 1..=8) || !subtag.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            break;
        }
        tag.push('-');
        match subtag.len() {
            2 => tag.push_str(&subtag.to_ascii_uppercase()),
            4 => {
                tag.push_str(&subtag[..1].to_ascii_uppercase());
                tag.push_str(&subtag[1..].to_ascii_lowercase());
            }
            _ => tag.push_str(&subtag.to_ascii_lowercase()),
        }
    }
    Some(tag)
}

/// The URL of the main image.
pub(super) fn image(
    input: &MetadataInput<'_>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    main: Option<&LinkedItem>,
) -> Option<String> {
    let meta = facts.meta_content(&[
        "og:image:secure_url",
        "og:image",
        "og:image:url",
        "twitter:image",
        "twitter:image:src",
        "thumbnail",
    ]);
    let linked = || items.image(main?);
    let property = || {
        let property = facts.properties.iter().find(|property| property.name == "image")?;
        let node = &facts.tree.nodes()[property.node];
        ["content", "src", "href"].into_iter().find_map(|name| node.attribute(name))
    };
    let given = meta.or_else(linked).or_else(property)?.trim();
    resolve(input.requested_url, given).ok().filter(|url| url.starts_with("http"))
}

/// The licence: the target of `rel=license` or what linked data and `meta` elements declare.
pub(super) fn license(
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    main: Option<&LinkedItem>,
) -> Option<String> {
    let link = facts.relations.iter().find(|node| facts.has_relation(**node, "license"));
    let target = link.and_then(|node| facts.tree.nodes()[*node].attribute("href"));
    let shown = target.and_then(creative_commons).or_else(|| {
        let text = link.map(|node| text_below(facts.tree, *node, MAX_KEYWORD_BYTES))?;
        field(&text)
    });
    let declared = || facts.meta_content(&["dc.rights", "dcterms.license", "dcterms.rights", "copyright"]);
    let linked = || items.text(main?, &["license"]);
    shown
        .or_else(|| target.and_then(field))
        .or_else(|| linked().and_then(|license| creative_commons(license).or_else(|| field(license))))
        .or_else(|| declared().and_then(field))
}

/// The name of a Creative Commons licence, by its URL.
fn creative_commons(url: &str) -> Option<String> {
    let (_, path) = url.split_once("creativecommons.org/")?;
    let mut parts = path.split('/');
    match (parts.next()?, parts.next()?, parts.next().unwrap_or_default()) {
        ("licenses", name, version) => {
            Some(format!("CC {} {version}", name.to_ascii_uppercase()).trim_end().to_owned())
        }
        ("publicdomain", "zero", version) => Some(format!("CC0 {version}").trim_end().to_owned()),
        ("publicdomain", ..) => Some("Public domain".to_owned()),
        _ => None,
    }
}
