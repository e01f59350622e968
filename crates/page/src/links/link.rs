//! A link: its address, its role, and its place in the body.
//!
//! Plain data. The crawler decides which URLs are requested; here only references that are no web
//! address are dropped.

use std::borrow::Cow;

/// The role of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkRole {
    /// Leads to another page.
    Navigate,
    /// Part of this page, such as an image or a style sheet.
    Embed,
    /// The same content in another form, language or address.
    Alternate,
    /// A redirect.
    Redirect,
    /// The canonical address of the page.
    Canonical,
    /// A list of pages of the site.
    Sitemap,
    /// A feed of the site.
    Feed,
}

/// The place of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LinkPlace<'a> {
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
    /// In a script of its own.
    Script,
    /// In a JSON document.
    Member {
        /// The name of the nearest member around it; empty in a list that has none.
        name: Cow<'a, str>,
    },
    /// On a line of its own in a plain text.
    Line,
    /// In a response header, named in lower case.
    Header(&'static str),
    /// Not in the body: browsers request it anyway, as `/favicon.ico`.
    Implied,
}

impl LinkPlace<'_> {
    /// The same place with owned names.
    pub fn into_owned(self) -> LinkPlace<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            LinkPlace::Attribute { element, attribute } => {
                LinkPlace::Attribute { element: own(element), attribute: own(attribute) }
            }
            LinkPlace::Text { element } => LinkPlace::Text { element: own(element) },
            LinkPlace::Style { import } => LinkPlace::Style { import },
            LinkPlace::Script => LinkPlace::Script,
            LinkPlace::Member { name } => LinkPlace::Member { name: own(name) },
            LinkPlace::Line => LinkPlace::Line,
            LinkPlace::Header(name) => LinkPlace::Header(name),
            LinkPlace::Implied => LinkPlace::Implied,
        }
    }
}

/// One link. It borrows from the body; [`PageLink::into_owned`] makes a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink<'a> {
    /// The absolute `http` or `https` URL, with its fragment.
    pub target: String,
    /// The reference as written, trimmed and with character references resolved.
    pub reference: Cow<'a, str>,
    /// Its place.
    pub place: LinkPlace<'a>,
    /// Its role.
    pub role: LinkRole,
    /// Its title: the text of an anchor, the `alt` of an image, the title of an item.
    pub title: Option<Cow<'a, str>>,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
    /// Whether it is a guess: a string in a script, or an attribute that is not defined as a link.
    pub guessed: bool,
    /// Its offset in the body in bytes. `None` for headers, implied links and bodies that were
    /// transcoded.
    pub offset: Option<u64>,
}

impl PageLink<'_> {
    /// The same link with owned texts.
    pub fn into_owned(self) -> PageLink<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        PageLink {
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

/// Limits of link extraction. Time is linear in the bytes that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkLimits {
    /// Maximum number of bytes of a body, after decompression.
    pub bytes: u64,
    /// Maximum number of links.
    pub links: u64,
    /// Maximum length of a reference in bytes. Longer ones are dropped.
    pub reference: usize,
    /// Maximum length of a title in bytes. Longer ones are cut.
    pub title: usize,
    /// Maximum length of one script, style sheet or JSON text inside a page, in bytes.
    pub inline: usize,
    /// Maximum memory for one tag, in bytes.
    pub memory: usize,
}

impl Default for LinkLimits {
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

/// Why extraction stopped before the end of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStop {
    /// [`LinkLimits::bytes`] was reached.
    Bytes,
    /// [`LinkLimits::links`] was reached.
    Links,
    /// The XML, JSON or gzip data is malformed or cut off.
    Malformed,
}

/// Counts of one extraction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkReport {
    /// Number of links that were passed on.
    pub links: u64,
    /// References to other than `http` and `https`: `mailto:`, `javascript:`, `data:`.
    pub foreign: u64,
    /// References that are no valid URL.
    pub unreadable: u64,
    /// References that were too long.
    pub oversized: u64,
    /// Tags, scripts and texts that were cut because they were too long.
    pub cut: u64,
    /// Why extraction stopped early, if it did.
    pub stopped: Option<LinkStop>,
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The URL of the page is not absolute.
    #[error(transparent)]
    Url(#[from] varve_core::url::ResolveError),
    /// The body could not be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}
