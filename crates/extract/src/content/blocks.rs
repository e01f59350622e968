//! Blocks of text: what a reader sees as one paragraph, heading, list item or table cell.
//!
//! A block is the text between two boundaries of elements that are not inline. Blocks are the unit
//! of which main content is chosen: smaller ones would tear sentences, larger ones mix content with
//! its surroundings.

use super::vocabulary::{self, CLASS_GROUP_COUNT};
use std::hash::{DefaultHasher, Hash, Hasher};
use varve_page::dom::{HtmlTree, NodeData};

/// Maximum number of blocks of a page that are read.
pub(crate) const MAX_BLOCKS: usize = 50_000;

/// Maximum number of words of a text that is searched for phrases.
const MAX_PHRASE_WORDS: u32 = 40;

/// Distance that stands for "not among the ancestors".
pub(crate) const NO_ANCESTOR: u8 = u8::MAX;

/// Elements whose text is not part of a page as it is read.
const UNREAD_ELEMENTS: [&str; 17] = [
    "audio", "canvas", "datalist", "head", "iframe", "map", "math", "noscript", "object", "option",
    "progress", "script", "select", "style", "svg", "template", "video",
];

/// Elements that do not end a block.
const INLINE_ELEMENTS: [&str; 39] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "img", "input", "ins", "kbd", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// Elements whose distance above a block is known to the model.
pub(crate) const SECTION_ELEMENTS: [&str; 9] =
    ["nav", "header", "footer", "aside", "main", "article", "ol", "table", "form"];

/// Number of elements whose distance above a block is known.
pub(crate) const SECTION_COUNT: usize = SECTION_ELEMENTS.len();

/// A block of text.
#[derive(Debug, Clone)]
pub(crate) struct TextBlock {
    /// The element that the block is in.
    pub(crate) element: usize,
    /// The first text node, and the index behind the last one.
    pub(crate) nodes: (usize, usize),
    /// The text, with single spaces unless white space is significant, and lines where `br` is.
    pub(crate) text: String,
    pub(crate) words: u32,
    /// Words in links.
    pub(crate) link_words: u32,
    pub(crate) stop_words: u32,
    pub(crate) commas: u32,
    /// Full stops, exclamation and question marks.
    pub(crate) sentence_marks: u32,
    pub(crate) digits: u32,
    /// Number of characters.
    pub(crate) length: u32,
    pub(crate) ends_sentence: bool,
    /// Groups of phrases, if the text is short.
    pub(crate) phrases: u32,
    /// Hash of the text, to find repeated texts.
    pub(crate) hash: u64,
    pub(crate) ancestry: BlockAncestors,
}

/// What is above a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockAncestors {
    /// The distance to the nearest element with a word of each group, counted from the block.
    pub(crate) class_groups: [u8; CLASS_GROUP_COUNT],
    /// The distance to the nearest of the section elements.
    pub(crate) sections: [u8; SECTION_COUNT],
    /// Whether the block is not displayed.
    pub(crate) hidden: bool,
    /// Whether white space is significant.
    keeps_space: bool,
}

/// The blocks of a page, and whether there are more.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextBlocks {
    pub(crate) blocks: Vec<TextBlock>,
    pub(crate) is_cut: bool,
}

/// An element that is not closed yet.
struct OpenElement {
    node: usize,
    end: usize,
    is_inline: bool,
    is_link: bool,
    ancestry: BlockAncestors,
}

/// Divides a page into blocks.
pub(crate) fn divide(tree: &HtmlTree) -> TextBlocks {
    let mut divider = BlockDivider::default();
    let mut place = 0;
    while place < tree.nodes().len() {
        divider.close(place);
        if divider.found.blocks.len() >= MAX_BLOCKS {
            divider.found.is_cut = true;
            break;
        }
        let node = &tree.nodes()[place];
        match &node.data {
            NodeData::Element(name, _) if is_unread(name) => {
                place = node.end;
                continue;
            }
            NodeData::Element(name, _) => divider.open(tree, place, name),
            NodeData::Text(text) => divider.add(place, text),
            NodeData::Document | NodeData::Doctype(_) | NodeData::Comment(_) => {}
        }
        place += 1;
    }
    divider.flush();
    divider.found
}

/// Whether the text of an element is not part of a page as it is read.
pub(crate) fn is_unread(name: &str) -> bool {
    UNREAD_ELEMENTS.binary_search(&name).is_ok()
}

