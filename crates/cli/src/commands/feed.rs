//! `varve feed`: reads the pages that a feed links to.

use std::time::Duration;

use varve_archive::pages::{
    ExtractOptions, FetchMethod, PageService, PageServiceOptions, fetch_unsaved, unsaved_feed_links,
};

use super::capture::find_chromium;
use super::extract::page_printer::PagePrinter;
use super::extract::{index_warning, is_archive, is_fatal};
use crate::duration;
use crate::network_args::NetworkArgs;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Read the pages that a feed links to
///
/// The feed may be RSS, Atom or a JSON Feed. Each of its items is a page, which is read as by
/// `varve extract`. In an archive the feed and the pages are captured, the pages as one version, and
/// pages that were extracted before are not fetched again until their time is over.
///
/// With `--json`, prints one object per page. Fields without a value are left out. A page that could
/// not be read has `error`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve feed https://example.com/feed.xml
  varve feed https://example.com/feed.xml --no-text --json

Exit codes:
  0    all pages were read
  1    some pages could not be read
  2    the feed could not be read")]
pub(super) struct FeedArgs {
    /// The URL of the feed
    url: String,

    /// Leave the text out
    #[arg(long)]
    no_text: bool,

    /// How long an extraction is an answer, before the page is fetched again [default: the setting of
    /// the archive, or 30d]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    ttl: Option<Duration>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: NetworkArgs,
}

impl Verb for FeedArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let mut network = self.network.network_options(session)?;
        // The settings of a domain may say that its pages are loaded in a browser.
        network.browser = find_chromium();
        let user_agent = self.network.user_agent(session)?;
        let mut options = PageServiceOptions::new(network, user_agent, session.writer_opener());
        options.ttl = self.ttl;
        options.warn_of_index = Some(index_warning(session));
        options.extract = ExtractOptions { text: !self.no_text, ..ExtractOptions::default() };
        let mut printer = PagePrinter { json: self.json, failed: false, is_first: true };
        if is_archive(session)? {
            let service = PageService::open(session.open_archive_reader()?, options)?;
            for (link, page) in service.feed(&self.url)? {
                printer.print(session, &link, page)?;
            }
        } else {
            for link in unsaved_feed_links(&self.url, &options)? {
                match fetch_unsaved(&link, FetchMethod::Direct, &options) {
                    Err(error) if is_fatal(&error) => return Err(error.into()),
                    page => printer.print(session, &link, page)?,
                }
            }
        }
        Ok(if printer.failed { ExitStatus::Findings } else { ExitStatus::Done })
    }
}
