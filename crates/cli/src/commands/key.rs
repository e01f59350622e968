//! `varve key`: what URLs are found by.

use varve_archive::verbs::key::{KeyReport, key};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{FAINT, Printer};
use crate::session::Session;
use crate::urls;

const EXAMPLES: &str = "\
Examples:
  varve key 'HTTPS://example.com/?utm_source=news&b=2&a=1#top'
  varve key --json https://example.com/ https://example.org/
  varve key - < urls.txt";

/// Print the key of each URL, and its cleaned form
///
/// A URL is cleaned before it is looked up: tracking parameters and the fragment go, the other parameters are
/// sorted. The key is a number made from the result. It serves to find a URL fast and is no proof that two are
/// the same.
///
/// With `--json` there is one object a line: `url` as it was given, its `key`, the URL after cleaning as `clean`,
/// and the key of that as `clean_key`, which is the one printed without `--json`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Key {
    /// The URLs; `-` reads them from standard input, one a line
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Key {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let progress = session.printer.progress(None, "URLs");
        urls::answer(self.urls, &mut session.printer, |url, printer| {
            progress.inc(1);
            match key(url) {
                Ok(report) if self.json => printer.json(&report).map(|()| None),
                Ok(report) => print(&report, printer).map(|()| None),
                Err(refusal) => Ok(Some(refusal)),
            }
        })
    }
}

/// Prints the line of one URL.
pub(super) fn print(report: &KeyReport, printer: &mut Printer) -> Result<(), Error> {
    // Keys have at most 19 digits; a fixed width keeps the URLs below each other without waiting for the last.
    printer.line(format_args!("{FAINT}{:<19}{FAINT:#}  {}", report.clean_key.get(), report.clean))
}
