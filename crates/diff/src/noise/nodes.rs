//! Which changed nodes are noise.

use super::adverts::Slots;
use super::learn::Volatile;
use super::lines::explain_long;
use super::mask::{MOST_MASKED, explain, mask};
use super::pages::Pages;
use super::place::is_block;
use super::rules::NoiseRule;
use crate::nodes::{NodeChange, What};
use varve_page::dom::{Data, Tree, start_tag};

/// Elements that run, load, send or say what the page is.
const ACTIVE: [&str; 33] = [
    "applet",
    "audio",
    "base",
    "bgsound",
    "button",
    "embed",
    "fencedframe",
    "feimage",
    "form",
    "frame",
    "frameset",
    "iframe",
    "image",
    "img",
    "input",
    "link",
    "meta",
    "object",
    "option",
    "param",
    "picture",
    "portal",
    "script",
    "select",
    "set",
    "source",
    "style",
    "textarea",
    "title",
    "track",
    "use",
    "video",
    "animate",
];

/// Attributes whose values run, load or send something, whatever element has them.
const ACTIVE_ATTRIBUTES: [&str; 16] = [
    "action",
    "background",
    "code",
    "codebase",
    "content",
    "data",
    "dynsrc",
    "formaction",
    "imagesrcset",
    "integrity",
    "lowsrc",
    "ping",
    "poster",
    "src",
    "srcdoc",
    "srcset",
];

/// Attributes that say where a link leads, in pages and in drawings.
pub(super) const LEADING: [&str; 2] = ["href", "xlink:href"];

/// Elements whose text is no markup.
pub(super) const RAW: [&str; 2] = ["script", "style"];

/// How many nodes, and how many bytes of their text, are looked at for the words before a node.
const FAR: usize = 24;
const MOST_WORDS: usize = 120;

/// Longer texts need no words before them.
const MOST_WORDED: usize = 400;

/// For each change of a diff of trees the rule that explains it, if one does.
pub fn classify_nodes(
    base: &Tree,
    head: &Tree,
    changes: &[NodeChange],
    volatile: &Volatile,
) -> Vec<Option<NoiseRule>> {
    let slots = Slots::of(base, head, changes);
    let pages = Pages::of(|| [addresses(base), addresses(head)]);
    let classify = |change: &NodeChange| {
        by_form(base, head, change, &pages)
            .or_else(|| slots.explain(change).then_some(NoiseRule::AdSlot))
            .or_else(|| volatile.explains_node(base, head, change).then_some(NoiseRule::Twins))
    };
    changes.iter().map(classify).collect()
}

/// All addresses of a page, line by line.
fn addresses(tree: &Tree) -> String {
    let attributes = tree.nodes().iter().flat_map(|node| node.attributes());
    let addresses = attributes.filter(|(name, _)| ["action", "href", "src"].contains(&name.as_str()));
    addresses.flat_map(|(_, value)| [value.as_str(), "\n"]).collect()
}

/// Explains a change of text or attribute by the form of what changed. Nodes that came or went have none.
fn by_form(base: &Tree, head: &Tree, change: &NodeChange, pages: &Pages<'_>) -> Option<NoiseRule> {
    let (from, to) = (change.base?, change.head?);
    match &change.what {
        What::Text => {
            let (old, new) = (text_in_place((base, from)), text_in_place((head, to)));
            // Only times of day and names of requests need words to say what they are.
            let is_worded = |text: &str| text.contains(':') || text.contains(|c: char| c.is_ascii_digit());
            let before = match old.len().max(new.len()) {
                ..=MOST_WORDED if is_worded(&old) && is_worded(&new) => {
                    shared_words((base, from), (head, to))
                }
                _ => String::new(),
            };
            explain_text(&(before.clone() + &old), &(before + &new), pages)
        }
        What::Attribute(name) => attribute(base, head, (from, to), name, pages),
        What::Inserted | What::Removed | What::Moved => None,
    }
}

/// Explains what changed in a text: in a long script, line by line.
fn explain_text(from: &str, to: &str, pages: &Pages<'_>) -> Option<NoiseRule> {
    if from.len().max(to.len()) <= MOST_MASKED {
        explain(from, to, pages)
    } else {
        explain_long(from, to, pages)
    }
}

