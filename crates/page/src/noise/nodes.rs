//! Which changed nodes are noise.

use super::learn::Volatile;
use super::mask::{explain, mask};
use super::place::is_block;
use super::rules::NoiseRule;
use crate::dom::{Data, Tree, start_tag};
use crate::dom_diff::{NodeChange, What};

/// Elements that run, load, send or say what the page is.
const ACTIVE: [&str; 16] = [
    "applet", "base", "button", "embed", "form", "frame", "iframe", "input", "link", "meta", "object",
    "script", "select", "style", "textarea", "title",
];

/// Elements that are never an advertisement, whatever class they have.
const PAGE: [&str; 6] = ["article", "body", "form", "head", "html", "main"];

/// Words that mark an advertisement, as a whole class or id.
const AD_WORDS: [&str; 14] = [
    "ad",
    "ads",
    "adbox",
    "adsbygoogle",
    "adsense",
    "adslot",
    "advert",
    "advertisement",
    "ad-banner",
    "ad-container",
    "ad-slot",
    "ad-unit",
    "ad_slot",
    "ad_unit",
];

/// How such marks begin where they are numbered.
const AD_PREFIXES: [&str; 4] = ["div-gpt-ad", "google_ads_", "ad-slot-", "dfp-ad-"];

/// An advertisement has fewer nodes than this.
const MOST_AD_NODES: usize = 200;

/// How many nodes, and how many bytes of their text, are looked at for the words before a node.
const FAR: usize = 24;
const MOST_WORDS: usize = 120;

/// For each change of a diff of trees the rule that explains it, if one does.
pub fn classify_nodes(
    base: &Tree,
    head: &Tree,
    changes: &[NodeChange],
    volatile: &Volatile,
) -> Vec<Option<NoiseRule>> {
    let classify = |change: &NodeChange| {
        by_form(base, head, change)
            .or_else(|| is_advertisement(base, head, change).then_some(NoiseRule::AdSlot))
            .or_else(|| volatile.explains_node(base, head, change).then_some(NoiseRule::Twins))
    };
    changes.iter().map(classify).collect()
}

/// Explains a change of text or attribute by the form of what changed. Nodes that came or went have none.
fn by_form(base: &Tree, head: &Tree, change: &NodeChange) -> Option<NoiseRule> {
    let (from, to) = (change.base?, change.head?);
    match &change.what {
        What::Text => {
            let (old, new) = (text_in_place((base, from)), text_in_place((head, to)));
            // Only times of day need words to say what they are.
            let timed = old.contains(':') && new.contains(':');
            let before = if timed { shared_words((base, from), (head, to)) } else { String::new() };
            explain(&(before.clone() + &old), &(before + &new))
        }
        What::Attribute(name) => attribute(base, head, (from, to), name),
        What::Inserted | What::Removed | What::Moved => None,
    }
}

