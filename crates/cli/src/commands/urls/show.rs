//! `varve urls show`: what is expected of one URL.

use varve_archive::verbs::urls::show::{show, text};

use super::super::Outcome;
use super::DatabasePlace;
use super::list::Line;
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls show https://example.com/robots.txt
  varve urls --db urldb show --json https://example.com/robots.txt";

/// Print what is expected of a URL, as it stands in its file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// The URL
    #[arg(value_name = "URL")]
    url: String,

    /// Print a JSON object, as `list` does
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        let (loaded, record) = show(&place.open(session)?, &self.url)?;
        if self.json {
            session.printer.json(&Line::new(&loaded.file, &record))?;
        } else {
            session.printer.text(&text(&record))?;
        }
        Ok(Outcome::Done)
    }
}
