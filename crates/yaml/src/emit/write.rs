//! The spelling of scalars in each style, and where long ones are folded.
//!
//! A line is folded only when it is already past the width, at a single blank, so a line may be longer by a word.

use super::Emitter;
use super::style::is_special;

/// Past this column a line is folded.
const MAX_LINE_COLUMNS: usize = 80;

impl Emitter {
    pub(super) fn plain(&mut self, text: &str, foldable: bool, root: bool) {
        self.open_ended |= root;
        if text.is_empty() {
            return;
        }
        if !self.whitespace {
            self.write(" ");
        }
        self.whitespace = false;
        self.indention = false;
        for run in Runs(text) {
            if run == " " && foldable && self.column > MAX_LINE_COLUMNS {
                self.break_line_to_indent();
                self.whitespace = false;
                self.indention = false;
            } else {
                self.write(run);
            }
        }
    }

    pub(super) fn single_quoted(&mut self, text: &str, foldable: bool) {
        self.indicator("'", true, false, false);
        let mut at = 0;
        for run in Runs(text) {
            let inside = at != 0 && at + run.len() != text.len();
            at += run.len();
            match run.as_bytes()[0] {
                b' ' if run.len() == 1 && inside && foldable && self.column > MAX_LINE_COLUMNS => {
                    self.break_line_to_indent();
                }
                // The first break ends the line, and each is then an empty one.
                b'\n' => {
                    (0..=run.len()).for_each(|_| self.line_break());
                    self.break_line_to_indent();
                }
                _ => self.write(&run.replace('\'', "''")),
            }
        }
        self.indicator("'", false, false, false);
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        self.line_break();
        for line in text.lines() {
            self.break_line_to_indent();
            self.out.push_str(line);
            self.line_break();
        }
    }

    pub(super) fn double_quoted(&mut self, text: &str, foldable: bool) {
        self.indicator("\"", true, false, false);
        let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
        // Where that begins which is not written yet: nothing but letters that need no escape.
        let mut start = 0;
        for (at, letter) in text.char_indices() {
            let escaped = matches!(letter, '"' | '\\' | '\n') || is_special(letter);
            if escaped {
                self.write(&text[start..at]);
                self.escape(letter);
                start = at + letter.len_utf8();
            }
            let pending = at.saturating_sub(start);
            // An escape that was just written counts one less: that is how the original comes to its columns.
            let column = self.column + pending - usize::from(start > at);
            if foldable && 0 < at && at < last && (letter == ' ' || start >= at) && column > MAX_LINE_COLUMNS
            {
                if start < at {
                    self.write(&text[start..at]);
                    start = at;
                }
                self.fold(text[start..].starts_with(' '));
            }
        }
        self.write(&text[start..]);
        self.indicator("\"", false, false, false);
    }

    /// Ends a line within double quotes; a blank that begins the next needs an escape.
    fn fold(&mut self, before_blank: bool) {
        self.write("\\");
        self.break_line_to_indent();
        self.whitespace = false;
        self.indention = false;
        if before_blank {
            self.write("\\");
        }
    }

    fn escape(&mut self, letter: char) {
        let short = match letter {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => letter,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => return self.write(&numbered(u32::from(letter))),
        };
        self.write(&format!("\\{short}"));
    }
}

fn numbered(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02X}"),
        0x100..=0xffff => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    }
}

/// A text cut into runs of blanks, runs of line breaks, and runs of neither.
struct Runs<'a>(&'a str);

impl<'a> Iterator for Runs<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let class = |byte: u8| if matches!(byte, b' ' | b'\n') { byte } else { 0 };
        let first = class(*self.0.as_bytes().first()?);
        let length = self.0.bytes().take_while(|byte| class(*byte) == first).count();
        let (run, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(run)
    }
}