/// Whether an element does not end a block.
pub(crate) fn is_inline(name: &str) -> bool {
    INLINE_ELEMENTS.binary_search(&name).is_ok()
}

#[derive(Default)]
struct BlockDivider {
    open: Vec<OpenElement>,
    /// The text of the block that is not finished, and its nodes.
    raw: String,
    nodes: Option<(usize, usize)>,
    link_words: u32,
    found: TextBlocks,
}

impl BlockDivider {
    /// Closes the elements that end before a place.
    fn close(&mut self, place: usize) {
        while self.open.last().is_some_and(|element| element.end <= place) {
            if self.open.last().is_some_and(|element| !element.is_inline) {
                self.flush();
            }
            self.open.pop();
        }
    }

    fn open(&mut self, tree: &HtmlTree, place: usize, name: &str) {
        let node = &tree.nodes()[place];
        let is_inline = is_inline(name);
        if !is_inline {
            self.flush();
        }
        if name == "br" && self.nodes.is_some() {
            self.raw.push('\n');
        }
        let above = self.open.last();
        let is_link = name == "a" || above.is_some_and(|element| element.is_link);
        let mut ancestry = BlockAncestors::below(above.map(|element| &element.ancestry), tree, place, name);
        ancestry.keeps_space |= name == "pre" || name == "textarea";
        self.open.push(OpenElement { node: place, end: node.end, is_inline, is_link, ancestry });
    }

    fn add(&mut self, place: usize, text: &str) {
        let Some(element) = self.open.last() else { return };
        if self.nodes.is_none() && text.trim().is_empty() {
            return;
        }
        if element.is_link {
            self.link_words += count_words(text);
        }
        let start = self.nodes.map_or(place, |(start, _)| start);
        self.nodes = Some((start, place + 1));
        if element.ancestry.keeps_space {
            self.raw.push_str(text);
        } else {
            self.raw.extend(text.chars().map(|letter| if letter == '\n' { ' ' } else { letter }));
        }
    }

    /// Finishes a block. Text without words is no block.
    fn flush(&mut self) {
        let link_words = std::mem::take(&mut self.link_words);
        let raw = std::mem::take(&mut self.raw);
        let Some(nodes) = self.nodes.take() else { return };
        let Some(element) = self.open.iter().rev().find(|element| !element.is_inline) else { return };
        let text = if element.ancestry.keeps_space {
            raw.trim_matches('\n').trim_end().to_owned()
        } else {
            single_spaces(&raw)
        };
        let mut block = TextBlock::of(text, element.node, nodes, element.ancestry);
        block.link_words = link_words.min(block.words);
        if block.words > 0 {
            self.found.blocks.push(block);
        }
    }
}

impl BlockAncestors {
    const fn none() -> Self {
        Self {
            class_groups: [NO_ANCESTOR; CLASS_GROUP_COUNT],
            sections: [NO_ANCESTOR; SECTION_COUNT],
            hidden: false,
            keeps_space: false,
        }
    }

    fn below(above: Option<&Self>, tree: &HtmlTree, place: usize, name: &str) -> Self {
        let mut ancestry = above.copied().unwrap_or(Self::none());
        for distance in ancestry.class_groups.iter_mut().chain(&mut ancestry.sections) {
            *distance =
                if *distance == NO_ANCESTOR { NO_ANCESTOR } else { (*distance + 1).min(NO_ANCESTOR - 1) };
        }
        let mut groups = 0;
        for (attribute, value) in tree.nodes()[place].attributes() {
            match attribute.as_str() {
                "class" | "id" | "role" | "itemprop" => groups |= vocabulary::class_groups(value),
                "hidden" => ancestry.hidden = true,
                "aria-hidden" => ancestry.hidden |= value == "true",
                "style" => ancestry.hidden |= is_hidden_by(value),
                _ => {}
            }
        }
        for (group, distance) in ancestry.class_groups.iter_mut().enumerate() {
            if groups & 1 << group != 0 {
                *distance = 0;
            }
        }
        if let Some(section) = SECTION_ELEMENTS.iter().position(|section| *section == name) {
            ancestry.sections[section] = 0;
        }
        ancestry
    }
}

/// Whether a `style` hides its element.
fn is_hidden_by(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(property, value)| {
        let is = |text: &str, other: &str| text.trim().eq_ignore_ascii_case(other);
        is(property, "display") && is(value.split('!').next().unwrap_or_default(), "none")
    })
}

