//! `varve check`: compares the live web with expected responses, and keeps the evidence.

mod link_inputs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_archive::expectations::report::{CheckReporter, CheckedUrl, ReportFormat};
use varve_archive::expectations::{ProbeFailure, UrlDatabase, Verdict, WebProber};
use varve_archive::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};
use varve_archive::verbs::capture::FetchErrorKind;
use varve_archive::verbs::check::{
    CheckLabel, CheckProgress, ExpectationSource, Report, Request, check, check_links, explain, look,
};
use varve_archive::verbs::diff::{CompareOptions, PageComparison};
use varve_archive::verbs::urls::check::check as check_without_evidence;
use varve_archive::{ArchiveError, ArchivePaths, RepositoryError};

use link_inputs::LinkArgs;

use super::diff::{DiffExcerpt, page_diff_json, print_excerpt};
use super::urls::UrlFilterArgs;
use crate::error_hints::NetworkHints;
use crate::printer::{self, BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, counted, quoted, visible};
use crate::probe_args::ProbeArgs;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::{duration, signals};

/// Lines of a difference that are shown. A removed page differs in all of its lines.
const MAX_DIFF_LINES: usize = 40;

/// Check that URLs still answer as expected, and keep the evidence
///
/// The expected responses are in the URL database of the archive (see `varve urls`), or in another
/// with `--db`. A failed request is retried after a pause before it counts. Ctrl-C ends a check and
/// reports the results so far.
///
/// In an archive, all responses and verdicts are stored. A check makes no version, and HEAD stays:
/// `varve log --checks` lists checks. A failure is shown with its check, since when it fails, the
/// last time when the response was as expected, and how much the two differ. `--explain` shows the
/// beginning of the difference and the command that shows all of it. Outside of an archive, and with
/// `--no-capture`, nothing is stored.
///
/// With `--against-archive`, no database is needed: every URL of HEAD must still answer as it did. A
/// page in which only noise differs, such as nonces and clocks, counts as unchanged.
///
/// With `--links`, every link in the newest captures must lead to a page (after redirects, 2xx), and
/// an element of that page must have the name after `#`. Given URLs, only links of these pages and of
/// pages below them are checked; given files, folders or `-`, the links in HTML and Markdown, also
/// outside of an archive. Each target is requested once; a failure is shown with pages that link to
/// it. Mail addresses and other schemes are left out. With an archive, the responses are stored, of
/// long ones the beginning.
///
/// Redirects are followed to their end and shown. A record that has only a path accepts a redirect;
/// if that ends in an error status, in a loop or nowhere, it is a warning. With `--follow`, which is
/// the default of `--against-archive` and `--links`, the URL is broken. The requests of a URL, redirects included,
/// must end within `--timeout`.
///
/// URLs that answer as expected are counted, and listed with `--verbose` only. The verdict on a URL
/// is `ok`; `changed` if the server answered with other content, another type
/// or another redirect than expected; `broken` if it answered with an error status (4xx or 5xx)
/// where success was expected; `unreachable` if there is no complete response; or `skipped` if the
/// URL was not requested: its record is deprecated, its host failed too often in a row, or it is at
/// a private address (see `--allow-private`).
///
/// The exit code is 1 if any URL is not as expected, cannot be reached or was skipped, and 2 if
/// nothing was checked: there are no such URLs, or all of them are at private addresses.
///
/// With `--json`, prints one object per URL: `url`, `verdict`, `status`,
/// `expected`, `got`, `since`, `capture`, `reason`; after redirects `redirects` (`status`,
/// `location`), `final_url`, `final_status` and perhaps a `warning`; in an archive also `check`,
/// `health` (ok, flaky, failing, gone) and `last_good`; against the archive `comparison`
/// (unchanged, noise, changed, gone); with `--links` the first `referrers` and the `referrer_count`;
/// with `--explain` the `difference`, as in `varve diff --json`.
/// The `capture` is the record of the response, which `varve get` prints. The last object has the
/// `summary`, the number of URLs by verdict and of `warnings`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve check
  varve check --domain example.com --map example.com=staging.example.com
  varve check --against-archive --explain
  varve check --links
  varve check --links https://example.com/docs/ --exclude 'https://example.org/**' --accept 403,429
  varve check --links README.md docs --base-url https://example.com/ --cached 1d
  varve check --db urldb --no-capture --format junit")]
pub(super) struct CheckArgs {
    /// The folder of the URL database [default: `urls` in the archive]
    #[arg(long, value_name = "DIR", conflicts_with = "against_archive")]
    db: Option<PathBuf>,

    /// Check every URL of HEAD, without a database
    #[arg(long, conflicts_with_all = ["category", "map", "cnames"])]
    against_archive: bool,

    /// Store nothing: no captures, no verdicts
    #[arg(long)]
    no_capture: bool,

