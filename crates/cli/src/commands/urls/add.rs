//! `varve urls add`: records the current responses of URLs as expected.

use std::path::Path;

use serde_json::json;
use varve_archive::expectations::Prober;
use varve_archive::verbs::urls::add::{Added, Request, add};

use super::DatabaseLocation;
use crate::printer::visible;
use crate::probe_args::ProbeArgs;
use crate::url_arguments::{UrlArguments, UrlBatch};
use crate::verb::{Error, ExitStatus, Session};

/// URLs requested before the results are written, so that an interrupted run loses little.
const ADD_BATCH_SIZE: usize = 500;
/// URLs added without a request at a time. Each time, the files are read and written again.
const OFFLINE_BATCH_SIZE: usize = 200_000;

/// Add URLs with their current responses
///
/// Requests each URL once, and records its media type, or that it redirects. With `--static`, the
/// length and SHA-256 of the content are recorded as well: the content must never change. A URL
/// that is in the database already is not changed.
///
/// With `--json`, prints one object per URL: `url` as the database spells it, `file`, and whether
/// it is `new`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls add --static --category data https://example.com/m51.txt
  varve urls add --domain-file --offline https://example.com/
  varve urls add --offline - < urls.txt")]
pub(super) struct UrlsAddArgs {
    /// The URLs; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Record length and SHA-256: the content must never change
    #[arg(long = "static", conflicts_with = "offline")]
    fixed: bool,

    /// A category for the URLs; may be repeated
    #[arg(short, long, value_name = "NAME")]
    category: Vec<String>,

    /// Make a file for a domain that has none
    #[arg(long)]
    domain_file: bool,

    /// Record the paths without sending requests
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    web: ProbeArgs,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl UrlsAddArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let prober = if self.offline { None } else { Some(self.web.prober(session, None, false, None)?) };
        let database = if self.domain_file { place.open_or_new(session)? } else { place.open(session)? };
        let request =
            Request { fixed: self.fixed, categories: self.category.clone(), new_domain: self.domain_file };
        let web = prober.as_ref().map(|prober| prober as &dyn Prober);
        let batch_size = if self.offline { OFFLINE_BATCH_SIZE } else { ADD_BATCH_SIZE };
        let mut outcome = ExitStatus::Done;
        let mut arguments = UrlArguments::new(self.urls.clone());
        loop {
            let printer = &mut session.printer;
            let UrlBatch { urls, is_valid } = arguments.next_batch(batch_size, printer)?;
            if !is_valid {
                outcome = ExitStatus::Incomplete;
            }
            if urls.is_empty() {
                break;
            }
            let mut on_loss = |path: &Path, lines: &[u64]| printer.warn_of_lost_comments(path, lines);
            for result in add(&database, &urls, &request, web, &mut on_loss)? {
                match result {
                    Ok(added) => self.print(&added, session)?,
                    Err(failure) => {
                        session.printer.report(&failure.into());
                        outcome = ExitStatus::Incomplete;
                    }
                }
            }
        }
        Ok(outcome)
    }

    fn print(&self, added: &Added, session: &mut Session) -> Result<(), Error> {
        let printer = &mut session.printer;
        let file = added.path.to_string_lossy();
        if added.assumed_http {
            printer.say("the URL has no scheme; `http` is assumed");
        }
        if !added.new {
            printer.say(format_args!("`{}` is in the database already", visible(&added.url)));
        } else if added.new_domain {
            printer.say(format_args!("made `{}`", visible(&file)));
        }
        if self.json {
            return printer.json(&json!({ "url": added.url, "file": file, "new": added.new }));
        }
        printer.line(visible(&added.url))
    }
}
