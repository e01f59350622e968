//! Foreign content: where SVG and MathML begin and end in a page.
//!
//! In foreign content `style` is an ordinary element, `title` is not the title of the page, and
//! there are `CDATA` sections. A browser takes this from its tree. The tokenizer keeps only the
//! elements at which the namespace changes.

use super::tag::StartTag;

/// Maximum number of namespace changes around one place. Deeper ones are ignored.
const MAX_NAMESPACE_DEPTH: usize = 64;

/// The namespace of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    /// HTML.
    Html,
    /// SVG.
    Svg,
    /// MathML.
    Math,
}

/// An open element at which the namespace of the content changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamespaceChange {
    Svg,
    Math,
    /// From SVG or MathML back to HTML, by this element.
    Html(&'static str),
}

/// Elements of SVG, and of MathML, whose content is HTML.
const SVG_INTEGRATION_POINTS: [&str; 3] = ["foreignobject", "desc", "title"];
const MATH_INTEGRATION_POINTS: [&str; 6] = ["mi", "mo", "mn", "ms", "mtext", "annotation-xml"];

/// Elements of HTML that end foreign content, because it cannot contain them.
const BREAKOUT_ELEMENTS: [&str; 44] = [
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strong",
    "strike",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];

/// The namespace changes around the current place.
#[derive(Debug, Default)]
pub(super) struct ForeignContent(Vec<NamespaceChange>);

impl ForeignContent {
    /// Whether the content at the current place is HTML.
    pub(super) fn is_html(&self) -> bool {
        matches!(self.0.last(), None | Some(NamespaceChange::Html(_)))
    }

    /// Takes a start tag and returns the namespace of its element.
    pub(super) fn open(&mut self, tag: &StartTag<'_, '_>) -> Namespace {
        if !self.is_html() && breaks_out(tag) {
            self.break_out();
        }
        let around = self.0.last().copied();
        let change = namespace_change(around, tag);
        if let Some(change) = change.filter(|_| !tag.is_self_closing && self.0.len() < MAX_NAMESPACE_DEPTH) {
            self.0.push(change);
        }
        match (change, around) {
            (Some(NamespaceChange::Svg), _) | (_, Some(NamespaceChange::Svg)) => Namespace::Svg,
            (Some(NamespaceChange::Math), _) | (_, Some(NamespaceChange::Math)) => Namespace::Math,
            _ => Namespace::Html,
        }
    }

    /// Leaves foreign content that was not closed.
    fn break_out(&mut self) {
        while !self.is_html() {
            self.0.pop();
        }
    }

    /// Takes the name of an end tag.
    pub(super) fn close(&mut self, name: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        if !self.is_html() && [&b"p"[..], b"br"].iter().any(|out| name.eq_ignore_ascii_case(out)) {
            self.break_out();
        }
        let closes = |change: &NamespaceChange| {
            let element = match change {
                NamespaceChange::Svg => "svg",
                NamespaceChange::Math => "math",
                NamespaceChange::Html(element) => element,
            };
            name.eq_ignore_ascii_case(element.as_bytes())
        };
        if let Some(at) = self.0.iter().rposition(closes) {
            self.0.truncate(at);
        }
    }
}

/// The namespace change at an element inside of `around`, if there is one.
fn namespace_change(around: Option<NamespaceChange>, tag: &StartTag<'_, '_>) -> Option<NamespaceChange> {
    let integration_point = |names: &'static [&'static str]| {
        names.iter().find(|name| tag.is(name)).map(|name| NamespaceChange::Html(name))
    };
    match around {
        _ if tag.is("svg") => Some(NamespaceChange::Svg),
        _ if tag.is("math") => Some(NamespaceChange::Math),
        Some(NamespaceChange::Svg) => integration_point(&SVG_INTEGRATION_POINTS),
        Some(NamespaceChange::Math) if tag.is("annotation-xml") && !holds_html(tag) => None,
        Some(NamespaceChange::Math) => integration_point(&MATH_INTEGRATION_POINTS),
        _ => None,
    }
}

/// Whether a tag shows that the foreign content around it was not closed.
fn breaks_out(tag: &StartTag<'_, '_>) -> bool {
    let is_old_font = || ["color", "face", "size"].iter().any(|name| tag.attribute(name).is_some());
    BREAKOUT_ELEMENTS.iter().any(|name| tag.is(name)) || (tag.is("font") && is_old_font())
}

/// Whether the content of an `annotation-xml` element is HTML.
fn holds_html(tag: &StartTag<'_, '_>) -> bool {
    let encoding = tag.value("encoding").unwrap_or_default();
    ["text/html", "application/xhtml+xml"].iter().any(|kind| encoding.eq_ignore_ascii_case(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The foreign content around the end of some tags.
    fn after(html: &str) -> ForeignContent {
        let mut foreign = ForeignContent::default();
        for tag in html.split_inclusive('>') {
            match tag.strip_prefix("</") {
                Some(name) => foreign.close(name.trim_end_matches('>').as_bytes()),
                None => {
                    foreign.open(&StartTag::read(tag.as_bytes(), &mut Vec::new()).unwrap());
                }
            }
        }
        foreign
    }

    #[test]
    fn the_namespace_changes_both_ways() {
        for (html, is_html) in [
            ("<svg>", false),
            ("<svg/>", true),
            ("<svg><g></svg>", true),
            ("<svg><foreignObject>", true),
            ("<svg><foreignObject></foreignObject>", false),
            ("<svg><title></svg>", true),
            ("<svg><path><div>", true),
            ("<math><mi><svg>", false),
            ("<math><title>", false),
            ("<svg><mi>", false),
            ("<math><annotation-xml>", false),
            ("<math><annotation-xml encoding=TEXT/html>", true),
            ("<svg><font>", false),
            ("<svg><font color=red>", true),
            ("<svg><g></p>", true),
            ("<svg><svg></svg>", false),
        ] {
            assert_eq!(after(html).is_html(), is_html, "{html}");
        }
        assert!(after(&"<svg>".repeat(1000)).0.len() <= MAX_NAMESPACE_DEPTH);
    }
}
