//! Which attributes of which elements are rewritten, and how: one table to read.

/// How an attribute is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// One reference.
    One,
    /// Candidates with descriptors.
    Set,
    /// Declarations of a style sheet.
    Style,
    /// A document of its own.
    Document,
    /// It is removed: replay must not obey it, or it fails with other links.
    Gone,
    /// It stays as it is.
    Kept,
}

/// How an attribute is rewritten. `base` and `meta` depend on several attributes and are not here.
pub(super) fn treatment(element: &str, attribute: &str) -> Treatment {
    use Treatment::{Document, Gone, Kept, One, Set, Style};
    match (element, attribute) {
        (_, "href" | "src" | "action" | "formaction" | "poster" | "background" | "xlink:href") => One,
        (_, "lowsrc" | "dynsrc" | "longdesc" | "codebase") => One,
        ("object", "data") => One,
        (_, "srcset" | "imagesrcset") => Set,
        (_, "style") => Style,
        ("iframe", "srcdoc") => Document,
        // A digest of the original, messages to third parties, and policies for the original host.
        (_, "integrity" | "ping" | "referrerpolicy" | "attributionsrc") => Gone,
        ("iframe", "csp") | ("html", "manifest") => Gone,
        _ => Kept,
    }
}

/// Whether a `<meta http-equiv>` is kept in replay. Policies are not: they name the original host.
pub(super) fn may_speak(equivalent: &str) -> bool {
    ["content-type", "content-language", "default-style", "x-ua-compatible"]
        .iter()
        .any(|name| equivalent.eq_ignore_ascii_case(name))
}
