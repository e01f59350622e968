//! A selector for each element with evidence, which selects only this element.
//!
//! The [scanner](crate::scan) knows the offset of a tag and builds no tree, but selectors select in
//! the tree of a browser. So each tag gets an attribute that the page does not use, the page is
//! [parsed](varve_page::dom) once, and the attribute is searched in the nodes. Elements in a
//! template, and elements of a page past the limits of a tree, have no selector.

use crate::text::attribute_selector;
use crate::tokens::name_length;
use memchr::memmem;
use std::collections::{BTreeSet, HashMap};
use varve_page::dom::{HtmlTree, Selectors, TreeLimits, TreeNode};

/// Maximum length of a value in a selector.
const MAX_SELECTOR_VALUE_BYTES: usize = 200;
/// The attributes that identify elements, the best first.
const TELLING_ATTRIBUTES: [&str; 6] = ["src", "data", "href", "id", "action", "name"];

/// The selectors of the elements whose tags begin at these offsets.
pub(crate) fn of_tags(text: &[u8], starts: &BTreeSet<usize>) -> HashMap<usize, String> {
    let limits = TreeLimits::default();
    if starts.is_empty() || text.len() > limits.bytes {
        return HashMap::new();
    }
    let Some(mark) = unused_name(text) else { return HashMap::new() };
    let marked = with_marks(text, starts, &mark);
    let tree = HtmlTree::parse_within(&String::from_utf8_lossy(&marked), limits);
    // A selector may select a second element that was left out of the tree.
    if tree.cut().is_some() {
        return HashMap::new();
    }
    let finder = Finder::of(&tree, &mark);
    let mut found = HashMap::new();
    for &(place, start) in &finder.marked {
        found.entry(start).or_insert_with(|| finder.selector(place));
    }
    found
}

/// The name of an attribute that is nowhere in the page. `None` if the page has all that are tried.
fn unused_name(text: &[u8]) -> Option<String> {
    (0..8)
        .map(|number| format!("varve-mark-{number}"))
        .find(|name| memmem::find(text, name.as_bytes()).is_none())
}

/// The page with a mark in each of the tags: its offset.
fn with_marks(text: &[u8], starts: &BTreeSet<usize>, mark: &str) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len() + starts.len() * 32);
    let mut done = 0;
    for start in starts {
        let behind = (start + 1 + name_length(text, start + 1)).clamp(done, text.len());
        marked.extend_from_slice(&text[done..behind]);
        marked.extend_from_slice(format!(" {mark}=\"{start}\"").as_bytes());
        done = behind;
    }
    marked.extend_from_slice(&text[done..]);
    marked
}

