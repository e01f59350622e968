//! How two texts differ: by lines, and within changed lines by words.
//!
//! Owns the comparison and its forms: [`TextDiff`] with line numbers and byte ranges, [`BodyDiff`]
//! for JSON, [`unified()`] and [`inline()`] for terminals, [`html`] for browsers, [`moku`] for the
//! rows of `.moku` sites. Knows nothing of HTML, charsets, headers or noise;
//! [`TextDiff::changes_without`] leaves out changes that the caller names.
//!
//! The result depends on the input alone: no clock decides when to stop. Work is counted instead.
//! Lines are compared in nearly linear time, and words only in changed lines while a
//! [`TokenBudget`] lasts. The rest is reported as replaced, and the result as `truncated`.

mod chunks;
pub mod html;
mod inline;
mod lines;
pub mod moku;
pub mod sequence;
mod text_diff;
mod unified;
mod words;

pub use chunks::{
    BinaryLengths, BodyDiff, ChunkKind, ChunkPart, DiffChunk, ParseError, StoredPageDiff, VersionDiff,
};
pub use inline::{InlineSpan, inline};
pub use lines::{LineOptions, TextLines};
pub use text_diff::{LineChange, LineRun, LineRunKind, TextDiff};
pub use unified::{
    BaseLine, DiffStyle, DiffView, Hunk, HunkLine, LineSegment, LineSide, NO_NEWLINE_NOTE, PrintedLine,
    plain_text, side_by_side, unified, unified_changes,
};
pub use words::{TokenBudget, WordEdit, WordEdits};
