//! `varve urls list`: lists the URLs in the database.

use serde_json::{Value, json};
use varve_archive::expectations::{DomainFile, Expectation};
use varve_archive::verbs::urls::list::list;

use super::{DatabaseLocation, UrlFilterArgs};
use crate::printer::visible;
use crate::verb::{Error, ExitStatus, Session};

/// List the URLs, one per line
///
/// Domains are sorted by name; URLs are in the order of their file.
///
/// With `--json`, prints one object per URL: `url`, `domain`, `path`, `content_type`, `length`,
/// `sha256`, `categories`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls list
  varve urls --db urldb list --domain example.com --path-prefix /data/ --json")]
pub(super) struct UrlsListArgs {
    #[command(flatten)]
    which: UrlFilterArgs,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// An expected response as JSON.
pub(super) fn expectation_json(file: &DomainFile, record: &Expectation) -> Value {
    json!({
        "url": file.url(record),
        "domain": file.name,
        "path": record.path,
        "content_type": record.media_type,
        "length": record.length,
        "sha256": record.sha256,
        "categories": record.categories,
    })
}

impl UrlsListArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        let database = place.open(session)?;
        let printer = &mut session.printer;
        list(&database, &self.which.into(), |file, record| {
            if self.json {
                return printer.json(&expectation_json(file, record));
            }
            printer.line(visible(&file.url(record)))
        })?;
        Ok(ExitStatus::Done)
    }
}
