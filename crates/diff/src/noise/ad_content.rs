//! The content of advertisements: which elements are their slots, and what may change in them.
//!
//! The text of a slot may change, and so may the addresses of its frames, images and links, if the
//! same slot named their scheme, host and port before in an element of the same name. So one
//! advertisement replaces another, and none comes from elsewhere. Only elements and attributes that
//! advertisements consist of may change: scripts, forms, overlays and the permissions of frames are
//! changes. Of a script only numbers in the query of its address may change, which keep it from
//! being cached. Pages use the class names of slots for their own banners. So words are noise only
//! in elements that nothing but an advertisement uses, and never numbers, prices or addresses.

use super::nodes::{LINK_ATTRIBUTES, PROGRAM_ELEMENTS, is_active, is_active_attribute};
use super::origins::{differ_by_query, is_path, origins};
use crate::nodes::{NodeChange, NodeChangeKind};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use varve_page::dom::{HtmlTree, NodeData, TreeNode};

/// Elements that are never an advertisement.
const PAGE_ELEMENTS: [&str; 6] = ["article", "body", "form", "head", "html", "main"];

/// Beginnings of ids and classes that only slots have.
const SURE_PREFIXES: [&str; 2] = ["div-gpt-ad", "google_ads_"];

/// Ids and classes that slots usually have. They count if frames, scripts or images are in the
/// element.
const LIKELY_WORDS: [&str; 7] =
    ["ad-slot", "adslot", "ad_slot", "ad-container", "ad-banner", "advert-slot", "ad-unit"];

/// Words of which the tag of every slot has one, in either case.
pub(super) fn slot_marks() -> impl Iterator<Item = &'static str> {
    SURE_PREFIXES.into_iter().chain(LIKELY_WORDS).chain(["adsbygoogle"])
}

/// Elements that fill such slots.
const FILLING_ELEMENTS: [&str; 3] = ["iframe", "img", "script"];

/// Maximum length of the text of a slot, and of one that is only likely to be one: a label.
const MAX_SLOT_TEXT_BYTES: usize = 160;
const MAX_LABEL_BYTES: usize = 40;

/// Maximum number of nodes of an advertisement.
const MAX_AD_NODES: usize = 200;

/// The elements of an advertisement. Others may run, hold markup that is not read here, or belong
/// to the page.
#[rustfmt::skip]
const SHOWN_ELEMENTS: [&str; 28] = [
    "a", "area", "b", "br", "center", "div", "em", "figcaption", "figure", "font", "i", "iframe", "img", "ins", "li", "p",
    "s", "small", "span", "strong", "sub", "sup", "table", "tbody", "td", "tr", "u", "ul",
];

/// Attributes of their appearance. Others grant permissions or are read by scripts.
#[rustfmt::skip]
const APPEARANCE_ATTRIBUTES: [&str; 13] = [
    "align", "alt", "aria-label", "border", "decoding", "frameborder", "height", "hspace", "id", "loading", "title",
    "vspace", "width",
];

/// Maximum width and height of an advertisement in pixels. A larger one covers the page.
const MAX_SIDE_PIXELS: u32 = 1200;

/// The origins that a slot names, each with the name of its element.
type NamedOrigins<'t> = HashSet<(&'t str, String)>;

/// The changes of advertisements in two pages.
pub(super) struct AdChanges<'t> {
    base: &'t HtmlTree,
    head: &'t HtmlTree,
    /// Nodes of the head whose marking attributes changed. They do not count as slots.
    marked_anew: HashSet<usize>,
    /// The origins that slots of the base name, as far as they were asked for.
    named: RefCell<HashMap<usize, Rc<NamedOrigins<'t>>>>,
}

impl<'t> AdChanges<'t> {
    pub(super) fn of(base: &'t HtmlTree, head: &'t HtmlTree, changes: &[NodeChange]) -> Self {
        let is_mark = |change: &&NodeChange| match &change.what {
            NodeChangeKind::Attribute(name) => ["id", "class", "data-ad-slot"].contains(&name.as_str()),
            _ => false,
        };
        let marked_anew = changes.iter().filter(is_mark).filter_map(|change| change.head).collect();
        Self { base, head, marked_anew, named: RefCell::default() }
    }

    /// Whether a change is in an element that is a slot on both sides, and changed nothing that
    /// runs, is filled in or comes from another origin. An element that is only likely to be a slot
    /// may contain words of the page, which are changes.
    pub(super) fn explain(&self, change: &NodeChange) -> bool {
        let Some(slot) = self.slot_around(change) else { return false };
        if !is_sure(&self.base.nodes()[slot]) && self.has_words(change) {
            return false;
        }
        let named = self.named_by(slot);
        let mut sides = [(self.base, change.base), (self.head, change.head)].into_iter();
        self.is_same_script(change)
            || sides.all(|(tree, node)| node.is_none_or(|node| is_harmless(tree, node, &change.what, &named)))
    }

