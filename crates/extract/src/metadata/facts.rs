//! What may be evidence for metadata, found in one pass over the tree.
//!
//! Lists are bounded: a page with more is no page for readers, and its first ones count.

use super::linked_data::LinkedData;
use super::text::{MAX_FIELD_BYTES, text_below};
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;
use varve_page::dom::{HtmlTree, NodeData, TreeNode};

/// Maximum number of entries of each list.
const MAX_FACTS: usize = 1024;

/// A `meta` element with a name.
#[derive(Debug, Clone)]
pub(super) struct MetaEntry<'t> {
    /// Its `property`, `name` or `itemprop`, in lower case.
    pub(super) name: String,
    /// Its content.
    pub(super) content: &'t str,
}

/// A property of microdata or RDFa.
#[derive(Debug, Clone)]
pub(super) struct PropertyEntry<'t> {
    /// Its name without prefix, in lower case.
    pub(super) name: String,
    /// The type of the item that has it, in lower case; empty if unknown.
    pub(super) item_type: &'t str,
    /// Its element.
    pub(super) node: usize,
}

/// What may be evidence.
#[derive(Debug)]
pub(super) struct PageFacts<'t> {
    /// The page.
    pub(super) tree: &'t HtmlTree,
    /// `meta` elements in order.
    pub(super) metas: Vec<MetaEntry<'t>>,
    /// The text of the `title`.
    pub(super) document_title: Option<String>,
    /// `h1` elements.
    pub(super) headings: Vec<usize>,
    /// `h2` and `h3` elements.
    pub(super) subheadings: Vec<usize>,
    /// `time` elements.
    pub(super) times: Vec<usize>,
    /// Properties of microdata and RDFa.
    pub(super) properties: Vec<PropertyEntry<'t>>,
    /// Elements whose class, id or relation speaks of an author.
    pub(super) author_marks: Vec<usize>,
    /// Elements whose class or id speaks of a date.
    pub(super) date_marks: Vec<usize>,
    /// `link` and `a` elements with a relation.
    pub(super) relations: Vec<usize>,
    /// JSON-LD.
    pub(super) linked_data: LinkedData,
}

/// Words in classes and ids that speak of an author, then those that speak of a date.
const AUTHOR_WORDS: [&str; 8] =
    ["author", "byline", "writer", "username", "user-name", "contributor", "posted-by", "postedby"];
const DATE_WORDS: [&str; 8] = ["date", "time", "publish", "posted", "byline", "meta", "created", "dateline"];

static MARK_WORDS: LazyLock<[AhoCorasick; 2]> = LazyLock::new(|| {
    let searcher = |words: &[&str]| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("the words are few and short")
    };
    [searcher(&AUTHOR_WORDS), searcher(&DATE_WORDS)]
});

impl<'t> PageFacts<'t> {
    /// Reads a tree.
    pub(super) fn of(tree: &'t HtmlTree) -> Self {
        let mut facts = Self {
            tree,
            metas: Vec::new(),
            document_title: None,
            headings: Vec::new(),
            subheadings: Vec::new(),
            times: Vec::new(),
            properties: Vec::new(),
            author_marks: Vec::new(),
            date_marks: Vec::new(),
            relations: Vec::new(),
            linked_data: LinkedData::default(),
        };
        let mut place = 0;
        while let Some(node) = tree.nodes().get(place) {
            let is_apart = matches!(node.name(), Some("svg" | "template" | "math" | "style"));
            if node.name().is_some() && !is_apart {
                facts.element(place, node);
            }
            place = if is_apart { node.end } else { place + 1 };
        }
        facts
    }

    fn element(&mut self, place: usize, node: &'t TreeNode) {
        match node.name().unwrap_or_default() {
            "meta" => self.meta(node),
            "title" if self.document_title.is_none() => {
                self.document_title = Some(text_below(self.tree, place, MAX_FIELD_BYTES));
            }
            "script" => self.script(place, node),
            "h1" => push(&mut self.headings, place),
            "h2" | "h3" => push(&mut self.subheadings, place),
            "time" => push(&mut self.times, place),
            _ => {}
        }
        if node.attribute("rel").is_some() {
            push(&mut self.relations, place);
        }
        self.property(place, node);
        self.marks(place, node);
    }

