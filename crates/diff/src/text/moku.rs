//! Body diffs as the original tracker writes them into `.moku` sites: letter by letter, with
//! offsets.
//!
//! The original decodes both bodies as UTF-8, runs diff-match-patch with a pre-pass over lines and
//! a semantic cleanup, and leaves out chunks of white space. It stops after a second, so its result
//! for large bodies depends on the machine. Here the cost is estimated from a diff of lines; above
//! a limit the chunks are those of lines and words, in the same form. The text of a row is limited
//! to some megabytes; a longer row is `truncated`. Binary bodies are not compared: letters of an
//! image mean nothing to people, and their chunks would be longer than both images. The row has the
//! two lengths instead, which the original does not read.
//!
//! Offsets count bytes of the decoded text, which for UTF-8 are those of the body. Each byte that
//! is not UTF-8 counts as three; [`in_bytes`] converts the offsets to those of the bodies.

use super::chunks::{BinaryLengths, BodyDiff, ChunkKind, DiffChunk, MAX_CONTENT_BYTES};
use super::lines::LineOptions;
use super::text_diff::TextDiff;
use super::words::TokenBudget;
use diff_match_patch::Dmp;

/// Maximum estimated number of steps of diff-match-patch: about a second.
const MAX_DMP_STEPS: usize = 400_000_000;

/// Number of bytes at the start of a body that are searched for a zero byte.
const BINARY_PROBE_BYTES: usize = 8000;

/// Approximate length of the JSON of a chunk without its text.
const CHUNK_OVERHEAD_BYTES: usize = 100;

/// The library uses the half-match shortcut only with a timeout. This one is never reached.
const UNREACHED_TIMEOUT: f32 = 1e6;

/// The diff that the original would store for two bodies.
pub fn body_diff(base_id: &str, head_id: &str, base: &[u8], head: &[u8]) -> BodyDiff {
    if base != head && (is_binary(base) || is_binary(head)) {
        let lengths = BinaryLengths { base_length: base.len(), head_length: head.len() };
        return BodyDiff { binary: Some(lengths), ..BodyDiff::new(base_id, head_id) };
    }
    let (base, head) = (decode(base), decode(head));
    let lines = TextDiff::between(&base, &head, LineOptions { line_endings: true, ..LineOptions::default() });
    let mut body = BodyDiff::new(base_id, head_id);
    if base == head {
        return body;
    }
    if steps(&lines) <= MAX_DMP_STEPS {
        by_letters(&mut body, &base, &head);
    } else {
        by_words(&mut body, &lines);
    }
    body
}

/// Whether a body is binary, by the rule of git: a zero byte near its start.
fn is_binary(body: &[u8]) -> bool {
    body.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0)
}

/// The chunks of [`body_diff`] with offsets and lengths in bytes of the bodies instead of the
/// decoded text.
pub fn in_bytes(mut diff: BodyDiff, base: &[u8], head: &[u8]) -> BodyDiff {
    let (mut base, mut head) = (CharacterOffsets::of(base), CharacterOffsets::of(head));
    for chunk in &mut diff.chunks {
        (chunk.base_start, chunk.base_len) = base.range(chunk.base_start, chunk.base_len);
        (chunk.head_start, chunk.head_len) = head.range(chunk.head_start, chunk.head_len);
    }
    diff
}

/// Converts offsets of a decoded text to offsets of its body. Offsets must increase.
struct CharacterOffsets<'a> {
    ahead: std::str::Utf8Chunks<'a>,
    /// The start of the current part in the text and in the body.
    text: usize,
    body: usize,
    /// The number of its UTF-8 bytes, and of the invalid bytes behind them.
    valid: usize,
    invalid: usize,
}

impl<'a> CharacterOffsets<'a> {
    fn of(body: &'a [u8]) -> Self {
        Self { ahead: body.utf8_chunks(), text: 0, body: 0, valid: 0, invalid: 0 }
    }

    fn range(&mut self, start: usize, length: usize) -> (usize, usize) {
        let (from, to) = (self.at(start), self.at(start + length));
        (from, to - from)
    }

    fn at(&mut self, place: usize) -> usize {
        const WIDTH: usize = char::REPLACEMENT_CHARACTER.len_utf8();
        loop {
            let (within, length) = (place - self.text, self.valid + self.invalid * WIDTH);
            if within < length {
                return self.body + within.min(self.valid) + within.saturating_sub(self.valid) / WIDTH;
            }
            self.text += length;
            self.body += self.valid + self.invalid;
            let Some(next) = self.ahead.next() else {
                (self.valid, self.invalid) = (0, 0);
                return self.body;
            };
            (self.valid, self.invalid) = (next.valid().len(), next.invalid().len());
        }
    }
}

