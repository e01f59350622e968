//! A link as it was found: where it leads, what it is for, and where it stood.
//!
//! Plain data. Which URLs are worth asking for is decided elsewhere; here nothing is left out because it looks
//! dull, only because it is no address of the web.

use std::borrow::Cow;

/// What a link is for, and so what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Leads to another page.
    Navigate,
    /// Part of this page: without it the page is not whole.
    Embed,
    /// The same content in another form, language or address.
    Alternate,
    /// Where the page sends its reader.
    Redirect,
    /// What the page calls itself.
    Canonical,
    /// A list of pages of the site.
    Sitemap,
    /// A feed of the site.
    Feed,
}

/// Where a link stood.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place<'a> {
    /// In an attribute of an element.
    Attribute {
        /// The element, in lower case.
        element: Cow<'a, str>,
        /// The attribute, in lower case.
        attribute: Cow<'a, str>,
    },
    /// In the text of an element: a script, a style sheet, a `loc`.
    Text {
        /// The element, in lower case, without its prefix in XML.
        element: Cow<'a, str>,
    },
    /// In a style sheet of its own.
    Style {
        /// Whether it was named by `@import`.
        import: bool,
    },
    /// In a JSON document.
    Member {
        /// The name of the nearest member around it; empty in a list that has none.
        name: Cow<'a, str>,
    },
    /// On a line of its own in a plain text.
    Line,
    /// In a response header, named in lower case.
    Header(&'static str),
    /// Nowhere: browsers ask for it unasked, as for `/favicon.ico`.
    Implied,
}

impl Place<'_> {
    /// The same place, owning its names.
    pub fn into_owned(self) -> Place<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Place::Attribute { element, attribute } => {
                Place::Attribute { element: own(element), attribute: own(attribute) }
            }
            Place::Text { element } => Place::Text { element: own(element) },
            Place::Style { import } => Place::Style { import },
            Place::Member { name } => Place::Member { name: own(name) },
            Place::Line => Place::Line,
            Place::Header(name) => Place::Header(name),
            Place::Implied => Place::Implied,
        }
    }
}

/// One link. It borrows from the body while it is handed over; [`Link::into_owned`] keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// The absolute URL, `http` or `https`, as a browser reads it. A fragment is kept.
    pub target: String,
    /// What was written, without white space around it and with character references resolved.
    pub reference: Cow<'a, str>,
    /// Where it stood.
    pub place: Place<'a>,
    /// What it is for.
    pub role: Role,
    /// What the page calls it: the text of an anchor, the `alt` of an image, the title of an item.
    pub title: Option<Cow<'a, str>>,
    /// Whether the page asks crawlers not to follow this one.
    pub nofollow: bool,
    /// Whether it was known by its looks alone: a string in a script, an attribute that has no such meaning.
    pub guessed: bool,
    /// Where it stood in the body, in bytes. None for headers, for what is implied, and where the body was read
    /// through a decoder, so that positions are not those of the file.
    pub offset: Option<u64>,
}

impl Link<'_> {
    /// The same link, owning its texts.
    pub fn into_owned(self) -> Link<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Link {
            target: self.target,
            reference: own(self.reference),
            place: self.place.into_owned(),
            role: self.role,
            title: self.title.map(own),
            nofollow: self.nofollow,
            guessed: self.guessed,
            offset: self.offset,
        }
    }
}

/// How much is read, and how much is handed over. Nothing here is a promise about time: all costs are linear in
/// the bytes that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// At most so many bytes of a body, after decompression.
    pub bytes: u64,
    /// At most so many links.
    pub links: u64,
    /// References longer than this are dropped, in bytes.
    pub reference: usize,
    /// Titles are cut after so many bytes.
    pub title: usize,
    /// At most so many bytes of one script, style sheet or JSON text inside a page.
    pub inline: usize,
    /// At most so much memory for one tag, and for the depth of a page.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            links: 1_000_000,
            reference: 16 << 10,
            title: 512,
            inline: 2 << 20,
            memory: 16 << 20,
        }
    }
}

/// Why reading ended before the body did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// [`Limits::bytes`] was reached.
    Bytes,
    /// [`Limits::links`] was reached.
    Links,
    /// What follows is not the format that it began as: XML, JSON or gzip that breaks off.
    Malformed,
}

/// What became of a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How many links were handed over.
    pub links: u64,
    /// References to other than `http` and `https`: `mailto:`, `javascript:`, `data:`.
    pub foreign: u64,
    /// References that no browser could read as a URL.
    pub unreadable: u64,
    /// References that were too long.
    pub oversized: u64,
    /// Tags, scripts and texts that were cut because they were too long.
    pub cut: u64,
    /// Why reading ended early, if it did.
    pub stopped: Option<Stop>,
}

/// Why links could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The URL of the page is no absolute URL.
    #[error(transparent)]
    Url(#[from] varve_core::url::ResolveError),
    /// The body could not be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}