    fn meta(&mut self, node: &'t TreeNode) {
        let name = ["property", "name", "itemprop"].into_iter().find_map(|name| node.attribute(name));
        let content = node.attribute("content").map(str::trim).filter(|content| !content.is_empty());
        if let (Some(name), Some(content)) = (name, content) {
            let content = &content[..content.floor_char_boundary(MAX_FIELD_BYTES.min(content.len()))];
            push(&mut self.metas, MetaEntry { name: name.trim().to_ascii_lowercase(), content });
        }
    }

    fn script(&mut self, place: usize, node: &TreeNode) {
        let kind = node.attribute("type").unwrap_or_default().trim();
        if kind.get(..19).is_some_and(|start| start.eq_ignore_ascii_case("application/ld+json")) {
            for child in self.tree.children(place) {
                if let NodeData::Text(text) = &self.tree.nodes()[child].data {
                    self.linked_data.add(text);
                }
            }
        }
    }

    fn property(&mut self, place: usize, node: &'t TreeNode) {
        let given = match (node.attribute("itemprop"), node.attribute("property")) {
            (Some(name), _) => name,
            (None, Some(name)) if node.name() != Some("meta") => name,
            _ => return,
        };
        if self.properties.len() >= MAX_FACTS {
            return;
        }
        let item_type = self.item_type(place);
        for name in given.split_ascii_whitespace().take(4) {
            let name = name.rsplit([':', '/']).next().unwrap_or(name).to_ascii_lowercase();
            push(&mut self.properties, PropertyEntry { name, item_type, node: place });
        }
    }

    /// The type of the item that an element belongs to.
    fn item_type(&self, place: usize) -> &'t str {
        let scope = |place: usize| {
            let node = &self.tree.nodes()[place];
            let is_scope = node.attribute("itemscope").is_some() || node.attribute("typeof").is_some();
            is_scope
                .then(|| node.attribute("itemtype").or_else(|| node.attribute("typeof")).unwrap_or_default())
        };
        self.tree.ancestors(place).find_map(scope).unwrap_or_default()
    }

    fn marks(&mut self, place: usize, node: &TreeNode) {
        let [author, date] = &*MARK_WORDS;
        if matches!(node.name(), Some("html" | "body" | "script" | "meta" | "link")) {
            return;
        }
        for names in ["class", "id", "data-testid"].into_iter().filter_map(|name| node.attribute(name)) {
            let names = &names[..names.floor_char_boundary(MAX_FIELD_BYTES.min(names.len()))];
            let is_mark = |found: aho_corasick::Match| {
                // `csv.writer` is the id of a function in a manual.
                !names[..found.start()].ends_with('.') && !is_authorising(&names[found.end()..])
            };
            if author.find_iter(names).any(is_mark) && self.author_marks.last() != Some(&place) {
                push(&mut self.author_marks, place);
            }
            if date.is_match(names) && self.date_marks.last() != Some(&place) {
                push(&mut self.date_marks, place);
            }
        }
    }

    /// The content of the first `meta` element with one of these names. The order is that of the
    /// names.
    pub(super) fn meta_content(&self, names: &[&str]) -> Option<&'t str> {
        names.iter().find_map(|name| self.meta_contents(name).next())
    }

    /// The contents of all `meta` elements with a name.
    pub(super) fn meta_contents(&self, name: &str) -> impl Iterator<Item = &'t str> {
        self.metas.iter().filter(move |meta| meta.name == name).map(|meta| meta.content)
    }

    /// The value of a property: its machine-readable form, else its text.
    pub(super) fn property_value(&self, property: &PropertyEntry<'_>) -> String {
        let node = &self.tree.nodes()[property.node];
        let given = ["content", "datetime"].into_iter().find_map(|name| node.attribute(name));
        match given.map(str::trim).filter(|value| !value.is_empty()) {
            Some(value) => value[..value.floor_char_boundary(MAX_FIELD_BYTES.min(value.len()))].to_owned(),
            None => text_below(self.tree, property.node, MAX_FIELD_BYTES),
        }
    }

    /// Whether an element has a relation.
    pub(super) fn has_relation(&self, node: usize, relation: &str) -> bool {
        let given = self.tree.nodes()[node].attribute("rel").unwrap_or_default();
        given.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(relation))
    }
}

/// Whether a word that begins with "author" goes on as "authorise" or "authority".
fn is_authorising(rest: &str) -> bool {
    rest.bytes().next().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'i'))
}

fn push<T>(list: &mut Vec<T>, entry: T) {
    if list.len() < MAX_FACTS {
        list.push(entry);
    }
}
