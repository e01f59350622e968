//! Which changed nodes are noise.
//!
//! A changed text or attribute is written as a fragment of HTML on both sides, and the fragments
//! are [compared](super::explain). Nodes that were added, removed or moved are noise only in the
//! slot of an advertisement, or at a place that was learned.

use super::ad_content::AdChanges;
use super::document::BodySyntax;
use super::explain::explain_fragments;
use super::learned_noise::Volatile;
use super::position::is_block;
use super::rules::NoiseRule;
use super::swapped_links::{SwappedLinks, swapped_links};
use crate::nodes::{NodeChange, NodeChangeKind};
use std::borrow::Cow;
use varve_page::dom::{HtmlTree, NodeData, start_tag};

/// Elements that run, load, send or define the page.
#[rustfmt::skip]
const ACTIVE_ELEMENTS: [&str; 33] = [
    "applet", "audio", "base", "bgsound", "button", "embed", "fencedframe", "feimage", "form", "frame", "frameset",
    "iframe", "image", "img", "input", "link", "meta", "object", "option", "param", "picture", "portal", "script",
    "select", "set", "source", "style", "textarea", "title", "track", "use", "video", "animate",
];

/// Attributes of any element whose values run, load or send something.
#[rustfmt::skip]
const ACTIVE_ATTRIBUTES: [&str; 16] = [
    "action", "background", "code", "codebase", "content", "data", "dynsrc", "formaction", "imagesrcset", "integrity",
    "lowsrc", "ping", "poster", "src", "srcdoc", "srcset",
];

/// Attributes with the target of a link, in HTML and in SVG.
pub(super) const LINK_ATTRIBUTES: [&str; 2] = ["href", "xlink:href"];

/// Elements whose text is a program.
pub(super) const PROGRAM_ELEMENTS: [&str; 2] = ["script", "style"];

/// Number of nodes, and of bytes of their text, in which the words before a node are looked for.
const MAX_WORD_NODES: usize = 24;
const MAX_WORD_BYTES: usize = 120;

/// Maximum length of a text for which the words before it matter.
const MAX_WORDED_BYTES: usize = 400;

/// For each change of a diff of trees the rule that explains it, if one does.
pub fn classify_nodes(
    base: &HtmlTree,
    head: &HtmlTree,
    changes: &[NodeChange],
    volatile: &Volatile,
) -> Vec<Option<NoiseRule>> {
    let advertisements = AdChanges::of(base, head, changes);
    let swapped = swapped_links(|| [Cow::Owned(addresses(base)), Cow::Owned(addresses(head))]);
    let classify = |change: &NodeChange| {
        explain_change(base, head, change, &swapped)
            .or_else(|| advertisements.explain(change).then_some(NoiseRule::AdSlot))
            .or_else(|| volatile.explains_node(base, head, change).then_some(NoiseRule::Learned))
    };
    changes.iter().map(classify).collect()
}

/// All addresses of a page, one per line.
fn addresses(tree: &HtmlTree) -> String {
    let attributes = tree.nodes().iter().flat_map(|node| node.attributes());
    let addresses = attributes.filter(|(name, _)| ["action", "href", "src"].contains(&name.as_str()));
    addresses.flat_map(|(_, value)| [value.as_str(), "\n"]).collect()
}

/// The rule that explains a change of text or of an attribute.
fn explain_change(
    base: &HtmlTree,
    head: &HtmlTree,
    change: &NodeChange,
    swapped: &SwappedLinks<'_>,
) -> Option<NoiseRule> {
    let (from, to) = (change.base?, change.head?);
    match &change.what {
        NodeChangeKind::Text => {
            let (old, new) = (text_fragment(base, from), text_fragment(head, to));
            // Only times of day and request ids depend on the words before them.
            let has_digit = |text: &str| text.contains(|letter: char| letter.is_ascii_digit());
            let is_worded =
                old.len().max(new.len()) <= MAX_WORDED_BYTES && has_digit(&old) && has_digit(&new);
            explain_after_words((base, from, &old), (head, to, &new), is_worded, swapped)
        }
        NodeChangeKind::Attribute(name) => explain_attribute(base, head, (from, to), name, swapped),
        NodeChangeKind::Added | NodeChangeKind::Removed | NodeChangeKind::Moved | NodeChangeKind::Tag => None,
    }
}

