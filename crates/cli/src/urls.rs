//! URLs as people hand them over: on the command line, or one a line on standard input where `-` stands.
//!
//! It cuts text into candidates and says nothing of what a URL is; that is `core`'s. A URL that cannot be read is
//! named by its place and never repeated: it may hold a password, or bytes that move the cursor.

use std::fmt;
use std::io::{self, BufReader, Stdin};

use varve_archive::verbs::key::UrlError;

use crate::commands::Outcome;
use crate::error::{self, Error};
use crate::lines::{BadLine, LONGEST, read_line};
use crate::printer::Printer;

/// The word that stands for standard input.
const STDIN: &str = "-";

/// Why a text cannot be used as a URL.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// No line of text.
    #[error(transparent)]
    BadLine(#[from] BadLine),
    /// Text, but no URL.
    #[error(transparent)]
    NotUrl(#[from] UrlError),
}

/// Where a URL stood, counted from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// On the command line.
    Argument(u64),
    /// On standard input.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(number) => write!(formatter, "argument {number}"),
            Self::Line(number) => write!(formatter, "line {number} of standard input"),
        }
    }
}

/// Answers every URL in turn. One that `each` refuses is reported, and the others are still answered.
pub(crate) fn answer(
    words: Vec<String>,
    printer: &mut Printer,
    mut each: impl FnMut(&str, &mut Printer) -> Result<Option<UrlError>, Error>,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::Done;
    let mut urls = Urls::new(words);
    while let Some(Given { place, text }) = urls.next(printer)? {
        let refusal = match text {
            Ok(url) => each(&url, printer)?.map(Unreadable::from),
            Err(refusal) => Some(refusal),
        };
        if let Some(source) = refusal {
            printer.report(&error::report(&Error::Url { place, source }));
            outcome = Outcome::Incomplete;
        }
    }
    Ok(outcome)
}

/// One candidate, with where it stood.
struct Given {
    place: Place,
    /// The text, without blanks around it.
    text: Result<String, Unreadable>,
}

/// Reads URLs from the words of a command line, and from standard input for a `-` among them.
struct Urls {
    words: std::vec::IntoIter<String>,
    arguments: u64,
    input: BufReader<Stdin>,
    /// How many lines were read, while standard input is being read.
    lines: Option<u64>,
}

impl Urls {
    /// The URLs that `words` give or ask for.
    fn new(words: Vec<String>) -> Self {
        let input = BufReader::with_capacity(LONGEST, io::stdin());
        Self { words: words.into_iter(), arguments: 0, input, lines: None }
    }

    /// The next one. What was printed so far is sent out before waiting for input, so that varve can stand in a
    /// live pipe.
    fn next(&mut self, printer: &mut Printer) -> Result<Option<Given>, Error> {
        loop {
            if let Some(given) = self.next_line(printer)? {
                return Ok(Some(given));
            }
            let Some(word) = self.words.next() else { return Ok(None) };
            self.arguments += 1;
            if word != STDIN {
                return Ok(Some(Given { place: Place::Argument(self.arguments), text: Ok(word) }));
            }
            self.lines = Some(0);
        }
    }

    /// The next line that is not blank, if standard input is being read and has one.
    fn next_line(&mut self, printer: &mut Printer) -> Result<Option<Given>, Error> {
        while let Some(lines) = &mut self.lines {
            if self.input.buffer().is_empty() {
                printer.flush()?;
            }
            match read_line(&mut self.input).map_err(Error::Input)? {
                None => self.lines = None,
                Some(text) => {
                    *lines += 1;
                    if !matches!(&text, Ok(text) if text.is_empty()) {
                        let text = text.map_err(Unreadable::from);
                        return Ok(Some(Given { place: Place::Line(*lines), text }));
                    }
                }
            }
        }
        Ok(None)
    }
}
