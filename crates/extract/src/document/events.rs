//! From chosen blocks to Markdown events.
//!
//! Walks the tree once. Elements that Markdown knows are kept where they contain chosen text, others
//! vanish around their text. Inline elements are opened and closed in each block, also where HTML
//! has a link around several blocks.

use super::inline::OpenInline;
use super::tables;
use crate::content::MainContent;
use crate::content::blocks::{TextBlock, is_unread};
use crate::content::features::level_of;
use pulldown_cmark::{Alignment, BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use varve_core::url::resolve::Base;
use varve_page::dom::HtmlTree;

/// The events of the content of a page.
pub(super) fn of<'a>(content: &'a MainContent<'_>, url: &str) -> Vec<Event<'a>> {
    let mut writer = EventWriter::new(&content.tree, &content.blocks, url);
    writer.walk();
    writer.events
}

/// An element that is written around blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structure {
    Heading(HeadingLevel),
    List {
        ordered: bool,
    },
    Item {
        tight: bool,
    },
    Quote,
    Code,
    /// A table, of which the first row was written or not.
    Table {
        columns: usize,
        started: bool,
    },
    Row {
        head: bool,
        cells: usize,
    },
    Cell,
}

pub(super) struct OpenStructure {
    pub(super) end: usize,
    pub(super) structure: Structure,
}

/// Writes events.
pub(super) struct EventWriter<'a> {
    pub(super) tree: &'a HtmlTree,
    pub(super) blocks: &'a [TextBlock],
    /// The first block that does not end before the current place.
    pub(super) next: usize,
    pub(super) base: Option<Base>,
    pub(super) structures: Vec<OpenStructure>,
    pub(super) inlines: Vec<OpenInline>,
    pub(super) in_block: bool,
    pub(super) in_paragraph: bool,
    /// White space was read that is written if text follows.
    pub(super) space: bool,
    /// Text was written in this block, or in this cell.
    pub(super) has_text: bool,
    pub(super) code: Option<String>,
    pub(super) events: Vec<Event<'a>>,
}

impl<'a> EventWriter<'a> {
    fn new(tree: &'a HtmlTree, blocks: &'a [TextBlock], url: &str) -> Self {
        Self {
            tree,
            blocks,
            next: 0,
            base: super::inline::document_base(tree, url),
            structures: Vec::new(),
            inlines: Vec::new(),
            in_block: false,
            in_paragraph: false,
            space: false,
            has_text: false,
            code: None,
            events: Vec::new(),
        }
    }

    fn walk(&mut self) {
        let mut place = 1;
        while place < self.tree.nodes().len() {
            self.close(place);
            let node = &self.tree.nodes()[place];
            if let Some(name) = node.name() {
                if is_unread(name) || !(self.has_chosen_text(node.end) || matches!(name, "img" | "br")) {
                    self.skip_cell(name);
                    place = node.end;
                    continue;
                }
                self.open(place, name);
            } else if let varve_page::dom::NodeData::Text(text) = &node.data {
                self.text(place, text);
            }
            place += 1;
        }
        self.close(place);
    }

    /// A cell without chosen text is empty, so that the columns of a row stay where they are.
    fn skip_cell(&mut self, name: &str) {
        let in_row =
            matches!(self.structures.last(), Some(open) if matches!(open.structure, Structure::Row { .. }));
        if in_row && matches!(name, "td" | "th") {
            self.start_cell();
            self.events.push(Event::End(TagEnd::TableCell));
        }
    }

    /// Whether chosen text is before an index.
    fn has_chosen_text(&self, end: usize) -> bool {
        self.blocks.get(self.next).is_some_and(|block| block.nodes.0 < end)
    }

    /// Ends what ends before a place: inline elements, the block, then elements around blocks.
    fn close(&mut self, place: usize) {
        while self.inlines.last().is_some_and(|inline| inline.end <= place) {
            if let Some(inline) = self.inlines.pop()
                && self.in_block
            {
                self.end_inline(&inline.inline);
            }
        }
        while self.blocks.get(self.next).is_some_and(|block| block.nodes.1 <= place) {
            self.end_block();
            self.next += 1;
        }
        while let Some(open) = self.structures.pop_if(|structure| structure.end <= place) {
            self.end_structure(open.structure);
        }
    }

    fn open(&mut self, place: usize, name: &str) {
        let end = self.tree.nodes()[place].end;
        if let Some(structure) = self.structure(place, name) {
            self.start_structure(place, end, structure);
        } else if let Some(inline) = self.inline(place, name) {
            self.space_before_inline();
            if self.in_block {
                self.start_inline(&inline);
            }
            self.inlines.push(OpenInline { end, inline });
        } else if name == "br" {
            self.line_break();
        } else if name == "img" {
            self.image(place);
        }
    }

    /// What an element around blocks becomes.
    fn structure(&self, place: usize, name: &str) -> Option<Structure> {
        let inner = self.structures.last().map(|open| open.structure);
        let only_text = self
            .structures
            .iter()
            .any(|open| matches!(open.structure, Structure::Heading(_) | Structure::Code | Structure::Cell));
        if only_text || self.in_block {
            return None;
        }
        let in_list = matches!(inner, Some(Structure::List { .. }));
        let in_table = matches!(inner, Some(Structure::Table { .. } | Structure::Row { .. }));
        if let Some(level) = level_of(name).filter(|_| !in_list && !in_table) {
            return HeadingLevel::try_from(usize::from(level)).ok().map(Structure::Heading);
        }
        match (name, inner) {
            ("li", Some(Structure::List { .. })) => Some(Structure::Item { tight: self.is_tight(place) }),
            ("tr", Some(Structure::Table { started, .. })) => {
                Some(Structure::Row { head: !started, cells: 0 })
            }
            ("td" | "th", Some(Structure::Row { .. })) => Some(Structure::Cell),
            _ if in_list || in_table => None,
            ("ul" | "ol" | "menu", _) if self.has_items(place) => {
                Some(Structure::List { ordered: name == "ol" })
            }
            ("blockquote", _) => Some(Structure::Quote),
            ("pre", _) => Some(Structure::Code),
            ("table", _) => {
                let columns = tables::columns(self.tree, place)?;
                Some(Structure::Table { columns, started: false })
            }
            _ => None,
        }
    }

