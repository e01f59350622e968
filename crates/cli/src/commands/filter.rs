//! `varve filter`: prints which ids are stored.

use std::io::{BufReader, Stdin};

use serde_json::json;
use varve_archive::verbs::filter::{here, here_in_aardwarc, parse, parse_aardwarc};
use varve_archive::{IdError, Objects};

use crate::input::{IdLineError, InputPosition, MAX_LINE_BYTES, read_line};
use crate::printer::Printer;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::record_digits;

/// Ids that are looked up together.
const LOOKUP_BATCH_SIZE: usize = 4096;

/// Print the ids on standard input that are stored
///
/// One full id per line; anything after it is ignored. With `--missing`, prints those that are not
/// stored. The order is kept.
///
/// In an AardWARC store, ids are written with or without the prefix of the store; a longer digest
/// matches an id with the same first digits.
///
/// With `--json`, prints one object per line: `id`, and whether it is `here`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve filter < ids.txt
  varve filter --missing < ids.txt
  sha256sum *.pdf | varve filter --missing")]
pub(super) struct FilterArgs {
    /// Print ids that are not stored
    #[arg(long)]
    missing: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for FilterArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let objects = session.open_objects()?;
        let printer = &mut session.printer;
        match &objects {
            Objects::Archive(archive) => {
                self.all(parse, |id| record_digits(*id), &mut |ids| Ok(here(archive, ids)?), printer)
            }
            Objects::Aardwarc(store) => {
                let look = &mut |ids: &[String]| Ok(here_in_aardwarc(store, ids)?);
                self.all(parse_aardwarc, String::clone, look, printer)
            }
        }
    }
}

/// Returns for each id whether it is stored.
type IdLookup<'a, T> = dyn FnMut(&[T]) -> Result<Vec<bool>, Error> + 'a;

impl FilterArgs {
    /// Reads ids from standard input, parses them with `parse` and looks them up with `look`.
    fn all<T>(
        &self,
        parse: fn(&str) -> Result<T, IdError>,
        digits: fn(&T) -> String,
        look: &mut IdLookup<'_, T>,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        let progress = printer.progress(None, "ids");
        let input = BufReader::with_capacity(MAX_LINE_BYTES, std::io::stdin());
        let mut input = IdReader { input, lines: 0, outcome: ExitStatus::Done, parse };
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
                    true => printer.json(&json!({ "id": digits(id), "here": here }))?,
                    false => printer.line(digits(id))?,
                }
            }
        }
    }
}

/// The ids on standard input.
struct IdReader<T> {
    input: BufReader<Stdin>,
    lines: u64,
    outcome: ExitStatus,
    parse: fn(&str) -> Result<T, IdError>,
}

impl<T> IdReader<T> {
    /// Ids that are available without waiting, but at least one; none at the end.
    fn next_batch(&mut self, printer: &mut Printer) -> Result<Vec<T>, Error> {
        let mut ids = Vec::new();
        while ids.len() < LOOKUP_BATCH_SIZE {
            if self.input.buffer().is_empty() {
                if !ids.is_empty() {
                    break;
                }
                printer.flush()?;
            }
            let Some(line) = read_line(&mut self.input).map_err(Error::Input)? else { break };
            self.lines += 1;
            let id = line.map_err(IdLineError::from).and_then(|text| match text.as_str() {
                "" => Ok(None),
                text => Ok(Some((self.parse)(text)?)),
            });
            match id {
                Ok(id) => ids.extend(id),
                Err(source) => {
                    let place = InputPosition::Line(self.lines);
                    printer.report(&Error::Id { place, source });
                    self.outcome = ExitStatus::Incomplete;
                }
            }
        }
        Ok(ids)
    }
}
