//! `varve key`: prints the lookup keys of URLs.

use varve_archive::verbs::key::{KeyReport, ShownUrl, key};

use crate::printer::{FAINT_STYLE, Printer};
use crate::url_arguments;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Print the lookup key of each URL, and its cleaned form
///
/// Cleaning removes tracking parameters and the fragment, and sorts the other parameters. The key
/// is a number derived from the result. It finds a URL quickly; two URLs with the same key need not
/// be the same.
///
/// With `--json`, prints one object per line: the given `url`, its `key`, the cleaned URL as
/// `clean`, and the key of that as `clean_key`, which is printed without `--json`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve key 'HTTPS://example.com/?utm_source=news&b=2&a=1#top'
  varve key --json https://example.com/ https://example.org/
  varve key - < urls.txt")]
pub(super) struct KeyArgs {
    /// The URLs; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for KeyArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let progress = session.printer.progress(None, "URLs");
        url_arguments::for_each_url(self.urls, &mut session.printer, |url, printer| {
            progress.inc(1);
            match key(url) {
                // The caller reports it.
                Ok(_) if ShownUrl(url).has_user_info() => Ok(None),
                Ok(report) if self.json => printer.json(&report).map(|()| None),
                Ok(report) => print(&report, printer).map(|()| None),
                Err(refusal) => Ok(Some(refusal)),
            }
        })
    }
}

/// Prints the line of one URL.
pub(super) fn print(report: &KeyReport, printer: &mut Printer) -> Result<(), Error> {
    // Keys have at most 19 digits; a fixed width aligns the URLs.
    printer.line(format_args!("{FAINT_STYLE}{:<19}{FAINT_STYLE:#}  {}", report.clean_key.get(), report.clean))
}
