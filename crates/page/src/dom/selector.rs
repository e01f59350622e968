//! A CSS selector for a node: the shortest path that a person would write and a browser finds again.

use super::Tree;
use std::collections::HashMap;

/// Writes selectors for the nodes of a tree.
#[derive(Debug)]
pub struct Selectors<'t> {
    tree: &'t Tree,
    /// How often each id is used.
    ids: HashMap<&'t str, usize>,
}

impl<'t> Selectors<'t> {
    /// Looks at the ids of a tree.
    pub fn of(tree: &'t Tree) -> Self {
        let mut ids = HashMap::new();
        for id in tree.nodes().iter().filter_map(|node| node.attribute("id")) {
            *ids.entry(id).or_default() += 1;
        }
        Self { tree, ids }
    }

    /// The selector of a node; of its element, if it is text or a comment. Paths begin at the nearest id that is unique.
    pub fn path(&self, node: usize) -> String {
        let start =
            if self.tree.nodes()[node].name().is_some() { node } else { self.tree.nodes()[node].parent };
        if start == 0 {
            return ":root".to_owned();
        }
        let mut steps = Vec::new();
        for place in std::iter::once(start).chain(self.tree.ancestors(start)) {
            let step = self.step(place);
            let is_id = step.contains('#');
            steps.push(step);
            if is_id {
                break;
            }
        }
        steps.reverse();
        steps.join(" > ")
    }

    fn step(&self, place: usize) -> String {
        let node = &self.tree.nodes()[place];
        let name = escape(node.name().unwrap_or_default());
        match node.attribute("id") {
            Some(id) if is_plain(id) && self.ids.get(id) == Some(&1) => format!("{name}#{id}"),
            _ if node.only => name,
            _ => format!("{name}:nth-of-type({})", node.nth),
        }
    }
}

/// Whether an id needs no escapes.
fn is_plain(id: &str) -> bool {
    id.len() <= 80
        && id.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Names of elements are whatever stood after `<`; signs that mean something in a selector are escaped.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for letter in name.chars().take(80) {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_' {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_unique_ids() {
        let tree = Tree::parse("<div id=a><p>1<p>2<b>x</b></div><div id=b><div id=b><i:j>y");
        let selectors = Selectors::of(&tree);
        let path = |text: &str| {
            let found = tree
                .nodes()
                .iter()
                .position(|node| matches!(&node.data, super::super::Data::Text(t) if t == text));
            selectors.path(found.unwrap())
        };
        assert_eq!(path("x"), "div#a > p:nth-of-type(2) > b");
        assert_eq!(path("y"), "html > body > div:nth-of-type(2) > div > i\\:j");
        assert_eq!(selectors.path(0), ":root");
    }
}
