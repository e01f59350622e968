//! Resolves links, drops references that are no web address, counts both, and passes the rest to
//! the caller.

use super::link::{LinkLimits, LinkPlace, LinkReport, LinkRole, LinkStop, PageLink};
use std::borrow::Cow;
use varve_core::url::Base;

/// A link before it is resolved.
#[derive(Debug, Clone)]
pub(super) struct RawLink<'a> {
    pub(super) reference: &'a str,
    pub(super) place: LinkPlace<'a>,
    pub(super) role: LinkRole,
    pub(super) title: Option<&'a str>,
    pub(super) nofollow: bool,
    pub(super) guessed: bool,
    pub(super) offset: Option<u64>,
}

impl<'a> RawLink<'a> {
    pub(super) fn new(reference: &'a str, place: LinkPlace<'a>, role: LinkRole) -> Self {
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

/// Resolves links and passes them on.
pub(super) struct LinkEmitter<'s> {
    /// The base of references: the page, or its `<base>`.
    pub(super) base: Base,
    pub(super) limits: LinkLimits,
    pub(super) report: LinkReport,
    sink: &'s mut dyn FnMut(PageLink<'_>),
}

impl<'s> LinkEmitter<'s> {
    pub(super) fn new(base: Base, limits: LinkLimits, sink: &'s mut dyn FnMut(PageLink<'_>)) -> Self {
        Self { base, limits, report: LinkReport::default(), sink }
    }

    /// Whether the maximum number of links was reached.
    pub(super) fn is_full(&self) -> bool {
        self.report.stopped == Some(LinkStop::Links)
    }

    /// Passes on a link, if it is one.
    pub(super) fn emit(&mut self, found: RawLink<'_>) {
        if self.is_full() {
            return;
        }
        let reference = trim(found.reference);
        if is_nothing(reference, found.role) {
            return;
        }
        let Some(target) = self.resolve(reference) else { return };
        if self.report.links >= self.limits.links {
            self.report.stopped = Some(LinkStop::Links);
            return;
        }
        self.report.links += 1;
        let title = found.title.map(|title| tidy(title, self.limits.title)).filter(|title| !title.is_empty());
        (self.sink)(PageLink {
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

    /// The web address of a reference.
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

/// Whether the text is an absolute web address.
pub(crate) fn is_web(url: &str) -> bool {
    let starts = |prefix: &str| {
        url.len() > prefix.len() && url.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
    };
    starts("http://") || starts("https://")
}

/// Whether the reference has a scheme other than `http` and `https`. Saves resolving megabytes of
/// `data:`.
pub(crate) fn is_foreign(reference: &str) -> bool {
    let head = &reference.as_bytes()[..reference.len().min(12)];
    let starts =
        |scheme: &[u8]| head.len() >= scheme.len() && head[..scheme.len()].eq_ignore_ascii_case(scheme);
    [&b"data:"[..], b"javascript:", b"mailto:", b"tel:", b"about:", b"blob:"].into_iter().any(starts)
}

/// Whether an embedded reference is the page itself.
fn is_nothing(reference: &str, role: LinkRole) -> bool {
    role == LinkRole::Embed && (reference.is_empty() || reference.starts_with('#'))
}

/// A text without the white space that is allowed around URLs.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character <= ' ')
}

/// A title on one line, cut at a length in bytes.
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
    fn invalid_addresses_are_counted() {
        let mut found = Vec::new();
        let mut sink = |link: PageLink<'_>| found.push(link.target);
        let limits = LinkLimits { links: 2, reference: 20, ..LinkLimits::default() };
        let mut emitter = LinkEmitter::new(Base::parse("http://h/a/b").unwrap(), limits, &mut sink);
        let long = "x".repeat(21);
        for text in ["mailto:a@b", "MAILTO:x", "ftp://h/", "http://[", long.as_str(), " c\td ", "//e", "f"] {
            emitter.emit(RawLink::new(text, LinkPlace::Line, LinkRole::Navigate));
        }
        let report = emitter.report.clone();
        assert_eq!((report.foreign, report.unreadable, report.oversized), (3, 1, 1));
        assert_eq!((report.links, report.stopped), (2, Some(LinkStop::Links)));
        assert_eq!(found, ["http://h/a/cd", "http://e/"]);
    }
}
