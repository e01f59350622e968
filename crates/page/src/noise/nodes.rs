//! Which changed nodes are noise.

use super::learn::Volatile;
use super::lines::explain_long;
use super::mask::{MOST_MASKED, explain, mask};
use super::pages::Pages;
use super::place::is_block;
use super::rules::NoiseRule;
use crate::dom::{Data, Node, Tree, start_tag};
use crate::dom_diff::{NodeChange, What};
use std::cell::LazyCell;
use std::collections::HashSet;

/// Elements that run, load, send or say what the page is.
const ACTIVE: [&str; 32] = [
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
const RAW: [&str; 2] = ["script", "style"];

/// Elements that are never an advertisement, whatever class they have.
const PAGE: [&str; 6] = ["article", "body", "form", "head", "html", "main"];

/// What marks the slot of an advertisement and nothing else: the beginning of an id or a class.
const SURE_PREFIXES: [&str; 2] = ["div-gpt-ad", "google_ads_"];

/// What marks one as a rule, as a whole id or class: if frames, scripts or pictures are in it.
const LIKELY_WORDS: [&str; 7] =
    ["ad-slot", "adslot", "ad_slot", "ad-container", "ad-banner", "advert-slot", "ad-unit"];

/// What fills such slots.
const FILLINGS: [&str; 3] = ["iframe", "img", "script"];

/// The longest text of a slot, and of one that is only likely to be one: a label.
const MOST_SLOT_TEXT: usize = 160;
const MOST_LABEL: usize = 40;

/// An advertisement has fewer nodes than this.
const MOST_AD_NODES: usize = 200;

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

/// The advertisements of two pages, in which what is shown may change: but not what they load, nor where they lead.
struct Slots<'t> {
    base: &'t Tree,
    head: &'t Tree,
    /// Nodes of the head that changed what marks an advertisement. What was none before is none now.
    marked_anew: HashSet<usize>,
    /// The hosts that the base leads to.
    hosts: LazyCell<HashSet<&'t str>, Box<dyn FnOnce() -> HashSet<&'t str> + 't>>,
}

impl<'t> Slots<'t> {
    fn of(base: &'t Tree, head: &'t Tree, changes: &[NodeChange]) -> Self {
        let is_mark = |what: &What| matches!(what, What::Attribute(name) if MARKS.contains(&name.as_str()));
        let marked_anew =
            changes.iter().filter(|change| is_mark(&change.what)).filter_map(|change| change.head).collect();
        let links = move || base.nodes().iter().flat_map(leads_to).filter_map(host).collect();
        Self { base, head, marked_anew, hosts: LazyCell::new(Box::new(links)) }
    }

    /// Whether a change is within an advertisement that was there before, and nothing in it runs or loads anything or leads to a
    /// host to which the page did not lead.
    fn explain(&self, change: &NodeChange) -> bool {
        let sides = [(self.base, change.base), (self.head, change.head)];
        let is_within = |tree: &Tree, node: usize| {
            // What came or went must have done so in an advertisement, and not as one.
            let own = !matches!(change.what, What::Inserted | What::Removed);
            let above = own.then_some(node).into_iter().chain(tree.ancestors(node));
            let is_inner =
                |place: &usize| !tree.nodes()[*place].name().is_some_and(|name| PAGE.contains(&name));
            let mut slots = above.take_while(is_inner).filter(|place| is_slot(tree, *place));
            slots.any(|place| std::ptr::eq(tree, self.base) || !self.marked_anew.contains(&place))
        };
        let is_fine = |(tree, node): (&Tree, Option<usize>)| {
            node.is_none_or(|node| is_within(tree, node) && self.is_harmless(tree, node, &change.what))
        };
        sides.iter().any(|(_, node)| node.is_some()) && sides.into_iter().all(is_fine)
    }

