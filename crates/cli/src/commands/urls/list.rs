//! `varve urls list`: every URL that something is expected of.

use serde::Serialize;
use varve_archive::expectations::{DomainFile, Expectation};
use varve_archive::verbs::urls::list::list;

use super::super::Outcome;
use super::{DatabasePlace, Which};
use crate::error::Error;
use crate::printer::visible;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls list
  varve urls --db urldb list --domain example.com --path-prefix /data/ --json";

/// List the URLs, one a line
///
/// Domains come in the order of their names, URLs in the order of their file.
///
/// With `--json` there is one object a URL: `url`, `domain`, `path`, `content_type`, `length`, `sha256`, `categories`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    #[command(flatten)]
    which: Which,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// An expectation as programs see it.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    url: String,
    domain: &'a str,
    path: &'a str,
    content_type: Option<&'a str>,
    length: Option<u64>,
    sha256: Option<String>,
    categories: &'a [String],
}

impl<'a> Line<'a> {
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

impl List {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        let database = place.open(session)?;
        let printer = &mut session.printer;
        list(&database, &self.which.into(), |file, record| {
            if self.json {
                return printer.json(&Line::new(file, record));
            }
            printer.line(visible(&file.url(record)))
        })?;
        Ok(Outcome::Done)
    }
}
