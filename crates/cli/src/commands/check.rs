//! `varve check`: promises against the live web, with the evidence.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_archive::RepositoryError;

use varve_archive::expectations::report::{CheckReporter, CheckedUrl, ReportFormat};
use varve_archive::expectations::{ProbeFailure, UrlDatabase, Verdict};
use varve_archive::history::{ArchiveHistory, ArchiveHoldings, Holdings};
use varve_archive::verbs::capture::FetchErrorKind;
use varve_archive::verbs::check::{
    CheckProgress, Ended, Filter, Note, Promised, Request, check, explain, look,
};
use varve_archive::verbs::diff::{Options, PageDiff};
use varve_archive::verbs::urls::check::check as check_plainly;
use varve_archive::{ArchiveError, Layout};

use super::diff::{Beginning, draw, told};
use super::{Outcome, Verb};
use crate::error::Error;
use crate::hints::Hints;
use crate::printer::{self, BAD, FAINT, GOOD, Printer, WARN, counted, visible};
use crate::prober::Web;
use crate::session::Session;
use crate::{duration, interrupt};

const EXAMPLES: &str = "\
Examples:
  varve check
  varve check --domain example.com --map example.com=staging.example.com
  varve check --against-archive --explain
  varve check --db urldb --no-capture --format junit";

/// So many lines of a difference are shown: a page that is gone differs in all of them.
const MOST_LINES: usize = 40;

/// Check that the live web answers as promised, and keep the evidence
///
/// What is promised is in the URL database of the archive (see `varve urls`), or in another with `--db`. A URL that fails
/// is asked again, after a pause, before it counts. Ctrl-C ends a check with what it has found.
///
/// In an archive every answer is captured, the verdicts are written down, and both become a version. A failure is shown
/// with the version that proves it, since when it fails, the last time when all was as promised, and how much the two
/// differ; with `--explain`, with the beginning of the difference and the command that shows all of it. Outside of an archive, and with `--no-capture`, nothing is kept.
///
/// With `--against-archive` nothing need be promised: every URL of the last version must still answer as it did. A page in
/// which only noise differs, such as nonces and clocks, counts as unchanged.
///
/// What is not asked is skipped, with the reason: what is wanted of a host that failed too often in a row, and what lies at a
/// private address (see `--allow-private`). It counts neither as kept nor as broken.
///
/// The exit code is 1 if anything is not as promised, cannot be reached or was skipped, and 2 if nothing could be checked because all of it
/// lies at private addresses.
///
/// With `--json` there is one object a URL: `url`, `verdict` (met, drift, unreachable, skipped), `status`, `expected`,
/// `got`, `since`, `capture`, `reason`; in an archive also `version`, `standing` (ok, flaky, failing, gone) and `last_good`, and against
/// the archive `comparison` (unchanged, noise, changed, gone), and with `--explain` the `difference`, as `varve diff --json`
/// has it; and a last one with the `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// The folder of the URL database; without it, `urls` in the archive
    #[arg(long, value_name = "DIR", conflicts_with = "against_archive")]
    db: Option<PathBuf>,

    /// Check every URL of the last version, without a database
    #[arg(long, conflicts_with_all = ["category", "map", "cnames"])]
    against_archive: bool,

    /// Keep nothing: no captures, no verdicts
    #[arg(long)]
    no_capture: bool,

    /// Show how a failure differs from the last capture that was as promised
    #[arg(long, conflicts_with = "no_capture")]
    explain: bool,

    /// Why the version is made
    #[arg(short, long, default_value = "check")]
    message: String,

    /// Who makes it
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    #[command(flatten)]
    manner: Manner,

    #[command(flatten)]
    web: Web,

    #[command(flatten)]
    form: Form,
}

/// What is checked.
#[derive(clap::Args)]
pub(super) struct Manner {
    /// Only those of this category
    #[arg(short, long, value_name = "NAME")]
    category: Option<String>,

    /// Only those of this domain, by its name or an alias
    #[arg(short, long, value_name = "HOST")]
    domain: Option<String>,

    /// Only those whose path begins so
    #[arg(long, value_name = "PATH")]
    path_prefix: Option<String>,

    /// Ask another host for what is expected of the first, a domain or, with `--cnames`, an alias; may be given again
    #[arg(long, value_name = "HOST=HOST", value_parser = mapping)]
    map: Vec<(String, String)>,

    /// Ask every alias of a domain as well
    #[arg(long)]
    cnames: bool,

    /// How often to ask again what failed
    #[arg(long, value_name = "N", default_value_t = 1)]
    retries: u32,

    /// Before what failed is asked again
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse)]
    pause: Duration,
}

impl Manner {
    /// Whether some are meant and others are not: then none at all is a slip of the pen.
    fn chooses(&self) -> bool {
        [&self.category, &self.domain, &self.path_prefix].into_iter().any(Option::is_some)
    }

