//! Escapes and dot segments in normal form.

use crate::url::escape::{ByteSet, escaped_byte, write_byte};

/// Characters that never need an escape.
const UNRESERVED_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~");

/// Percent escapes in normal form: none for unreserved characters, capital digits in the others,
/// and one for every byte that may not stand there, a lone percent sign included.
pub(super) fn normal_escapes(text: &str, kept: &ByteSet) -> String {
    let bytes = text.as_bytes();
    let mut normal = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        match escaped_byte(&bytes[at..]) {
            Some(byte) => {
                write_byte(byte, &UNRESERVED_BYTES, &mut normal);
                at += 3;
            }
            None => {
                write_byte(bytes[at], kept, &mut normal);
                at += 1;
            }
        }
    }
    normal
}

/// A path that begins with `/`, without `.` and `..` segments (RFC 3986, 5.2.4). One that would
/// climb above the root stays there.
pub(super) fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.iter().fold(String::with_capacity(path.len()), |path, segment| path + "/" + segment)
}