    /// The innermost slot of the base around a change, if it is in a slot of the head as well.
    fn slot_around(&self, change: &NodeChange) -> Option<usize> {
        // An added or removed node must be inside of a slot, and not be one itself; and a script
        // is no slot.
        let is_script = |tree: &HtmlTree, node: usize| tree.nodes()[node].name() == Some("script");
        let own = |tree: &HtmlTree, node: usize| {
            !matches!(change.what, NodeChangeKind::Added | NodeChangeKind::Removed) && !is_script(tree, node)
        };
        let around = |tree: &'t HtmlTree, node: Option<usize>, is_known: &dyn Fn(usize) -> bool| {
            let (place, is_within) = match node {
                Some(node) => (node, own(tree, node)),
                None => (change.parent_there?, true),
            };
            let above = is_within.then_some(place).into_iter().chain(tree.ancestors(place));
            let is_inner = |place: &usize| {
                !tree.nodes()[*place].name().is_some_and(|name| PAGE_ELEMENTS.contains(&name))
            };
            above.take_while(is_inner).find(|place| is_known(*place) && is_slot(tree, *place))
        };
        around(self.head, change.head, &|place| !self.marked_anew.contains(&place))?;
        around(self.base, change.base, &|_| true)
    }

    /// Whether words changed or were added or removed.
    fn has_words(&self, change: &NodeChange) -> bool {
        let says = |(tree, node): (&HtmlTree, Option<usize>)| {
            node.is_some_and(|node| {
                let is_text = matches!(tree.nodes()[node].data, NodeData::Text(_));
                let words = if is_text { tree.nodes()[node].parent } else { node };
                !text_of(tree, words).trim().is_empty()
            })
        };
        match &change.what {
            NodeChangeKind::Attribute(name) => ["alt", "aria-label", "title"].contains(&name.as_str()),
            NodeChangeKind::Text => true,
            NodeChangeKind::Added | NodeChangeKind::Removed | NodeChangeKind::Moved | NodeChangeKind::Tag => {
                [(self.base, change.base), (self.head, change.head)].into_iter().any(says)
            }
        }
    }

    /// The origins that a slot of the base names.
    fn named_by(&self, slot: usize) -> Rc<NamedOrigins<'t>> {
        let nodes = self.base.nodes();
        let look = || Rc::new(nodes[slot..nodes[slot].end].iter().flat_map(named_origins).collect());
        Rc::clone(self.named.borrow_mut().entry(slot).or_insert_with(look))
    }

    /// Whether only the query changed in the address of a script.
    fn is_same_script(&self, change: &NodeChange) -> bool {
        let (Some(base), Some(head), NodeChangeKind::Attribute(name)) =
            (change.base, change.head, &change.what)
        else {
            return false;
        };
        let (from, to) = (&self.base.nodes()[base], &self.head.nodes()[head]);
        let is_plain = |tree: &HtmlTree, node: &TreeNode| {
            node.name() == Some("script")
                && has_no_other_active(node, &["src"])
                && !is_active(tree, node.parent, node.parent + 1)
        };
        let addresses = (from.attribute("src"), to.attribute("src"));
        name == "src"
            && is_plain(self.base, from)
            && is_plain(self.head, to)
            && matches!(addresses, (Some(from), Some(to)) if differ_by_query(from, to))
    }
}

/// The attributes with the addresses of an element of an advertisement.
fn naming(element: &str) -> &'static [&'static str] {
    match element {
        "a" | "area" => &LINK_ATTRIBUTES,
        "iframe" => &["src"],
        "img" => &["src", "srcset"],
        _ => &[],
    }
}

/// The origins that an element names.
fn named_origins(node: &TreeNode) -> Vec<(&str, String)> {
    let element = node.name().unwrap_or_default();
    let found = naming(element).iter().filter_map(|name| origins(name, node.attribute(name)?));
    found.flatten().map(|origin| (element, origin)).collect()
}

/// Whether a change, as it is on this side, is only one of the content of an advertisement.
fn is_harmless(tree: &HtmlTree, place: usize, what: &NodeChangeKind, named: &NamedOrigins<'_>) -> bool {
    let node = &tree.nodes()[place];
    let whole = &tree.nodes()[place..node.end];
    let is_quiet = match what {
        NodeChangeKind::Attribute(name) => may_be(node, Some(name), named),
        NodeChangeKind::Text | NodeChangeKind::Moved => {
            !is_active(tree, place, node.end) && whole.iter().all(is_shown)
        }
        NodeChangeKind::Added | NodeChangeKind::Removed => {
            whole.iter().all(|inner| may_be(inner, None, named))
        }
        NodeChangeKind::Tag => false,
    };
    is_quiet && is_shown(&tree.nodes()[node.parent]) && !is_active(tree, node.parent, node.parent + 1)
}

