//! One line of a diff, as a terminal shows it.

use varve_archive::verbs::diff::{HunkLine, Style};

use crate::printer::{BAD, FAINT, GOOD, visible};

/// How long a line is.
pub(super) fn letters(line: &HunkLine<'_>) -> usize {
    line.segments.iter().map(|segment| segment.text.chars().count()).sum()
}

/// A line of a hunk, with what differs in it marked: by colour, and with `words` by signs as well. Of a line that is longer
/// than `width` letters, its beginning.
pub(super) fn drawn(line: &HunkLine<'_>, words: bool, width: usize) -> String {
    let (sign, style, [open, close]) = match line.style {
        Style::Context => (' ', FAINT, [""; 2]),
        Style::Removed => ('-', BAD, ["[-", "-]"]),
        Style::Added => ('+', GOOD, ["{+", "+}"]),
    };
    let [open, close] = if words { [open, close] } else { [""; 2] };
    let mut text = format!("{style}{sign}{style:#}");
    let mut left = width;
    for segment in &line.segments {
        let end = segment.text.char_indices().nth(left).map(|(at, _)| at);
        let shown = visible(&segment.text[..end.unwrap_or(segment.text.len())]);
        left -= segment.text.chars().count().min(left);
        match (line.style, segment.elided, segment.emphasis) {
            (_, true, _) | (Style::Context, ..) => text.push_str(&format!("{FAINT}{shown}{FAINT:#}")),
            (_, _, true) => {
                let marked = style.invert();
                text.push_str(&format!("{marked}{open}{shown}{close}{marked:#}"));
            }
            _ => text.push_str(&format!("{style}{shown}{style:#}")),
        }
        if end.is_some() {
            text.push_str(&format!("{FAINT}…{FAINT:#}"));
            break;
        }
    }
    text + &marked_as_noise(line.noise)
}

/// What stands behind a change that is noise.
pub(super) fn marked_as_noise(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!("{FAINT}  # noise: {rule}{FAINT:#}"))
}