/// A text with the tags around it.
fn text_in_place((tree, node): (&Tree, usize)) -> String {
    let parent = tree.nodes()[tree.nodes()[node].parent].name().unwrap_or_default();
    match &tree.nodes()[node].data {
        Data::Comment(text) => format!("<!--{text}-->"),
        Data::Text(text) if ACTIVE.contains(&parent) => format!("<{parent}>{}</{parent}>", text.trim()),
        Data::Text(text) => format!("<{parent}>{}</{parent}>", escaped(text.trim())),
        _ => String::new(),
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
fn attribute(base: &Tree, head: &Tree, (from, to): (usize, usize), name: &str) -> Option<NoiseRule> {
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
    let rule = explain(&tag(node.attributes()), &tag(&attributes));
    // The digest of an asset goes with its address: alone, it says that the asset was changed in place.
    let source = if node.attribute("src").is_some() { "src" } else { "href" };
    if rule.is_none() && name == "integrity" && node.attribute(source) != other.attribute(source) {
        return attribute(base, head, (from, to), source).filter(|rule| *rule == NoiseRule::BuildHash);
    }
    rule
}

/// Whether these changes are all explained, and at least one by an advertisement.
pub(super) fn only_advertisements(base: &Tree, head: &Tree, changes: &[NodeChange]) -> bool {
    let rules = classify_nodes(base, head, changes, &Volatile::default());
    rules.iter().all(Option::is_some) && rules.contains(&Some(NoiseRule::AdSlot))
}

/// Whether the change is within an advertisement and nothing in it runs or loads anything.
fn is_advertisement(base: &Tree, head: &Tree, change: &NodeChange) -> bool {
    let (tree, node) = match (change.head, change.base) {
        (Some(node), _) => (head, node),
        (None, Some(node)) => (base, node),
        (None, None) => return false,
    };
    let harmless = match &change.what {
        What::Attribute(name) => {
            !name.starts_with("on") && !matches!(name.as_str(), "src" | "srcdoc" | "action")
        }
        _ => true,
    };
    let above = std::iter::once(node).chain(tree.ancestors(node));
    let slot =
        above.take_while(|place| !tree.nodes()[*place].name().is_some_and(|name| PAGE.contains(&name)));
    harmless
        && !is_active(tree, node, tree.nodes()[node].end)
        && !is_active(tree, tree.nodes()[node].parent, tree.nodes()[node].parent + 1)
        && slot.into_iter().any(|place| is_slot(tree, place))
}

fn is_slot(tree: &Tree, place: usize) -> bool {
    let node = &tree.nodes()[place];
    let marked = |value: &str| {
        value.split_whitespace().take(20).any(|word| {
            let word = word.to_ascii_lowercase();
            AD_WORDS.contains(&word.as_str()) || AD_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        })
    };
    node.end - place <= MOST_AD_NODES
        && (node.attribute("id").is_some_and(marked)
            || node.attribute("class").is_some_and(marked)
            || node.attribute("data-ad-slot").is_some())
}

/// Whether any of these nodes runs, loads or sends something.
pub(super) fn is_active(tree: &Tree, start: usize, end: usize) -> bool {
    tree.nodes()[start..end].iter().any(|node| {
        node.name().is_some_and(|name| ACTIVE.contains(&name))
            || node.attributes().iter().any(|(name, value)| {
                name.starts_with("on") || value.trim_start().to_ascii_lowercase().starts_with("javascript:")
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dom_diff::DomDiff;
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
                "<p>Last <i>updated</i>: <span>10:00:01</span>",
                "<p>Last <i>updated</i>: <span>10:00:02</span>",
                Some(NoiseRule::Timestamp),
            ),
            (
                "<p>Last updated: <time datetime=2026-05-01T10:00:00Z>today</time>",
                "<p>Last updated: <time datetime=2026-09-01T10:00:00Z>today</time>",
                Some(NoiseRule::Timestamp),
            ),
            (
                "<h2>Updated</h2><p><time datetime=2026-05-01T10:00:00Z>today</time>",
                "<h2>Updated</h2><p><time datetime=2026-09-01T10:00:00Z>today</time>",
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
        let page =
            |word: &str, one: &str, other: &str| format!("<p>{word} <i>{one}</i>, updated <i>{other}</i>");
        let timestamp = Some(NoiseRule::Timestamp);
        let base = page("Updated", "10:00:01", "10:00:02");
        assert_eq!(rules(&base, &page("Updated", "11:00:01", "11:00:02")), [timestamp, timestamp]);
        assert_eq!(rules(&base, &page("Concert", "11:00:01", "10:00:02")), [None, None]);
    }

    #[test]
    fn advertisements_may_change_but_not_act() {
        let page = |ad: &str| format!("<p>text</p><div class='box ad'>{ad}</div>");
        assert_eq!(rules(&page("Buy <b>this</b>"), &page("Buy <b>that</b>")), [Some(NoiseRule::AdSlot)]);
        assert_eq!(rules(&page(""), &page("<b>new</b>")), [Some(NoiseRule::AdSlot)]);
        assert_eq!(rules(&page(""), &page("<script>x()</script>")), [None]);
        assert_eq!(rules(&page(""), &page("<b onclick=x()>new</b>")), [None]);
        assert_eq!(rules("<body class=ad><p>one", "<body class=ad><p>two"), [None]);
    }

    proptest! {
        #[test]
        fn a_new_script_is_never_noise(
            page in "(<(/?(p|b|div|div class=ad|ins id=ads))>|x|10:00:00){0,15}", inside: bool,
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