    pub(super) fn request(&self, stop: &Arc<AtomicBool>) -> Request {
        let filter = Filter {
            category: self.category.clone(),
            domain: self.domain.clone(),
            path_prefix: self.path_prefix.clone(),
        };
        Request {
            filter,
            map: self.map.clone(),
            cnames: self.cnames,
            retries: self.retries,
            pause: self.pause,
            stop: Some(Arc::clone(stop)),
        }
    }
}

fn mapping(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("two hosts with `=` between them: `example.com=localhost:8080`".to_owned()),
    }
}

/// How it is told.
#[derive(clap::Args)]
pub(super) struct Form {
    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "junit", "github"])]
    format: String,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Form {
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

/// Tells verdicts, one after another.
pub(super) struct Teller<'a> {
    printer: &'a mut Printer,
    reporter: CheckReporter,
    format: ReportFormat,
    hints: Hints,
    /// Whether the guard kept some from being asked.
    guarded: bool,
}

impl<'a> Teller<'a> {
    pub(super) fn new(printer: &'a mut Printer, form: &Form) -> Self {
        let format = form.report_format();
        Self {
            printer,
            reporter: CheckReporter::new(format),
            format,
            hints: Hints::default(),
            guarded: false,
        }
    }

    /// Shows how far the check is, on a terminal.
    pub(super) fn progress(&mut self) -> impl FnMut(CheckProgress) + use<> {
        let mut bar: printer::Progress = self.printer.progress_said();
        move |progress: CheckProgress| {
            let bar = &mut bar;
            bar.say(format!("{} of {} checked", progress.done, progress.total));
        }
    }

    pub(super) fn tell(&mut self, checked: &CheckedUrl) -> Result<(), Error> {
        if let Some(ProbeFailure { kind, url }) = &checked.trouble {
            self.hints.see(kind.word(), url);
            self.guarded |= *kind == FetchErrorKind::Guard;
        }
        let text = self.reporter.add(checked);
        let word = checked.verdict.word();
        match text.strip_prefix(word).filter(|_| self.format == ReportFormat::Text) {
            Some(rest) => {
                let style = style(&checked.verdict);
                self.printer.text(&format!("{style}{word}{style:#}{rest}"))
            }
            None => self.printer.text(&text),
        }
    }

    /// Ends the report. One that was stopped before its end says so.
    pub(super) fn close(self, manner: &Manner, stop: &AtomicBool) -> Result<Outcome, Error> {
        self.printer.text(&self.reporter.close())?;
        if self.format != ReportFormat::Json {
            self.hints.tell(self.printer);
        }
        if stop.load(Ordering::Relaxed) {
            self.printer.say("stopped: only what had its verdict by then is told");
            return Ok(Outcome::Interrupted);
        }
        let summary = self.reporter.summary();
        if self.guarded && summary.met + summary.failures() == 0 {
            self.printer
                .say(format_args!("{BAD}error:{BAD:#} nothing was checked: no URL may be asked from here"));
            return Ok(Outcome::Incomplete);
        }
        if summary.total() == 0 {
            if manner.chooses() {
                self.printer.say(format_args!("{BAD}error:{BAD:#} no URL is like that: nothing was checked"));
                return Ok(Outcome::Incomplete);
            }
            self.printer.say(format_args!("{WARN}warning:{WARN:#} no URL was meant: nothing was checked"));
        }
        Ok(if summary.met < summary.total() { Outcome::Findings } else { Outcome::Done })
    }
}

fn style(verdict: &Verdict) -> anstyle::Style {
    match verdict {
        Verdict::Met => GOOD,
        Verdict::Drift(_) | Verdict::Unreachable(_) => BAD,
        Verdict::Skipped(_) => FAINT,
    }
}

impl Verb for Check {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let archive = self.archive(session)?;
        match archive {
            Some(_) if !self.no_capture => self.with_evidence(session),
            Some(layout) if self.against_archive => self.against(&layout, session),
            layout => self.plainly(layout, session),
        }
    }
}

impl Check {
    /// The archive; none where there is none and another database was named.
    fn archive(&self, session: &Session) -> Result<Option<Layout>, Error> {
        let layout = match session.root() {
            Ok(root) => Layout::new(&root),
            Err(Error::Archive(ArchiveError::None { .. })) if self.db.is_some() => return Ok(None),
            Err(error) => return Err(error),
        };
        if !layout.is_archive() {
            return Err(ArchiveError::Repository(RepositoryError::NotAnArchive {
                path: layout.root().to_owned(),
            })
            .into());
        }
        Ok(Some(layout))
    }