/// The worst cost of diff-match-patch: all lines times those that differ, and the square of the
/// length of a change.
fn steps(diff: &TextDiff<'_>) -> usize {
    let lines = diff.base().count() + diff.head().count();
    diff.changes().iter().fold(0, |steps: usize, change| {
        let changed = change.base_lines.len() + change.head_lines.len();
        let letters = change.base.len() + change.head.len();
        let within = if change.base.is_empty() || change.head.is_empty() {
            0
        } else {
            letters.saturating_mul(letters)
        };
        steps.saturating_add(changed.saturating_mul(lines)).saturating_add(within)
    })
}

fn by_letters(body: &mut BodyDiff, base: &str, head: &str) {
    let mut machine = Dmp::new();
    machine.diff_timeout = Some(UNREACHED_TIMEOUT);
    let mut diffs = machine.diff_main(base, head, true);
    machine.diff_cleanup_semantic(&mut diffs);
    let (mut at_base, mut at_head, mut room) = (0, 0, MAX_CONTENT_BYTES);
    for diff in diffs {
        let length = diff.text.len();
        match diff.operation {
            0 => (at_base, at_head) = (at_base + length, at_head + length),
            -1 => {
                push(body, removed(&diff.text, at_base, at_head), &mut room);
                at_base += length;
            }
            _ => {
                push(body, added(&diff.text, at_base, at_head), &mut room);
                at_head += length;
            }
        }
    }
}

fn by_words(body: &mut BodyDiff, diff: &TextDiff<'_>) {
    let (mut budget, mut room) = (TokenBudget::default(), MAX_CONTENT_BYTES);
    body.truncated = diff.truncated();
    for change in diff.changes() {
        let edits = diff.edits(change, &mut budget);
        body.truncated |= edits.truncated;
        for edit in edits.list {
            let (from, to) = (&diff.base().text()[edit.base.clone()], &diff.head().text()[edit.head.clone()]);
            push(body, removed(from, edit.base.start, edit.head.start), &mut room);
            push(body, added(to, edit.base.end, edit.head.start), &mut room);
        }
    }
}

fn removed(text: &str, base_start: usize, head_start: usize) -> DiffChunk {
    DiffChunk { base_start, base_len: text.len(), head_start, ..DiffChunk::new(ChunkKind::Removed, text) }
}

fn added(text: &str, base_start: usize, head_start: usize) -> DiffChunk {
    DiffChunk { base_start, head_start, head_len: text.len(), ..DiffChunk::new(ChunkKind::Added, text) }
}

/// Adds a chunk that is not only white space, with its text cut to the space that is left in the
/// row.
fn push(body: &mut BodyDiff, mut chunk: DiffChunk, room: &mut usize) {
    if chunk.content.trim().is_empty() {
        return;
    }
    let for_text = room.saturating_sub(CHUNK_OVERHEAD_BYTES);
    let (fits, taken) = fitting(&chunk.content, for_text);
    body.truncated |= fits < chunk.content.len();
    // Nothing follows a cut chunk, so that the end of a row shows that it is incomplete.
    *room = if fits < chunk.content.len() { 0 } else { for_text - taken };
    if fits > 0 {
        chunk.content.truncate(fits);
        body.chunks.push(chunk);
    }
}

/// The length of a text that fits into a number of bytes of JSON, and the number of bytes that it
/// takes.
fn fitting(text: &str, room: usize) -> (usize, usize) {
    let mut taken = 0;
    for (at, letter) in text.char_indices() {
        let width = match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            letter if letter.is_ascii_control() => 6,
            letter => letter.len_utf8(),
        };
        if taken + width > room {
            return (at, taken);
        }
        taken += width;
    }
    (text.len(), taken)
}

