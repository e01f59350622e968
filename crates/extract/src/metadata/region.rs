//! In which part of a page a node is.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use varve_page::dom::{HtmlTree, TreeNode};

/// A part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    /// The page itself, as far as its markup tells.
    Main,
    /// Navigation, side bars, footers and the like.
    Frame,
    /// Comments of readers.
    Comments,
    /// Teasers of other pages.
    Related,
}

/// Words in classes and ids of frames, of comments and of teasers.
const FRAME_WORDS: [&str; 6] = ["footer", "sidebar", "breadcrumb", "navbar", "cookie", "copyright"];
const COMMENT_WORDS: [&str; 4] = ["comment", "disqus", "respond", "reply"];
const RELATED_WORDS: [&str; 10] = [
    "related",
    "recommend",
    "teaser",
    "carousel",
    "read-next",
    "more-from",
    "trending",
    "latest-",
    "popular",
    "similar",
];

static REGION_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = FRAME_WORDS.iter().chain(&COMMENT_WORDS).chain(&RELATED_WORDS);
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("the words are few and short")
});

/// The parts of a page, seen from its title.
///
/// What contains the title is the page itself, also if its class names a part of it: a class such as
/// `with-sidebar` on the whole page makes no side bar of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLayout<'t> {
    tree: &'t HtmlTree,
    /// The heading with the title.
    title: Option<usize>,
}

impl<'t> PageLayout<'t> {
    /// The parts of a page whose title is in a node, if it is.
    pub(super) const fn new(tree: &'t HtmlTree, title: Option<usize>) -> Self {
        Self { tree, title }
    }

    /// The heading with the title.
    pub(super) const fn title(self) -> Option<usize> {
        self.title
    }

    /// The region of a node: that of the nearest element around it that is not the page itself.
    pub(super) fn region(self, node: usize) -> Region {
        self.around(node)
            .map(|place| own_region(&self.tree.nodes()[place]))
            .find(|region| *region != Region::Main)
            .unwrap_or(Region::Main)
    }

    /// Whether a node is in a teaser of another page: a small element that has a heading with a
    /// link, and not the title.
    pub(super) fn is_in_card(self, node: usize) -> bool {
        self.around(node)
            .take_while(|place| self.tree.nodes()[*place].end - place <= MAX_CARD_NODES)
            .any(|place| self.has_linked_heading(place))
    }

    /// A node and the elements around it that do not contain the title.
    fn around(self, node: usize) -> impl Iterator<Item = usize> + 't {
        let has_title = move |place: &usize| {
            self.title.is_some_and(|title| (*place..self.tree.nodes()[*place].end).contains(&title))
        };
        std::iter::once(node).chain(self.tree.ancestors(node)).take_while(move |place| !has_title(place))
    }

    fn has_linked_heading(self, place: usize) -> bool {
        let nodes = self.tree.nodes();
        let is_heading = |node: usize| matches!(nodes[node].name(), Some("h1" | "h2" | "h3" | "h4" | "h5"));
        let is_link =
            |node: usize| nodes[node].name() == Some("a") && nodes[node].attribute("href").is_some();
        let holds =
            |outer: usize, is_inner: &dyn Fn(usize) -> bool| (outer + 1..nodes[outer].end).any(is_inner);
        (place..nodes[place].end).any(|node| {
            (is_heading(node) && holds(node, &is_link)) || (is_link(node) && holds(node, &is_heading))
        })
    }
}

/// Maximum number of nodes of a teaser.
const MAX_CARD_NODES: usize = 80;

fn own_region(node: &TreeNode) -> Region {
    match node.name() {
        Some("footer" | "nav" | "aside") => return Region::Frame,
        None | Some("html" | "body" | "main" | "article") => return Region::Main,
        Some(_) => {}
    }
    ["class", "id"]
        .into_iter()
        .filter_map(|name| node.attribute(name))
        .find_map(named_region)
        .unwrap_or(Region::Main)
}

/// Maximum length of a class or an id that is read.
const MAX_NAMES_BYTES: usize = 512;

/// The region that a class or an id names.
fn named_region(names: &str) -> Option<Region> {
    let names = &names[..names.floor_char_boundary(MAX_NAMES_BYTES.min(names.len()))];
    let found = REGION_WORDS.find(names)?.pattern().as_usize();
    Some(if found < FRAME_WORDS.len() {
        Region::Frame
    } else if found < FRAME_WORDS.len() + COMMENT_WORDS.len() {
        Region::Comments
    } else {
        Region::Related
    })
}
