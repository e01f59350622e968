//! `varve urls fmt`: writes all files in canonical form.

use std::cell::RefCell;

use varve_archive::verbs::urls::fmt::{Formatted, fmt};

use super::DatabaseLocation;
use crate::printer::{Printer, WARNING_STYLE, visible};
use crate::verb::{Error, ExitStatus, Session};

/// Write all files in canonical form, and print which were changed
///
/// Records are sorted by path, keys and aliases by name, and values are written as PyYAML writes
/// them. Line endings are kept; comments are lost, with a warning. Mistakes that only a person can
/// mend are notes: an alias that is the domain itself or belongs to two domains, a path without `/`.
///
/// With `--check`, nothing is written, and the exit code is 1 if a file would change or has a note.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls fmt
  varve urls --db urldb fmt --check")]
pub(super) struct UrlsFmtArgs {
    /// Only print which files are not in canonical form
    #[arg(long)]
    check: bool,
}

impl UrlsFmtArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        if !self.check {
            session.require_writable()?;
        }
        let database = place.open(session)?;
        let mut outcome = ExitStatus::Done;
        // Both closures below print.
        let printer = RefCell::new(&mut session.printer);
        let mut on_loss = |path: &std::path::Path, lines: &[u64]| {
            printer.borrow_mut().warn_of_lost_comments(path, lines);
        };
        fmt(&database, self.check, &mut on_loss, |result| {
            let mut printer = printer.borrow_mut();
            let one = match result {
                Ok(formatted) => self.print(&formatted, &mut printer)?,
                Err(failure) => {
                    printer.report(&failure.into());
                    ExitStatus::Incomplete
                }
            };
            outcome = outcome.worse(one);
            Ok::<(), Error>(())
        })?;
        Ok(outcome)
    }

    fn print(&self, formatted: &Formatted, printer: &mut Printer) -> Result<ExitStatus, Error> {
        let path = formatted.path.to_string_lossy();
        let path = visible(&path);
        for remark in &formatted.remarks {
            let of = remark.path.as_deref().map(|path| format!("`{}`: ", visible(path))).unwrap_or_default();
            let line = remark.place.line;
            printer.say(format_args!(
                "{WARNING_STYLE}note:{WARNING_STYLE:#} {path}:{line}: {of}{}",
                remark.message
            ));
        }
        if formatted.differs {
            printer.line(&path)?;
        }
        let is_finding = self.check && (formatted.differs || !formatted.remarks.is_empty());
        Ok(if is_finding { ExitStatus::Findings } else { ExitStatus::Done })
    }
}
