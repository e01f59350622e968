//! From the nodes of the parser to the flat tree, and from the flat tree to HTML. Nothing recurses.

use super::sink::ParserNode;
use super::{HtmlTree, MAX_TREE_DEPTH, NodeData, TreeCut, TreeNode};
use crate::tokenizer::TextElement;
use std::collections::HashMap;

/// Puts nodes in document order. Nodes below the maximum depth are left out.
pub(super) fn flatten(mut loose: Vec<ParserNode>, mut cut: Option<TreeCut>, quirks: bool) -> HtmlTree {
    let mut nodes: Vec<TreeNode> = Vec::with_capacity(loose.len());
    // Open nodes: index in the input, index in the tree, and number of children that are done.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    enter(&mut loose, &mut nodes, &mut open, 0, 0);
    while let Some((source, place, done)) = open.last_mut() {
        let (source, place, child) = (*source, *place, *done);
        *done += 1;
        match loose[source].children.get(child).copied() {
            Some(_) if open.len() > MAX_TREE_DEPTH => {
                cut = cut.or(Some(TreeCut::Depth));
                nodes[place].end = nodes.len();
                open.pop();
            }
            Some(child) => enter(&mut loose, &mut nodes, &mut open, child, place),
            None => {
                nodes[place].end = nodes.len();
                open.pop();
            }
        }
    }
    let mut tree = HtmlTree { nodes, cut, quirks };
    number(&mut tree);
    tree
}

fn enter(
    loose: &mut [ParserNode],
    nodes: &mut Vec<TreeNode>,
    open: &mut Vec<(usize, usize, usize)>,
    source: usize,
    parent: usize,
) {
    let data = std::mem::replace(&mut loose[source].data, NodeData::Document);
    let above = nodes.get(parent);
    let keeps_space = above.is_some_and(|node| {
        node.keeps_space || node.name().is_some_and(|name| SPACE_ELEMENTS.contains(&name))
    });
    open.push((source, nodes.len(), 0));
    nodes.push(TreeNode { data, parent, end: 0, nth: 0, only: false, keeps_space });
}

/// Numbers the elements of each parent by name.
fn number(tree: &mut HtmlTree) {
    let mut counts: HashMap<(usize, String), u32> = HashMap::new();
    for place in 1..tree.nodes.len() {
        let parent = tree.nodes[place].parent;
        let Some(name) = tree.nodes[place].name() else { continue };
        let count = counts.entry((parent, name.to_owned())).or_default();
        *count += 1;
        tree.nodes[place].nth = *count;
    }
    for place in 1..tree.nodes.len() {
        let parent = tree.nodes[place].parent;
        let Some(name) = tree.nodes[place].name() else { continue };
        tree.nodes[place].only = counts.get(&(parent, name.to_owned())) == Some(&1);
    }
}

/// Elements in which white space is significant.
const SPACE_ELEMENTS: [&str; 5] = ["listing", "plaintext", "pre", "textarea", "xmp"];

/// Elements that have no end tag.
pub const VOID_ELEMENTS: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Writes a node and all below it, up to a length. An ellipsis stands for each node that is left
/// out.
pub(super) fn outer_html(
    tree: &HtmlTree,
    node: usize,
    most: usize,
    is_left_out: impl Fn(usize) -> bool,
) -> String {
    let mut html = String::new();
    let mut open: Vec<usize> = Vec::new();
    let mut place = node;
    while place < tree.nodes[node].end {
        close(tree, &mut html, &mut open, place);
        if html.len() > most {
            break;
        }
        if place > node && is_left_out(place) {
            html.push_str(if html.ends_with('…') { "" } else { "…" });
            place = tree.nodes[place].end;
            continue;
        }
        write(tree, &mut html, place);
        if tree.nodes[place].name().is_some_and(|name| !VOID_ELEMENTS.contains(&name)) {
            open.push(place);
        }
        place += 1;
    }
    if html.len() > most {
        html.truncate(html.floor_char_boundary(most));
        html.push('…');
    } else {
        close(tree, &mut html, &mut open, tree.nodes[node].end);
    }
    html
}

/// Closes the elements that end before an index.
fn close(tree: &HtmlTree, html: &mut String, open: &mut Vec<usize>, place: usize) {
    while let Some(last) = open.last().copied().filter(|last| tree.nodes[*last].end <= place) {
        open.pop();
        let name = tree.nodes[last].name().unwrap_or_default();
        html.extend(["</", name, ">"]);
    }
}

fn write(tree: &HtmlTree, html: &mut String, place: usize) {
    let node = &tree.nodes[place];
    match &node.data {
        NodeData::Document => {}
        NodeData::Doctype(name) => html.extend(["<!DOCTYPE ", name, ">"]),
        NodeData::Comment(text) => html.extend(["<!--", text, "-->"]),
        NodeData::Element(name, attributes) => html.push_str(&start_tag(name, attributes)),
        NodeData::Text(text) => {
            let parent = tree.nodes[node.parent].name().unwrap_or_default();
            let is_raw = TextElement::named(parent.as_bytes()).is_some_and(TextElement::is_unescaped);
            if is_raw { html.push_str(text) } else { escape(html, text, false) }
        }
    }
}

/// The start tag of an element.
pub fn start_tag(name: &str, attributes: &[(String, String)]) -> String {
    let mut html = format!("<{name}");
    for (name, value) in attributes {
        html.extend([" ", name, "=\""]);
        escape(&mut html, value, true);
        html.push('"');
    }
    html.push('>');
    html
}

fn escape(html: &mut String, text: &str, quoted: bool) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' if !quoted => html.push_str("&lt;"),
            '>' if !quoted => html.push_str("&gt;"),
            '"' if quoted => html.push_str("&quot;"),
            _ => html.push(letter),
        }
    }
}