    /// Whether all chosen blocks of a list are in its items.
    fn has_items(&self, list: usize) -> bool {
        let end = self.tree.nodes()[list].end;
        let mut items =
            self.tree.children(list).filter(|child| self.tree.nodes()[*child].name() == Some("li"));
        let mut item = items.next();
        self.chosen_in(end).all(|block| {
            while item.is_some_and(|item| self.tree.nodes()[item].end <= block.nodes.0) {
                item = items.next();
            }
            item.is_some_and(|item| item < block.nodes.0)
        })
    }

    /// Whether an item begins with its only block that is not in another list.
    fn is_tight(&self, item: usize) -> bool {
        let direct = self.chosen_in(self.tree.nodes()[item].end).take_while(|block| {
            let above = self.tree.ancestors(block.nodes.0).take_while(|above| *above > item);
            !above
                .into_iter()
                .any(|above| matches!(self.tree.nodes()[above].name(), Some("ul" | "ol" | "menu")))
        });
        let is_text = |block: &TextBlock| {
            let above = self.tree.ancestors(block.nodes.0).take_while(|above| *above > item);
            above.into_iter().all(|above| {
                let name = self.tree.nodes()[above].name().unwrap_or_default();
                level_of(name).is_none() && !matches!(name, "pre" | "blockquote" | "table")
            })
        };
        let direct: Vec<&TextBlock> = direct.take(2).collect();
        direct.len() == 1 && is_text(direct[0])
    }

    /// The chosen blocks from here to an index.
    fn chosen_in(&self, end: usize) -> impl Iterator<Item = &'a TextBlock> + use<'a> {
        self.blocks[self.next.min(self.blocks.len())..].iter().take_while(move |block| block.nodes.0 < end)
    }

    fn start_structure(&mut self, place: usize, end: usize, structure: Structure) {
        match structure {
            Structure::Heading(level) => self.events.push(Event::Start(Tag::Heading {
                level,
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Structure::List { ordered } => self.events.push(Event::Start(Tag::List(ordered.then_some(1)))),
            Structure::Item { .. } => self.events.push(Event::Start(Tag::Item)),
            Structure::Quote => self.events.push(Event::Start(Tag::BlockQuote(None::<BlockQuoteKind>))),
            Structure::Code => {
                let language = super::inline::code_language(self.tree, place);
                self.events.push(Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language.into()))));
            }
            Structure::Table { .. } => {}
            Structure::Row { head, .. } => self.start_row(head),
            Structure::Cell => self.start_cell(),
        }
        self.structures.push(OpenStructure { end, structure });
        self.has_text = false;
        self.space = false;
    }

    /// Starts a row; the first one starts its table, and is its head.
    fn start_row(&mut self, head: bool) {
        if let Some(OpenStructure { structure: Structure::Table { columns, started }, .. }) =
            self.structures.last_mut()
        {
            *started = true;
            if head {
                self.events.push(Event::Start(Tag::Table(vec![Alignment::None; *columns])));
            }
        }
        self.events.push(Event::Start(if head { Tag::TableHead } else { Tag::TableRow }));
    }

    fn start_cell(&mut self) {
        if let Some(OpenStructure { structure: Structure::Row { cells, .. }, .. }) =
            self.structures.last_mut()
        {
            *cells += 1;
        }
        self.events.push(Event::Start(Tag::TableCell));
    }

    fn end_structure(&mut self, structure: Structure) {
        let end = match structure {
            Structure::Heading(level) => TagEnd::Heading(level),
            Structure::List { ordered } => TagEnd::List(ordered),
            Structure::Item { .. } => TagEnd::Item,
            Structure::Quote => TagEnd::BlockQuote(None),
            Structure::Code => {
                self.end_code_line();
                TagEnd::CodeBlock
            }
            Structure::Table { started: false, .. } => return,
            Structure::Table { .. } => TagEnd::Table,
            Structure::Row { head, cells } => {
                self.fill_row(cells);
                if head { TagEnd::TableHead } else { TagEnd::TableRow }
            }
            Structure::Cell => TagEnd::TableCell,
        };
        self.events.push(Event::End(end));
    }

    /// Ends the last line of a code block: the fence after it needs a line of its own.
    fn end_code_line(&mut self) {
        if !matches!(self.events.last(), Some(Event::Text(text)) if text.ends_with('\n')) {
            self.events.push(Event::Text("\n".into()));
        }
    }

    /// Adds the empty cells that a row lacks.
    fn fill_row(&mut self, cells: usize) {
        if let Some(OpenStructure { structure: Structure::Table { columns, .. }, .. }) =
            self.structures.last()
        {
            for _ in cells..*columns {
                self.events.extend([Event::Start(Tag::TableCell), Event::End(TagEnd::TableCell)]);
            }
        }
    }
}