/// Whether a node is of a kind that advertisements consist of. Comments are not: browsers and
/// servers ran code in them.
fn is_shown(node: &TreeNode) -> bool {
    match &node.data {
        NodeData::Element(..) => node.name().is_some_and(|name| SHOWN_ELEMENTS.contains(&name)),
        NodeData::Text(text) => !names_something(text),
        _ => false,
    }
}

/// Whether a text has a number, a price or an address. A change of those changes what people do.
fn names_something(text: &str) -> bool {
    const MONEY: [char; 13] = ['$', '€', '£', '¥', '₹', '₽', '₩', '₺', '₴', '₫', '₪', '₿', '¢'];
    let is_inner_dot = |(at, _): (usize, &str)| {
        let around = [text[..at].chars().next_back(), text[at + 1..].chars().next()];
        around.iter().all(|letter| letter.is_some_and(char::is_alphanumeric))
    };
    text.contains(|letter: char| letter.is_numeric() || MONEY.contains(&letter) || "@:%".contains(letter))
        || text.match_indices('.').any(is_inner_dot)
}

/// Whether a node may be as it is on this side: with a changed attribute, or added or removed.
fn may_be(node: &TreeNode, changed: Option<&str>, named: &NamedOrigins<'_>) -> bool {
    let element = node.name().unwrap_or_default();
    // A frame without an address shows what a script writes into it, and there are no permissions
    // to compare with those of a new one.
    let is_fine_frame = || changed.is_some() && node.attribute("src").is_some();
    let may_have_all = || node.attributes().iter().all(|(name, _)| may_have(node, name, named));
    is_shown(node)
        && (element != "iframe" || is_fine_frame())
        && match changed {
            Some(name) => has_no_other_active(node, naming(element)) && may_have(node, name, named),
            None => may_have_all(),
        }
}

