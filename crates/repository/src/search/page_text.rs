//! The text of a body: the one place that decides which text of a page can be found.
//!
//! Text of navigation, headers, footers and sidebars is left out, because it is the same on every
//! page of a site. Bodies that are neither pages nor plain text have no text.

use varve_page::charset::decode;
use varve_page::dom::{HtmlTree, NodeData};
use varve_page::kind::BodyKind;
use varve_search::{PageText, Passage, PassageKind, TextKind};

/// Maximum number of bytes of text that are indexed. The rest of a longer text cannot be found.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Elements whose text is not that of the page. Forms are not among them: some servers put the whole
/// page into one.
const SKIPPED_ELEMENTS: [&str; 17] = [
    "aside", "button", "canvas", "datalist", "footer", "head", "iframe", "nav", "noscript", "object",
    "script", "select", "style", "svg", "template", "textarea", "video",
];

/// Elements within a line of text. All others begin a passage.
const INLINE_ELEMENTS: [&str; 39] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "label", "mark", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// The text of a body; `None` if it has none that can be found.
pub fn page_text(body: &[u8], content_type: Option<&str>) -> Option<PageText> {
    read_text(body, content_type, |_| {})
}

/// As [`page_text`]. `see_tree` gets the page if it is HTML, which is parsed once.
pub(super) fn read_text(
    body: &[u8],
    content_type: Option<&str>,
    see_tree: impl FnOnce(&HtmlTree),
) -> Option<PageText> {
    let kind = match BodyKind::of(body, content_type) {
        BodyKind::Html => TextKind::Page,
        BodyKind::Text => TextKind::Plain,
        BodyKind::Xml | BodyKind::Json | BodyKind::Css | BodyKind::JavaScript | BodyKind::Binary => {
            return None;
        }
    };
    let decoded = decode(body, content_type);
    let mut passages = PassageCollector::default();
    match kind {
        TextKind::Page => {
            let tree = HtmlTree::parse(&decoded.text);
            collect_html(&tree, &mut passages);
            see_tree(&tree);
        }
        TextKind::Plain => {
            // An empty line ends a passage.
            for line in decoded.text.lines() {
                if line.trim().is_empty() {
                    passages.end(PassageKind::Text);
                }
                passages.add(line);
                passages.add(" ");
            }
            passages.end(PassageKind::Text);
        }
    }
    Some(PageText { kind, passages: passages.passages })
}

fn collect_html(tree: &HtmlTree, passages: &mut PassageCollector) {
    let nodes = tree.nodes();
    if let Some(title) = nodes.iter().position(|node| node.name() == Some("title")) {
        for node in &nodes[title + 1..nodes[title].end] {
            if let NodeData::Text(text) = &node.data {
                passages.add(text);
            }
        }
        passages.end(PassageKind::Title);
    }
    let mut place = 0;
    // Ends of open elements that end a passage, with its kind.
    let mut open: Vec<(usize, PassageKind)> = Vec::new();
    while let Some(node) = nodes.get(place) {
        while let Some((_, kind)) = open.pop_if(|(end, _)| *end <= place) {
            passages.end(kind);
        }
        match &node.data {
            NodeData::Text(text) => passages.add(text),
            NodeData::Element(name, _) if is_skipped(tree, place, name) => {
                place = node.end;
                continue;
            }
            NodeData::Element(name, _) if name == "br" => passages.add(" "),
            NodeData::Element(name, _) if !INLINE_ELEMENTS.contains(&name.as_str()) => {
                passages.end(open.last().map_or(PassageKind::Text, |(_, kind)| *kind));
                let is_heading = matches!(name.as_bytes(), [b'h', b'1'..=b'6']);
                open.push((node.end, if is_heading { PassageKind::Heading } else { PassageKind::Text }));
            }
            _ => {}
        }
        place += 1;
    }
    passages.end(PassageKind::Text);
}

fn is_skipped(tree: &HtmlTree, place: usize, name: &str) -> bool {
    let node = &tree.nodes()[place];
    // The header of an article holds its heading.
    let is_site_header = || {
        let is_article = |above: usize| matches!(tree.nodes()[above].name(), Some("article" | "main"));
        name == "header" && !tree.ancestors(place).any(is_article)
    };
    SKIPPED_ELEMENTS.contains(&name) || node.attribute("hidden").is_some() || is_site_header()
}

/// Passages, and the one that is being read.
#[derive(Default)]
struct PassageCollector {
    passages: Vec<Passage>,
    text: String,
    bytes: usize,
}

impl PassageCollector {
    fn add(&mut self, text: &str) {
        if self.bytes + self.text.len() < MAX_TEXT_BYTES {
            self.text.push_str(text);
        }
    }

    /// Ends the passage, unless it is empty.
    fn end(&mut self, kind: PassageKind) {
        let mut text = String::with_capacity(self.text.len());
        for word in self.text.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        self.text.clear();
        if !text.is_empty() {
            text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES.saturating_sub(self.bytes)));
            self.bytes += text.len();
            self.passages.push(Passage { kind, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str, content_type: &str) -> String {
        let Some(text) = page_text(body.as_bytes(), Some(content_type)) else { return "no text".to_owned() };
        let line = |passage: &Passage| match passage.kind {
            PassageKind::Title => format!("# {}", passage.text),
            PassageKind::Heading => format!("## {}", passage.text),
            PassageKind::Text => passage.text.clone(),
        };
        text.passages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks_are_passages_and_the_frame_of_a_site_is_left_out() {
        let page = "<!doctype html><title>Roofs &amp; walls</title><style>p{}</style>
            <header>Site name</header><nav><a href=/>Home</a></nav>
            <main><article><header><h1>About <i>roofs</i></h1></header>
            <p>One <b>two</b>\n three<br>four<p>five<script>six()</script>
            <ul><li>seven<li>eight <ul><li>nine</ul>ten</ul>
            <table><tr><td>a<td>b</table>
            <div>loose<div hidden>secret</div></div></article></main><aside>ad</aside><footer>2026</footer>";
        assert_lines(
            &shown(page, "text/html"),
            &[
                "# Roofs & walls",
                "## About roofs",
                "One two three four",
                "five",
                "seven",
                "eight",
                "nine",
                "ten",
                "a",
                "b",
                "loose",
            ],
        );
    }

    #[test]
    fn a_page_inside_a_form_has_text() {
        let page = "<form id=aspnetForm><input type=hidden value=state><p>All of the page.
            <select><option>one</select><button>Send</button></form>";
        assert_eq!(shown(page, "text/html"), "All of the page.");
    }

    fn assert_lines(found: &str, wanted: &[&str]) {
        assert_eq!(found.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn plain_text_has_paragraphs_and_other_bodies_no_text() {
        assert_eq!(shown("one\ntwo\n\n three\n", "text/plain"), "one two\nthree");
        for (body, content_type) in [("{}", "application/json"), ("p{}", "text/css"), ("\0\0", "image/png")] {
            assert_eq!(shown(body, content_type), "no text");
        }
    }

    #[test]
    fn long_and_hostile_pages_are_bounded() {
        let long = page_text("word ".repeat(1 << 20).as_bytes(), Some("text/plain")).unwrap();
        assert!(long.passages.iter().map(|passage| passage.text.len()).sum::<usize>() <= MAX_TEXT_BYTES);
        let deep = format!("{}x", "<div>".repeat(50_000));
        page_text(deep.as_bytes(), Some("text/html")).unwrap();
    }
}
