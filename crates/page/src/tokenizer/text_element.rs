//! Text elements: the elements whose content is text without tags, and where that text ends.

use super::tag::is_space;

/// How the text of a text element is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextModel {
    /// Text up to the end tag, without character references.
    RawText,
    /// As raw text. A comment in a script may hide the end tag.
    Script,
    /// Text up to the end tag, with character references.
    EscapableText,
    /// Text up to the end of the body.
    Plaintext,
}

/// An element whose content is text.
#[derive(Debug, PartialEq, Eq)]
pub struct TextElement {
    /// The name, in lower case.
    pub name: &'static str,
    /// How its text is read.
    pub model: TextModel,
}

/// The text elements of the HTML standard, with scripting on: the only such list.
const TEXT_ELEMENTS: [TextElement; 10] = [
    TextElement { name: "script", model: TextModel::Script },
    TextElement { name: "style", model: TextModel::RawText },
    TextElement { name: "title", model: TextModel::EscapableText },
    TextElement { name: "noscript", model: TextModel::RawText },
    TextElement { name: "iframe", model: TextModel::RawText },
    TextElement { name: "textarea", model: TextModel::EscapableText },
    TextElement { name: "noembed", model: TextModel::RawText },
    TextElement { name: "noframes", model: TextModel::RawText },
    TextElement { name: "xmp", model: TextModel::RawText },
    TextElement { name: "plaintext", model: TextModel::Plaintext },
];

impl TextElement {
    /// The text element of this name, in either case.
    pub fn named(name: &[u8]) -> Option<&'static Self> {
        TEXT_ELEMENTS.iter().find(|element| element.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether the text is written as it is, without character references.
    pub fn is_unescaped(&self) -> bool {
        self.model != TextModel::EscapableText
    }
}

/// How deep a script is in a comment. In a comment, `<script>` needs an end tag of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptComment {
    None,
    Comment,
    NestedScript,
}

/// A text element whose text is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenTextElement {
    element: &'static TextElement,
    comment: ScriptComment,
}

/// What is known of the end of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// The end tag is there.
    At(usize),
    /// The end tag does not begin before there.
    NotBefore(usize),
}

/// Whether bytes begin with a mark. They may be too short to decide.
enum PrefixMatch {
    Yes,
    No,
    Undecided,
}

impl OpenTextElement {
    pub(super) fn of(element: &'static TextElement) -> Self {
        Self { element, comment: ScriptComment::None }
    }

    /// Finds the end of the text. With `is_last` nothing follows the bytes.
    pub(super) fn find_end(&mut self, bytes: &[u8], is_last: bool) -> TextEnd {
        if self.element.model == TextModel::Script {
            return self.find_script_end(bytes, is_last);
        }
        for at in memchr::memchr_iter(b'<', bytes) {
            match self.begins_with_tag(&bytes[at..], "</", is_last) {
                PrefixMatch::Yes => return TextEnd::At(at),
                PrefixMatch::Undecided => return TextEnd::NotBefore(at),
                PrefixMatch::No => {}
            }
        }
        TextEnd::NotBefore(bytes.len())
    }

    fn find_script_end(&mut self, bytes: &[u8], is_last: bool) -> TextEnd {
        use ScriptComment::{Comment, NestedScript, None as NoComment};
        for at in memchr::memchr2_iter(b'<', b'-', bytes) {
            let rest = &bytes[at..];
            let (prefix, next) = match (self.comment, rest[0]) {
                (NoComment, b'-') => continue,
                (_, b'-') => (begins_with(rest, b"-->", is_last), Some(NoComment)),
                (NoComment, _) if rest.get(1) == Some(&b'!') => {
                    (begins_with(rest, b"<!--", is_last), Some(Comment))
                }
                (Comment, _) if rest.get(1) != Some(&b'/') => {
                    (self.begins_with_tag(rest, "<", is_last), Some(NestedScript))
                }
                (NestedScript, _) => (self.begins_with_tag(rest, "</", is_last), Some(Comment)),
                _ => (self.begins_with_tag(rest, "</", is_last), None),
            };
            match (prefix, next) {
                (PrefixMatch::Yes, Some(comment)) => self.comment = comment,
                (PrefixMatch::Yes, None) => return TextEnd::At(at),
                (PrefixMatch::Undecided, _) => return TextEnd::NotBefore(at),
                (PrefixMatch::No, _) => {}
            }
        }
        TextEnd::NotBefore(bytes.len())
    }

    /// Whether the bytes begin with a tag of the element.
    fn begins_with_tag(&self, bytes: &[u8], opening: &str, is_last: bool) -> PrefixMatch {
        let name = self.element.name;
        let length = opening.len() + name.len();
        let is_same = |bytes: &[u8]| {
            let wanted = opening.bytes().chain(name.bytes());
            bytes.iter().zip(wanted).all(|(byte, wanted)| byte.eq_ignore_ascii_case(&wanted))
        };
        match bytes.get(length) {
            Some(byte) if (is_space(*byte) || matches!(byte, b'/' | b'>')) && is_same(bytes) => {
                PrefixMatch::Yes
            }
            Some(_) => PrefixMatch::No,
            None if is_last || !is_same(bytes) => PrefixMatch::No,
            None => PrefixMatch::Undecided,
        }
    }
}

fn begins_with(bytes: &[u8], mark: &[u8], is_last: bool) -> PrefixMatch {
    match bytes.get(..mark.len()) {
        Some(start) if start == mark => PrefixMatch::Yes,
        None if !is_last && mark.starts_with(bytes) => PrefixMatch::Undecided,
        _ => PrefixMatch::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> OpenTextElement {
        OpenTextElement::of(TextElement::named(name.as_bytes()).unwrap())
    }

    #[test]
    fn text_ends_at_the_end_tag_of_its_element() {
        for (name, text, end) in [
            ("style", "a</STYLE>", TextEnd::At(1)),
            ("style", "a</styles></style\n>", TextEnd::At(10)),
            ("title", "</titl", TextEnd::NotBefore(6)),
            ("script", "<!-- <script> </script> --></script>", TextEnd::At(27)),
            ("script", "<!-- </script>", TextEnd::At(5)),
            ("script", "<!--></script>", TextEnd::At(5)),
            ("script", "<!-- <script> </script> </script>", TextEnd::At(24)),
            ("script", "a--></script >", TextEnd::At(4)),
        ] {
            assert_eq!(open(name).find_end(text.as_bytes(), true), end, "{text}");
        }
        assert_eq!(open("style").find_end(b"ab</sty", false), TextEnd::NotBefore(2));
        assert!(TextElement::named(b"style-guide").is_none());
    }
}