    fn is_harmless(&self, tree: &Tree, node: usize, what: &What) -> bool {
        let (parent, end) = (tree.nodes()[node].parent, tree.nodes()[node].end);
        let attribute = |name: &str| tree.nodes()[node].attribute(name).unwrap_or_default();
        let is_known = |value: &str| {
            let value = value.trim_start();
            match host(value) {
                Some(host) => self.hosts.contains(host),
                // Whatever else is no path leads somewhere as well: to a number to be called, to another program.
                None => !value.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':')),
            }
        };
        let quiet = match what {
            What::Attribute(name) if LEADING.contains(&name.as_str()) => is_known(attribute(name)),
            What::Attribute(name) => !is_active_attribute(name, attribute(name)),
            What::Text | What::Moved => true,
            What::Inserted | What::Removed => tree.nodes()[node..end].iter().flat_map(leads_to).all(is_known),
        };
        let whole = if matches!(what, What::Attribute(_)) { node + 1 } else { end };
        quiet && !is_active(tree, node, whole) && !is_active(tree, parent, parent + 1)
    }
}

/// Where a node leads.
fn leads_to(node: &Node) -> impl Iterator<Item = &str> {
    LEADING.into_iter().filter_map(|name| node.attribute(name))
}

/// The host of an address that has one. Browsers take a backslash for a slash.
fn host(address: &str) -> Option<&str> {
    let address = address.trim_start();
    let start = address.find(['/', '\\']).filter(|at| *at == 0 || address[..*at].ends_with(':'))?;
    let rest = address[start..].strip_prefix(['/', '\\'])?.strip_prefix(['/', '\\'])?;
    rest.split(['/', '\\', '?', '#']).next()
}

/// Attributes that mark an advertisement.
const MARKS: [&str; 3] = ["id", "class", "data-ad-slot"];

