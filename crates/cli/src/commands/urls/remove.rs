//! `varve urls remove`: removes URLs from the database.

use varve_archive::verbs::urls::remove::remove;

use super::DatabaseLocation;
use crate::printer::visible;
use crate::verb::{Error, ExitStatus, Session};

/// Remove URLs from the database, and print them
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls remove https://example.com/old
  varve urls remove --dry-run https://example.com/old")]
pub(super) struct UrlsRemoveArgs {
    /// The URLs
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
}

impl UrlsRemoveArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        if !self.dry_run {
            session.require_writable()?;
        }
        let database = place.open(session)?;
        let printer = &mut session.printer;
        let mut outcome = ExitStatus::Done;
        for url in &self.urls {
            let result = remove(&database, url, self.dry_run, &mut |path, lines| {
                printer.warn_of_lost_comments(path, lines)
            });
            match result {
                Ok(removed) => printer.line(visible(&removed))?,
                Err(failure) => {
                    printer.report(&failure.into());
                    outcome = ExitStatus::Incomplete;
                }
            }
        }
        Ok(outcome)
    }
}
