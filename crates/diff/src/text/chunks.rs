//! Diffs as JSON: `{base_id, head_id, chunks: [{type, content, path?}]}` for a body, and the row
//! that holds many pages.
//!
//! Lines, words and whole nodes are `added` or `removed` with their `content`. A node that changed
//! or moved has the two sides in fields of their own, `before` and `after`.
//!
//! There are two forms of a row. The published one is a flat `{body_diff, headers_diff}`. Real
//! databases have `files`, one entry a page, and offsets in each chunk. Both are read and written,
//! and empty fields are left out.

use super::text_diff::{LineChange, TextDiff};
use super::words::TokenBudget;
use crate::headers::HeaderDiff;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use varve_core::moku_json::escaped;

/// Maximum number of bytes of text in the chunks of one body.
pub(super) const MAX_CONTENT_BYTES: usize = 4 << 20;

/// Average length of lines from which changes are reported by words: a minified page is one line.
const LONG_LINE_BYTES: usize = 4 << 10;

/// The kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkKind {
    /// Only the head has it.
    Added,
    /// Only the base has it.
    Removed,
    /// Both sides have it, and it differs. Only for nodes and binary bodies. The original tracker
    /// calls it `modified`.
    #[serde(alias = "modified")]
    Changed,
    /// Both sides have it, at different places. Only for nodes.
    Moved,
}

impl ChunkKind {
    /// The word for it, in every format.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

/// The part of an element that a chunk is about, if it is not the whole element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkPart {
    /// A text in it.
    Text,
    /// A comment in it, or the doctype of the page.
    Comment,
    /// Its name.
    Tag,
    /// An attribute.
    Attribute,
}

/// A piece of a body that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffChunk {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: ChunkKind,
    /// Its text. Empty if it changed, and has `before` and `after` instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The CSS selector of the node, or of the element around it, if nodes were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The part of the element at `path`. `None` if it is the element itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ChunkPart>,
    /// The name of a changed attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// The value in the base, or the place of a moved node in the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value in the head, or the place of a moved node in the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Its offset in the base, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_start: usize,
    /// Its length there, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_len: usize,
    /// Its offset in the head, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head_start: usize,
    /// Its length there, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head_len: usize,
    /// The rule that explains it as noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
}

/// The diff of two bodies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BodyDiff {
    /// The version of the base. Empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_id: String,
    /// The version of the head.
    pub head_id: String,
    /// The chunks, in order.
    pub chunks: Vec<DiffChunk>,
    /// Whether the chunks are incomplete: text was left out, ranges were reported as replaced
    /// without a comparison, or the bodies were not compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The lengths of two bodies that differ, of which one is binary. Then there are no chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<BinaryLengths>,
}

/// The lengths of two bodies, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryLengths {
    /// That of the base; 0 if there is none.
    pub base_length: usize,
    /// That of the head; 0 if there is none.
    pub head_length: usize,
}

/// The diff of one page between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredPageDiff {
    /// Its path in the working tree.
    pub file_path: String,
    /// Its body.
    pub body_diff: BodyDiff,
    /// Its headers.
    #[serde(default)]
    pub headers_diff: HeaderDiff,
}

/// The diff of two versions, as in a row of `diffs`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VersionDiff {
    /// The base. Empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_version_id: String,
    /// The head.
    pub head_version_id: String,
    /// The pages.
    pub files: Vec<StoredPageDiff>,
}

/// A row in neither form.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ParseError(#[from] serde_json::Error);

impl DiffChunk {
    /// A chunk with only a text.
    pub fn new(kind: ChunkKind, content: impl Into<String>) -> Self {
        Self {
            kind,
            content: content.into(),
            path: None,
            part: None,
            attribute: None,
            before: None,
            after: None,
            base_start: 0,
            base_len: 0,
            head_start: 0,
            head_len: 0,
            noise: None,
        }
    }
}

impl BodyDiff {
    /// A diff with no chunks yet.
    pub fn new(base_id: impl Into<String>, head_id: impl Into<String>) -> Self {
        Self { base_id: base_id.into(), head_id: head_id.into(), ..Self::default() }
    }

    /// Reports some changes of a diff, by words or by lines. Changes of very long lines are always
    /// reported by words. `noise` returns the rule that explains
    /// a change.
    #[must_use]
    pub fn with_changes(
        mut self,
        diff: &TextDiff<'_>,
        changes: &[LineChange],
        words: bool,
        noise: impl Fn(&LineChange) -> Option<String>,
    ) -> Self {
        self.truncated |= diff.truncated();
        let mut budget = TokenBudget::default();
        let mut room = MAX_CONTENT_BYTES;
        for change in changes {
            let first = self.chunks.len();
            if !words && average(change) <= LONG_LINE_BYTES {
                self.replace(diff, &change.base, &change.head, &mut room);
            } else {
                let edits = diff.edits(change, &mut budget);
                self.truncated |= edits.truncated;
                for edit in edits.list {
                    self.replace(diff, &edit.base, &edit.head, &mut room);
                }
            }
            if let Some(rule) = noise(change) {
                self.chunks[first..].iter_mut().for_each(|chunk| chunk.noise = Some(rule.clone()));
            }
        }
        self
    }