/// The rule that explains two fragments, if wanted together with the words before their nodes.
fn explain_after_words(
    (base, from, old): (&HtmlTree, usize, &str),
    (head, to, new): (&HtmlTree, usize, &str),
    is_worded: bool,
    swapped: &SwappedLinks<'_>,
) -> Option<NoiseRule> {
    let explain = |old: &str, new: &str| explain_fragments(old, new, BodySyntax::Html, swapped);
    let worded = || {
        let (before, after) = (words_before(base, from), words_before(head, to));
        explain(&(before + old), &(after + new))
    };
    is_worded.then(worded).flatten().or_else(|| explain(old, new))
}

/// A text with the tags around it. A script keeps its id, by which frameworks find it.
fn text_fragment(tree: &HtmlTree, node: usize) -> String {
    let parent = &tree.nodes()[tree.nodes()[node].parent];
    let name = parent.name().unwrap_or_default();
    match &tree.nodes()[node].data {
        NodeData::Comment(text) => format!("<!--{text}-->"),
        NodeData::Text(text) if PROGRAM_ELEMENTS.contains(&name) => {
            let id = parent.attribute("id").map(|id| ("id".to_owned(), id.to_owned()));
            format!("{}{}</{name}>", start_tag(name, id.as_slice()), text.trim())
        }
        _ => match tree.nodes()[node].seen_text() {
            Some(text) => format!("<{name}>{}</{name}>", escaped(text)),
            None => String::new(),
        },
    }
}

/// The text that a reader has read in the same sentence before a node.
fn words_before(tree: &HtmlTree, node: usize) -> String {
    let mut words: Vec<&str> = Vec::new();
    for near in tree.nodes()[..node].iter().rev().take(MAX_WORD_NODES) {
        let length: usize = words.iter().map(|text| text.len()).sum();
        if near.name().is_some_and(is_block) || length > MAX_WORD_BYTES {
            break;
        }
        match &near.data {
            NodeData::Text(text) if !is_active(tree, near.parent, near.parent + 1) => words.push(text),
            _ => {}
        }
    }
    words.reverse();
    let words = words.concat();
    escaped(&words[words.ceil_char_boundary(words.len().saturating_sub(MAX_WORD_BYTES))..])
}

/// Text without tags.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// The rule that explains one changed attribute: the old tag beside the same tag with the new
/// value.
fn explain_attribute(
    base: &HtmlTree,
    head: &HtmlTree,
    (from, to): (usize, usize),
    name: &str,
    swapped: &SwappedLinks<'_>,
) -> Option<NoiseRule> {
    let (node, other) = (&base.nodes()[from], &head.nodes()[to]);
    let value = other.attribute(name)?;
    node.attribute(name)?;
    let mut attributes = node.attributes().to_vec();
    for (_, old) in attributes.iter_mut().filter(|(other, _)| other == name) {
        value.clone_into(old);
    }
    let element = node.name().unwrap_or_default();
    let (old, new) = (start_tag(element, node.attributes()), start_tag(element, &attributes));
    let is_worded = name == "datetime";
    let rule = explain_after_words((base, from, &old), (head, to, &new), is_worded, swapped);
    // The digest of an asset follows its address. Alone, it says that the asset was changed in
    // place.
    let source = if node.attribute("src").is_some() { "src" } else { "href" };
    if rule.is_none() && name == "integrity" && node.attribute(source) != other.attribute(source) {
        return explain_attribute(base, head, (from, to), source, swapped)
            .filter(|rule| *rule == NoiseRule::BuildHash);
    }
    rule
}

/// Whether rules explain all of these changes, at least one of them by an advertisement.
pub(super) fn only_advertisements(base: &HtmlTree, head: &HtmlTree, changes: &[NodeChange]) -> bool {
    let rules = classify_nodes(base, head, changes, &Volatile::default());
    rules.iter().all(Option::is_some) && rules.contains(&Some(NoiseRule::AdSlot))
}

/// Whether any of these nodes runs, loads or sends something.
pub(super) fn is_active(tree: &HtmlTree, start: usize, end: usize) -> bool {
    tree.nodes()[start..end].iter().any(|node| {
        node.name().is_some_and(|name| ACTIVE_ELEMENTS.contains(&name.to_ascii_lowercase().as_str()))
            || node.attributes().iter().any(|(name, value)| is_active_attribute(name, value))
    })
}

