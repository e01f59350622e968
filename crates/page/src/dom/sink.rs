//! The sink of the parser: nodes in the order of their creation, with lists of children.
//!
//! The parser moves nodes while it reads broken pages. The tree is flattened once, at the end.

use super::NodeData;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, QualName};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A node that the parser may still move.
#[derive(Debug)]
pub(crate) struct ParserNode {
    pub(super) data: NodeData,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

/// A node as the parser knows it.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    place: usize,
    name: Option<Rc<QualName>>,
    /// Whether it is an `annotation-xml` element with HTML content.
    holds_html: bool,
}

impl Handle {
    fn unnamed(place: usize) -> Self {
        Self { place, name: None, holds_html: false }
    }
}

/// The nodes of an unfinished parse.
#[derive(Debug)]
pub(crate) struct ParserSink {
    nodes: RefCell<Vec<ParserNode>>,
    newest: Cell<usize>,
    events: Cell<usize>,
    quirks: Cell<bool>,
}

impl Default for ParserSink {
    fn default() -> Self {
        let root = ParserNode { data: NodeData::Document, parent: None, children: Vec::new() };
        Self {
            nodes: RefCell::new(vec![root]),
            newest: Cell::new(0),
            events: Cell::new(0),
            quirks: Cell::new(false),
        }
    }
}

impl ParserSink {
    /// How many nodes there are.
    pub(super) fn count(&self) -> usize {
        self.nodes.borrow().len()
    }

    /// Whether the page is in quirks mode.
    pub(super) const fn quirks(&self) -> bool {
        self.quirks.get()
    }

    /// Number of nodes and texts that the parser has added.
    pub(super) const fn events(&self) -> usize {
        self.events.get()
    }

    /// The depth of the node that was added last.
    pub(super) fn depth_of_newest(&self) -> usize {
        let nodes = self.nodes.borrow();
        std::iter::successors(Some(self.newest.get()), |node| nodes[*node].parent).count()
    }

    /// All nodes, taken from the parser.
    pub(super) fn take(&self) -> Vec<ParserNode> {
        self.nodes.take()
    }

    fn add(&self, data: NodeData) -> usize {
        self.events.set(self.events.get() + 1);
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(ParserNode { data, parent: None, children: Vec::new() });
        nodes.len() - 1
    }

    /// Puts a node or text before the child at `place` of a parent. Text joins the text before it.
    fn insert(&self, parent: usize, place: usize, child: NodeOrText<Handle>) {
        let child = match child {
            NodeOrText::AppendNode(handle) => handle.place,
            NodeOrText::AppendText(text) => {
                if self.join(parent, place, &text) {
                    return;
                }
                self.add(NodeData::Text(text.to_string()))
            }
        };
        self.detach(child);
        let mut nodes = self.nodes.borrow_mut();
        nodes[child].parent = Some(parent);
        let place = place.min(nodes[parent].children.len());
        nodes[parent].children.insert(place, child);
        self.newest.set(child);
    }

    fn join(&self, parent: usize, place: usize, more: &str) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        let before = place.checked_sub(1).and_then(|place| nodes[parent].children.get(place).copied());
        let Some(NodeData::Text(text)) = before.map(|node| &mut nodes[node].data) else { return false };
        text.push_str(more);
        self.events.set(self.events.get() + 1);
        true
    }

    fn detach(&self, node: usize) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(parent) = nodes[node].parent.take() {
            // A node that moves was usually added last.
            if let Some(place) = nodes[parent].children.iter().rposition(|child| *child == node) {
                nodes[parent].children.remove(place);
            }
        }
    }

    fn last(&self, parent: usize) -> usize {
        self.nodes.borrow()[parent].children.len()
    }

    fn parent_of(&self, node: usize) -> Option<usize> {
        self.nodes.borrow()[node].parent
    }
}

impl TreeSink for ParserSink {
    type Handle = Handle;
    type Output = Vec<ParserNode>;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Vec<ParserNode> {
        self.nodes.into_inner()
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle::unnamed(0)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.as_ref().expect("the parser asks for the names of elements only").expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let place = self.add(NodeData::Element(name.local.to_string(), pairs(attributes)));
        let holds_html = flags.mathml_annotation_xml_integration_point;
        Handle { place, name: Some(Rc::new(name)), holds_html }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        handle.holds_html
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        Handle::unnamed(self.add(NodeData::Comment(text.to_string())))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        Handle::unnamed(self.add(NodeData::Comment(format!("?{target} {data}"))))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.insert(parent.place, self.last(parent.place), child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        if self.parent_of(element.place).is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, _public: StrTendril, _system: StrTendril) {
        let place = self.add(NodeData::Doctype(name.to_string()));
        self.insert(0, self.last(0), NodeOrText::AppendNode(Handle::unnamed(place)));
    }

    /// The content of a template is kept as its children, because nothing is rendered here.
    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.place == other.place
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.quirks.set(mode == QuirksMode::Quirks);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(node) = &child {
            self.detach(node.place);
        }
        let Some(parent) = self.parent_of(sibling.place) else { return };
        let place = self.nodes.borrow()[parent].children.iter().rposition(|node| *node == sibling.place);
        self.insert(parent, place.unwrap_or(usize::MAX), child);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        if let NodeData::Element(_, present) = &mut self.nodes.borrow_mut()[target.place].data {
            for (name, value) in pairs(attributes) {
                if !present.iter().any(|(other, _)| *other == name) {
                    present.push((name, value));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.detach(target.place);
    }

    fn reparent_children(&self, node: &Handle, parent: &Handle) {
        let mut nodes = self.nodes.borrow_mut();
        let children = std::mem::take(&mut nodes[node.place].children);
        for child in &children {
            nodes[*child].parent = Some(parent.place);
        }
        nodes[parent.place].children.extend(children);
    }
}

/// Names with their prefixes: `xlink:href` is another attribute than `href`.
fn pairs(attributes: Vec<Attribute>) -> Vec<(String, String)> {
    let name = |name: &QualName| match name.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
        Some(prefix) => format!("{prefix}:{}", name.local),
        None => name.local.to_string(),
    };
    attributes.into_iter().map(|attribute| (name(&attribute.name), attribute.value.to_string())).collect()
}
