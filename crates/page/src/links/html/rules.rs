//! The table of attributes that are links, with their roles.

use crate::links::link::LinkRole;

/// How the value of an attribute is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeReading {
    /// One reference.
    One(LinkRole),
    /// One reference, guessed by its form.
    Guess(LinkRole),
    /// Several references between spaces, of which only absolute ones count.
    Words(LinkRole),
    /// Candidates with descriptors.
    Set,
    /// Candidates in an attribute that only scripts read.
    GuessedSet,
    /// Declarations of a style sheet.
    Style,
    /// A script that runs on a click.
    Click,
    /// A document of its own.
    Document,
    /// A link only if the whole value is an absolute address.
    Absolute,
    /// Never a link.
    Nothing,
}

/// How an attribute is read. `link`, `meta`, `form` and `base` depend on several attributes and are
/// not here.
pub(super) fn reading(element: &str, attribute: &str) -> AttributeReading {
    use AttributeReading::{Absolute, Click, Document, Guess, GuessedSet, Nothing, One, Set, Style, Words};
    match (element, attribute) {
        (_, "style") => Style,
        (_, "onclick") => Click,
        ("iframe", "srcdoc") => Document,
        (_, "srcset" | "imagesrcset") => Set,
        (_, "data-srcset" | "data-lazy-srcset") => GuessedSet,
        (_, "src" | "background") => One(LinkRole::Embed),
        (
            _,
            "data-src" | "data-lazy-src" | "data-original" | "data-background" | "data-bg" | "data-poster",
        ) => Guess(LinkRole::Embed),
        ("video", "poster")
        | ("object", "data" | "codebase")
        | ("applet", "code" | "archive" | "codebase") => One(LinkRole::Embed),
        ("img", "lowsrc" | "dynsrc") | ("html", "manifest") => One(LinkRole::Embed),
        ("img" | "frame" | "iframe", "longdesc") | (_, "cite") => One(LinkRole::Navigate),
        // These elements of SVG embed what they refer to.
        (
            "use" | "image" | "feimage" | "script" | "pattern" | "filter" | "mask" | "textpath",
            "href" | "xlink:href",
        ) => One(LinkRole::Embed),
        ("lineargradient" | "radialgradient" | "mpath" | "animate" | "set", "href" | "xlink:href") => {
            One(LinkRole::Embed)
        }
        (_, "href" | "xlink:href") => One(LinkRole::Navigate),
        (_, "ping") => Words(LinkRole::Navigate),
        // Names of vocabularies look like addresses and are none.
        (_, "itemtype" | "vocab" | "datatype" | "typeof" | "prefix" | "profile" | "xmlns" | "property") => {
            Nothing
        }
        (_, name) if name.starts_with("xmlns:") || name.starts_with("xsi:") => Nothing,
        _ => Absolute,
    }
}

/// The attributes with the title of an element, in order of preference.
pub(super) fn title_attributes(element: &str) -> &'static [&'static str] {
    match element {
        "img" | "area" => &["alt", "title"],
        "iframe" | "frame" => &["name", "title"],
        "input" => &["alt", "value"],
        _ => &["title"],
    }
}

/// Whether the content of a `meta` of this name is an image.
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
