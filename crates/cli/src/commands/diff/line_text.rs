//! One line of a diff as text.

use varve_archive::verbs::diff::{
    ChunkKind, DiffChunk, DiffStyle, HunkLine, InlineSpan, LineRunKind, LineSegment, NodeChange, PrintedLine,
};
use varve_archive::visible_line;

use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, visible};

/// Mark removed and added words where colours are not enough.
const REMOVED_BRACKETS: [&str; 2] = ["[-", "-]"];
const ADDED_BRACKETS: [&str; 2] = ["{+", "+}"];

/// Number of characters in the longer side of a line.
pub(super) fn line_width(line: &HunkLine<'_>) -> usize {
    let width =
        |segments: &[LineSegment<'_>]| segments.iter().map(|segment| segment.text.chars().count()).sum();
    line.printed().map(|printed| width(printed.segments)).max().unwrap_or(0)
}

/// A line of a hunk with its differences marked: by colour, and with `words` by brackets too. A
/// line longer than `width` characters is shortened.
pub(super) fn hunk_line_text(line: &PrintedLine<'_>, words: bool, width: usize) -> String {
    let (style, [open, close]) = match line.style {
        DiffStyle::Context => (FAINT_STYLE, [""; 2]),
        DiffStyle::Removed => (BAD_STYLE, REMOVED_BRACKETS),
        DiffStyle::Added => (GOOD_STYLE, ADDED_BRACKETS),
    };
    let [open, close] = if words { [open, close] } else { [""; 2] };
    let mut text = format!("{style}{}{style:#}", line.sign);
    let mut left = width;
    for segment in line.segments {
        let end = segment.text.char_indices().nth(left).map(|(at, _)| at);
        let shown = visible_line(&segment.text[..end.unwrap_or(segment.text.len())]);
        left -= segment.text.chars().count().min(left);
        match (line.style, segment.elided, segment.emphasis) {
            (_, true, _) | (DiffStyle::Context, ..) => {
                text.push_str(&format!("{FAINT_STYLE}{shown}{FAINT_STYLE:#}"))
            }
            (_, _, true) => {
                let marked = style.invert();
                text.push_str(&format!("{marked}{open}{shown}{close}{marked:#}"));
            }
            _ => text.push_str(&format!("{style}{shown}{style:#}")),
        }
        if end.is_some() {
            text.push_str(&format!("{FAINT_STYLE}…{FAINT_STYLE:#}"));
            break;
        }
    }
    text + &marked_as_noise(line.noise)
}

/// A changed node: the kind of change, its place and its content or both values.
pub(super) fn node_change_text(change: &NodeChange, chunk: &DiffChunk) -> String {
    let side = |value: &Option<String>| match (value, &chunk.attribute) {
        (None, _) => "none".to_owned(),
        (Some(value), Some(_)) => format!("\"{}\"", visible(value)),
        (Some(value), None) => visible(value).into_owned(),
    };
    let (before, after) = (side(&chunk.before), side(&chunk.after));
    let content = visible(chunk.content.trim());
    let content = match (chunk.kind, change.inline()) {
        (ChunkKind::Added | ChunkKind::Removed, _) => content.into_owned(),
        (ChunkKind::Changed, Some(spans)) => spans.iter().map(span).collect(),
        (ChunkKind::Changed, None) => format!("{before} → {after}"),
        (ChunkKind::Moved, _) => format!("from {before} to {after}: {content}"),
    };
    let (word, place) = (chunk.kind.word(), change.place());
    let (place, noise) = (visible(&place), marked_as_noise(chunk.noise.as_deref()));
    format!("{FAINT_STYLE}{word}{FAINT_STYLE:#} {place} {content}{noise}")
}

/// Removed or added words of a text node.
fn span(span: &InlineSpan<'_>) -> String {
    let text = visible(&span.text);
    let (style, [open, close]) = match span.kind {
        LineRunKind::Equal => return text.into_owned(),
        LineRunKind::Removed => (BAD_STYLE, REMOVED_BRACKETS),
        LineRunKind::Added => (GOOD_STYLE, ADDED_BRACKETS),
    };
    format!("{style}{open}{text}{close}{style:#}")
}

/// The suffix of a change that is noise.
fn marked_as_noise(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!("{FAINT_STYLE}  # noise: {rule}{FAINT_STYLE:#}"))
}
