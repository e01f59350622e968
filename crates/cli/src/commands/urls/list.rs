//! `varve urls list`: lists the URLs in the database.

use serde::Serialize;
use varve_archive::expectations::{DomainFile, Expectation};
use varve_archive::verbs::urls::list::list;

use super::{DatabaseLocation, UrlFilterArgs};
use crate::printer::visible;
use crate::verb::{Error, ExitStatus, Session};

const URLS_LIST_EXAMPLES: &str = "\
Examples:
  varve urls list
  varve urls --db urldb list --domain example.com --path-prefix /data/ --json";

/// List the URLs, one per line
///
/// Domains are sorted by name; URLs are in the order of their file.
///
/// With `--json`, prints one object per URL: `url`, `domain`, `path`, `content_type`, `length`,
/// `sha256`, `categories`.
#[derive(clap::Args)]
#[command(after_help = URLS_LIST_EXAMPLES)]
pub(super) struct UrlsListArgs {
    #[command(flatten)]
    which: UrlFilterArgs,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// An expected response as JSON.
#[derive(Serialize)]
pub(super) struct ExpectationRow<'a> {
    url: String,
    domain: &'a str,
    path: &'a str,
    content_type: Option<&'a str>,
    length: Option<u64>,
    sha256: Option<String>,
    categories: &'a [String],
}

impl<'a> ExpectationRow<'a> {
    pub(super) fn new(file: &'a DomainFile, record: &'a Expectation) -> Self {
        Self {
            url: file.url(record),
            domain: &file.name,
            path: &record.path,
            content_type: record.media_type.as_deref(),
            length: record.length,
            sha256: record.sha256.map(|id| id.to_string()),
            categories: &record.categories,
        }
    }
}

impl UrlsListArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        let database = place.open(session)?;
        let printer = &mut session.printer;
        list(&database, &self.which.into(), |file, record| {
            if self.json {
                return printer.json(&ExpectationRow::new(file, record));
            }
            printer.line(visible(&file.url(record)))
        })?;
        Ok(ExitStatus::Done)
    }
}
