//! `varve urls remove`: takes promises back.

use varve_archive::verbs::urls::remove::remove;

use super::super::Outcome;
use super::{DatabasePlace, warn_of_loss};
use crate::error::{self, Error};
use crate::printer::visible;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls remove https://example.com/old
  varve urls remove --dry-run https://example.com/old";

/// Remove URLs from the database, and print them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Remove {
    /// The URLs
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
}

impl Remove {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        if !self.dry_run {
            session.must_write()?;
        }
        let database = place.open(session)?;
        let printer = &mut session.printer;
        let mut outcome = Outcome::Done;
        for url in &self.urls {
            let result =
                remove(&database, url, self.dry_run, &mut |path, lines| warn_of_loss(printer, path, lines));
            match result {
                Ok(removed) => printer.line(visible(&removed))?,
                Err(failure) => {
                    printer.report(&error::report(&failure.into()));
                    outcome = Outcome::Incomplete;
                }
            }
        }
        Ok(outcome)
    }
}
