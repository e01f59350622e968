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
const FRAME_WORDS: [&str; 9] =
    ["footer", "sidebar", "breadcrumb", "navbar", "menu", "cookie", "copyright", "widget", "site-header"];
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

/// The region of a node: that of the nearest element above it that is not the page itself.
pub(super) fn region_of(tree: &HtmlTree, node: usize) -> Region {
    std::iter::once(node)
        .chain(tree.ancestors(node))
        .map(|place| own_region(&tree.nodes()[place]))
        .find(|region| *region != Region::Main)
        .unwrap_or(Region::Main)
}

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

/// The region that a class or an id names.
fn named_region(names: &str) -> Option<Region> {
    let found = REGION_WORDS.find(names)?.pattern().as_usize();
    Some(if found < FRAME_WORDS.len() {
        Region::Frame
    } else if found < FRAME_WORDS.len() + COMMENT_WORDS.len() {
        Region::Comments
    } else {
        Region::Related
    })
}
