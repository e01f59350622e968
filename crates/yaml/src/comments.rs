//! Where a text has comments: they are the one thing that is lost when a file is written anew.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{ScalarStyle, Scanner, Token, TokenData};

use super::scannable::scannable;

/// The lines, counted from 1, that hold a comment. Nothing for a text that is no YAML.
///
/// Between tokens there is nothing but blanks and comments, so every `#` there begins one. The header of a
/// block scalar (`| # so`) is the only place inside a token where there may be one as well.
pub fn comments(text: &str) -> Vec<u64> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains('#') {
        return Vec::new();
    }
    // A scanner that is not ours may have states that it panics in.
    catch_unwind(AssertUnwindSafe(|| scan(text))).unwrap_or_default()
}

fn scan(text: &str) -> Vec<u64> {
    let whole = scannable(text);
    let text = whole.as_ref();
    let mut bytes = whole.as_bytes();
    let mut scanner = Scanner::new();
    scanner.set_input_string(&mut bytes);
    let mut found = Lines { text, counted: 0, line: 1, lines: Vec::new() };
    let mut end = 0;
    while let Some(Ok(token)) = scanner.next() {
        let start = offset(token.start_mark.index, text);
        if start > end {
            found.look(end, start);
        }
        if is_block_scalar(&token) {
            let line = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
            found.look(start, line);
        }
        end = end.max(offset(token.end_mark.index, text));
    }
    found.look(end, text.len());
    found.lines
}

fn offset(index: u64, text: &str) -> usize {
    usize::try_from(index).map_or(text.len(), |index| index.min(text.len()))
}

fn is_block_scalar(token: &Token) -> bool {
    matches!(&token.data, TokenData::Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, .. })
}

struct Lines<'a> {
    text: &'a str,
    counted: usize,
    line: u64,
    lines: Vec<u64>,
}

impl Lines<'_> {
    /// Finds what lies between two places of which none is before an earlier one.
    fn look(&mut self, from: usize, to: usize) {
        let Some(gap) = self.text.get(from..to) else { return };
        let mut behind = 0;
        while let Some(at) = gap[behind..].find('#').map(|at| behind + at) {
            self.count_to(from + at);
            if self.lines.last() != Some(&self.line) {
                self.lines.push(self.line);
            }
            behind = gap[at..].find(['\n', '\r']).map_or(gap.len(), |length| at + length);
        }
    }

    fn count_to(&mut self, place: usize) {
        if place < self.counted {
            return;
        }
        let passed = &self.text.as_bytes()[self.counted..place];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_and_hashes_in_values_are_not() {
        let text = "# one\n---\na: b#c\nd: 'x # y'\ne: z # six\nf: | # seven\n  # not\n  text\n# ten\ng: \"#\"\nh: [a, # twelve\n  b]\n# last";
        assert_eq!(comments(text), [1, 5, 6, 9, 11, 13]);
        assert_eq!(comments("a: b#c\n"), [0_u64; 0]);
        assert_eq!(comments("\u{feff}# x\r\na: 1 # y\r\n"), [1, 2]);
    }
}
