//! `varve extract`: reads pages: title, authors, date, text.

mod input_list;
pub(super) mod page_printer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use varve_archive::pages::{
    ExtractOptions, ExtractedPage, FetchMethod, MAX_CONCURRENT_PAGES, PageError, PageService,
    PageServiceOptions, fetch_unsaved, read_text, selected,
};
use varve_archive::verbs::cat::{self, CaptureSelector};
use varve_archive::{ArchiveError, ArchivePaths, Layout, detect_layout};

use self::input_list::{CsvColumn, ExtractInput, InputGroup};
use self::page_printer::PagePrinter;
use super::capture::find_chromium;
use crate::duration;
use crate::input::STDIN_ARGUMENT;
use crate::network_args::NetworkArgs;
use crate::printer::{counted, visible, warning_text};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::UNINDEXED_TEXT;

/// Read pages: title, authors, date, description, text
///
/// In an archive, a page that was extracted before is not fetched again until its time is over (see
/// `--ttl`). Otherwise it is captured as a version, and its extraction is saved. Of many pages, up to
/// 16 of different hosts are fetched at a time, and each 16 make one version. With `--at`, nothing is
/// fetched: the page is read as it was captured last until then.
///
/// Outside an archive a page is fetched and read, and nothing is stored. Files and standard input are
/// read as they are, and nothing of them is stored.
///
/// A requested page is fetched also where `robots.txt` forbids crawlers to.
///
/// With `--json`, prints one object per page. Fields without a value are left out. A page that could
/// not be read has `error`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve extract https://example.com/article
  varve extract https://example.com/article --at 2026-03-01
  varve extract page.html --markdown
  curl https://example.com/ | varve extract - --json
  varve extract --csv links.csv --column 2 --no-text --json

Exit codes:
  0    all pages were read
  1    some pages could not be read
  2    the archive or a file could not be read or written")]
pub(super) struct ExtractArgs {
    /// URLs, files, or `-` for a page on standard input
    #[arg(required_unless_present = "csv", value_name = "URL|FILE|-")]
    pages: Vec<String>,

    /// Read the URLs in a column of this CSV file too. Lines whose value is no URL are passed over
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// The column of the CSV file, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "csv", value_parser = clap::value_parser!(u16).range(1..))]
    column: u16,

    /// Read pages as they were captured last until a time, or in the state of a version
    #[arg(long, value_name = "TIME|VERSION", conflicts_with_all = ["ttl", "headless"])]
    at: Option<String>,

    /// Leave the text out
    #[arg(long, conflicts_with_all = ["html", "markdown"])]
    no_text: bool,

    /// Print the main content as clean HTML
    #[arg(long, conflicts_with = "markdown")]
    html: bool,

    /// Print the main content as Markdown
    #[arg(long)]
    markdown: bool,

    /// How long an extraction is an answer, before the page is fetched again; with `0s` it is fetched
    /// now [default: the setting of the archive, or 30d]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    ttl: Option<Duration>,

    /// Load pages in headless Chromium. Pages of domains whose settings say so always are
    #[arg(long)]
    headless: bool,

    /// Path of Chromium [default: looked for in PATH]
    #[arg(long, value_name = "FILE", env = "VARVE_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: NetworkArgs,
}

impl Verb for ExtractArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let mut inputs = input_list::of_words(&self.pages)?;
        if let Some(path) = &self.csv {
            inputs.extend(self.inputs_of_csv(path, session)?);
        }
        let source = self.source(session)?;
        let mut printer = PagePrinter { json: self.json, failed: false, is_first: true };
        let count = u64::try_from(inputs.len()).ok().filter(|count| *count > 1);
        let progress = session.printer.progress(count, "pages");
        for group in input_list::in_groups(&inputs, MAX_CONCURRENT_PAGES) {
            for (name, page) in self.pages_of(&source, &group)? {
                match page {
                    Err(error) if is_fatal(&error) => return Err(error.into()),
                    page => printer.print(session, name, page)?,
                }
                progress.inc(1);
            }
            session.printer.flush()?;
        }
        Ok(if printer.failed { ExitStatus::Findings } else { ExitStatus::Done })
    }
}

/// Pages, or why they could not be read, each with the word that names it.
type NamedPages<'a> = Vec<(&'a str, Result<ExtractedPage, PageError>)>;

/// Where the pages of URLs come from.
enum ExtractSource {
    /// Saved extractions and the live web.
    Service(Box<PageService>, FetchMethod),
    /// Captures.
    Past(Box<varve_archive::history::HistoryReader>, CaptureSelector, ExtractOptions),
    /// The live web, without an archive.
    Live(Box<PageServiceOptions>, FetchMethod),
}

impl ExtractSource {
    fn page(&self, url: &str) -> Result<ExtractedPage, PageError> {
        match self {
            Self::Service(service, method) => service.fetch(url, *method),
            Self::Past(history, selector, options) => selected(history, url, selector, options),
            Self::Live(options, method) => fetch_unsaved(url, *method, options),
        }
    }
}

