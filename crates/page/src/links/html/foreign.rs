//! Where in a page drawings and formulas begin and end: inside them a `style` is an element like any other, a `title`
//! is not that of the page, and there are `CDATA` sections.
//!
//! A browser knows this from its tree. Here only the borders between HTML and the rest are kept.

use super::tag::Tag;

/// No page nests borders deeper for a reason.
const DEEPEST: usize = 64;

/// A border that was crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    Svg,
    Math,
    /// From a drawing or a formula back to HTML, by this element.
    Html(&'static str),
}

/// Elements of a drawing, and of a formula, inside which HTML begins again.
const IN_SVG: [&str; 3] = ["foreignobject", "desc", "title"];
const IN_MATH: [&str; 6] = ["mi", "mo", "mn", "ms", "mtext", "annotation-xml"];

/// Elements that no drawing contains: where one stands, the drawing was not closed.
const BREAKOUT: [&str; 44] = [
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

/// The borders around what is being read.
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<Border>);

impl Foreign {
    /// Whether what is being read is HTML.
    pub(super) fn is_html(&self) -> bool {
        matches!(self.0.last(), None | Some(Border::Html(_)))
    }

    /// Takes a start tag; says whether the element is one of SVG, and whether it is one of HTML.
    pub(super) fn open(&mut self, tag: &Tag<'_>) -> (bool, bool) {
        if !self.is_html() && breaks_out(tag) {
            self.break_out();
        }
        let border = match (self.0.last(), &*tag.name) {
            (_, "svg") => Some(Border::Svg),
            (_, "math") => Some(Border::Math),
            (Some(Border::Svg), name) => {
                IN_SVG.iter().find(|point| **point == name).map(|point| Border::Html(point))
            }
            (Some(Border::Math), "annotation-xml") if !holds_html(tag) => None,
            (Some(Border::Math), name) => {
                IN_MATH.iter().find(|point| **point == name).map(|point| Border::Html(point))
            }
            _ => None,
        };
        let kind = match (border, self.0.last()) {
            (Some(Border::Svg), _) | (_, Some(Border::Svg)) => (true, false),
            (Some(Border::Math), _) | (_, Some(Border::Math)) => (false, false),
            _ => (false, true),
        };
        if let Some(border) = border.filter(|_| !tag.closed && self.0.len() < DEEPEST) {
            self.0.push(border);
        }
        kind
    }

    /// Leaves drawings and formulas that were not closed.
    fn break_out(&mut self) {
        while !self.is_html() {
            self.0.pop();
        }
    }

    /// Takes the name of an end tag.
    pub(super) fn close(&mut self, name: &[u8]) {
        if !self.is_html() && [&b"p"[..], b"br"].iter().any(|out| name.eq_ignore_ascii_case(out)) {
            self.break_out();
        }
        let closes = |border: &Border| {
            let own = match border {
                Border::Svg => "svg",
                Border::Math => "math",
                Border::Html(own) => own,
            };
            name.eq_ignore_ascii_case(own.as_bytes())
        };
        if !self.0.is_empty()
            && let Some(at) = self.0.iter().rposition(closes)
        {
            self.0.truncate(at);
        }
    }
}

/// Whether a tag shows that the drawing around it was not closed.
fn breaks_out(tag: &Tag<'_>) -> bool {
    let is_old_font = || ["color", "face", "size"].iter().any(|name| tag.value(name).is_some());
    BREAKOUT.contains(&&*tag.name) || (tag.name == "font" && is_old_font())
}

/// Whether what a formula is annotated with is HTML.
fn holds_html(tag: &Tag<'_>) -> bool {
    ["text/html", "application/xhtml+xml"].iter().any(|kind| tag.text("encoding").eq_ignore_ascii_case(kind))
}

#[cfg(test)]
mod tests {
    use super::super::tag::Manner;
    use super::*;

    /// The borders after some tags.
    fn after(html: &str) -> Foreign {
        let mut foreign = Foreign::default();
        for tag in html.split_inclusive('>') {
            match tag.strip_prefix("</") {
                Some(name) => foreign.close(name.trim_end_matches('>').as_bytes()),
                None => {
                    let manner = Manner { encoding: encoding_rs::UTF_8, is_guess: false, most: 99, at: 0 };
                    foreign.open(&Tag::read(tag.as_bytes(), manner).unwrap());
                }
            }
        }
        foreign
    }

    #[test]
    fn borders_are_crossed_both_ways() {
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
        assert!(after(&"<svg>".repeat(1000)).0.len() <= DEEPEST);
    }
}
