//! A page as a tree, flat and in document order, made by a real HTML parser and never deeper than browsers go.
//!
//! The parser is html5ever, whose time grows with the depth of the open elements, and which has no limit of its own. So
//! it is fed a kilobyte at a time, and between two of them the tree that it has built is looked at: too deep, too many
//! nodes, or a single tag with so many attributes that only comparing their names would take for ever, and the rest of the
//! page is left out and [said](Tree::cut) to be. A counter of tags before the parser would not do: what nests and what
//! does not is decided by the parser alone.

mod build;
mod selector;
pub(crate) mod sink;

pub use build::{VOID_ELEMENTS, start_tag};
pub use selector::Selectors;

use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};

/// The deepest node of a tree, as in browsers.
pub const MOST_DEPTH: usize = 512;

/// What is fed to the parser at once.
const BITE: usize = 1 << 10;

/// How much of a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes.
    pub bytes: usize,
    /// Nodes. A few bytes of a hostile page can each repeat hundreds of elements.
    pub nodes: usize,
    /// Comparisons of attribute names that may be spent on tags before they are complete.
    pub comparisons: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 8 << 20, nodes: 1 << 20, comparisons: 250_000_000 }
    }
}

/// Why a tree is not all of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// It is longer than is read.
    Length,
    /// Elements nest deeper than browsers allow.
    Depth,
    /// It has too many nodes.
    Nodes,
    /// A tag has too many attributes.
    Attributes,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Data {
    /// The root of all.
    Document,
    /// The doctype, by its name.
    Doctype(String),
    /// An element: its name, and its attributes in order.
    Element(String, Vec<(String, String)>),
    /// Text.
    Text(String),
    /// A comment.
    Comment(String),
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub data: Data,
    /// Its parent. The root is its own.
    pub parent: usize,
    /// The place after the last node below it.
    pub end: usize,
    /// Which of its parent's elements of that name it is, from 1.
    nth: u32,
    /// Whether it is the only one of that name.
    only: bool,
    /// Whether white space in it is kept as it is: it is in a `pre` or a `textarea`.
    pub keeps_space: bool,
}

/// A page as a tree.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    cut: Option<Cut>,
    /// Whether browsers show it as pages of old, in which ids are the same whatever their case.
    quirks: bool,
}

impl Tree {
    /// Parses a page.
    pub fn parse(html: &str) -> Self {
        Self::parse_within(html, Limits::default())
    }

    /// Parses a page as far as the limits go.
    pub fn parse_within(html: &str, limits: Limits) -> Self {
        let text = &html[..html.floor_char_boundary(limits.bytes.min(html.len()))];
        let mut cut = (text.len() < html.len()).then_some(Cut::Length);
        let mut parser = parse_document(sink::Sink::default(), ParseOpts::default());
        let mut watch = Watch::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (bite, others) = rest.split_at(rest.floor_char_boundary(BITE.min(rest.len())));
            parser.process(StrTendril::from_slice(bite));
            rest = others;
            if let Some(reason) = watch.look(&parser.tokenizer.sink.sink, bite, limits) {
                cut = Some(reason);
                break;
            }
        }
        let quirks = parser.tokenizer.sink.sink.quirks();
        // A tag that was too much is not completed: its end would cost what its middle did.
        let loose =
            if cut == Some(Cut::Attributes) { parser.tokenizer.sink.sink.take() } else { parser.finish() };
        build::flatten(loose, cut, quirks)
    }

    /// The nodes in document order, the root first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Why the tree is not all of the page, if it is not.
    pub const fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The children of a node.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[node].end;
        let first = (node + 1 < end).then_some(node + 1);
        std::iter::successors(first, move |child| Some(self.nodes[*child].end).filter(|next| *next < end))
    }

    /// The nodes above a node, nearest first, without the root.
    pub fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let above = move |node: &usize| Some(self.nodes[*node].parent).filter(|parent| *parent != 0);
        std::iter::successors(above(&node), above)
    }

    /// The node and all below it as HTML, no longer than about `most` bytes.
    pub fn outer_html(&self, node: usize, most: usize) -> String {
        build::outer_html(self, node, most, |_| false)
    }

    /// The same, with a sign in place of each node below it that is left out.
    pub fn outer_html_without(
        &self,
        node: usize,
        most: usize,
        is_left_out: impl Fn(usize) -> bool,
    ) -> String {
        build::outer_html(self, node, most, is_left_out)
    }
}