/// Decodes UTF-8 with one replacement character for each invalid byte. The lossy decoding of the
/// standard library uses one for several bytes, which would shift the offsets.
fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(base: &str, head: &str) -> Vec<DiffChunk> {
        body_diff("", "", base.as_bytes(), head.as_bytes()).chunks
    }

    #[test]
    fn chunks_have_offsets() {
        let told = serde_json::to_string(&chunks("The cat sat.", "The dog sat.")).unwrap();
        assert_eq!(
            told,
            r#"[{"type":"removed","content":"cat","base_start":4,"base_len":3,"head_start":4},{"type":"added","content":"dog","base_start":7,"head_start":4,"head_len":3}]"#
        );
    }

    #[test]
    fn binary_bodies_are_not_compared_by_letters() {
        let diff = body_diff("", "", b"\x89PNG\0one", b"\x89PNG\0other");
        assert_eq!(diff.chunks, []);
        let json = serde_json::to_string(&diff).unwrap();
        assert!(json.ends_with(r#""chunks":[],"binary":{"base_length":8,"head_length":10}}"#), "{json}");
        assert_eq!(body_diff("", "", b"a\0", b"a\0").binary, None);
        assert!(body_diff("", "", b"", b"a\0").binary.is_some());
        // Text in another encoding is not binary.
        assert_eq!(body_diff("", "", b"caf\xe9 1", b"caf\xe9 2").chunks.len(), 2);
    }

    #[test]
    fn white_space_is_left_out() {
        assert_eq!(chunks("a\r\nb\r\n", "a\nb\n"), []);
    }

    #[test]
    fn rows_have_a_limit() {
        let row = body_diff("", "", b"", "x".repeat(MAX_CONTENT_BYTES + 1).as_bytes());
        assert!(row.truncated);
        let chunk = &row.chunks[0];
        assert_eq!(
            (chunk.content.len(), chunk.head_len),
            (MAX_CONTENT_BYTES - CHUNK_OVERHEAD_BYTES, MAX_CONTENT_BYTES + 1)
        );
        assert!(!body_diff("", "", b"", "x".repeat(1000).as_bytes()).truncated);
    }

    #[test]
    fn a_row_is_bounded_as_it_is_written_however_small_its_pieces_are() {
        let words = |from: usize| -> String {
            (0..400_000).map(|at| format!("<b>{:x}</b> ", from + at * 7)).collect()
        };
        let row = body_diff("", "", words(1).as_bytes(), words(3_000_003).as_bytes());
        let files =
            vec![super::super::StoredPageDiff { body_diff: row, ..super::super::StoredPageDiff::default() }];
        let json = super::super::VersionDiff { files, ..super::super::VersionDiff::default() }.to_json();
        assert!(json.len() < MAX_CONTENT_BYTES + MAX_CONTENT_BYTES / 8, "{}", json.len());
        assert!(json.contains(r#""truncated":true"#));
    }

    #[test]
    fn every_byte_that_is_not_text_counts() {
        assert_eq!(decode(b"a\xe2\x82b\xff"), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn places_in_bytes_are_those_of_the_body() {
        let base = [b"\xe9".repeat(100), b"old \xe9 same, \xc3\xa9 \xe2\x82 and gone".to_vec()].concat();
        let head =
            [b"\xe9".repeat(90), b"new \xe9 same, \xc3\xa9 \xe2\x82 and \xff\xff more".to_vec()].concat();
        let diff = body_diff("", "", &base, &head);
        let told = in_bytes(diff.clone(), &base, &head);
        assert_ne!(told, diff, "the text is longer than the bodies");
        for chunk in &told.chunks {
            let (body, start, length) = match chunk.kind {
                ChunkKind::Removed => (&base, chunk.base_start, chunk.base_len),
                _ => (&head, chunk.head_start, chunk.head_len),
            };
            assert_eq!(decode(&body[start..start + length]), chunk.content);
        }
        let [base, head] = ["é one", "é two"].map(str::as_bytes);
        assert_eq!(in_bytes(body_diff("", "", base, head), base, head), body_diff("", "", base, head));
    }

    #[test]
    fn bodies_over_the_limit_are_compared_by_words() {
        let base: String = (0..9000).map(|number| format!("word{number} ")).collect();
        let head = base.replace("word70 ", "term70 ").replace(" word7000", "");
        let told = chunks(&base, &head);
        let contents: Vec<_> = told.iter().map(|chunk| chunk.content.as_str()).collect();
        assert_eq!(contents, ["word70", "term70", "word7000 "]);
        for chunk in &told {
            let (text, start) = match chunk.kind {
                ChunkKind::Removed => (&base, chunk.base_start),
                _ => (&head, chunk.head_start),
            };
            assert_eq!(&text[start..start + chunk.content.len()], chunk.content);
        }
    }
}
