//! Which changed lines are noise.

use super::learn::Volatile;
use super::mask::{MOST_MASKED, explain};
use super::rules::NoiseRule;
use std::ops::Range;
use varve_core::diff::{Budget, Change, Edit, TextDiff};

/// How much around an edit within a long line is looked at, on each side.
const AROUND: usize = 200;

/// Text that is searched in all. Past it nothing more is called noise.
const MOST_SEARCHED: usize = 4 << 20;

/// For each change of a diff the rule that explains it, if one does. Only lines that have a partner can be noise.
pub fn classify_lines(diff: &TextDiff<'_>, volatile: &Volatile) -> Vec<Option<NoiseRule>> {
    let mut budget = Budget::default();
    let mut left = MOST_SEARCHED;
    let classify = |change: &Change| {
        if change.base_lines.len() != change.head_lines.len() {
            return None;
        }
        if volatile.explains_lines(diff.removed(change), diff.added(change)) {
            return Some(NoiseRule::Twins);
        }
        let long = change.base.len().max(change.head.len());
        left = left.checked_sub(long.min(MOST_MASKED))?;
        if long <= MOST_MASKED {
            explain(&unix(diff.removed(change)), &unix(diff.added(change)))
        } else {
            long_change(diff, change, &mut budget, &mut left)
        }
    };
    diff.changes().iter().map(classify).collect()
}

/// A change of long lines is noise if each of its edits is, seen with what stands around it.
fn long_change(diff: &TextDiff<'_>, change: &Change, budget: &mut Budget, left: &mut usize) -> Option<NoiseRule> {
    let edits = diff.edits(change, budget);
    if edits.truncated {
        return None;
    }
    let mut rules = Vec::new();
    for near in near_each_other(edits.list) {
        let (from, to) = (around(diff.base().text(), &near.base), around(diff.head().text(), &near.head));
        *left = left.checked_sub(from.len())?;
        rules.push(explain(from, to)?);
    }
    rules.into_iter().min()
}

/// Joins edits that would be seen with each other.
fn near_each_other(edits: Vec<Edit>) -> Vec<Edit> {
    let mut joined: Vec<Edit> = Vec::new();
    for edit in edits {
        match joined.last_mut() {
            Some(last) if edit.base.start - last.base.end <= AROUND => {
                last.base.end = edit.base.end;
                last.head.end = edit.head.end;
            }
            _ => joined.push(edit),
        }
    }
    joined
}

fn around<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let start = text.floor_char_boundary(range.start.saturating_sub(AROUND));
    let end = text.ceil_char_boundary((range.end + AROUND).min(text.len()));
    &text[start..end]
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::diff::Options;

    fn rules(base: &str, head: &str) -> Vec<Option<NoiseRule>> {
        classify_lines(&TextDiff::between(base, head, Options::default()), &Volatile::default())
    }

    #[test]
    fn each_change_is_explained_alone() {
        let base = "<p nonce=\"aaaaaaaa1\">\nx\n<p>one</p>\nx\n<!-- 2024-01-01T00:00:00Z -->\r\n";
        let head = "<p nonce=\"bbbbbbbb2\">\nx\n<p>two</p>\nx\n<!-- 2024-01-02T00:00:00Z -->\n";
        assert_eq!(rules(base, head), [Some(NoiseRule::Nonce), None, Some(NoiseRule::Timestamp)]);
    }

    #[test]
    fn one_line_of_a_whole_page_is_looked_at_piece_by_piece() {
        let page = |nonce: &str, text: &str| {
            let filler = "<p>filler</p>".repeat(3000);
            format!("<script nonce=\"{nonce}\"></script>{filler}<b>{text}</b>{filler}")
        };
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "x")), [Some(NoiseRule::Nonce)]);
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "y")), [None]);
    }

    #[test]
    fn what_comes_or_goes_is_a_change() {
        assert_eq!(rules("a\n", "a\n<!-- 2024-01-01T00:00:00Z -->\n"), [None]);
    }
}