/// Whether an element is the slot of an advertisement. What small ads are written in is called `ad` as well: where prices, numbers to
/// be called or sentences stand, it is none.
fn is_slot(tree: &Tree, place: usize) -> bool {
    let node = &tree.nodes()[place];
    if node.end - place > MOST_AD_NODES {
        return false;
    }
    let marked = |is_mark: &dyn Fn(&str) -> bool| {
        let marks = ["id", "class"].into_iter().filter_map(|name| node.attribute(name));
        marks
            .flat_map(|value| value.split_whitespace().take(20))
            .any(|word| is_mark(&word.to_ascii_lowercase()))
    };
    let is_sure = marked(&|word| SURE_PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        || (node.name() == Some("ins") && marked(&|word| word == "adsbygoogle"));
    let is_likely =
        || node.attribute("data-ad-slot").is_some() || marked(&|word| LIKELY_WORDS.contains(&word));
    let most = if is_sure { MOST_SLOT_TEXT } else { MOST_LABEL };
    (is_sure || (is_likely() && is_filled(tree, place))) && !is_offer(&text_of(tree, place), most)
}

/// Whether a frame, a script or a picture is in an element.
fn is_filled(tree: &Tree, place: usize) -> bool {
    let mut inner = tree.nodes()[place + 1..tree.nodes()[place].end].iter();
    inner.any(|node| node.name().is_some_and(|name| FILLINGS.contains(&name)))
}

/// The text of an element, without that of scripts and styles.
fn text_of(tree: &Tree, place: usize) -> String {
    let inner = tree.nodes()[place..tree.nodes()[place].end].iter();
    let is_raw = |parent: usize| tree.nodes()[parent].name().is_some_and(|name| RAW.contains(&name));
    let texts = inner.filter_map(|node| match &node.data {
        Data::Text(text) if !is_raw(node.parent) => Some([text.trim(), " "]),
        _ => None,
    });
    texts.flatten().collect()
}

/// Whether a text says more than a slot does: a price, a number to be called, several sentences.
fn is_offer(text: &str, most: usize) -> bool {
    const MONEY: [&str; 5] = ["eur", "usd", "gbp", "chf", "price"];
    let text = text.trim();
    let is_sign = |letter: char| matches!(letter, '$' | '€' | '£' | '¥' | '%' | '@');
    let is_of_number = |letter: char| letter.is_ascii_digit() || " +-/().".contains(letter);
    let digits = |run: &str| run.bytes().filter(u8::is_ascii_digit).count();
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    text.len() > most
        || text.contains(is_sign)
        || text.split(|letter: char| !is_of_number(letter)).any(|run| digits(run) >= 6)
        || text.matches(['.', '!', '?']).count() > 1
        || words.any(|word| MONEY.contains(&word.to_ascii_lowercase().as_str()))
}

/// Whether any of these nodes runs, loads or sends something.
pub(super) fn is_active(tree: &Tree, start: usize, end: usize) -> bool {
    tree.nodes()[start..end].iter().any(|node| {
        node.name().is_some_and(|name| ACTIVE.iter().any(|active| name.eq_ignore_ascii_case(active)))
            || node.attributes().iter().any(|(name, value)| is_active_attribute(name, value))
    })
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

    #[test]
    fn advertisements_may_change_but_not_act() {
        let page = |ad: &str| format!("<p>text</p><ins class='box adsbygoogle'>{ad}</ins>");
        assert_eq!(rules(&page("Buy <b>this</b>"), &page("Buy <b>that</b>")), [Some(NoiseRule::AdSlot)]);
        assert_eq!(rules(&page(""), &page("<b>new</b>")), [Some(NoiseRule::AdSlot)]);
        assert_eq!(rules(&page(""), &page("<script>x()</script>")), [None]);
        assert_eq!(rules(&page(""), &page("<b onclick=x()>new</b>")), [None]);
        assert_eq!(rules("<body id=google_ads_x><p>one", "<body id=google_ads_x><p>two"), [None]);
    }

    #[test]
    fn advertisements_may_not_load_or_lead_elsewhere() {
        let page = |ad: &str| format!("<p><a href=//known.example/>x</a></p><div id=div-gpt-ad-1>{ad}</div>");
        for (base, head) in [
            ("", "<img src=https://track.evil/x.gif>"),
            ("", "<picture><source srcset=https://track.evil/x.gif></picture>"),
            ("", "<video poster=x></video>"),
            ("", "<svg><use href=x /></svg>"),
            ("", "<b style='background:url(https://track.evil/)'>x</b>"),
            ("<b>x</b>", "<b style='position:fixed;inset:0'>x</b>"),
            ("", "<a href=https://phish.example/>x</a>"),
            ("", "<a href='\\\\phish.example'>x</a>"),
            ("", "<a href=tel:+15550100>x</a>"),
            ("", "<svg><a xlink:href=https://phish.example/>x</a></svg>"),
            ("<a href=https://known.example/1>x</a>", "<a href=https://phish.example/1>x</a>"),
            ("<a href=/1>x</a>", "<a href='javascript:x()'>x</a>"),
            ("<a href=/1>x</a>", "<a href=/1 ping=https://track.evil/>x</a>"),
        ] {
            assert_eq!(rules(&page(base), &page(head)), [None], "{head}");
        }
        let ad = Some(NoiseRule::AdSlot);
        for (base, head) in [
            ("<a href=https://known.example/1>x</a>", "<a href=https://known.example/2>x</a>"),
            ("<a href=/1>x</a>", "<a href=/2>x</a>"),
            ("", "<a href=https://known.example/3>x</a>"),
        ] {
            assert_eq!(rules(&page(base), &page(head)), [ad], "{head}");
        }
    }

    #[test]
    fn only_what_was_an_advertisement_is_one() {
        for (base, head) in [
            ("<div>our terms</div>", "<div id=div-gpt-ad-1>their terms</div>"),
            ("<p>x</p>", "<p>x</p><div id=div-gpt-ad-1>call us now</div>"),
            ("<p>x</p><div id=div-gpt-ad-1>call us now</div>", "<p>x</p>"),
            (
                "<p>a long enough text of ours</p><div id=div-gpt-ad-1>x</div>",
                "<div id=div-gpt-ad-1>x<p>a long enough text of ours</p></div>",
            ),
        ] {
            let rules = rules(base, head);
            assert!(!rules.is_empty() && rules.iter().all(Option::is_none), "{head}: {rules:?}");
        }
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