impl TextBlock {
    fn of(text: String, element: usize, nodes: (usize, usize), ancestry: BlockAncestors) -> Self {
        let mut block = Self {
            element,
            nodes,
            words: 0,
            link_words: 0,
            stop_words: 0,
            commas: 0,
            sentence_marks: 0,
            digits: 0,
            length: 0,
            ends_sentence: text.ends_with(['.', '!', '?', ':', '…', '。', '！', '？']),
            phrases: 0,
            hash: 0,
            ancestry,
            text,
        };
        block.count_letters();
        block.count_words();
        block
    }

    fn count_letters(&mut self) {
        for letter in self.text.chars() {
            self.length += 1;
            match letter {
                ',' | '，' | '、' => self.commas += 1,
                '.' | '!' | '?' | '。' | '！' | '？' => self.sentence_marks += 1,
                '0'..='9' => self.digits += 1,
                _ => {}
            }
        }
    }

    fn count_words(&mut self) {
        let mut phrase = String::from(" ");
        let mut hasher = DefaultHasher::new();
        for word in words(&self.text) {
            self.words += 1;
            let word = word.to_lowercase();
            word.hash(&mut hasher);
            self.stop_words += u32::from(vocabulary::is_stop_word(&word));
            if self.words <= MAX_PHRASE_WORDS {
                phrase.push_str(&word);
                phrase.push(' ');
            }
        }
        self.hash = hasher.finish();
        if self.words <= MAX_PHRASE_WORDS {
            self.phrases = vocabulary::phrase_groups(&phrase);
        }
    }

    /// The share of words that are in links.
    pub(crate) fn link_share(&self) -> f32 {
        share(self.link_words, self.words)
    }

    /// Whether this is prose: many words, few of them in links.
    pub(crate) fn is_long(&self) -> bool {
        self.words >= 12 && self.link_share() < 0.4
    }
}

/// The words of a text: runs of letters, digits and underscores.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

fn count_words(text: &str) -> u32 {
    u32::try_from(words(text).count()).unwrap_or(u32::MAX)
}

/// The text with single spaces, and lines where they were.
fn single_spaces(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for line in raw.split('\n') {
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_some() && !text.is_empty() {
            text.push('\n');
        }
        let start = text.len();
        for word in words {
            if text.len() > start {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
    text
}

/// A part of a whole; 0 if there is no whole.
pub(crate) fn share(part: u32, whole: u32) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(html: &str) -> Vec<String> {
        divide(&HtmlTree::parse(html)).blocks.into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_end_where_lines_end() {
        let html = "<h1>A  <b>title</b></h1>loose <i>text</i><p>one<br>two</p><ul><li>x<li>y <a>z</a></ul>";
        assert_eq!(texts(html), ["A title", "loose text", "one\ntwo", "x", "y z"]);
        assert_eq!(texts("<div>before<p>inside</p>after</div>"), ["before", "inside", "after"]);
        assert_eq!(texts("<pre>fn x() {\n    y\n}</pre>"), ["fn x() {\n    y\n}"]);
    }

    #[test]
    fn text_that_nobody_reads_is_no_block() {
        assert_eq!(texts("<p>a<script>b</script> c<p>—<p><select><option>d</select>"), ["a c"]);
    }

    #[test]
    fn a_block_knows_its_surroundings() {
        let html = "<nav class=menu><ul><li>one</ul></nav><p style='color:red; DISPLAY : none'>two";
        let blocks = divide(&HtmlTree::parse(html)).blocks;
        assert_eq!(blocks[0].ancestry.sections[0], 2);
        assert_eq!(blocks[0].ancestry.class_groups[0], 2);
        assert!(!blocks[0].ancestry.hidden && blocks[1].ancestry.hidden);
        assert_eq!(blocks[1].ancestry.sections[0], NO_ANCESTOR);
    }

    #[test]
    fn words_in_links_are_counted() {
        let blocks = divide(&HtmlTree::parse("<p>see <a href=x>this <b>page</b></a>, please.")).blocks;
        assert_eq!((blocks[0].words, blocks[0].link_words, blocks[0].commas), (4, 2, 1));
        assert!(blocks[0].ends_sentence);
    }

    #[test]
    fn names_of_elements_are_sorted() {
        assert!(INLINE_ELEMENTS.is_sorted() && UNREAD_ELEMENTS.is_sorted());
    }
}