/// Whether an attribute runs, loads or sends something, or lays its element over others. Targets of
/// links do not count.
pub(super) fn is_active_attribute(name: &str, value: &str) -> bool {
    let value = value.trim_start().to_ascii_lowercase();
    let is_style =
        || name == "style" && (value.contains('(') || value.contains('\\') || value.contains("position"));
    name.starts_with("on")
        || ACTIVE_ATTRIBUTES.contains(&name)
        || ["javascript:", "vbscript:", "data:"].iter().any(|scheme| value.starts_with(scheme))
        || is_style()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::DomDiff;
    use proptest::prelude::*;

    fn rules(base: &str, head: &str) -> Vec<Option<NoiseRule>> {
        let (base, head) = (HtmlTree::parse(base), HtmlTree::parse(head));
        let diff = DomDiff::between(&base, &head);
        classify_nodes(&base, &head, &diff.changes, &Volatile::default())
    }

    #[test]
    fn forms_explain_text_and_attributes() {
        let hash = Some(NoiseRule::BuildHash);
        for (base, head, expected) in [
            (
                "<script nonce=aaaaaaaa1>1</script>",
                "<script nonce=bbbbbbbb2>1</script>",
                Some(NoiseRule::Nonce),
            ),
            (
                "<input name=csrf value=aaaaaaaa1>",
                "<input name=csrf value=bbbbbbbb2>",
                Some(NoiseRule::CsrfToken),
            ),
            ("<span>10:00:01</span>", "<span>10:00:02</span>", None),
            (
                "<p>Server <i>time</i>: <span>10:00:01</span>",
                "<p>Server <i>time</i>: <span>10:00:02</span>",
                Some(NoiseRule::Timestamp),
            ),
            (
                "<p>Page rendered: <time datetime=2026-05-01T10:00:00Z>today</time>",
                "<p>Page rendered: <time datetime=2026-09-01T10:00:00Z>today</time>",
                Some(NoiseRule::Timestamp),
            ),
            (
                "<h2>Rendered</h2><p><time datetime=2026-05-01T10:00:00Z>today</time>",
                "<h2>Rendered</h2><p><time datetime=2026-09-01T10:00:00Z>today</time>",
                None,
            ),
            ("<p>&lt;!-- 2026-05-01 10:00", "<p>&lt;!-- 2026-06-01 11:00", None),
            ("<script src=/a.1111aaaa.js></script>", "<script src=/a.2222bbbb.js></script>", hash),
            ("<script src=/a.11111111.js></script>", "<script src=/a.22222222.js></script>", None),
            ("<p>10 of 12</p>", "<p>11 of 12</p>", None),
            ("<script src=/a.js></script>", "<script src=/b.js></script>", None),
        ] {
            assert_eq!(rules(base, head), [expected], "{head}");
        }
        let script = |hash: &str, digest: &str| {
            format!("<script src=/a.{hash}.js integrity=sha256-{digest}></script>")
        };
        assert_eq!(rules(&script("1111aaaa", "aa"), &script("2222bbbb", "bb")), [hash, hash]);
        assert_eq!(rules(&script("1111aaaa", "aa"), &script("1111aaaa", "bb")), [None]);
    }

    #[test]
    fn words_before_a_time_count_if_they_stayed() {
        let page = |word: &str, one: &str, other: &str| {
            format!("<p>{word} <i>{one}</i>, server time <i>{other}</i>")
        };
        let timestamp = Some(NoiseRule::Timestamp);
        let base = page("Rendered", "10:00:01", "10:00:02");
        assert_eq!(rules(&base, &page("Rendered", "11:00:01", "11:00:02")), [timestamp, timestamp]);
        assert_eq!(rules(&base, &page("Concert", "11:00:01", "10:00:02")), [None, None]);
    }

    proptest! {
        #[test]
        fn a_new_script_is_never_noise(
            page in "(<(/?(p|b|div|div id=google_ads_1|ins class=adsbygoogle))>|x|10:00:00){0,15}", inside: bool,
        ) {
            let script = "<script>evil()</script>";
            let head = if inside { format!("{script}{page}") } else { format!("{page}{script}") };
            let (base, head) = (HtmlTree::parse(&page), HtmlTree::parse(&head));
            let diff = DomDiff::between(&base, &head);
            let rules = classify_nodes(&base, &head, &diff.changes, &Volatile::default());
            let shown = diff.changes.iter().zip(&rules).any(|(change, rule)| {
                rule.is_none() && change.to.as_deref().is_some_and(|to| to.contains("evil()"))
            });
            prop_assert!(shown);
        }
    }
}
