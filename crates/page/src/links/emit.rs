//! The one way out: resolves what was found, drops what is no address, counts both, hands over the rest.

use super::link::{Limits, Link, Place, Report, Role, Stop};
use std::borrow::Cow;
use varve_core::url::Base;

/// Something that looks like a link, before it is resolved.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    pub(super) reference: &'a str,
    pub(super) place: Place<'a>,
    pub(super) role: Role,
    pub(super) title: Option<&'a str>,
    pub(super) nofollow: bool,
    pub(super) guessed: bool,
    pub(super) offset: Option<u64>,
}

impl<'a> Found<'a> {
    pub(super) fn new(reference: &'a str, place: Place<'a>, role: Role) -> Self {
        Self { reference, place, role, title: None, nofollow: false, guessed: false, offset: None }
    }

    pub(super) fn at(mut self, offset: Option<u64>) -> Self {
        self.offset = offset;
        self
    }

    pub(super) fn titled(mut self, title: Option<&'a str>) -> Self {
        self.title = title;
        self
    }

    pub(super) fn guess(mut self) -> Self {
        self.guessed = true;
        self
    }
}

/// Resolves and hands over.
pub(super) struct Emitter<'s> {
    /// What references are relative to: the page, or what it says with `<base>`.
    pub(super) base: Base,
    pub(super) limits: Limits,
    pub(super) report: Report,
    sink: &'s mut dyn FnMut(Link<'_>),
}

impl<'s> Emitter<'s> {
    pub(super) fn new(base: Base, limits: Limits, sink: &'s mut dyn FnMut(Link<'_>)) -> Self {
        Self { base, limits, report: Report::default(), sink }
    }

    /// Whether enough was handed over.
    pub(super) fn is_full(&self) -> bool {
        self.report.stopped == Some(Stop::Links)
    }

    /// Hands a link over, if it is one.
    pub(super) fn emit(&mut self, found: Found<'_>) {
        if self.is_full() {
            return;
        }
        let reference = trim(found.reference);
        if is_nothing(reference, found.role) {
            return;
        }
        let Some(target) = self.resolve(reference) else { return };
        if self.report.links >= self.limits.links {
            self.report.stopped = Some(Stop::Links);
            return;
        }
        self.report.links += 1;
        let title = found.title.map(|title| tidy(title, self.limits.title)).filter(|title| !title.is_empty());
        (self.sink)(Link {
            target,
            reference: Cow::Borrowed(reference),
            place: found.place,
            role: found.role,
            title,
            nofollow: found.nofollow,
            guessed: found.guessed,
            offset: found.offset,
        });
    }

    /// The address of the web that a reference leads to.
    fn resolve(&mut self, reference: &str) -> Option<String> {
        if is_foreign(reference) {
            self.report.foreign += 1;
            return None;
        }
        if reference.len() > self.limits.reference {
            self.report.oversized += 1;
            return None;
        }
        match self.base.resolve(reference) {
            Ok(target) if is_web(&target) => Some(target),
            Ok(_) => {
                self.report.foreign += 1;
                None
            }
            Err(_) => {
                self.report.unreadable += 1;
                None
            }
        }
    }
}

/// Whether the text is an absolute address of the web.
pub(crate) fn is_web(url: &str) -> bool {
    let starts = |prefix: &str| {
        url.len() > prefix.len() && url.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
    };
    starts("http://") || starts("https://")
}

/// Whether the reference is of a scheme that no page of the web has. Saves resolving megabytes of `data:`.
pub(crate) fn is_foreign(reference: &str) -> bool {
    let head = &reference.as_bytes()[..reference.len().min(12)];
    let starts =
        |scheme: &[u8]| head.len() >= scheme.len() && head[..scheme.len()].eq_ignore_ascii_case(scheme);
    [&b"data:"[..], b"javascript:", b"mailto:", b"tel:", b"about:", b"blob:"].into_iter().any(starts)
}

/// Whether a reference asks for nothing: an embedded part that is the page itself.
fn is_nothing(reference: &str, role: Role) -> bool {
    role == Role::Embed && (reference.is_empty() || reference.starts_with('#'))
}

/// A text without the white space that URLs may have around them.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character <= ' ')
}

/// A title on one line, cut after so many bytes.
fn tidy(title: &str, most: usize) -> Cow<'_, str> {
    let title = title.trim();
    let plain = |title: &str| {
        let space = |pair: &[u8]| pair[0].is_ascii_whitespace() && (pair[0] != b' ' || pair[1] == b' ');
        !title.as_bytes().windows(2).any(space) && !title.contains(|c: char| c.is_control())
    };
    if title.len() <= most && plain(title) {
        return Cow::Borrowed(title);
    }
    let mut text = String::with_capacity(title.len().min(most));
    for word in title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !text.is_empty() {
            text.push(' ');
        }
        let room = most.saturating_sub(text.len());
        text.push_str(&word[..word.floor_char_boundary(room)]);
        if word.len() >= room {
            break;
        }
    }
    text.truncate(text.trim_end().len());
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(tidy(" a\n\t b\u{7}c ", 99), "a b c");
        assert_eq!(tidy("plain text", 99), "plain text");
        assert_eq!(tidy("ééé", 3), "é");
        assert_eq!(tidy("ab cd ef", 5), "ab cd");
        assert_eq!(tidy("", 5), "");
    }

    #[test]
    fn what_is_no_address_is_counted() {
        let mut found = Vec::new();
        let mut sink = |link: Link<'_>| found.push(link.target);
        let limits = Limits { links: 2, reference: 20, ..Limits::default() };
        let mut emitter = Emitter::new(Base::parse("http://h/a/b").unwrap(), limits, &mut sink);
        let long = "x".repeat(21);
        for text in ["mailto:a@b", "MAILTO:x", "ftp://h/", "http://[", long.as_str(), " c\td ", "//e", "f"] {
            emitter.emit(Found::new(text, Place::Line, Role::Navigate));
        }
        let report = emitter.report.clone();
        assert_eq!((report.foreign, report.unreadable, report.oversized), (3, 1, 1));
        assert_eq!((report.links, report.stopped), (2, Some(Stop::Links)));
        assert_eq!(found, ["http://h/a/cd", "http://e/"]);
    }
}
