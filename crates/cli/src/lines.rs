//! Lines of standard input, each at most so long.
//!
//! A line may be as long as it likes, but no more of it than [`LONGEST`] is ever held. What a line means is for whoever
//! asked for it.

use std::io::{self, BufRead, Read};

/// Far beyond any URL that a server takes, and small enough to hold.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Why a line cannot be used, whatever it is meant to be.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum BadLine {
    /// More bytes than [`LONGEST`] before the line's end.
    #[error("longer than {LONGEST} bytes")]
    TooLong,
    /// Not text.
    #[error("not UTF-8")]
    NotText,
}

/// The next line without blanks around it; `None` at the end.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, BadLine>>> {
    let mut line = Vec::new();
    input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        return Ok(Some(Err(BadLine::TooLong)));
    }
    Ok(Some(std::str::from_utf8(&line).map(|text| text.trim().to_owned()).map_err(|_| BadLine::NotText)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<Result<String, BadLine>> {
        std::iter::from_fn(|| read_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_end_as_they_like() {
        let wanted = ["a", "b", "", "c"].map(|text| Ok(text.to_owned()));
        assert_eq!(lines(b"a\r\n b \n\nc"), wanted);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_that_is_not_text_spoils_no_other() {
        assert_eq!(lines(b"\xff\nb"), [Err(BadLine::NotText), Ok("b".to_owned())]);
    }

    #[test]
    fn an_endless_line_is_skipped_and_not_held() {
        let longest = vec![b'a'; LONGEST];
        let mut input = longest.clone();
        input.extend_from_slice(b"\n");
        input.extend_from_slice(&vec![b'b'; 3 * LONGEST]);
        input.extend_from_slice(b"\nc\n");
        let wanted = [Ok(String::from_utf8(longest).unwrap()), Err(BadLine::TooLong), Ok("c".to_owned())];
        assert_eq!(lines(&input), wanted);
    }
}
