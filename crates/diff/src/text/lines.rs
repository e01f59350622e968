//! Texts as lines, and the equality of lines.
//!
//! A line includes its line ending, so that the lines of a text add up to the text. By default
//! `\r\n` and `\n` are equal, because servers and tools change them.

use std::borrow::Cow;
use std::ops::Range;

/// What counts as a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineOptions {
    /// Whether `\r\n` and `\n` differ.
    pub line_endings: bool,
    /// Whether white space at the end of a line is ignored.
    pub ignore_trailing_whitespace: bool,
}

/// A text and the offsets of its lines.
#[derive(Debug, Clone)]
pub struct TextLines<'a> {
    text: Cow<'a, str>,
    /// The start of each line, and the end of the text.
    bounds: Vec<usize>,
}

/// A line as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct LineToken<'a> {
    text: &'a [u8],
    ended: bool,
}

impl AsRef<[u8]> for LineToken<'_> {
    fn as_ref(&self) -> &[u8] {
        self.text
    }
}

impl<'a> TextLines<'a> {
    /// Finds the lines of a text.
    pub fn of(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        let mut bounds = Vec::with_capacity(text.len() / 32 + 2);
        bounds.push(0);
        bounds.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
        if bounds.last() != Some(&text.len()) {
            bounds.push(text.len());
        }
        Self { text, bounds }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of lines. The empty text has none.
    pub const fn count(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The bytes of some lines.
    pub fn range(&self, lines: &Range<usize>) -> Range<usize> {
        self.bounds[lines.start]..self.bounds[lines.end]
    }

    /// A line, with its end. Numbered from 0.
    pub fn line(&self, number: usize) -> &str {
        &self.text[self.range(&(number..number + 1))]
    }

    /// The lines as they are compared.
    pub(super) fn tokens(&self, options: LineOptions) -> impl Iterator<Item = LineToken<'_>> {
        let text = self.text.as_bytes();
        self.bounds.windows(2).map(move |bounds| LineToken::of(&text[bounds[0]..bounds[1]], options))
    }
}

impl<'a> LineToken<'a> {
    fn of(line: &'a [u8], options: LineOptions) -> Self {
        let (text, ended) = match line.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (line, false),
        };
        let text = match text.strip_suffix(b"\r") {
            Some(bare) if ended && !options.line_endings => bare,
            _ => text,
        };
        let text = if options.ignore_trailing_whitespace { text.trim_ascii_end() } else { text };
        Self { text, ended: ended || options.ignore_trailing_whitespace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        let lines = TextLines::of("a\r\n\nb");
        assert_eq!((0..lines.count()).map(|n| lines.line(n)).collect::<Vec<_>>(), ["a\r\n", "\n", "b"]);
        assert_eq!(TextLines::of("").count(), 0);
        assert_eq!(TextLines::of("\n").count(), 1);
    }

    #[test]
    fn options_control_the_comparison() {
        let same = |a: &str, b: &str, options| {
            TextLines::of(a).tokens(options).collect::<Vec<_>>()
                == TextLines::of(b).tokens(options).collect::<Vec<_>>()
        };
        assert!(same("a\r\n", "a\n", LineOptions::default()));
        assert!(!same("a\r\n", "a\n", LineOptions { line_endings: true, ..LineOptions::default() }));
        assert!(!same("a \n", "a\n", LineOptions::default()));
        assert!(!same("a", "a\n", LineOptions::default()));
        assert!(same(
            "a \t\r\n",
            "a",
            LineOptions { ignore_trailing_whitespace: true, ..LineOptions::default() }
        ));
    }
}
