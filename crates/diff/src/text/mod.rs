//! How two texts differ: by lines, and within changed lines by words.
//!
//! Owns the comparison and its shapes: [`TextDiff`] with line numbers and byte ranges, [`BodyDiff`] for JSON,
//! [`unified()`] and [`inline()`] for terminals, [`html`] for browsers, [`moku`] for the rows of `.moku` sites. Deliberately knows nothing
//! of HTML structure, charsets or headers: it is given text. What is noise is decided elsewhere and told by
//! [`TextDiff::changes_without`].
//!
//! Every answer is a function of its input alone: no clock decides when to stop, as it does in programs that give up after
//! a second and so answer otherwise on a slower machine. Cost is bounded by counting instead: lines first, which is nearly
//! linear whatever they hold; words only within what changed and only while a [`Budget`] of tokens lasts. What is past it
//! is called replaced, and the answer says that it was `truncated`.

mod chunks;
pub mod html;
mod inline;
mod lines;
pub mod moku;
pub mod sequence;
mod text_diff;
mod unified;
mod words;

pub use chunks::{BodyDiff, Chunk, ChunkKind, PageDiff, ParseError, VersionDiff};
pub use inline::{Span, inline};
pub use lines::{Lines, Options};
pub use text_diff::{Change, Run, RunKind, TextDiff};
pub use unified::{Hunk, HunkLine, Segment, Style, UNENDED, View, plain_text, unified, unified_changes};
pub use words::{Budget, Edit, Edits};
