//! URLs as people hand them over: on the command line, or one a line on standard input where `-` stands.
//!
//! It cuts text into candidates and says nothing of what a URL is; that is `core`'s. A line may be as long as it
//! likes, but no more of it than [`LONGEST`] is ever held.

use std::io::{self, BufRead, Read};

use crate::error::Error;
use crate::session::Session;

/// The word that stands for standard input.
pub(crate) const STDIN: &str = "-";

/// Far beyond what any server takes, and small enough to hold.
const LONGEST: usize = 64 * 1024;

/// Why a line cannot be a URL, whatever the rules.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// More bytes than [`LONGEST`] before the line's end.
    #[error("longer than {LONGEST} bytes")]
    TooLong,
    /// Not text.
    #[error("not UTF-8")]
    NotText,
}

/// Calls `each` with every URL in turn: those among `words`, and those on standard input for a `-`.
///
/// What was printed so far is sent out before waiting for more input, so that varve can stand in a live pipe.
pub(crate) fn each(
    words: &[String],
    session: &mut Session,
    mut each: impl FnMut(&mut Session, Result<&str, Unreadable>) -> Result<(), Error>,
) -> Result<(), Error> {
    for word in words {
        if word != STDIN {
            each(session, Ok(word))?;
            continue;
        }
        let mut input = io::BufReader::with_capacity(LONGEST, io::stdin());
        loop {
            if input.buffer().is_empty() {
                session.printer.flush()?;
            }
            let Some(line) = next_line(&mut input).map_err(Error::Input)? else { break };
            match &line {
                Ok(url) if url.is_empty() => {}
                line => each(session, line.as_deref().map_err(|reason| *reason))?,
            }
        }
    }
    Ok(())
}

/// The next line without blanks around it; `None` at the end.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, Unreadable>>> {
    let mut line = Vec::new();
    input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        return Ok(Some(Err(Unreadable::TooLong)));
    }
    Ok(Some(std::str::from_utf8(&line).map(|text| text.trim().to_owned()).map_err(|_| Unreadable::NotText)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<Result<String, Unreadable>> {
        std::iter::from_fn(|| next_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_end_as_they_like() {
        let wanted = ["a", "b", "", "c"].map(|text| Ok(text.to_owned()));
        assert_eq!(lines(b"a\r\n b \n\nc"), wanted);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_that_is_not_text_spoils_no_other() {
        assert_eq!(lines(b"\xff\nb"), [Err(Unreadable::NotText), Ok("b".to_owned())]);
    }

    #[test]
    fn an_endless_line_is_skipped_and_not_held() {
        let longest = vec![b'a'; LONGEST];
        let mut input = longest.clone();
        input.extend_from_slice(b"\n");
        input.extend_from_slice(&vec![b'b'; 3 * LONGEST]);
        input.extend_from_slice(b"\nc\n");
        let wanted = [Ok(String::from_utf8(longest).unwrap()), Err(Unreadable::TooLong), Ok("c".to_owned())];
        assert_eq!(lines(&input), wanted);
    }
}