    fn database(&self, layout: Option<&Layout>) -> Result<UrlDatabase, Error> {
        let folder = self.db.clone().or_else(|| layout.map(Layout::expectations)).unwrap_or_default();
        Ok(UrlDatabase::open(&folder)?)
    }

    fn plainly(&self, layout: Option<Layout>, session: &mut Session) -> Result<Outcome, Error> {
        let database = self.database(layout.as_ref())?;
        let stop = interrupt::flag();
        let prober = self.web.prober(session, None, false, Some(Arc::clone(&stop)))?;
        let mut teller = Teller::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        check_plainly(&database, &self.manner.request(&stop), &prober, &mut progress, |checked| {
            teller.tell(&checked)
        })?;
        teller.close(&self.manner, &stop)
    }

    fn against(&self, layout: &Layout, session: &mut Session) -> Result<Outcome, Error> {
        let holdings = ArchiveHoldings::open(layout.root())?;
        let stop = interrupt::flag();
        let prober = self.web.prober(session, None, true, Some(Arc::clone(&stop)))?;
        let mut teller = Teller::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        look(&holdings, &self.manner.request(&stop), &prober, &mut progress, |checked| {
            teller.tell(&checked)
        })?;
        teller.close(&self.manner, &stop)
    }

    fn with_evidence(&self, session: &mut Session) -> Result<Outcome, Error> {
        let history = session.open_archive_history()?;
        let layout = history.writer().layout();
        let database = if self.against_archive { None } else { Some(self.database(Some(layout))?) };
        let promised = database.as_ref().map_or(Promised::ByArchive, Promised::By);
        let stop = interrupt::flag();
        let prober = self.web.prober(session, Some(layout.temporary()), true, Some(Arc::clone(&stop)))?;
        let note = Note { message: self.message.clone(), author: self.author.clone() };
        let mut teller = Teller::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        let request = self.manner.request(&stop);
        let ended = check(&history, promised, &request, note, &prober, &mut progress, |checked| {
            self.tell(&history, checked, &mut teller)
        })?;
        let outcome = teller.close(&self.manner, &stop)?;
        say(&ended, &mut session.printer);
        Ok(outcome)
    }

    /// Tells a verdict and, if that is asked for, how a failure differs from the last good capture: to people behind it,
    /// to programs in it.
    fn tell(
        &self,
        history: &ArchiveHistory,
        mut checked: CheckedUrl,
        teller: &mut Teller<'_>,
    ) -> Result<(), Error> {
        let holdings: &dyn Holdings = history;
        let (options, format) = (Options::default(), teller.format);
        if self.explain && format == ReportFormat::Json {
            let mut difference = None;
            explain(holdings, &checked, &options, |page| {
                difference = Some(told(page));
                Ok::<(), Error>(())
            })?;
            checked.difference = difference;
        }
        teller.tell(&checked)?;
        if format == ReportFormat::Text {
            explain(holdings, &checked, &options, |page| match self.explain {
                true => {
                    let whole = way_to_see(page, &checked);
                    draw(page, Beginning { lines: MOST_LINES, whole: &whole }, teller.printer)
                }
                false => point_to(page, &checked, teller.printer),
            })?;
        }
        Ok(())
    }
}

/// The command that shows a difference whole, where both sides are in versions and of one URL.
fn diff_command(page: &PageDiff<'_>, checked: &CheckedUrl) -> Option<String> {
    let (good, version) = (checked.good_version()?.to_string(), checked.version?.to_string());
    let is_one_page = matches!((&page.pair.base, &page.pair.head), (Some(a), Some(b)) if a.url == b.url);
    is_one_page.then(|| format!("varve diff {good:.8} {version:.8} --url {}", quoted(&page.pair.any().url)))
}

/// The command that shows what a failure is: the difference, or else the answer itself.
fn way_to_see(page: &PageDiff<'_>, checked: &CheckedUrl) -> String {
    diff_command(page, checked).unwrap_or_else(|| {
        let capture = page.pair.any();
        format!("varve cat {} --at {}", quoted(&capture.url), capture.time)
    })
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How much a failure differs from the last good capture, and how to see it.
fn point_to(page: &PageDiff<'_>, checked: &CheckedUrl, printer: &mut Printer) -> Result<(), Error> {
    let command = way_to_see(page, checked);
    let (added, removed) =
        page.comparison.and_then(|comparison| comparison.lines_changed(true)).unwrap_or_default();
    printer.line(format_args!(
        "{:<11}  {GOOD}+{added}{GOOD:#} {BAD}-{removed}{BAD:#} lines: {}",
        "",
        visible(&command)
    ))
}

fn say(ended: &Ended, printer: &mut Printer) {
    if let Some(version) = ended.version {
        printer.say(format_args!("{} kept in version {version}", counted(ended.captures, "answer")));
    }
}