    /// Show how a failure differs from the last good capture
    #[arg(long, conflicts_with = "no_capture")]
    explain: bool,

    /// Why the check is made
    #[arg(short, long, default_value = "check")]
    message: String,

    /// Who makes the check
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    #[command(flatten)]
    linked: LinkArgs,

    #[command(flatten)]
    manner: CheckFilterArgs,

    #[command(flatten)]
    web: ProbeArgs,

    #[command(flatten)]
    form: ReportFormatArgs,
}

/// Which URLs are checked, and how.
#[derive(clap::Args)]
pub(super) struct CheckFilterArgs {
    #[command(flatten)]
    which: UrlFilterArgs,

    /// Send requests for the first host, a domain or with `--cnames` an alias, to the second; may
    /// be repeated
    #[arg(long, value_name = "HOST=HOST", value_parser = mapping)]
    map: Vec<(String, String)>,

    /// Check every alias of a domain as well
    #[arg(long)]
    cnames: bool,

    /// Count a URL as broken if its redirects end in an error status, in a loop or nowhere
    #[arg(long)]
    follow: bool,

    /// Only warn about such redirects, also with `--against-archive`
    #[arg(long, conflicts_with = "follow")]
    no_follow: bool,

    /// Retry a failed request N times
    #[arg(long, value_name = "N", default_value_t = 1)]
    retries: u32,

    /// Pause before a retry
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse)]
    retry_delay: Duration,
}

impl CheckFilterArgs {
    /// `follows` says whether redirects must end in a page unless the user says otherwise.
    fn request(&self, stop: &Arc<AtomicBool>, follows: bool) -> Request {
        Request {
            follow: self.follow || (follows && !self.no_follow),
            known_since: None,
            filter: self.which.clone().into(),
            map: self.map.clone(),
            cnames: self.cnames,
            retries: self.retries,
            pause: self.retry_delay,
            stop: Some(Arc::clone(stop)),
        }
    }
}

fn mapping(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("write two hosts with `=` between them: `example.com=localhost:8080`".to_owned()),
    }
}

/// The format of the report.
#[derive(clap::Args)]
pub(super) struct ReportFormatArgs {
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "junit", "github"])]
    format: String,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// In text, also list the URLs that answer as expected
    #[arg(short, long)]
    verbose: bool,
}

impl ReportFormatArgs {
    fn report_format(&self) -> ReportFormat {
        match self.format.as_str() {
            "json" => ReportFormat::Json,
            "junit" => ReportFormat::Junit,
            "github" => ReportFormat::Github,
            _ if self.json => ReportFormat::Json,
            _ => ReportFormat::Text,
        }
    }
}

/// Prints verdicts one after another.
struct VerdictPrinter<'a> {
    printer: &'a mut Printer,
    reporter: CheckReporter,
    format: ReportFormat,
    /// Whether URLs that answer as expected are left out.
    is_brief: bool,
    hints: NetworkHints,
    /// Whether a request to a private address was refused.
    guarded: bool,
}

impl<'a> VerdictPrinter<'a> {
    fn new(printer: &'a mut Printer, form: &ReportFormatArgs) -> Self {
        let format = form.report_format();
        Self {
            printer,
            reporter: CheckReporter::new(format),
            format,
            is_brief: format == ReportFormat::Text && !form.verbose,
            hints: NetworkHints::default(),
            guarded: false,
        }
    }

    /// Shows on a terminal how many URLs are checked.
    fn progress(&mut self) -> impl FnMut(CheckProgress) + use<> {
        let mut bar: printer::ProgressHandle = self.printer.progress_said();
        move |progress: CheckProgress| {
            let bar = &mut bar;
            bar.say(format!("{} of {} checked", progress.done, progress.total));
        }
    }

    fn tell(&mut self, checked: &CheckedUrl) -> Result<(), Error> {
        if let Some(ProbeFailure { kind, url }) = &checked.trouble {
            self.hints.add(kind.word(), url);
            self.guarded |= *kind == FetchErrorKind::Guard;
        }
        let text = self.reporter.add(checked);
        if self.is_brief && checked.is_plain_success() {
            return Ok(());
        }
        let word = checked.verdict.kind().name();
        match text.strip_prefix(word).filter(|_| self.format == ReportFormat::Text) {
            Some(rest) => {
                let style = style(&checked.verdict);
                self.printer.text(&format!("{style}{word}{style:#}{rest}"))
            }
            None => self.printer.text(&text),
        }
    }

