//! `varve urls show`: prints the expected response of a URL.

use varve_archive::verbs::urls::show::{show, text};

use super::DatabaseLocation;
use super::list::expectation_json;
use crate::verb::{Error, ExitStatus, Session};

/// Print the expected response of a URL, as it stands in its file
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls show https://example.com/robots.txt
  varve urls --db urldb show --json https://example.com/robots.txt")]
pub(super) struct UrlsShowArgs {
    /// The URL
    #[arg(value_name = "URL")]
    url: String,

    /// Print a JSON object, as `list` does
    #[arg(long)]
    json: bool,
}

impl UrlsShowArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        let (loaded, record) = show(&place.open(session)?, &self.url)?;
        if self.json {
            session.printer.json(&expectation_json(&loaded.file, &record))?;
        } else {
            session.printer.text(&text(&record))?;
        }
        Ok(ExitStatus::Done)
    }
}
