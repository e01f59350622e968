//! Where readers see white space: between what stands in one line.
//!
//! White space at the ends of texts is left out of comparison, and so are texts of nothing else: pages are indented anew every day.
//! Between blocks nobody sees it. Between two words, links or pictures of one line everybody does, whichever element holds it. So each of
//! these knows what stands before it in its line, and whether there is white space between them, however much.

use varve_page::dom::{Data, Node, Tree};

/// Elements that stand in a line with what is around them, and so does what is in them.
const INLINE: [&str; 41] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "label", "map", "mark", "nobr", "output", "picture", "q", "ruby", "rb", "rp", "rt",
    "s", "samp", "slot", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
];

/// Elements that stand in a line like a letter. What is in them is apart.
const ATOMS: [&str; 17] = [
    "audio", "button", "canvas", "embed", "iframe", "image", "img", "input", "marquee", "math", "meter",
    "object", "progress", "select", "svg", "textarea", "video",
];

/// Elements that nobody sees.
const UNSEEN: [&str; 12] = [
    "base", "datalist", "head", "link", "meta", "noscript", "param", "script", "source", "style", "template",
    "track",
];

/// So much is quoted on each side of white space.
const MOST_QUOTED: usize = 40;

/// What stands before something in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    /// The node.
    last: u32,
    /// Whether there is white space between.
    pub(super) spaced: bool,
}

/// What stands before each node of a tree in its line, if it stands in one and is not the first there.
pub(super) struct Spaces(Vec<Option<Before>>);

/// A line as far as it is read.
#[derive(Default, Clone, Copy)]
struct Line {
    last: Option<u32>,
    spaced: bool,
}

impl Line {
    /// Puts a node behind what is there.
    fn add(&mut self, place: usize) -> Option<Before> {
        let before = self.last.map(|last| Before { last, spaced: self.spaced });
        *self = Self { last: u32::try_from(place).ok(), spaced: false };
        before
    }
}

impl Spaces {
    pub(super) fn of(tree: &Tree) -> Self {
        let nodes = tree.nodes();
        let mut before = vec![None; nodes.len()];
        let mut line = Line::default();
        // Elements that are open and no part of the line around them: where they end, and what goes on then.
        let mut open: Vec<(usize, Line)> = Vec::new();
        let mut place = 1;
        while place < nodes.len() {
            while let Some((_, around)) = open.pop_if(|(end, _)| *end <= place) {
                line = around;
            }
            let node = &nodes[place];
            place = match &node.data {
                Data::Text(text) => {
                    before[place] = read_text(&mut line, node, text, place);
                    place + 1
                }
                Data::Element(name, _) if is_unseen(name, node) => node.end,
                Data::Element(name, _) if ATOMS.contains(&name.as_str()) => {
                    before[place] = line.add(place);
                    open.push((node.end, std::mem::take(&mut line)));
                    place + 1
                }
                Data::Element(name, _) if !is_inline(name) => {
                    open.push((node.end, Line::default()));
                    line = Line::default();
                    place + 1
                }
                _ => place + 1,
            };
        }
        Self(before)
    }

    pub(super) fn before(&self, place: usize) -> Option<Before> {
        self.0[place]
    }
}

/// Puts a text into a line. Where white space is kept it is part of the text.
fn read_text(line: &mut Line, node: &Node, text: &str, place: usize) -> Option<Before> {
    let is_space = |letter: char| letter.is_whitespace() && !node.keeps_space;
    if text.trim_matches(is_space).is_empty() {
        line.spaced = true;
        return None;
    }
    line.spaced |= text.starts_with(is_space);
    let before = line.add(place);
    line.spaced = text.ends_with(is_space);
    before
}

fn is_unseen(name: &str, node: &Node) -> bool {
    let is_hidden =
        || name == "input" && node.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
    UNSEEN.contains(&name) || is_hidden()
}

/// Elements of a site's own are inline until a style says otherwise.
fn is_inline(name: &str) -> bool {
    INLINE.contains(&name) || name.contains('-')
}

impl Before {
    /// The node that stands before.
    pub(super) const fn last(self) -> usize {
        self.last as usize
    }

    /// What stands before and what stands behind, with or without white space between.
    pub(super) fn quoted(self, tree: &Tree, place: usize) -> String {
        let (one, other) = (&tree.nodes()[self.last()], &tree.nodes()[place]);
        let word = |node: &Node| match (node.seen_text(), node.name()) {
            (Some(text), _) => text.to_owned(),
            (None, name) => format!("<{}>", name.unwrap_or_default()),
        };
        let (one, other) = (word(one), word(other));
        let start = one.ceil_char_boundary(one.len().saturating_sub(MOST_QUOTED));
        let end = other.floor_char_boundary(MOST_QUOTED.min(other.len()));
        format!("{}{}{}", &one[start..], if self.spaced { " " } else { "" }, &other[..end])
    }
}
