//! A CSS selector for a node: the shortest path that a person would write and a browser finds
//! again.
//!
//! Content of a `template` is in no document, and no selector finds it. So the selector is that of
//! the template, with a comment that names the place in its content.

use super::HtmlTree;
use std::borrow::Cow;
use std::collections::HashMap;

/// Writes selectors for the nodes of a tree.
#[derive(Debug)]
pub struct Selectors<'t> {
    tree: &'t HtmlTree,
    /// The number of uses of each id.
    ids: HashMap<Cow<'t, str>, usize>,
}

impl<'t> Selectors<'t> {
    /// Counts the ids of a tree.
    pub fn of(tree: &'t HtmlTree) -> Self {
        let mut ids = HashMap::new();
        for id in tree.nodes().iter().filter_map(|node| node.attribute("id")) {
            *ids.entry(as_found(tree, id)).or_default() += 1;
        }
        Self { tree, ids }
    }

    /// The selector of a node; of its element, if it is text or a comment. Paths begin at the
    /// nearest id that is unique.
    pub fn path(&self, node: usize) -> String {
        let is_element = self.tree.nodes()[node].name().is_some();
        let start = if is_element { node } else { self.tree.nodes()[node].parent };
        if start == 0 {
            return ":root".to_owned();
        }
        // The text of a template is in its content, the template itself is not.
        let above = (!is_element).then_some(start).into_iter().chain(self.tree.ancestors(start));
        let is_template = |place: &usize| self.tree.nodes()[*place].name() == Some("template");
        match above.filter(is_template).last() {
            Some(template) => {
                let (path, content) = (self.steps(template, 0), self.steps(start, template));
                let colon = if content.is_empty() { "" } else { ": " };
                format!("{path} /* in the template's content{colon}{content} */")
            }
            None => self.steps(start, 0),
        }
    }

    /// The selector of a node by its position, also if it has an id. So it tells places of one
    /// element apart.
    pub fn position(&self, node: usize) -> String {
        let parent = self.tree.nodes()[node].parent;
        let is_template = |place: usize| self.tree.nodes()[place].name() == Some("template");
        if self.tree.nodes()[node].name().is_none()
            || parent == 0
            || self.tree.ancestors(node).any(is_template)
        {
            return self.path(node);
        }
        format!("{} > {}", self.steps(parent, 0), self.numbered(node))
    }

    /// The steps to a node from one that it is in, or from the nearest id.
    fn steps(&self, start: usize, end: usize) -> String {
        let mut steps = Vec::new();
        let places = std::iter::once(start).chain(self.tree.ancestors(start));
        for place in places.take_while(|place| *place != end) {
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
        match node.attribute("id") {
            Some(id) if is_plain(id) && self.ids.get(&as_found(self.tree, id)) == Some(&1) => {
                format!("{}#{id}", escape(node.name().unwrap_or_default()))
            }
            _ => self.numbered(place),
        }
    }

    /// The step to a node by its number.
    fn numbered(&self, place: usize) -> String {
        let node = &self.tree.nodes()[place];
        let name = escape(node.name().unwrap_or_default());
        if node.only { name } else { format!("{name}:nth-of-type({})", node.nth) }
    }
}

/// An id as browsers compare it in that page.
fn as_found<'i>(tree: &HtmlTree, id: &'i str) -> Cow<'i, str> {
    if tree.quirks { Cow::Owned(id.to_ascii_lowercase()) } else { Cow::Borrowed(id) }
}

/// Whether an id needs no escapes.
fn is_plain(id: &str) -> bool {
    id.len() <= 80
        && id.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The name of an element, with characters escaped that have a meaning in selectors.
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

    /// The path of the element that a text is in.
    fn path(page: &str, text: &str) -> String {
        let tree = HtmlTree::parse(page);
        let is_it =
            |node: &crate::dom::TreeNode| matches!(&node.data, crate::dom::NodeData::Text(t) if t == text);
        Selectors::of(&tree).path(tree.nodes().iter().position(is_it).unwrap())
    }

    #[test]
    fn paths_begin_at_unique_ids() {
        let page = "<div id=a><p>1<p>2<b>x</b></div><div id=b><div id=b><i:j>y";
        assert_eq!(path(page, "x"), "div#a > p:nth-of-type(2) > b");
        assert_eq!(path(page, "y"), "html > body > div:nth-of-type(2) > div > i\\:j");
        assert_eq!(Selectors::of(&HtmlTree::parse(page)).path(0), ":root");
    }

    #[test]
    fn positions_have_no_id_of_their_own() {
        let tree = HtmlTree::parse("<main id=m><p>1<p id=x>2</main>");
        let place = tree.nodes().iter().position(|node| node.attribute("id") == Some("x")).unwrap();
        let selectors = Selectors::of(&tree);
        assert_eq!(
            (selectors.path(place), selectors.position(place)),
            ("p#x".into(), "main#m > p:nth-of-type(2)".into())
        );
        assert_eq!(selectors.position(place + 1), "p#x");
        assert_eq!(selectors.position(1), "html");
    }

    #[test]
    fn ids_of_old_pages_are_the_same_in_any_case() {
        let page = "<p id=Intro>x<p id=intro>y";
        assert_eq!(path(page, "y"), "html > body > p:nth-of-type(2)");
        assert_eq!(path(&format!("<!doctype html>{page}"), "y"), "p#intro");
    }

    #[test]
    fn content_of_templates_is_not_in_the_document() {
        let page = "<!doctype html><template>w<p>x</p><template><i id=i>y</i></template></template><p>z";
        assert_eq!(path(page, "w"), "html > head > template /* in the template's content */");
        assert_eq!(path(page, "x"), "html > head > template /* in the template's content: p */");
        assert_eq!(path(page, "y"), "html > head > template /* in the template's content: i#i */");
        assert_eq!(path(page, "z"), "html > body > p");
    }
}
