//! What is in a block: text with single spaces, links, emphasis, code, images and line breaks.

use super::events::{EventWriter, Structure};
use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};
use varve_core::url::resolve::Base;
use varve_page::dom::HtmlTree;

/// Maximum length of the URL of a link or an image. Longer ones are left out.
const MAX_LINK_BYTES: usize = 2048;

/// Maximum length of the name of a programming language.
const MAX_LANGUAGE_BYTES: usize = 30;

/// Number of levels above an image that must contain chosen text.
const IMAGE_LEVELS: usize = 3;

/// An element that is written in blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inline {
    Emphasis,
    Strong,
    Struck,
    Code,
    Link(String),
}

/// An inline element that is not closed yet.
pub(super) struct OpenInline {
    pub(super) end: usize,
    pub(super) inline: Inline,
}

impl<'a> EventWriter<'a> {
    /// What an element in a block becomes. The same element twice is written once.
    pub(super) fn inline(&self, place: usize, name: &str) -> Option<Inline> {
        let in_heading = self.structures.iter().any(|open| matches!(open.structure, Structure::Heading(_)));
        let inline = match name {
            "em" | "i" | "cite" | "dfn" | "var" => Inline::Emphasis,
            "strong" | "b" if !in_heading => Inline::Strong,
            "del" | "s" | "strike" => Inline::Struck,
            "code" | "kbd" | "samp" | "tt" => Inline::Code,
            "a" => Inline::Link(self.url(self.tree.nodes()[place].attribute("href")?)?),
            _ => return None,
        };
        let is_same =
            |open: &OpenInline| std::mem::discriminant(&open.inline) == std::mem::discriminant(&inline);
        let in_code = self.structures.iter().any(|open| open.structure == Structure::Code);
        (!in_code && !self.inlines.iter().any(is_same)).then_some(inline)
    }

    /// Takes a text node, if it is in a chosen block.
    pub(super) fn text(&mut self, place: usize, text: &'a str) {
        let in_chosen = self.blocks.get(self.next).is_some_and(|block| block.nodes.0 <= place);
        if !in_chosen {
            return;
        }
        if self.structures.iter().any(|open| open.structure == Structure::Code) {
            self.events.push(Event::Text(text.into()));
            return;
        }
        if !self.in_block && !text.trim().is_empty() {
            self.start_block();
        }
        if self.in_block {
            self.words(text);
        }
    }

    /// Starts a block with the inline elements that are open. Text beside the cells of a table has
    /// no place.
    fn start_block(&mut self) {
        let inner = self.structures.last().map(|open| open.structure);
        match inner {
            Some(Structure::Table { started: true, .. } | Structure::Row { .. } | Structure::List { .. }) => {
                return;
            }
            Some(Structure::Heading(_) | Structure::Cell | Structure::Item { tight: true }) => {
                self.space = self.has_text;
            }
            _ => {
                self.events.push(Event::Start(Tag::Paragraph));
                self.in_paragraph = true;
                self.has_text = false;
                self.space = false;
            }
        }
        self.in_block = true;
        self.space_before_inline();
        for number in 0..self.inlines.len() {
            let inline = self.inlines[number].inline.clone();
            self.start_inline(&inline);
        }
    }

    /// Ends the block, and in it the inline elements that are open.
    pub(super) fn end_block(&mut self) {
        if !self.in_block {
            return;
        }
        for number in (0..self.inlines.len()).rev() {
            let inline = self.inlines[number].inline.clone();
            self.end_inline(&inline);
        }
        while matches!(self.events.last(), Some(Event::HardBreak)) {
            self.events.pop();
        }
        if std::mem::take(&mut self.in_paragraph) {
            self.events.push(Event::End(TagEnd::Paragraph));
        }
        self.in_block = false;
    }

    /// Writes words with single spaces. A space is written before the next word, so that none is at
    /// the end of a block or of an element.
    fn words(&mut self, text: &'a str) {
        let mut rest = text;
        while let Some(start) = rest.find(|letter: char| !letter.is_whitespace()) {
            self.space |= start > 0;
            rest = &rest[start..];
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            self.word(&rest[..end]);
            rest = &rest[end..];
        }
        self.space |= text.ends_with(char::is_whitespace);
    }

    fn word(&mut self, word: &str) {
        let space = if std::mem::take(&mut self.space) && self.has_text { " " } else { "" };
        self.has_text = true;
        if let Some(code) = &mut self.code {
            code.push_str(space);
            code.push_str(word);
        } else if let Some(Event::Text(CowStr::Boxed(text))) = self.events.last_mut() {
            let mut longer = String::from(std::mem::take(text));
            longer.push_str(space);
            longer.push_str(word);
            *text = longer.into_boxed_str();
        } else {
            self.events.push(Event::Text(CowStr::Boxed(format!("{space}{word}").into())));
        }
    }

    /// Writes the space that belongs before an inline element, and not into it.
    pub(super) fn space_before_inline(&mut self) {
        if self.in_block && self.space && self.has_text && self.code.is_none() {
            self.events.push(Event::Text(" ".into()));
            self.space = false;
        }
    }

