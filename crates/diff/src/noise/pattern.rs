//! What a pattern of the table is: a form, how the value in it must look, and where it must stand.
//!
//! No form is enough by itself. A word under the name of a token is a setting, and a token under another name is somebody's account.

/// A form of text that a rule knows.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// What must stand in a text before it is worth searching.
    pub sign: Sign,
    /// What is searched for.
    pub form: &'static str,
    /// How the value must look.
    pub looks: Looks,
    /// Where the value must stand.
    pub stands: Stands,
}

/// How a value must look before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// As the form says.
    Formed,
    /// Like a token: letters and digits, and neither a word, a number, a path nor an address.
    Token,
    /// Like a hash, and the other one is as long.
    Hash,
    /// Like the name of one request: a hash or a UUID, but no number that people count with.
    Id,
    /// Like a hash. It counts if it took the place of the same other one in several links of the page.
    Swapped,
    /// Like the digest of an asset. It counts if the address of the asset, in the same tag, has another hash or version too.
    Digest,
    /// Like a scrambled mail address. It counts if the other one is the same address.
    Address,
}

/// Where a value must stand before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// Wherever the form is.
    Anywhere,
    /// In a tag.
    Tag,
    /// In no text that readers see, as far as can be seen here.
    Unshown,
    /// As the whole of an attribute of such a name, or of the `value` or `content` of an element that is named so.
    Named(Names),
    /// In the address of a program, style or font that the page loads from where it is itself.
    OwnAsset,
    /// In the object in which a framework keeps the state of the page, and there at its top.
    State,
    /// In a comment that says, or beside words that say, that it tells when the page was made.
    Made,
    /// In a comment that has such words.
    DatedComment,
    /// In a comment.
    Comment,
}

/// Names of attributes and elements whose values are of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Of numbers used once.
    Nonce,
    /// Of tokens against forged requests.
    Csrf,
    /// Of sessions, and of nothing else.
    Session,
    /// Of sessions, and of what conferences and schools have.
    AnySession,
    /// Of one request.
    Request,
    /// Of one request, as those who measure pages call it.
    Trace,
    /// Of what a form had been, which is scrambled.
    ViewState,
}

/// Whose name it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// That of an attribute, or of a variable.
    Own,
    /// That which an element has in its form.
    Element,
}

/// What every text has that a pattern can match. Looking for it costs next to nothing, making a pattern ready and searching with
/// it does: most texts have no sign of most patterns.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// One of these words, in small letters; how the text writes them does not matter.
    Words(&'static [&'static str]),
    /// A colon between digits.
    Clock,
    /// Nine decimal digits in a row.
    LongNumber,
    /// Sixteen hexadecimal digits in a row.
    LongHex,
}

pub(super) const TOKENS: Sign = Sign::Words(&[
    "csrf",
    "xsrf",
    "requestverificationtoken",
    "form_build_id",
    "__viewstate",
    "__eventvalidation",
    "_token",
]);
/// What stands in comments of programs that say what a page cost them.
pub(super) const COSTS: Sign = Sign::Words(&[
    "time usage:",
    "memory usage:",
    "cached time:",
    "parsed by ",
    "caching ",
    "cached@",
    "and timestamp ",
    "served in ",
]);
pub(super) const FILES: Sign = Sign::Words(&[".js", ".mjs", ".css", ".map", ".woff", ".ttf", ".otf"]);
pub(super) const REQUESTS: Sign = Sign::Words(&[
    "requestid",
    "request_id",
    "request-id",
    "traceid",
    "trace_id",
    "trace-id",
    "correlationid",
    "correlation_id",
    "correlation-id",
    "spanid",
    "span_id",
    "span-id",
    "visitorid",
    "visitor_id",
    "visitor-id",
    "renderid",
    "render_id",
    "render-id",
    "pageviewid",
    "pageview_id",
    "pageview-id",
]);

pub(super) const NONCES: Sign = Sign::Words(&["nonce"]);
pub(super) const META: Sign = Sign::Words(&["<meta"]);
