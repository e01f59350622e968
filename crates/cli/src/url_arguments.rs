//! URLs given on the command line, or one per line on standard input where the argument is `-`.
//!
//! This file splits input into candidates; `core` decides what a URL is. The error about an invalid URL
//! names its position and does not repeat it: it may hold a password, or control characters.

use std::io::{self, BufReader, Stdin};

use varve_archive::verbs::key::{ShownUrl, UrlError};

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::input::{InputPosition, MAX_LINE_BYTES, STDIN_ARGUMENT, UrlArgumentError, read_line};
use crate::printer::Printer;

/// Calls `each` for every URL in turn. An error in one URL is reported, and the others still follow.
/// A URL with a user name or a password is an error, also if `each` can handle it.
pub(crate) fn for_each_url(
    words: Vec<String>,
    printer: &mut Printer,
    mut each: impl FnMut(&str, &mut Printer) -> Result<Option<UrlError>, Error>,
) -> Result<ExitStatus, Error> {
    let mut outcome = ExitStatus::Done;
    let mut urls = UrlArguments::new(words);
    while let Some(UrlArgument { place, text }) = urls.next(printer)? {
        let refusal = match text {
            Ok(url) => {
                let refusal = each(&url, printer)?.map(UrlArgumentError::from);
                refusal.or_else(|| ShownUrl(&url).has_user_info().then_some(UrlArgumentError::UserInfo))
            }
            Err(refusal) => Some(refusal),
        };
        if let Some(source) = refusal {
            printer.report(&Error::Url { place, source });
            outcome = ExitStatus::Incomplete;
        }
    }
    Ok(outcome)
}

/// A candidate and its position.
struct UrlArgument {
    place: InputPosition,
    /// The text, without surrounding white space.
    text: Result<String, UrlArgumentError>,
}

/// URLs that are handled together.
pub(crate) struct UrlBatch {
    /// The URLs; none at the end of the input.
    pub(crate) urls: Vec<String>,
    /// Whether all of the input was text. What was not was reported.
    pub(crate) is_valid: bool,
}

/// Reads URLs from arguments, and from standard input where an argument is `-`.
pub(crate) struct UrlArguments {
    words: std::vec::IntoIter<String>,
    arguments: u64,
    input: BufReader<Stdin>,
    /// Number of lines read so far, while standard input is being read.
    lines: Option<u64>,
}

impl UrlArguments {
    pub(crate) fn new(words: Vec<String>) -> Self {
        let input = BufReader::with_capacity(MAX_LINE_BYTES, io::stdin());
        Self { words: words.into_iter(), arguments: 0, input, lines: None }
    }

    /// Up to `size` of the next URLs. Input that is not text is reported and left out.
    pub(crate) fn next_batch(&mut self, size: usize, printer: &mut Printer) -> Result<UrlBatch, Error> {
        let mut batch = UrlBatch { urls: Vec::new(), is_valid: true };
        while batch.urls.len() < size
            && let Some(UrlArgument { place, text }) = self.next(printer)?
        {
            match text {
                Ok(url) => batch.urls.push(url),
                Err(source) => {
                    printer.report(&Error::Url { place, source });
                    batch.is_valid = false;
                }
            }
        }
        Ok(batch)
    }

    /// The next candidate. Flushes the output before it waits for input, so that varve works in an
    /// interactive pipe.
    fn next(&mut self, printer: &mut Printer) -> Result<Option<UrlArgument>, Error> {
        loop {
            if let Some(given) = self.next_line(printer)? {
                return Ok(Some(given));
            }
            let Some(word) = self.words.next() else { return Ok(None) };
            self.arguments += 1;
            if word != STDIN_ARGUMENT {
                return Ok(Some(UrlArgument {
                    place: InputPosition::Argument(self.arguments),
                    text: Ok(word),
                }));
            }
            self.lines = Some(0);
        }
    }

    /// The next line that is not blank, while standard input is being read.
    fn next_line(&mut self, printer: &mut Printer) -> Result<Option<UrlArgument>, Error> {
        while let Some(lines) = &mut self.lines {
            if self.input.buffer().is_empty() {
                printer.flush()?;
            }
            match read_line(&mut self.input).map_err(Error::Input)? {
                None => self.lines = None,
                Some(text) => {
                    *lines += 1;
                    if !matches!(&text, Ok(text) if text.is_empty()) {
                        let text = text.map_err(UrlArgumentError::from);
                        return Ok(Some(UrlArgument { place: InputPosition::Line(*lines), text }));
                    }
                }
            }
        }
        Ok(None)
    }
}
