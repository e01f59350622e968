//! Elements whose text is no markup: where it ends.

use super::tag::is_space;

/// Elements of HTML in which there are no tags.
const NAMES: [&str; 9] =
    ["script", "style", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "noframes"];

/// How deep a script is in what once hid it from old browsers. Inside a comment, `<script>` needs an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    No,
    Comment,
    Script,
}

/// The text of an element, being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawElement {
    name: &'static str,
    hidden: Hidden,
}

/// What is known of where a text ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There: the end tag follows.
    At(usize),
    /// Not before there.
    After(usize),
}

/// Whether bytes begin with something, if there are enough of them.
enum Begins {
    Yes,
    No,
    Maybe,
}

impl RawElement {
    /// The element of that name, if there are no tags in it.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = NAMES.iter().find(|known| **known == name)?;
        Some(Self { name, hidden: Hidden::No })
    }

    /// Looks for the end of its text. `last` says that nothing follows the bytes.
    pub(super) fn find_end(&mut self, bytes: &[u8], last: bool) -> End {
        if self.name == "script" {
            return self.find_end_of_script(bytes, last);
        }
        for at in memchr::memchr_iter(b'<', bytes) {
            match self.tag(&bytes[at..], "</", last) {
                Begins::Yes => return End::At(at),
                Begins::Maybe => return End::After(at),
                Begins::No => {}
            }
        }
        End::After(bytes.len())
    }

    fn find_end_of_script(&mut self, bytes: &[u8], last: bool) -> End {
        for at in memchr::memchr2_iter(b'<', b'-', bytes) {
            let rest = &bytes[at..];
            let (begins, then) = match (self.hidden, rest[0]) {
                (Hidden::No, b'-') => continue,
                (_, b'-') => (begins(rest, b"-->", last), Some(Hidden::No)),
                (Hidden::No, _) if rest.get(1) == Some(&b'!') => {
                    (begins(rest, b"<!--", last), Some(Hidden::Comment))
                }
                (Hidden::Comment, _) if rest.get(1) != Some(&b'/') => {
                    (self.tag(rest, "<", last), Some(Hidden::Script))
                }
                (Hidden::Script, _) => (self.tag(rest, "</", last), Some(Hidden::Comment)),
                _ => (self.tag(rest, "</", last), None),
            };
            match (begins, then) {
                (Begins::Yes, Some(hidden)) => self.hidden = hidden,
                (Begins::Yes, None) => return End::At(at),
                (Begins::Maybe, _) => return End::After(at),
                (Begins::No, _) => {}
            }
        }
        End::After(bytes.len())
    }

    /// Whether bytes begin with a tag of its name.
    fn tag(&self, bytes: &[u8], before: &str, last: bool) -> Begins {
        let length = before.len() + self.name.len();
        let same = |bytes: &[u8]| {
            let wanted = before.bytes().chain(self.name.bytes());
            bytes.iter().zip(wanted).all(|(byte, wanted)| byte.eq_ignore_ascii_case(&wanted))
        };
        match bytes.get(length) {
            Some(byte) if is_space(*byte) || matches!(byte, b'/' | b'>') => {
                if same(bytes) {
                    Begins::Yes
                } else {
                    Begins::No
                }
            }
            Some(_) => Begins::No,
            None if last || !same(bytes) => Begins::No,
            None => Begins::Maybe,
        }
    }
}

fn begins(bytes: &[u8], with: &[u8], last: bool) -> Begins {
    match bytes.get(..with.len()) {
        Some(start) if start == with => Begins::Yes,
        None if !last && with.starts_with(bytes) => Begins::Maybe,
        _ => Begins::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_at_their_own_end_tag() {
        for (name, text, end) in [
            ("style", "a</STYLE>", End::At(1)),
            ("style", "a</styles></style\n>", End::At(10)),
            ("title", "</titl", End::After(6)),
            ("script", "<!-- <script> </script> --></script>", End::At(27)),
            ("script", "<!-- </script>", End::At(5)),
            ("script", "<!--></script>", End::At(5)),
            ("script", "<!-- <script> </script> </script>", End::At(24)),
            ("script", "a--></script >", End::At(4)),
        ] {
            let mut raw = RawElement::named(name).unwrap();
            assert_eq!(raw.find_end(text.as_bytes(), true), end, "{text}");
        }
        assert_eq!(RawElement::named("style").unwrap().find_end(b"ab</sty", false), End::After(2));
        assert!(RawElement::named("div").is_none());
    }
}
