//! The text of one capture: its passages, in the order of the page.

/// What a passage is, which decides about its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PassageKind {
    /// The title of the page.
    Title,
    /// A heading.
    Heading,
    /// A paragraph, a list item, a cell of a table or the like.
    Text,
}

/// A block of text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Passage {
    /// What it is.
    pub kind: PassageKind,
    /// Its text, with single spaces.
    pub text: String,
}

/// The kind of document that a text is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextKind {
    /// An HTML page.
    Page,
    /// Plain text.
    Plain,
}

impl TextKind {
    /// Its name, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Plain => "text",
        }
    }
}

/// The text of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    /// The kind of document.
    pub kind: TextKind,
    /// The passages, in the order of the page. The title is the first, if there is one.
    pub passages: Vec<Passage>,
}