    /// Ends the report, and says if it was interrupted.
    fn close(self, manner: &CheckFilterArgs, stop: &AtomicBool) -> Result<ExitStatus, Error> {
        self.printer.text(&self.reporter.close())?;
        if self.format != ReportFormat::Json {
            self.hints.iter().for_each(|hint| self.printer.hint(hint));
        }
        if stop.load(Ordering::Relaxed) {
            self.printer.say("stopped: only URLs that were checked by then are reported");
            return Ok(ExitStatus::Interrupted);
        }
        let summary = self.reporter.summary();
        if self.guarded && summary.ok + summary.failures() == 0 {
            self.printer.fail("nothing was checked: all URLs are at private addresses");
            return Ok(ExitStatus::Incomplete);
        }
        if summary.total() == 0 {
            let why = if manner.which.chooses() { "no URL matches" } else { "there are no URLs to check" };
            self.printer.fail(format_args!("{why}: nothing was checked"));
            return Ok(ExitStatus::Incomplete);
        }
        Ok(if summary.ok < summary.total() { ExitStatus::Findings } else { ExitStatus::Done })
    }
}

fn style(verdict: &Verdict) -> anstyle::Style {
    match verdict {
        Verdict::Ok => GOOD_STYLE,
        Verdict::Changed(_) | Verdict::Broken(_) | Verdict::Unreachable(_) => BAD_STYLE,
        Verdict::Skipped(_) => FAINT_STYLE,
    }
}

/// Checks the URLs of a database, and stores nothing.
pub(super) fn check_database(
    database: &UrlDatabase,
    (manner, web, form): (&CheckFilterArgs, &ProbeArgs, &ReportFormatArgs),
    session: &mut Session,
) -> Result<ExitStatus, Error> {
    let stop = signals::stop_flag();
    let prober = web.prober(session, None, false, Some(Arc::clone(&stop)))?;
    let mut teller = VerdictPrinter::new(&mut session.printer, form);
    let mut progress = teller.progress();
    check_without_evidence(database, &manner.request(&stop, false), &prober, &mut progress, |checked| {
        teller.tell(&checked)
    })?;
    teller.close(manner, &stop)
}

impl Verb for CheckArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let archive = self.archive(session)?;
        match archive {
            layout if self.linked.links => self.check_links(layout, session),
            Some(_) if !self.no_capture => self.with_evidence(session),
            Some(layout) if self.against_archive => self.against(&layout, session),
            layout => self.without_evidence(layout, session),
        }
    }
}

impl CheckArgs {
    /// Whether the check can run outside of an archive.
    fn needs_no_archive(&self) -> bool {
        self.db.is_some() || (self.linked.links && !self.linked.needs_archive())
    }

    /// Checks links, and stores the evidence if there is an archive.
    fn check_links(&self, layout: Option<ArchivePaths>, session: &mut Session) -> Result<ExitStatus, Error> {
        let rules = self.linked.rules();
        let stop = signals::stop_flag();
        let request = Request { known_since: self.linked.known_since(), ..self.manner.request(&stop, true) };
        if let Some(layout) = layout.as_ref().filter(|_| !self.no_capture) {
            let history = session.open_archive_history()?;
            let links = self.linked.collect(Some(&history), session)?;
            let temporary = Some(layout.temporary_folder());
            let prober = self.web.prober(session, temporary, true, Some(Arc::clone(&stop)))?;
            return self.store(
                &history,
                ExpectationSource::Links(&links, &rules),
                &request,
                &prober,
                session,
            );
        }
        let history = layout.map(|layout| ArchiveHistoryReader::open(layout.root())).transpose()?;
        let history = history.as_ref().map(HistoryReader::from);
        let links = self.linked.collect(history.as_ref(), session)?;
        let prober = self.web.prober(session, None, true, Some(Arc::clone(&stop)))?;
        let mut teller = VerdictPrinter::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        check_links((&links, &rules), &request, &prober, &mut progress, |checked| teller.tell(&checked))?;
        teller.close(&self.manner, &stop)
    }

    /// The archive; `None` outside of an archive with `--db`, or with links of files.
    fn archive(&self, session: &Session) -> Result<Option<ArchivePaths>, Error> {
        let layout = match session.root() {
            Ok(root) => ArchivePaths::new(&root),
            Err(Error::Archive(ArchiveError::NoArchive(_))) if self.needs_no_archive() => return Ok(None),
            Err(error) => return Err(error),
        };
        if !layout.is_archive() {
            return Err(RepositoryError::NotAnArchive { path: layout.root().to_owned() }.into());
        }
        Ok(Some(layout))
    }

    fn database(&self, layout: Option<&ArchivePaths>) -> Result<UrlDatabase, Error> {
        match (&self.db, layout) {
            (None, Some(layout)) => {
                Ok(UrlDatabase::open_below(layout.files().clone(), &layout.expectations())?)
            }
            (folder, _) => Ok(UrlDatabase::open(folder.as_deref().unwrap_or(Path::new("")))?),
        }
    }

    fn without_evidence(
        &self,
        layout: Option<ArchivePaths>,
        session: &mut Session,
    ) -> Result<ExitStatus, Error> {
        let database = self.database(layout.as_ref())?;
        check_database(&database, (&self.manner, &self.web, &self.form), session)
    }