    pub(super) fn start_inline(&mut self, inline: &Inline) {
        if self.code.is_some() {
            return;
        }
        let tag = match inline {
            Inline::Emphasis => Tag::Emphasis,
            Inline::Strong => Tag::Strong,
            Inline::Struck => Tag::Strikethrough,
            Inline::Code => {
                self.code = Some(String::new());
                return;
            }
            Inline::Link(url) => Tag::Link {
                link_type: LinkType::Inline,
                dest_url: url.clone().into(),
                title: "".into(),
                id: "".into(),
            },
        };
        self.events.push(Event::Start(tag));
    }

    /// Ends an inline element. One that is empty is taken back.
    pub(super) fn end_inline(&mut self, inline: &Inline) {
        let end = match inline {
            Inline::Code => {
                if let Some(code) = self.code.take().filter(|code| !code.is_empty()) {
                    self.events.push(Event::Code(code.into()));
                }
                return;
            }
            _ if self.code.is_some() => return,
            Inline::Emphasis => TagEnd::Emphasis,
            Inline::Strong => TagEnd::Strong,
            Inline::Struck => TagEnd::Strikethrough,
            Inline::Link(_) => TagEnd::Link,
        };
        if matches!(self.events.last(), Some(Event::Start(tag)) if tag.to_end() == end) {
            self.events.pop();
        } else {
            self.events.push(Event::End(end));
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.structures.iter().any(|open| open.structure == Structure::Code) {
            self.events.push(Event::Text("\n".into()));
        } else if self.in_paragraph && self.has_text && self.inlines.is_empty() {
            self.events.push(Event::HardBreak);
            self.has_text = false;
            self.space = false;
        } else {
            self.space = true;
        }
    }

    /// Writes an image that stands among the chosen text.
    pub(super) fn image(&mut self, place: usize) {
        let node = &self.tree.nodes()[place];
        let sources =
            ["src", "data-src", "data-original"].into_iter().filter_map(|name| node.attribute(name));
        let source = sources.filter_map(|source| self.url(source)).find(|url| url.starts_with("http"));
        let Some(url) = source.filter(|_| self.code.is_none() && self.stands_in_content(place)) else {
            return;
        };
        let alone = !self.in_block;
        let may_stand_alone = self.structures.iter().all(|open| {
            matches!(open.structure, Structure::Quote | Structure::Item { tight: false })
                || matches!(open.structure, Structure::List { .. })
        }) && !matches!(self.structures.last(), Some(open) if matches!(open.structure, Structure::List { .. }));
        if alone && !may_stand_alone {
            return;
        }
        if alone {
            self.events.push(Event::Start(Tag::Paragraph));
        } else {
            self.space_before_inline();
            self.has_text = true;
        }
        let alt = node.attribute("alt").unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        self.events.push(Event::Start(Tag::Image {
            link_type: LinkType::Inline,
            dest_url: url.into(),
            title: "".into(),
            id: "".into(),
        }));
        if !alt.is_empty() {
            self.events.push(Event::Text(alt.into()));
        }
        self.events.push(Event::End(TagEnd::Image));
        if alone {
            self.events.push(Event::End(TagEnd::Paragraph));
        }
    }

    /// Whether an image is between chosen blocks, and near to one.
    fn stands_in_content(&self, place: usize) -> bool {
        let (Some(first), Some(next)) = (self.blocks.first(), self.blocks.get(self.next)) else {
            return false;
        };
        let before = self.next.checked_sub(1).map(|before| &self.blocks[before]);
        let in_chosen = next.nodes.0 <= place;
        let is_near = self.tree.ancestors(place).take(IMAGE_LEVELS).any(|above| {
            let end = self.tree.nodes()[above].end;
            next.nodes.0 < end || before.is_some_and(|before| before.nodes.0 > above)
        });
        in_chosen || (first.nodes.0 < place && is_near)
    }

    /// The absolute URL of a link to the web or of a mail address.
    fn url(&self, reference: &str) -> Option<String> {
        let reference = reference.trim();
        if reference.len() > MAX_LINK_BYTES || reference.starts_with('#') {
            return None;
        }
        let url = self.base.as_ref()?.resolve(reference).ok()?;
        let is_safe = ["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme));
        (is_safe && !url.contains(char::is_whitespace)).then_some(url)
    }
}

/// The URL that the links of a page are relative to.
pub(super) fn document_base(tree: &HtmlTree, url: &str) -> Option<Base> {
    let page = Base::parse(url).ok()?;
    let declared = tree
        .nodes()
        .iter()
        .filter(|node| node.name() == Some("base"))
        .find_map(|node| page.resolve(node.attribute("href")?.trim()).ok());
    Some(declared.and_then(|base| Base::parse(&base).ok()).unwrap_or(page))
}

/// The programming language that the classes of a `pre` or of the `code` in it name.
pub(super) fn code_language(tree: &HtmlTree, place: usize) -> String {
    let nodes = [Some(place), Some(tree.nodes()[place].parent), tree.children(place).next()];
    let classes = nodes.into_iter().flatten().filter_map(|node| tree.nodes()[node].attribute("class"));
    let languages = classes.flat_map(str::split_ascii_whitespace).filter_map(|class| {
        let prefixes = ["language-", "lang-", "highlight-source-", "brush:"];
        prefixes.iter().find_map(|prefix| class.strip_prefix(prefix))
    });
    let is_plain = |name: &&str| {
        (1..=MAX_LANGUAGE_BYTES).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-#".contains(&byte))
    };
    let mut languages = languages;
    languages.find(is_plain).unwrap_or_default().to_owned()
}
