//! `varve urls add`: promises that URLs answer as they answer now.

use std::path::Path;

use serde::Serialize;
use varve_archive::expectations::Prober;
use varve_archive::verbs::urls::add::{Added, Request, add};

use super::super::Outcome;
use super::{DatabasePlace, warn_of_loss};
use crate::error::{self, Error};
use crate::printer::visible;
use crate::prober::Web;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls add --static --category data https://example.com/m51.txt
  varve urls add --domain-file --offline https://example.com/";

/// So many are asked before what was learnt is written: who interrupts loses no more.
const AT_ONCE: usize = 500;

/// Add URLs, with what they answer now
///
/// Each is asked once; its media type is recorded, or that it is a redirect. With `--static` the length and SHA-256 of
/// its content are recorded as well: it is never to change. A URL that is in the database already is left as it is.
///
/// With `--json` there is one object a URL: `url` as the database spells it, `file`, and whether it is `new`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// The URLs
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Record length and SHA-256: the content must never change
    #[arg(long = "static", conflicts_with = "offline")]
    fixed: bool,

    /// A category for them; may be given again
    #[arg(short, long, value_name = "NAME")]
    category: Vec<String>,

    /// Make a file for a domain that has none
    #[arg(long)]
    domain_file: bool,

    /// Do not ask the web: record the path alone
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    web: Web,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    file: &'a str,
    new: bool,
}

impl Add {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        session.must_write()?;
        let prober = if self.offline { None } else { Some(self.web.prober(session, None, false, None)?) };
        let database = if self.domain_file { place.open_or_new(session)? } else { place.open(session)? };
        let request =
            Request { fixed: self.fixed, categories: self.category.clone(), new_domain: self.domain_file };
        let web = prober.as_ref().map(|prober| prober as &dyn Prober);
        let mut outcome = Outcome::Done;
        for urls in self.urls.chunks(AT_ONCE) {
            let printer = &mut session.printer;
            let mut on_loss = |path: &Path, lines: &[u64]| warn_of_loss(printer, path, lines);
            for result in add(&database, urls, &request, web, &mut on_loss)? {
                match result {
                    Ok(added) => self.print(&added, session)?,
                    Err(failure) => {
                        session.printer.report(&error::report(&failure.into()));
                        outcome = Outcome::Incomplete;
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
            return printer.json(&Line { url: &added.url, file: &file, new: added.new });
        }
        printer.line(visible(&added.url))
    }
}