/// A text with the tags around it. Of a script its id is told as well, by which frameworks find it.
fn text_in_place((tree, node): (&Tree, usize)) -> String {
    let parent = tree.nodes()[tree.nodes()[node].parent].name().unwrap_or_default();
    match &tree.nodes()[node].data {
        Data::Comment(text) => format!("<!--{text}-->"),
        Data::Text(text) if RAW.contains(&parent) => {
            let id = tree.nodes()[tree.nodes()[node].parent].attribute("id");
            let id = id.map(|id| ("id".to_owned(), id.to_owned()));
            format!("{}{}</{parent}>", start_tag(parent, id.as_slice()), text.trim())
        }
        _ => match tree.nodes()[node].seen_text() {
            Some(text) => format!("<{parent}>{}</{parent}>", escaped(text)),
            None => String::new(),
        },
    }
}

/// The words before a node, if they are the same on both sides but for noise: they may say that a time is that of the page.
fn shared_words(from: (&Tree, usize), to: (&Tree, usize)) -> String {
    let (before, after) = (words_before(from), words_before(to));
    let same = before == after || mask(&before).is_some_and(|masked| mask(&after) == Some(masked));
    if same { before } else { String::new() }
}

/// What a reader has read in the same thought just before a node.
fn words_before((tree, node): (&Tree, usize)) -> String {
    let mut words: Vec<&str> = Vec::new();
    for place in (0..node).rev().take(FAR) {
        let near = &tree.nodes()[place];
        if near.name().is_some_and(is_block)
            || words.iter().map(|text| text.len()).sum::<usize>() > MOST_WORDS
        {
            break;
        }
        match &near.data {
            Data::Text(text) if !is_active(tree, near.parent, near.parent + 1) => words.push(text),
            _ => {}
        }
    }
    words.reverse();
    let words = words.concat();
    escaped(&words[words.ceil_char_boundary(words.len().saturating_sub(MOST_WORDS))..])
}

/// Text that cannot be taken for markup.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Explains one changed attribute: the tag as it was, beside the same with that attribute as it is.
fn attribute(
    base: &Tree,
    head: &Tree,
    (from, to): (usize, usize),
    name: &str,
    pages: &Pages<'_>,
) -> Option<NoiseRule> {
    let (node, other) = (&base.nodes()[from], &head.nodes()[to]);
    let value = other.attribute(name)?;
    node.attribute(name)?;
    let mut attributes = node.attributes().to_vec();
    for (_, old) in attributes.iter_mut().filter(|(other, _)| other == name) {
        value.clone_into(old);
    }
    let element = node.name().unwrap_or_default();
    let before = if name == "datetime" { shared_words((base, from), (head, to)) } else { String::new() };
    let tag = |attributes: &[(String, String)]| before.clone() + &start_tag(element, attributes);
    let rule = explain(&tag(node.attributes()), &tag(&attributes), pages);
    // The digest of an asset goes with its address: alone, it says that the asset was changed in place.
    let source = if node.attribute("src").is_some() { "src" } else { "href" };
    if rule.is_none() && name == "integrity" && node.attribute(source) != other.attribute(source) {
        return attribute(base, head, (from, to), source, pages).filter(|rule| *rule == NoiseRule::BuildHash);
    }
    rule
}

/// Whether these changes are all explained, and at least one by an advertisement.
pub(super) fn only_advertisements(base: &Tree, head: &Tree, changes: &[NodeChange]) -> bool {
    let rules = classify_nodes(base, head, changes, &Volatile::default());
    rules.iter().all(Option::is_some) && rules.contains(&Some(NoiseRule::AdSlot))
}

/// Whether any of these nodes runs, loads or sends something.
pub(super) fn is_active(tree: &Tree, start: usize, end: usize) -> bool {
    tree.nodes()[start..end].iter().any(|node| {
        node.name().is_some_and(is_active_element)
            || node.attributes().iter().any(|(name, value)| is_active_attribute(name, value))
    })
}

/// Whether an element runs, loads or sends something, whatever attributes it has.
pub(super) fn is_active_element(name: &str) -> bool {
    ACTIVE.iter().any(|active| name.eq_ignore_ascii_case(active))
}

/// Whether an attribute runs, loads or sends something, or lays its element over others. Where links lead is not meant.
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
        let (base, head) = (Tree::parse(base), Tree::parse(head));
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
            let (base, head) = (Tree::parse(&page), Tree::parse(&head));
            let diff = DomDiff::between(&base, &head);
            let rules = classify_nodes(&base, &head, &diff.changes, &Volatile::default());
            let shown = diff.changes.iter().zip(&rules).any(|(change, rule)| {
                rule.is_none() && change.to.as_deref().is_some_and(|to| to.contains("evil()"))
            });
            prop_assert!(shown);
        }
    }
}
