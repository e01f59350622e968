//! `varve filter`: prints which ids are stored.

use std::io::{BufReader, Stdin};

use serde_json::json;
use varve_archive::verbs::filter::{here, parse};

use crate::input::{IdLineError, InputPosition, MAX_LINE_BYTES, read_line};
use crate::printer::Printer;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Ids that are looked up together.
const LOOKUP_BATCH_SIZE: usize = 4096;

/// Print the ids on standard input that are stored
///
/// One id per line; anything after it is ignored. With `--missing`, prints those that are not
/// stored. The order is kept.
///
/// An id has 64 hex digits, or at least the first 16 of them. It may be written as AardWARC prints
/// it, with the prefix of the store. In an AardWARC store, a longer digest matches an id with the
/// same first digits. An id that its index lacks is looked for in all its silos.
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
        let progress = printer.progress(None, "ids");
        let input = BufReader::with_capacity(MAX_LINE_BYTES, std::io::stdin());
        let mut input = IdReader { input, lines: 0, outcome: ExitStatus::Done };
        loop {
            let ids = input.next_batch(printer)?;
            if ids.is_empty() {
                session.warn_of_unread_places(&objects);
                return Ok(input.outcome);
            }
            progress.inc(ids.len() as u64);
            for (id, here) in ids.iter().zip(here(&objects, &ids)?) {
                if here == self.missing {
                    continue;
                }
                match self.json {
                    true => printer.json(&json!({ "id": id, "here": here }))?,
                    false => printer.line(id)?,
                }
            }
        }
    }
}

/// The ids on standard input.
struct IdReader {
    input: BufReader<Stdin>,
    lines: u64,
    outcome: ExitStatus,
}

impl IdReader {
    /// Ids that are available without waiting, but at least one; none at the end.
    fn next_batch(&mut self, printer: &mut Printer) -> Result<Vec<String>, Error> {
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
                text => Ok(Some(parse(text)?)),
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
