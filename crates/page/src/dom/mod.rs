//! A page as a flat tree in document order.
//!
//! The parser is html5ever. Its time grows with the depth of open elements and with the square of
//! the attributes of a tag, and it has no limits. So it is fed a kilobyte at a time, and the tree
//! is checked in between. If it is too deep or too large, the rest of the page is left out and
//! [`HtmlTree::cut`] reports it. Tags cannot be counted before parsing, because only the parser
//! decides what nests.

mod build;
mod selector;
pub(crate) mod sink;

pub use build::{VOID_ELEMENTS, start_tag};
pub use selector::Selectors;

use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};

/// Maximum depth of a tree, as in browsers.
pub const MAX_TREE_DEPTH: usize = 512;

/// Number of bytes that are fed to the parser at once.
const PARSER_FEED_BYTES: usize = 1 << 10;

/// Limits of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Maximum number of bytes.
    pub bytes: usize,
    /// Maximum number of nodes. A few bytes of a hostile page can repeat hundreds of elements.
    pub nodes: usize,
    /// Maximum number of comparisons of attribute names.
    pub comparisons: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, nodes: 1 << 20, comparisons: 250_000_000 }
    }
}

/// The limit at which a tree ends before its page does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeCut {
    /// The page is too long.
    Length,
    /// Elements nest deeper than browsers allow.
    Depth,
    /// The page has too many nodes.
    Nodes,
    /// A tag has too many attributes.
    Attributes,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NodeData {
    /// The root.
    Document,
    /// The doctype with its name.
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
pub struct TreeNode {
    /// What it is.
    pub data: NodeData,
    /// Its parent. The root is its own.
    pub parent: usize,
    /// The index behind the last node below it.
    pub end: usize,
    /// Its number among the elements of that name of its parent, from 1.
    nth: u32,
    /// Whether it is the only element of that name of its parent.
    only: bool,
    /// Whether its white space is significant: it is in a `pre` or a `textarea`.
    pub keeps_space: bool,
}

/// A page as a tree.
#[derive(Debug, Clone)]
pub struct HtmlTree {
    nodes: Vec<TreeNode>,
    cut: Option<TreeCut>,
    /// Whether browsers use quirks mode, in which ids are compared without case.
    quirks: bool,
}

impl HtmlTree {
    /// Parses a page.
    pub fn parse(html: &str) -> Self {
        Self::parse_within(html, TreeLimits::default())
    }

    /// Parses a page up to the limits.
    pub fn parse_within(html: &str, limits: TreeLimits) -> Self {
        let text = &html[..html.floor_char_boundary(limits.bytes.min(html.len()))];
        let mut cut = (text.len() < html.len()).then_some(TreeCut::Length);
        let mut parser = parse_document(sink::ParserSink::default(), ParseOpts::default());
        let mut watch = ParseCost::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (bite, others) = rest.split_at(rest.floor_char_boundary(PARSER_FEED_BYTES.min(rest.len())));
            parser.process(StrTendril::from_slice(bite));
            rest = others;
            if let Some(reason) = watch.look(&parser.tokenizer.sink.sink, bite, limits) {
                cut = Some(reason);
                break;
            }
        }
        let quirks = parser.tokenizer.sink.sink.quirks();
        // An unfinished tag that reached a limit is not completed, which would cost as much again.
        let loose = if cut == Some(TreeCut::Attributes) {
            parser.tokenizer.sink.sink.take()
        } else {
            parser.finish()
        };
        build::flatten(loose, cut, quirks)
    }

    /// The nodes in document order, the root first.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The limit that was reached, if the tree is not complete.
    pub const fn cut(&self) -> Option<TreeCut> {
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

    /// The node and all below it as HTML, cut after about `most` bytes.
    pub fn outer_html(&self, node: usize, most: usize) -> String {
        build::outer_html(self, node, most, |_| false)
    }

    /// The same, with an ellipsis in place of each node below it that is left out.
    pub fn outer_html_without(
        &self,
        node: usize,
        most: usize,
        is_left_out: impl Fn(usize) -> bool,
    ) -> String {
        build::outer_html(self, node, most, is_left_out)
    }
}

impl TreeNode {
    /// The name, if it is an element.
    pub fn name(&self) -> Option<&str> {
        match &self.data {
            NodeData::Element(name, _) => Some(name),
            _ => None,
        }
    }

    /// The attributes; none if it is no element.
    pub fn attributes(&self) -> &[(String, String)] {
        match &self.data {
            NodeData::Element(_, attributes) => attributes,
            _ => &[],
        }
    }

    /// The text of a text node, without white space at its ends unless that is significant.
    pub fn seen_text(&self) -> Option<&str> {
        match &self.data {
            NodeData::Text(text) if self.keeps_space => Some(text),
            NodeData::Text(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes().iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Counts the cost of a parse.
#[derive(Default)]
struct ParseCost {
    events: usize,
    separators: usize,
    comparisons: usize,
}

impl ParseCost {
    fn look(&mut self, sink: &sink::ParserSink, bite: &str, limits: TreeLimits) -> Option<TreeCut> {
        self.count(sink, bite);
        if self.comparisons > limits.comparisons {
            Some(TreeCut::Attributes)
        } else if sink.count() > limits.nodes {
            Some(TreeCut::Nodes)
        } else if sink.depth_of_newest() > MAX_TREE_DEPTH {
            Some(TreeCut::Depth)
        } else {
            None
        }
    }

    /// While the parser makes no nodes it is in one tag, or in one comment, which is counted as a
    /// tag. Each attribute of a tag is compared with all before it, and there are at most as many
    /// attributes as separators.
    fn count(&mut self, sink: &sink::ParserSink, bite: &str) {
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
        let tree = HtmlTree::parse(text);
        tree.children(0).map(|child| tree.outer_html(child, 10_000)).collect()
    }

    #[test]
    fn pages_become_trees() {
        insta::assert_snapshot!(html("<!doctype html><title>a&amp;b</title><p class=x>one<b>two<p>three<!--c--><script>1<2</script><br>"), @r#"<!DOCTYPE html><html><head><title>a&amp;b</title></head><body><p class="x">one<b>two</b></p><p><b>three<!--c--><script>1<2</script><br></b></p></body></html>"#);
        insta::assert_snapshot!(html("<table>a<tr><td>b</table><template><i>c</template>"), @"<html><head></head><body>a<table><tbody><tr><td>b</td></tr></tbody></table><template><i>c</i></template></body></html>");
    }

    #[test]
    fn hostile_pages_are_cut() {
        let deep = HtmlTree::parse(&"<div>".repeat(50_000));
        assert_eq!(deep.cut(), Some(TreeCut::Depth));
        assert!((0..deep.nodes().len()).all(|node| deep.ancestors(node).count() <= MAX_TREE_DEPTH));
        let limits = TreeLimits { nodes: 10_000, comparisons: 1_000_000, bytes: 1 << 20 };
        let formatting: String = (0..400).map(|n| format!("<b id={n}>")).collect();
        assert_eq!(
            HtmlTree::parse_within(&format!("<p>{formatting}{}", "<p>x".repeat(1000)), limits).cut(),
            Some(TreeCut::Nodes)
        );
        let attributes: String = (0..20_000).map(|n| format!(" a{n}")).collect();
        assert_eq!(
            HtmlTree::parse_within(&format!("<p>x<a{attributes}>y"), limits).cut(),
            Some(TreeCut::Attributes)
        );
        assert_eq!(HtmlTree::parse_within(&"x".repeat(2 << 20), limits).cut(), Some(TreeCut::Length));
    }

    #[test]
    fn ordinary_pages_are_whole() {
        assert_eq!(HtmlTree::parse(&"<p>text <a href=x>link</a> text".repeat(5000)).cut(), None);
        assert_eq!(HtmlTree::parse(&format!("<!--{}-->", "a comment ".repeat(10_000))).cut(), None);
    }

    proptest! {
        #[test]
        fn parsing_is_total_and_the_tree_is_sound(text in "(<(/?(p|b|table|td|svg|template|select|option|a|script))( a=b)?>|x|&|<!--|-->|é){0,40}") {
            let tree = HtmlTree::parse(&text);
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
