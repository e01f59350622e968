//! One line of a diff, as a terminal shows it.

use std::borrow::Cow;

use varve_archive::verbs::diff::{Chunk, HunkLine, NodeChange, RunKind, Span, Style};

use crate::printer::{BAD, FAINT, GOOD, visible};

/// What stands around words that went, and around words that came, where colour is not all that tells them.
const WENT: [&str; 2] = ["[-", "-]"];
const CAME: [&str; 2] = ["{+", "+}"];

/// How long a line is.
pub(super) fn letters(line: &HunkLine<'_>) -> usize {
    line.segments.iter().map(|segment| segment.text.chars().count()).sum()
}

/// A line of a hunk, with what differs in it marked: by colour, and with `words` by signs as well. Of a line that is longer
/// than `width` letters, its beginning.
pub(super) fn drawn(line: &HunkLine<'_>, words: bool, width: usize) -> String {
    let (sign, style, [open, close]) = match line.style {
        Style::Context => (' ', FAINT, [""; 2]),
        Style::Removed => ('-', BAD, WENT),
        Style::Added => ('+', GOOD, CAME),
    };
    let [open, close] = if words { [open, close] } else { [""; 2] };
    let mut text = format!("{style}{sign}{style:#}");
    let mut left = width;
    for segment in &line.segments {
        let end = segment.text.char_indices().nth(left).map(|(at, _)| at);
        let shown = with_tabs(&segment.text[..end.unwrap_or(segment.text.len())]);
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

/// Text as it may be shown, with its tabs: they indent lines, and nothing else.
fn with_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return visible(text);
    }
    Cow::Owned(text.split('\t').map(visible).collect::<Vec<_>>().join("\t"))
}

/// A node that changed: what happened to it, where it is, and what it says.
pub(super) fn node(change: &NodeChange, chunk: &Chunk) -> String {
    let word = change.word();
    let content = match change.inline() {
        Some(spans) => spans.iter().map(span).collect(),
        None => {
            let content = chunk.content.trim();
            // What moved is a sentence of its own, which begins with the word that stands before the place here.
            visible(content.strip_prefix("moved ").filter(|_| word == "moved").unwrap_or(content))
                .into_owned()
        }
    };
    let (place, noise) = (visible(&change.selector), marked_as_noise(chunk.noise.as_deref()));
    format!("{FAINT}{word}{FAINT:#} {place} {content}{noise}")
}

/// A stretch of a text of which some words went and some came.
fn span(span: &Span<'_>) -> String {
    let text = visible(&span.text);
    let (style, [open, close]) = match span.kind {
        RunKind::Equal => return text.into_owned(),
        RunKind::Removed => (BAD, WENT),
        RunKind::Added => (GOOD, CAME),
    };
    format!("{style}{open}{text}{close}{style:#}")
}

/// What stands behind a change that is noise.
fn marked_as_noise(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!("{FAINT}  # noise: {rule}{FAINT:#}"))
}
