//! Which attributes of which elements are rewritten, and how: one table to read.

/// How an attribute is put back.
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
    /// It goes: it asks for what replay must not do, or fails once links are others.
    Gone,
    /// It stays as it is.
    Kept,
}

/// What becomes of an attribute. `base` and `meta`, which need more than one attribute to be understood, are not here.
pub(super) fn treatment(element: &str, attribute: &str) -> Treatment {
    use Treatment::{Document, Gone, Kept, One, Set, Style};
    match (element, attribute) {
        (_, "href" | "src" | "action" | "formaction" | "poster" | "background" | "xlink:href") => One,
        (_, "lowsrc" | "dynsrc" | "longdesc" | "codebase") => One,
        ("object", "data") => One,
        (_, "srcset" | "imagesrcset") => Set,
        (_, "style") => Style,
        ("iframe", "srcdoc") => Document,
        // A digest of what was not rewritten; messages to others; policies about where the page came from.
        (_, "integrity" | "ping" | "referrerpolicy" | "attributionsrc") => Gone,
        ("iframe", "csp") | ("html", "manifest") => Gone,
        _ => Kept,
    }
}

/// Whether what `<meta http-equiv>` names may speak in replay. Policies may not: they know nothing of where the page is now.
pub(super) fn may_speak(equivalent: &str) -> bool {
    ["content-type", "content-language", "default-style", "x-ua-compatible"]
        .iter()
        .any(|name| equivalent.eq_ignore_ascii_case(name))
}