impl ExtractArgs {
    fn source(&self, session: &mut Session) -> Result<ExtractSource, Error> {
        if let Some(at) = &self.at {
            let history = session.open_reader()?;
            let selector = cat::at(&history, at)?;
            return Ok(ExtractSource::Past(Box::new(history), selector, self.options()));
        }
        if is_web_archive(session)? {
            let history = session.open_reader()?;
            let newest = CaptureSelector::NewestGood;
            return Ok(ExtractSource::Past(Box::new(history), newest, self.options()));
        }
        let method = if self.headless { FetchMethod::ChromiumHeadless } else { FetchMethod::Direct };
        let mut network = self.network.network_options(session)?;
        // The settings of a domain may say that its pages are loaded in a browser.
        network.browser = self.chromium.clone().or_else(find_chromium);
        let user_agent = self.network.user_agent(session)?;
        let mut options = PageServiceOptions::new(network, user_agent, session.writer_opener());
        options.ttl = self.ttl;
        options.warn_of_index = Some(index_warning(session));
        options.extract = self.options();
        if !is_archive(session)? {
            return Ok(ExtractSource::Live(Box::new(options), method));
        }
        let history = session.open_archive_reader()?;
        Ok(ExtractSource::Service(Box::new(PageService::open(history, options)?), method))
    }

    /// The pages of a group of inputs. A service fetches several pages at a time.
    fn pages_of<'a>(
        &self,
        source: &ExtractSource,
        group: &InputGroup<'a>,
    ) -> Result<NamedPages<'a>, PageError> {
        Ok(match (group, source) {
            (InputGroup::File(path), _) => vec![(*path, self.page_of_file(path))],
            (InputGroup::Urls(urls), ExtractSource::Service(service, FetchMethod::Direct)) => {
                let given: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
                match service.batch(&given) {
                    Ok(pages) => urls.iter().copied().zip(pages).collect(),
                    Err(error) if is_fatal(&error) => return Err(error),
                    // Nothing can be fetched, and some pages may be saved.
                    Err(_) => urls.iter().map(|url| (*url, source.page(url))).collect(),
                }
            }
            (InputGroup::Urls(urls), source) => urls.iter().map(|url| (*url, source.page(url))).collect(),
        })
    }

    /// The URLs in the CSV file. A column without any is an error: most likely it is the wrong one.
    fn inputs_of_csv(&self, path: &Path, session: &mut Session) -> Result<Vec<ExtractInput>, Error> {
        let (path_text, column) = (path.display().to_string(), self.column);
        let CsvColumn { urls, passed_over } = input_list::csv_column(path, column)?;
        if urls.is_empty() {
            let message = format!("column {column} of `{}` has no URL\n", visible(&path_text));
            return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).into());
        }
        if passed_over > 0 {
            session.printer.say(format_args!(
                "{} of `{}` passed over: no URL in column {column}",
                counted(passed_over, "line"),
                visible(&path_text)
            ));
        }
        Ok(urls.into_iter().map(ExtractInput::Url).collect())
    }

    fn options(&self) -> ExtractOptions {
        ExtractOptions {
            text: !self.no_text && !self.html && !self.markdown,
            html: self.html,
            markdown: self.markdown,
            ..ExtractOptions::default()
        }
    }

    /// Reads a page from a file or standard input.
    fn page_of_file(&self, path: &str) -> Result<ExtractedPage, PageError> {
        let (body, content_type) = input_list::read_body(path)?;
        let url = if path == STDIN_ARGUMENT { "" } else { path };
        read_text(&body, content_type, url, &self.options())
    }
}

/// Says that a page was captured and is not in the search index.
pub(super) fn index_warning(session: &Session) -> Arc<dyn Fn() + Send + Sync> {
    let tell = session.printer.messenger();
    Arc::new(move || tell(warning_text(UNINDEXED_TEXT)))
}

/// Whether the verb works on a varve archive. Without one, pages are read and not saved.
pub(super) fn is_archive(session: &Session) -> Result<bool, Error> {
    match session.root() {
        Ok(root) => Ok(ArchivePaths::new(&root).is_archive()),
        Err(Error::Archive(ArchiveError::NoArchive(_))) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the verb works on WARC, ARC or WACZ files: their pages are read, and none is fetched.
fn is_web_archive(session: &Session) -> Result<bool, Error> {
    match session.root() {
        Ok(root) => Ok(detect_layout(&root) == Some(Layout::WebArchive)),
        Err(Error::Archive(ArchiveError::NoArchive(_))) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an error concerns the archive, and not one page.
pub(super) fn is_fatal(error: &PageError) -> bool {
    matches!(error, PageError::Archive(_) | PageError::Busy(_))
}