/// Whether an attribute may change: it is one of appearance, or names an origin that the slot named
/// before.
fn may_have(node: &TreeNode, name: &str, named: &NamedOrigins<'_>) -> bool {
    let element = node.name().unwrap_or_default();
    let Some(value) = node.attribute(name) else { return true };
    let is_named = || {
        let known = |origin: String| named.contains(&(element, origin));
        origins(name, value).is_some_and(|origins| origins.into_iter().all(known))
    };
    if naming(element).contains(&name) {
        return is_named() || (LINK_ATTRIBUTES.contains(&name) && is_path(value));
    }
    if LINK_ATTRIBUTES.contains(&name) || is_active_attribute(name, value) {
        return false;
    }
    // `data-ad-client` is the account that is paid.
    let is_mere_name = || {
        name.starts_with("data-")
            && name != "data-ad-client"
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let is_in_bounds =
        || value.trim().trim_end_matches("px").parse().is_ok_and(|side: u32| side <= MAX_SIDE_PIXELS);
    match name {
        "height" | "width" => is_in_bounds(),
        _ => APPEARANCE_ATTRIBUTES.contains(&name) || is_mere_name(),
    }
}

/// Whether no other attribute runs, loads or sends something. These may load, but not run.
fn has_no_other_active(node: &TreeNode, but: &[&str]) -> bool {
    let is_fine = |(name, value): &(String, String)| {
        let name = if but.contains(&name.as_str()) { "" } else { name };
        !is_active_attribute(name, value)
    };
    node.attributes().iter().all(is_fine)
}

/// Whether an element is the slot of an advertisement. Classified ads use the class `ad` as well:
/// an element with prices, telephone numbers or sentences is no slot.
fn is_slot(tree: &HtmlTree, place: usize) -> bool {
    let node = &tree.nodes()[place];
    if node.end - place > MAX_AD_NODES {
        return false;
    }
    let is_sure = is_sure(node);
    let is_likely =
        || node.attribute("data-ad-slot").is_some() || is_marked(node, &|word| LIKELY_WORDS.contains(&word));
    let most = if is_sure { MAX_SLOT_TEXT_BYTES } else { MAX_LABEL_BYTES };
    (is_sure || (is_likely() && is_filled(tree, place))) && !is_offer(&text_of(tree, place), most)
}

/// Whether an element has a mark that only slots have.
fn is_sure(node: &TreeNode) -> bool {
    is_marked(node, &|word| SURE_PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        || (node.name() == Some("ins") && is_marked(node, &|word| word == "adsbygoogle"))
}

fn is_marked(node: &TreeNode, is_mark: &dyn Fn(&str) -> bool) -> bool {
    let marks = ["id", "class"].into_iter().filter_map(|name| node.attribute(name));
    marks.flat_map(|value| value.split_whitespace().take(20)).any(|word| is_mark(&word.to_ascii_lowercase()))
}

/// Whether a frame, a script or an image is in an element.
fn is_filled(tree: &HtmlTree, place: usize) -> bool {
    let mut inner = tree.nodes()[place + 1..tree.nodes()[place].end].iter();
    inner.any(|node| node.name().is_some_and(|name| FILLING_ELEMENTS.contains(&name)))
}

/// The text of an element, without that of scripts and styles.
fn text_of(tree: &HtmlTree, place: usize) -> String {
    let inner = tree.nodes()[place..tree.nodes()[place].end].iter();
    let is_raw =
        |parent: usize| tree.nodes()[parent].name().is_some_and(|name| PROGRAM_ELEMENTS.contains(&name));
    let texts = inner.filter_map(|node| match &node.data {
        NodeData::Text(text) if !is_raw(node.parent) => Some([text.trim(), " "]),
        _ => None,
    });
    texts.flatten().collect()
}

/// Whether a text is that of an offer: with a price, a telephone number or several sentences.
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

#[cfg(test)]
mod tests {
    use super::super::{NoiseRule, Volatile, classify_nodes};
    use super::*;
    use crate::nodes::DomDiff;

    fn rules(base: &str, head: &str) -> Vec<Option<NoiseRule>> {
        let (base, head) = (HtmlTree::parse(base), HtmlTree::parse(head));
        let diff = DomDiff::between(&base, &head);
        classify_nodes(&base, &head, &diff.changes, &Volatile::default())
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
        let page =
            |ad: &str| format!("<p><a href=https://known.example/>x</a></p><div id=div-gpt-ad-1>{ad}</div>");
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
            // The page leads there, but the slot did not.
            ("", "<a href=https://known.example/3>x</a>"),
            ("<a href=/1>x</a>", "<a href='/&#9;/phish.example'>x</a>"),
            ("<a href=https://known.example/1>x</a>", "<a href='https://known.example@phish.example/'>x</a>"),
            ("<img src=https://a.example/>", "<img src=https://a.example/ usemap=#x>"),
            ("<img src=https://a.example/>", "<img src=https://a.example/ data-src=//track.evil/>"),
            (
                "<svg><a href=https://a.example/>x</a></svg>",
                "<svg><a href=https://a.example/><set attributeName=href to=//b />x</a></svg>",
            ),
        ] {
            assert_eq!(rules(&page(base), &page(head)), [None], "{head}");
        }
        let ad = Some(NoiseRule::AdSlot);
        for (base, head) in [
            ("<a href=https://known.example/1>x</a>", "<a href=https://known.example/2>x</a>"),
            ("<a href=/1>x</a>", "<a href=/2>x</a>"),
            (
                "<a href=https://known.example/1>x</a>",
                "<a href=https://known.example/1>x</a> <a href=https://known.example/3>y</a>",
            ),
            ("<img src=https://a.example/1>", "<img src=https://a.example/2>"),
            (
                "<img srcset='https://a.example/1 1x'>",
                "<img srcset='https://a.example/2 1x, https://a.example/3 2x'>",
            ),
            (
                "<img src=https://a.example/1>",
                "<img src=https://a.example/1><b><img src=https://a.example/2 alt=x></b>",
            ),
            ("<iframe src=https://a.example/1></iframe>", "<iframe src=https://a.example/2></iframe>"),
            ("<script src=https://a.example/s?1></script>", "<script src=https://a.example/s?2></script>"),
        ] {
            assert_eq!(rules(&page(base), &page(head)), [ad], "{head}");
        }
    }

    #[test]
    fn only_existing_slots_count_as_slots() {
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

    #[test]
    fn the_same_slot_must_have_named_it_in_the_same_kind_of_element() {
        let page = |ad: &str| {
            let other = "<div id=div-gpt-ad-2><iframe src=https://b.example/></iframe></div>";
            format!("<div id=div-gpt-ad-1>{ad}</div>{other}")
        };
        let named = "<img src=https://a.example/><a href=https://c.example/>x</a>";
        let frame = |address: &str| format!("{named}<iframe src={address}></iframe>");
        for address in
            ["https://a.example/2", "https://b.example/2", "https://c.example/2", "https://d.example:8443/"]
        {
            assert_eq!(
                rules(&page(&frame("https://d.example/1")), &page(&frame(address))),
                [None],
                "{address}"
            );
        }
    }
}
