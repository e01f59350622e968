//! `varve urls fmt`: every file in canonical form.

use std::cell::RefCell;

use varve_archive::verbs::urls::fmt::{Formatted, fmt};

use super::super::Outcome;
use super::{DatabasePlace, warn_of_loss};
use crate::error::{self, Error};
use crate::printer::{Printer, WARN, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls fmt
  varve urls --db urldb fmt --check";

/// Bring all files into canonical form, and print which were changed
///
/// Records are sorted by path and keys by name, and every value has one spelling: the one that PyYAML gives it. Line
/// ends stay as they are; comments are lost, and a warning says where there were any.
///
/// With `--check` nothing is written, and the exit code is 1 if a file would be.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Fmt {
    /// Only say which files are not in canonical form
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        if !self.check {
            session.must_write()?;
        }
        let database = place.open(session)?;
        let mut outcome = Outcome::Done;
        // Both of the closures below speak, in turns.
        let printer = RefCell::new(&mut session.printer);
        let mut on_loss = |path: &std::path::Path, lines: &[u64]| {
            warn_of_loss(&mut printer.borrow_mut(), path, lines);
        };
        fmt(&database, self.check, &mut on_loss, |result| {
            let mut printer = printer.borrow_mut();
            let one = match result {
                Ok(formatted) => self.print(&formatted, &mut printer)?,
                Err(failure) => {
                    printer.report(&error::report(&failure.into()));
                    Outcome::Incomplete
                }
            };
            outcome = outcome.worse(one);
            Ok::<(), Error>(())
        })?;
        Ok(outcome)
    }

    fn print(&self, formatted: &Formatted, printer: &mut Printer) -> Result<Outcome, Error> {
        let path = formatted.path.to_string_lossy();
        let path = visible(&path);
        for remark in &formatted.remarks {
            let of = remark.path.as_deref().map(|path| format!("`{}`: ", visible(path))).unwrap_or_default();
            let line = remark.place.line;
            printer.say(format_args!("{WARN}note:{WARN:#} {path}:{line}: {of}{}", remark.message));
        }
        if !formatted.differs {
            return Ok(Outcome::Done);
        }
        printer.line(&path)?;
        Ok(if self.check { Outcome::Findings } else { Outcome::Done })
    }
}