    fn against(&self, layout: &ArchivePaths, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = ArchiveHistoryReader::open(layout.root())?;
        let stop = signals::stop_flag();
        let prober = self.web.prober(session, None, true, Some(Arc::clone(&stop)))?;
        let mut teller = VerdictPrinter::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        let history = HistoryReader::from(&history);
        look(&history, &self.manner.request(&stop, true), &prober, &mut progress, |checked| {
            teller.tell(&checked)
        })?;
        teller.close(&self.manner, &stop)
    }

    fn with_evidence(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_archive_history()?;
        let layout = history.writer().layout();
        let database = if self.against_archive { None } else { Some(self.database(Some(layout))?) };
        let source = database.as_ref().map_or(ExpectationSource::LastVersion, ExpectationSource::Database);
        let stop = signals::stop_flag();
        let prober =
            self.web.prober(session, Some(layout.temporary_folder()), true, Some(Arc::clone(&stop)))?;
        let request = self.manner.request(&stop, self.against_archive);
        self.store(&history, source, &request, &prober, session)
    }

    /// Runs a check, stores its evidence and prints its verdicts.
    fn store(
        &self,
        history: &ArchiveHistoryWriter,
        source: ExpectationSource<'_>,
        request: &Request,
        prober: &WebProber,
        session: &mut Session,
    ) -> Result<ExitStatus, Error> {
        let label = CheckLabel { message: self.message.clone(), author: self.author.clone() };
        let mut teller = VerdictPrinter::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        let stored = check(history, source, request, label, prober, &mut progress, |checked| {
            self.tell(history, checked, &mut teller)
        })?;
        let is_stopped = AtomicBool::new(false);
        let outcome = teller.close(&self.manner, request.stop.as_deref().unwrap_or(&is_stopped))?;
        say(&stored, &mut session.printer);
        Ok(outcome)
    }

    /// Prints a verdict, and with `--explain` how a failure differs from the last good capture. In
    /// JSON the difference is part of the verdict.
    fn tell(
        &self,
        history: &ArchiveHistoryWriter,
        mut checked: CheckedUrl,
        teller: &mut VerdictPrinter<'_>,
    ) -> Result<(), Error> {
        let history: &HistoryReader = history;
        let (options, format) = (CompareOptions::default(), teller.format);
        if self.explain && format == ReportFormat::Json {
            let mut difference = None;
            explain(history, &checked, &options, |page| {
                difference = Some(page_diff_json(page, false));
                Ok::<(), Error>(())
            })?;
            checked.archived.difference = difference;
        }
        teller.tell(&checked)?;
        if format == ReportFormat::Text {
            explain(history, &checked, &options, |page| match self.explain {
                true => {
                    let whole = show_command(page, &checked);
                    print_excerpt(page, DiffExcerpt { lines: MAX_DIFF_LINES, whole: &whole }, teller.printer)
                }
                false => print_diff_size(page, &checked, teller.printer),
            })?;
        }
        Ok(())
    }
}

/// The command that shows the whole difference, if both sides have ids and the URL finds both.
fn diff_command(checked: &CheckedUrl) -> Option<String> {
    let (good, check) = (checked.archived.last_good.as_ref()?, checked.archived.check?.to_string());
    let (holder, is_found) = (good.holder()?, good.check.is_some() || good.capture.url == checked.url);
    is_found.then(|| format!("varve diff {holder:.8} {check:.8} --url {}", quoted(&checked.url)))
}

/// The command that shows a failure: the difference, or else the response.
fn show_command(page: &PageComparison<'_>, checked: &CheckedUrl) -> String {
    diff_command(checked).unwrap_or_else(|| {
        let capture = page.pair.any();
        format!("varve cat {} --at {}", quoted(&capture.url), capture.time)
    })
}

/// Prints how many lines of a failure differ from the last good capture, and the command that shows
/// them. A redirect or a fragment may be broken although no line differs.
fn print_diff_size(
    page: &PageComparison<'_>,
    checked: &CheckedUrl,
    printer: &mut Printer,
) -> Result<(), Error> {
    let lines = page.comparison.and_then(|comparison| comparison.lines_changed(true));
    let Some((added, removed)) = lines.filter(|(added, removed)| added + removed > 0) else { return Ok(()) };
    let command = show_command(page, checked);
    printer.line(format_args!(
        "{:<11}  {GOOD_STYLE}+{added}{GOOD_STYLE:#} {BAD_STYLE}-{removed}{BAD_STYLE:#} lines: {}",
        "",
        visible(&command)
    ))
}

fn say(report: &Report, printer: &mut Printer) {
    if let Some(check) = report.check {
        printer.say(format_args!("{} stored as check {check}", counted(report.responses, "response")));
    }
}