/// Finds selectors in a tree.
struct Finder<'t> {
    tree: &'t HtmlTree,
    paths: Selectors<'t>,
    /// The marked nodes, and the offsets of their tags.
    marked: Vec<(usize, usize)>,
    /// Whether a node is within a template.
    is_inert: Vec<bool>,
    /// Whether it is in SVG or MathML, where `href` may be `xlink:href`, which is another attribute
    /// to selectors.
    is_foreign: Vec<bool>,
    /// The outermost form around a node, or the root.
    form: Vec<usize>,
    /// The number of elements of a name with an attribute of that value, of the wanted ones.
    alike: HashMap<(&'t str, &'t str, &'t str), usize>,
    /// The number of elements of a form with a name, of the wanted ones.
    named: HashMap<(usize, &'t str), usize>,
}

impl<'t> Finder<'t> {
    fn of(tree: &'t HtmlTree, mark: &str) -> Self {
        let mut finder = Self {
            tree,
            paths: Selectors::of(tree),
            marked: Vec::new(),
            is_inert: Vec::with_capacity(tree.nodes().len()),
            is_foreign: Vec::with_capacity(tree.nodes().len()),
            form: Vec::with_capacity(tree.nodes().len()),
            alike: HashMap::new(),
            named: HashMap::new(),
        };
        for (place, node) in tree.nodes().iter().enumerate() {
            finder.take(place, node, mark);
        }
        for number in 0..finder.marked.len() {
            let place = finder.marked[number].0;
            finder.want(place);
            finder.want(finder.form[place]);
        }
        for (place, node) in tree.nodes().iter().enumerate() {
            finder.count(place, node);
        }
        finder
    }

    /// Records the surroundings of a node, after those of its parent.
    fn take(&mut self, place: usize, node: &'t TreeNode, mark: &str) {
        let parent = &self.tree.nodes()[node.parent];
        let is_below = place > 0;
        let is_inert = is_below && (self.is_inert[node.parent] || parent.name() == Some("template"));
        let form = match () {
            () if !is_below => 0,
            () if self.form[node.parent] > 0 => self.form[node.parent],
            () if parent.name() == Some("form") => node.parent,
            () => 0,
        };
        self.is_inert.push(is_inert);
        let opens = matches!(parent.name(), Some("svg" | "math"));
        self.is_foreign.push(is_below && (opens || self.is_foreign[node.parent]));
        self.form.push(form);
        if let Some(start) = node.attribute(mark).filter(|_| !is_inert).and_then(|start| start.parse().ok()) {
            self.marked.push((place, start));
        }
    }

    /// Registers the attributes of a node to be counted.
    fn want(&mut self, place: usize) {
        let node = &self.tree.nodes()[place];
        let Some(name) = node.name() else { return };
        for attribute in TELLING_ATTRIBUTES {
            if let Some(value) = node.attribute(attribute) {
                self.alike.insert((name, attribute, value), 0);
            }
        }
        if let Some(value) = node.attribute("name") {
            self.named.insert((self.form[place], value), 0);
        }
    }

    /// Counts the registered attributes of a node.
    fn count(&mut self, place: usize, node: &'t TreeNode) {
        let Some(name) = node.name().filter(|_| !self.is_inert[place]) else { return };
        for attribute in TELLING_ATTRIBUTES {
            let value = node.attribute(attribute);
            if let Some(count) = value.and_then(|value| self.alike.get_mut(&(name, attribute, value))) {
                *count += 1;
            }
        }
        let value = node.attribute("name");
        if let Some(count) = value.and_then(|value| self.named.get_mut(&(self.form[place], value))) {
            *count += 1;
        }
    }

    /// The selector of a node: by its form and name, by an attribute that no other has, or by its
    /// path.
    fn selector(&self, place: usize) -> String {
        let (node, form) = (&self.tree.nodes()[place], self.form[place]);
        let named = node.attribute("name").filter(|name| form > 0 && is_short(name));
        let in_form = named.filter(|name| self.named.get(&(form, *name)) == Some(&1));
        let by_name =
            || Some(format!("{} {}", self.by_attribute(form)?, attribute_selector("name", in_form?)));
        by_name().or_else(|| self.by_attribute(place)).unwrap_or_else(|| self.path(place))
    }

    /// The path to the element. An `html` element in an SVG is no root.
    fn path(&self, place: usize) -> String {
        let path = self.paths.path(place);
        if path == "html" { ":root".to_owned() } else { path }
    }

    /// The element by an attribute that no other of its name has with that value.
    fn by_attribute(&self, place: usize) -> Option<String> {
        let node = &self.tree.nodes()[place];
        let name = node.name().filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
        let such =
            TELLING_ATTRIBUTES.iter().filter(|attribute| **attribute != "href" || !self.is_foreign[place]);
        let telling = such.into_iter().find_map(|attribute| {
            let value = node.attribute(attribute).filter(|value| is_short(value))?;
            (self.alike.get(&(name, *attribute, value)) == Some(&1)).then_some((attribute, value))
        });
        telling.map(|(attribute, value)| format!("{name}{}", attribute_selector(attribute, value)))
    }
}

/// Whether a value needs no escapes in a selector: short, and the same in every charset.
fn is_short(value: &str) -> bool {
    !value.is_empty() && value.len() <= MAX_SELECTOR_VALUE_BYTES && value.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The selectors of all tags of a name, in order.
    fn selectors(text: &str, tag: &str) -> Vec<Option<String>> {
        let open = format!("<{tag}");
        let starts: BTreeSet<usize> = text.match_indices(&open).map(|(at, _)| at).collect();
        let found = of_tags(text.as_bytes(), &starts);
        starts.iter().map(|start| found.get(start).cloned()).collect()
    }

    fn told(text: &str, tag: &str) -> Vec<String> {
        selectors(text, tag).into_iter().map(|one| one.unwrap_or_else(|| "none".to_owned())).collect()
    }

    #[test]
    fn each_element_has_a_selector_of_its_own() {
        assert_eq!(
            told("<form></form><form></form><form id=a></form><form action=/x><form>", "form"),
            [
                "html > body > form:nth-of-type(1)",
                "html > body > form:nth-of-type(2)",
                "form[id=\"a\"]",
                "form[action=\"/x\"]",
                "none"
            ],
            "a form in a form is none"
        );
        assert_eq!(
            told("<script>1</script><p><script>2</script><svg><script href=/s.js></script></svg>", "script"),
            ["html > head > script", "html > body > p > script", "html > body > p > svg > script"]
        );
        assert_eq!(
            told("<form action=/x><input name=a><input name=a><input name=b></form>", "input"),
            [
                "html > body > form > input:nth-of-type(1)",
                "html > body > form > input:nth-of-type(2)",
                "form[action=\"/x\"] [name=\"b\"]"
            ]
        );
    }

    #[test]
    fn a_tag_is_found_wherever_the_parser_puts_it() {
        // Out of the table, before it.
        assert_eq!(told("<table><tr><iframe></iframe><td></table><iframe></iframe>", "iframe").len(), 2);
        assert_eq!(
            told("<table><tr><iframe></iframe><td></table><iframe></iframe>", "iframe"),
            ["html > body > iframe:nth-of-type(1)", "html > body > iframe:nth-of-type(2)"]
        );
        assert_eq!(told("<template><form></template><form>", "form"), ["none", "html > body > form"]);
        assert_eq!(told("<html><svg><html>", "html")[0], ":root");
        // What the page has of ours is not taken for ours.
        assert_eq!(told("<div varve-mark-0=21><form/></form>", "form"), ["html > body > div > form"]);
    }

    #[test]
    fn of_a_page_that_is_too_much_nothing_is_sure() {
        assert_eq!(told(&format!("<form>{}", "<div>".repeat(2_000)), "form"), ["none"]);
    }

    proptest! {
        /// No two tags have the same selector.
        #[test]
        fn no_selector_is_of_two(pieces in proptest::collection::vec(prop::sample::select(vec![
            "<form>", "</form>", "<form action=/x>", "<input name=a>", "<table>", "<tr>", "<td>", "</table>", "<p>", "<b>",
            "</b>", "<div id=x>", "</div>", "<iframe></iframe>", "<script></script>", "<select>", "</select>", "<svg>", "</svg>",
            "<template>", "</template>",
        ]), 0..30)) {
            let text = pieces.concat();
            let starts: BTreeSet<usize> = text.match_indices('<').map(|(at, _)| at)
                .filter(|at| !text[at + 1..].starts_with('/')).collect();
            let found = of_tags(text.as_bytes(), &starts);
            let mut all: Vec<_> = found.values().collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), found.len());
        }
    }
}
