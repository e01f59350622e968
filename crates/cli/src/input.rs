//! Values that people pass as arguments or on standard input: their lines, positions and errors.
//!
//! A line may have any length, but at most [`MAX_LINE_BYTES`] of it are held in memory. The caller
//! decides what a line means.

use std::fmt;
use std::io::{self, BufRead, Read};

use varve_archive::IdError;
use varve_archive::verbs::key::UrlError;

/// Longest line that is read. No server accepts a URL of this length.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// The argument that means standard input.
pub(crate) const STDIN_ARGUMENT: &str = "-";

/// Why a line cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum LineError {
    /// More bytes than [`MAX_LINE_BYTES`] before the line's end.
    #[error("longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// Not text.
    #[error("not UTF-8")]
    NotText,
}

/// Why a text cannot be used as a URL.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum UrlArgumentError {
    /// Not a line of text.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Text, but not a URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// A URL with a user name or a password.
    #[error("contains a user name or a password")]
    UserInfo,
}

/// Why a line is not an id.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdLineError {
    /// Not a line of text.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Text, but not an id.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// Where a value stands, counted from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InputPosition {
    /// On the command line.
    Argument(u64),
    /// On standard input.
    Line(u64),
}

impl fmt::Display for InputPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(number) => write!(formatter, "argument {number}"),
            Self::Line(number) => write!(formatter, "line {number} of standard input"),
        }
    }
}

/// The next line without surrounding white space; `None` at the end.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, LineError>>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > MAX_LINE_BYTES && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        return Ok(Some(Err(LineError::TooLong)));
    }
    Ok(Some(std::str::from_utf8(&line).map(|text| text.trim().to_owned()).map_err(|_| LineError::NotText)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<Result<String, LineError>> {
        std::iter::from_fn(|| read_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_may_end_with_any_line_ending() {
        let wanted = ["a", "b", "", "c"].map(|text| Ok(text.to_owned()));
        assert_eq!(lines(b"a\r\n b \n\nc"), wanted);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_that_is_not_utf8_does_not_affect_the_next() {
        assert_eq!(lines(b"\xff\nb"), [Err(LineError::NotText), Ok("b".to_owned())]);
    }

    #[test]
    fn an_overlong_line_is_skipped() {
        let longest = vec![b'a'; MAX_LINE_BYTES];
        let mut input = longest.clone();
        input.extend_from_slice(b"\n");
        input.extend_from_slice(&vec![b'b'; 3 * MAX_LINE_BYTES]);
        input.extend_from_slice(b"\nc\n");
        let wanted = [Ok(String::from_utf8(longest).unwrap()), Err(LineError::TooLong), Ok("c".to_owned())];
        assert_eq!(lines(&input), wanted);
    }
}
