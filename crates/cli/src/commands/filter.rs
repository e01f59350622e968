//! `varve filter`: which of many ids are here.

use std::io::{BufReader, Stdin};

use serde::Serialize;
use varve_archive::verbs::filter::{here, here_in_aardwarc, parse, parse_aardwarc};
use varve_archive::{IdError, Objects};

use super::store::digits;
use super::{Outcome, Verb};
use crate::error::{self, Error};
use crate::lines::{BadLine, LONGEST, read_line};
use crate::printer::Printer;
use crate::session::Session;
use crate::urls::Place;

const EXAMPLES: &str = "\
Examples:
  varve filter < ids.txt
  varve filter --missing < ids.txt
  sha256sum *.pdf | varve filter --missing";

/// So many ids are looked up together.
const BATCH: usize = 4096;

/// Print those of the ids on standard input that are here
///
/// One id a line, in full; what stands behind it is passed over. With `--missing`, those that are not here. The order is kept.
///
/// Of an AardWARC store, ids are as it writes them, with their prefix or without; a longer digest means what is kept under
/// its first digits.
///
/// With `--json` there is one object a line: `id`, and whether it is `here`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Filter {
    /// Print those that are not here
    #[arg(long)]
    missing: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Why a line is no id.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAnId {
    /// No line of text.
    #[error(transparent)]
    BadLine(#[from] BadLine),
    /// Text, but no id.
    #[error(transparent)]
    Text(#[from] IdError),
}

impl Verb for Filter {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let objects = session.open_objects()?;
        let printer = &mut session.printer;
        match &objects {
            Objects::Archive(archive) => {
                self.all(parse, |id| digits(*id), &mut |ids| Ok(here(archive, ids)?), printer)
            }
            Objects::Aardwarc(store) => {
                let look = &mut |ids: &[String]| Ok(here_in_aardwarc(store, ids)?);
                self.all(parse_aardwarc, String::clone, look, printer)
            }
        }
    }
}

/// Says of many ids whether each is here.
type Look<'a, T> = dyn FnMut(&[T]) -> Result<Vec<bool>, Error> + 'a;

impl Filter {
    /// Goes through all ids on standard input, which `parse` understands and `look` looks for.
    fn all<T>(
        &self,
        parse: fn(&str) -> Result<T, IdError>,
        digits: fn(&T) -> String,
        look: &mut Look<'_, T>,
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        let progress = printer.progress(None, "ids");
        let input = BufReader::with_capacity(LONGEST, std::io::stdin());
        let mut input = Ids { input, lines: 0, outcome: Outcome::Done, parse };
        loop {
            let ids = input.next_batch(printer)?;
            if ids.is_empty() {
                return Ok(input.outcome);
            }
            progress.inc(ids.len() as u64);
            for (id, here) in ids.iter().zip(look(&ids)?) {
                if here == self.missing {
                    continue;
                }
                match self.json {
                    true => printer.json(&Line { id: digits(id), here })?,
                    false => printer.line(digits(id))?,
                }
            }
        }
    }
}

/// The ids on standard input.
struct Ids<T> {
    input: BufReader<Stdin>,
    lines: u64,
    outcome: Outcome,
    parse: fn(&str) -> Result<T, IdError>,
}

impl<T> Ids<T> {
    /// Ids that are there without waiting for more, but at least one; none at the end.
    fn next_batch(&mut self, printer: &mut Printer) -> Result<Vec<T>, Error> {
        let mut ids = Vec::new();
        while ids.len() < BATCH {
            if self.input.buffer().is_empty() {
                if !ids.is_empty() {
                    break;
                }
                printer.flush()?;
            }
            let Some(line) = read_line(&mut self.input).map_err(Error::Input)? else { break };
            self.lines += 1;
            let id = line.map_err(NotAnId::from).and_then(|text| match text.as_str() {
                "" => Ok(None),
                text => Ok(Some((self.parse)(text)?)),
            });
            match id {
                Ok(id) => ids.extend(id),
                Err(source) => {
                    let place = Place::Line(self.lines);
                    printer.report(&error::report(&Error::Id { place, source }));
                    self.outcome = Outcome::Incomplete;
                }
            }
        }
        Ok(ids)
    }
}

#[derive(Serialize)]
struct Line {
    id: String,
    here: bool,
}
