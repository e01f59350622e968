//! Which attributes of which elements are links, and what for: one table to read.

use crate::links::link::Role;

/// How the value of an attribute is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// One reference.
    One(Role),
    /// One reference, known by its looks alone.
    Guess(Role),
    /// Several references between spaces, of which only absolute ones count.
    Words(Role),
    /// Candidates with descriptors.
    Set,
    /// As a set, but no browser reads it: a script does.
    GuessedSet,
    /// Declarations of a style sheet.
    Style,
    /// A script that runs on a click.
    Click,
    /// A document of its own.
    Document,
    /// A link only if the whole value is an absolute address.
    Absolute,
    /// Never a link, whatever it looks like.
    Nothing,
}

/// How an attribute is read. Elements that need more than one attribute to be understood (`link`, `meta`, `form`,
/// `base`) are not here.
pub(super) fn reading(element: &str, attribute: &str) -> Reading {
    use Reading::{Absolute, Click, Document, Guess, GuessedSet, Nothing, One, Set, Style, Words};
    match (element, attribute) {
        (_, "style") => Style,
        (_, "onclick") => Click,
        ("iframe", "srcdoc") => Document,
        (_, "srcset" | "imagesrcset") => Set,
        (_, "data-srcset" | "data-lazy-srcset") => GuessedSet,
        (_, "src" | "background") => One(Role::Embed),
        (
            _,
            "data-src" | "data-lazy-src" | "data-original" | "data-background" | "data-bg" | "data-poster",
        ) => Guess(Role::Embed),
        ("video", "poster")
        | ("object", "data" | "codebase")
        | ("applet", "code" | "archive" | "codebase") => One(Role::Embed),
        ("img", "lowsrc" | "dynsrc") | ("html", "manifest") => One(Role::Embed),
        ("img" | "frame" | "iframe", "longdesc") | (_, "cite") => One(Role::Navigate),
        // What these elements of SVG refer to is drawn, not followed.
        (
            "use" | "image" | "feimage" | "script" | "pattern" | "filter" | "mask" | "textpath",
            "href" | "xlink:href",
        ) => One(Role::Embed),
        ("lineargradient" | "radialgradient" | "mpath" | "animate" | "set", "href" | "xlink:href") => {
            One(Role::Embed)
        }
        (_, "href" | "xlink:href") => One(Role::Navigate),
        (_, "ping") => Words(Role::Navigate),
        // Names of vocabularies, which look like addresses and are none.
        (_, "itemtype" | "vocab" | "datatype" | "typeof" | "prefix" | "profile" | "xmlns" | "property") => {
            Nothing
        }
        (_, name) if name.starts_with("xmlns:") || name.starts_with("xsi:") => Nothing,
        _ => Absolute,
    }
}

/// The attribute that names what an element shows, in order of trust.
pub(super) fn title_attributes(element: &str) -> &'static [&'static str] {
    match element {
        "img" | "area" => &["alt", "title"],
        "iframe" | "frame" => &["name", "title"],
        "input" => &["alt", "value"],
        _ => &["title"],
    }
}

/// Whether the name of a `meta` says that its content is an image.
pub(super) fn is_image(property: &str) -> bool {
    const IMAGES: [&str; 7] = [
        "og:image",
        "og:image:url",
        "og:image:secure_url",
        "twitter:image",
        "twitter:image:src",
        "msapplication-tileimage",
        "thumbnail",
    ];
    IMAGES.iter().any(|image| property.eq_ignore_ascii_case(image))
}