impl Node {
    /// The name, if it is an element.
    pub fn name(&self) -> Option<&str> {
        match &self.data {
            Data::Element(name, _) => Some(name),
            _ => None,
        }
    }

    /// The attributes; none if it is no element.
    pub fn attributes(&self) -> &[(String, String)] {
        match &self.data {
            Data::Element(_, attributes) => attributes,
            _ => &[],
        }
    }

    /// The text as it counts, if it is one: without white space at its ends, unless that is kept.
    pub fn seen_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) if self.keeps_space => Some(text),
            Data::Text(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes().iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// What is known of a parse between two bites.
#[derive(Default)]
struct Watch {
    events: usize,
    separators: usize,
    comparisons: usize,
}

impl Watch {
    fn look(&mut self, sink: &sink::Sink, bite: &str, limits: Limits) -> Option<Cut> {
        self.count(sink, bite);
        if self.comparisons > limits.comparisons {
            Some(Cut::Attributes)
        } else if sink.count() > limits.nodes {
            Some(Cut::Nodes)
        } else if sink.depth_of_newest() > MOST_DEPTH {
            Some(Cut::Depth)
        } else {
            None
        }
    }

    /// While the parser makes no nodes it is within one tag (or one comment, which is counted as if it were). Each attribute
    /// of a tag is compared with all before it, and there are at most as many as there are separators.
    fn count(&mut self, sink: &sink::Sink, bite: &str) {
        let separators =
            bite.bytes().filter(|byte| matches!(byte, b' ' | b'\t'..=b'\r' | b'/' | b'"' | b'\'')).count();
        if sink.events() != self.events {
            self.events = sink.events();
            self.separators = 0;
        }
        self.comparisons += separators * (self.separators + separators / 2);
        self.separators += separators;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn html(text: &str) -> String {
        let tree = Tree::parse(text);
        tree.children(0).map(|child| tree.outer_html(child, 10_000)).collect()
    }

    #[test]
    fn pages_become_trees() {
        insta::assert_snapshot!(html("<!doctype html><title>a&amp;b</title><p class=x>one<b>two<p>three<!--c--><script>1<2</script><br>"), @r#"<!DOCTYPE html><html><head><title>a&amp;b</title></head><body><p class="x">one<b>two</b></p><p><b>three<!--c--><script>1<2</script><br></b></p></body></html>"#);
        insta::assert_snapshot!(html("<table>a<tr><td>b</table><template><i>c</template>"), @"<html><head></head><body>a<table><tbody><tr><td>b</td></tr></tbody></table><template><i>c</i></template></body></html>");
    }

    #[test]
    fn hostile_pages_are_cut() {
        let deep = Tree::parse(&"<div>".repeat(50_000));
        assert_eq!(deep.cut(), Some(Cut::Depth));
        assert!((0..deep.nodes().len()).all(|node| deep.ancestors(node).count() <= MOST_DEPTH));
        let limits = Limits { nodes: 10_000, comparisons: 1_000_000, bytes: 1 << 20 };
        let formatting: String = (0..400).map(|n| format!("<b id={n}>")).collect();
        assert_eq!(
            Tree::parse_within(&format!("<p>{formatting}{}", "<p>x".repeat(1000)), limits).cut(),
            Some(Cut::Nodes)
        );
        let attributes: String = (0..20_000).map(|n| format!(" a{n}")).collect();
        assert_eq!(Tree::parse_within(&format!("<p>x<a{attributes}>y"), limits).cut(), Some(Cut::Attributes));
        assert_eq!(Tree::parse_within(&"x".repeat(2 << 20), limits).cut(), Some(Cut::Length));
    }

    #[test]
    fn ordinary_pages_are_whole() {
        assert_eq!(Tree::parse(&"<p>text <a href=x>link</a> text".repeat(5000)).cut(), None);
        assert_eq!(Tree::parse(&format!("<!--{}-->", "a comment ".repeat(10_000))).cut(), None);
    }

    proptest! {
        #[test]
        fn parsing_is_total_and_the_tree_is_sound(text in "(<(/?(p|b|table|td|svg|template|select|option|a|script))( a=b)?>|x|&|<!--|-->|é){0,40}") {
            let tree = Tree::parse(&text);
            for (place, node) in tree.nodes().iter().enumerate() {
                prop_assert!(place == 0 || node.parent < place);
                prop_assert!(node.end > place && node.end <= tree.nodes()[node.parent].end);
                for child in tree.children(place) {
                    prop_assert_eq!(tree.nodes()[child].parent, place);
                }
            }
        }
    }
}