    fn replace(&mut self, diff: &TextDiff<'_>, from: &Range<usize>, to: &Range<usize>, room: &mut usize) {
        self.tell(ChunkKind::Removed, &diff.base().text()[from.clone()], room);
        self.tell(ChunkKind::Added, &diff.head().text()[to.clone()], room);
    }

    /// Adds a chunk up to the maximum.
    fn tell(&mut self, kind: ChunkKind, content: &str, room: &mut usize) {
        let fits = content.floor_char_boundary((*room).min(content.len()));
        self.truncated |= fits < content.len();
        *room -= fits;
        if fits > 0 {
            self.chunks.push(DiffChunk::new(kind, &content[..fits]));
        }
    }
}

impl VersionDiff {
    /// Reads a row: the form with `files`, or the flat one as one page without a path.
    pub fn parse(json: &str) -> Result<Self, ParseError> {
        #[derive(Deserialize)]
        struct Flat {
            body_diff: BodyDiff,
            #[serde(default)]
            headers_diff: HeaderDiff,
        }
        let value: serde_json::Value = serde_json::from_str(json)?;
        if value.get("body_diff").is_none() {
            return Ok(serde_json::from_value(value)?);
        }
        let Flat { body_diff, headers_diff } = serde_json::from_value(value)?;
        let (base_version_id, head_version_id) = (body_diff.base_id.clone(), body_diff.head_id.clone());
        let files = vec![StoredPageDiff { file_path: String::new(), body_diff, headers_diff }];
        Ok(Self { base_version_id, head_version_id, files })
    }

    /// Writes a row with the escapes of the original tracker for `<`, `>`, `&` and line separators.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("texts, numbers and lists always serialise");
        escaped(&json)
    }
}

fn average(change: &LineChange) -> usize {
    let lines = change.base_lines.len() + change.head_lines.len();
    (change.base.len() + change.head.len()) / lines.max(1)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::super::lines::LineOptions;
    use super::*;

    fn lines(base: &str, head: &str) -> BodyDiff {
        let diff = TextDiff::between(base, head, LineOptions::default());
        BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), false, |_| None)
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let json = serde_json::to_string(&lines("a\nOld Title\n", "a\nNew Title\n")).unwrap();
        assert_eq!(
            json,
            r#"{"base_id":"b","head_id":"h","chunks":[{"type":"removed","content":"Old Title\n"},{"type":"added","content":"New Title\n"}]}"#
        );
        let diff = TextDiff::between("a\nOld Title\n", "a\nNew Title\n", LineOptions::default());
        let words = BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), true, |_| None);
        let told: Vec<_> = words.chunks.iter().map(|chunk| chunk.content.as_str()).collect();
        assert_eq!(told, ["Old", "New"]);
    }

    #[test]
    fn a_long_line_is_reported_by_words() {
        let base = format!("<html>{}</html>", "<p>x</p>".repeat(2000));
        let diff = lines(&base, &base.replacen("<p>x</p>", "<p>y</p>", 1));
        assert_eq!(
            diff.chunks,
            [DiffChunk::new(ChunkKind::Removed, "x"), DiffChunk::new(ChunkKind::Added, "y")]
        );
    }

    #[test]
    fn too_much_text_is_cut_and_marked_as_truncated() {
        let diff = lines("", &"é\n".repeat(2 << 20));
        assert!(diff.truncated);
        assert!(diff.chunks[0].content.len() <= MAX_CONTENT_BYTES);
    }

    #[test]
    fn both_shapes_of_rows_are_read() {
        let flat = r#"{"body_diff":{"base_id":"1","head_id":"2","chunks":[{"type":"added","content":"x"}]},"headers_diff":{}}"#;
        let row = VersionDiff::parse(flat).unwrap();
        assert_eq!((row.base_version_id.as_str(), row.files[0].body_diff.chunks.len()), ("1", 1));
        let json = row.to_json();
        assert_eq!(VersionDiff::parse(&json).unwrap(), row);
        assert!(
            json.starts_with(r#"{"base_version_id":"1","head_version_id":"2","files":[{"file_path":"","#)
        );
        assert!(VersionDiff::parse("[]").is_err());
        let modified = flat.replace("added", "modified");
        assert_eq!(
            VersionDiff::parse(&modified).unwrap().files[0].body_diff.chunks[0].kind,
            ChunkKind::Changed
        );
    }

    #[test]
    fn rows_are_escaped_as_the_original_does() {
        let mut row = VersionDiff { head_version_id: "<&>\u{2028}".to_owned(), ..VersionDiff::default() };
        assert_eq!(row.to_json(), r#"{"head_version_id":"\u003c\u0026\u003e\u2028","files":[]}"#);
        row.head_version_id.clear();
        assert_eq!(row.to_json(), r#"{"head_version_id":"","files":[]}"#);
    }
}
