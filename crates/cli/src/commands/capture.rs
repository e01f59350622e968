//! `varve capture`: fetches pages with what they embed, as one version or as revisions of a Crystal
//! project.

mod arguments;
mod crystal_capture;
mod run_reporter;
mod skipped_urls;
mod unsent_credentials;
mod written_options;

use std::path::{Path, PathBuf};

use serde_json::json;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::capture::{
    self as verb, CrawlEvent, CrawlSettings, NetworkOptions, RunEnd, RunOptions,
};
use varve_archive::verbs::intent;
use varve_archive::verbs::plan::{Plan, is_project, load};
use varve_archive::{ArchiveError, ArchivePaths};

pub(super) use self::arguments::find_chromium;
use self::arguments::{BrowserArgs, HeaderArgs, LimitArgs, RateArgs, RefetchArgs, ScopeArgs};
use self::run_reporter::CaptureSummary;
pub(super) use self::run_reporter::RunReporter;
pub(super) use self::unsent_credentials::UnsentCredentials;
use self::written_options::WrittenOptions;
use crate::network_args::NetworkArgs;
use crate::printer::{counted, human_size};
use crate::signals;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::UNINDEXED_TEXT;

/// Capture pages from the web as one version
///
/// A page is captured with what it embeds (images, style sheets, scripts, fonts, frames), on any host. Without
/// `--depth` and `--scope`, only the given pages are captured. `--depth` follows links on the hosts of the given
/// pages; `--scope` alone follows them to any depth.
///
/// Without URLs, the plan is followed (see `varve plan`): its roots are captured, then the members of its groups.
///
/// `robots.txt` is obeyed. Each host gets one request at a time, with a pause between requests. A page that did not
/// change since its last capture costs one conditional request and almost no space.
///
/// With `--browser`, pages are loaded in Chromium, which runs their scripts. The requests of the scripts are captured
/// too, and the resulting document and a screenshot are kept with each page. Resources already fetched in this run are
/// reused unless their Cache-Control forbids it. POST requests made by a page are recorded with their responses, but
/// are not captures of the URL.
///
/// Ctrl-C stops a run and makes a version of what it has captured; the exit code is 130. `--resume` continues a run
/// that was stopped or killed, and the version that it makes then contains all of it. Options that would change which
/// pages belong to the run are rejected with `--resume`; others replace those of the run. `--finish` ends the run with
/// what it has captured. In a Crystal project without such a run, `--resume` continues the tasks that Crystal left when
/// it was closed, and removes them when they are done.
///
/// An archive asks for every page again, with conditional requests. With `--stale-before` or `--retry-errors`, only what
/// they select and what is missing is requested; the links of the other pages are read from their captures, and the
/// version contains only the fetched pages.
///
/// In a Crystal project each response becomes a revision, and a failure is recorded as one. As in Crystal, only what is
/// missing is requested, unless `--again`, `--stale-before` or `--retry-errors` is given. Without URLs, its roots and
/// the members of its groups are captured. Cookies that were sent are recorded with the revision, as Crystal does. A
/// truncated response is kept if its `Content-Length` shows that it is truncated; otherwise it is recorded as a
/// failure. `--browser` is rejected, because a project cannot store the rendered document and the screenshot.
///
/// Patterns match the whole URL: `**` is any text, `*` any text without `/`, `?`, `=` and `&`, `#` a number.
///
/// With `--json`, prints one object per line: events with `event` (`captured`, `exchanged`, `failed`, `skipped`,
/// `links_skipped`, ...),
/// and last `version`, `captured`, `unchanged`, `exchanged`, `present` (URLs that were not requested, because they were
/// captured before), `failed`, `skipped`, `bytes`, `queued`, `stopped`,
/// `given_up` (hosts that stopped responding; their pages are left for `--resume`), `again` (when a host asked to wait
/// longer than `--max-wait`: the time from which `--resume` can continue) and `pages_answered` (number of pages by
/// status of 400 and above).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve capture https://example.com/
  varve capture https://example.com/docs/ --scope prefix -m 'the manual of version 3'
  varve capture https://example.com/ --depth 2 --exclude '**/print/**' --limit-pages 1000
  varve capture https://intranet.example/ --scope host --allow-private --credentials secrets.txt
  VARVE_CREDENTIALS='intranet.example Cookie: session=1' varve capture https://intranet.example/
  varve capture https://forum.example/ --depth 1 --cookies cookies.txt
  varve capture https://example.com/ --browser
  varve capture
  varve capture --resume")]
pub(super) struct CaptureArgs {
    #[command(flatten)]
    written: WrittenOptions,

    /// The pages to start with [default: the plan]
    #[arg(value_name = "URL", conflicts_with_all = ["resume", "finish"])]
    urls: Vec<String>,

    /// Why this version is made
    #[arg(short, long)]
    message: Option<String>,

    /// Who makes this version
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// Continue the run that was stopped or killed, with its options. Headers and credentials were not stored and must
    /// be given again. Limits (they start again), rate, timeouts, `--max-size`, `--no-conditional`, `--user-agent`,
    /// message and author may be given to replace those of the run
    #[arg(long, conflicts_with = "finish")]
    resume: bool,

    /// End the run that was stopped or killed with what it has captured
    #[arg(long, conflicts_with_all = ["message", "limit_pages", "limit_bytes", "limit_time"])]
    finish: bool,

    /// List every skipped URL in this file: the rule, a tab, the URL. An existing file is replaced; with `--resume` it
    /// is appended to
    #[arg(long, value_name = "FILE")]
    skipped: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    rate: RateArgs,

    #[command(flatten)]
    refetch: RefetchArgs,

    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    header: HeaderArgs,

    #[command(flatten)]
    browser: BrowserArgs,
}

impl Verb for CaptureArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let reach = self.network_options(session)?;
        self.scope.note_literals(&mut session.printer);
        if is_project(&ArchivePaths::new(&session.root()?)) {
            return self.capture_into_project(session, reach);
        }
        let settings = self.settings(session)?;
        let history = session.open_archive_history()?;
        let intent = intent::keep(&history)?;
        let stop = signals::stop_flag();
        let unsent = UnsentCredentials::new(&reach);
        let manner = RunOptions { reach, threads: Session::threads(), stop: &stop, intent };
        let mut watcher = RunReporter::new(&mut session.printer, self.json, self.list(), unsent)?;
        let ended = self.start(settings, &history, manner, &mut |event| watcher.see(&event));
        let seen = watcher.end()?;
        let is_left = || verb::unfinished(&history).is_ok_and(|runs| !runs.is_empty());
        if ended.as_ref().is_err_and(|error| error.is_disk_full() && is_left()) {
            session.printer.say(
                "the captures so far are stored; free some space, then `varve capture --resume` continues",
            );
        }
        let ended = ended?;
        self.print(session, &ended, &seen)?;
        Ok(outcome(&ended))
    }
}

fn outcome(ended: &RunEnd) -> ExitStatus {
    let failed = ended.tally.failed + ended.tally.failed_before;
    match ended.version {
        _ if ended.hosts_left => ExitStatus::Findings,
        _ if ended.stopped => ExitStatus::Interrupted,
        None if failed == 0 && ended.tally.seeds_refused == 0 && ended.tally.present > 0 => ExitStatus::Done,
        // No page was captured. Each failure and each skipped page was reported.
        None => ExitStatus::Findings,
        Some(_) if failed > 0 || ended.tally.seeds_refused > 0 => ExitStatus::Findings,
        Some(_) => ExitStatus::Done,
    }
}

impl CaptureArgs {
    fn start(
        &self,
        settings: CrawlSettings,
        history: &ArchiveHistoryWriter,
        manner: RunOptions<'_>,
        report: &mut dyn FnMut(CrawlEvent<'_>),
    ) -> Result<RunEnd, ArchiveError> {
        if self.finish {
            return verb::finish(history, manner);
        }
        if self.resume {
            let change = |kept: &mut CrawlSettings| self.written.change(kept, &settings);
            return verb::resume(history, change, manner, report);
        }
        verb::capture(history, settings, manner, report)
    }

    /// The file for skipped URLs, and whether to append to it.
    fn list(&self) -> Option<(&Path, bool)> {
        self.skipped.as_deref().map(|path| (path, self.resume))
    }

    /// Whether to follow the plan. `--scope` and `--depth` do not apply to a plan.
    fn follows_plan(&self) -> Result<bool, Error> {
        if !self.urls.is_empty() || self.resume || self.finish {
            return Ok(false);
        }
        if self.scope.needs_urls() {
            let message = "`--scope` and `--depth` need URLs; a plan has groups\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message).into());
        }
        Ok(true)
    }

    fn settings(&self, session: &Session) -> Result<CrawlSettings, Error> {
        let plan = match self.follows_plan()? {
            true => Some(load(&ArchivePaths::new(&session.root()?))?.plan),
            false => None,
        };
        self.settings_with(session, plan)
    }

    fn settings_with(&self, session: &Session, plan: Option<Plan>) -> Result<CrawlSettings, Error> {
        let user_agent = self.network.user_agent(session)?;
        let settings = CrawlSettings {
            seeds: self.urls.clone(),
            plan,
            browser: self.browser.browser,
            message: self.message.clone().unwrap_or_else(|| self.default_message()),
            author: self.author.clone(),
            refetch: self.refetch.for_archive(),
            ..self.scope.settings()
        }
        .with(|settings| settings.politeness.user_agent = user_agent);
        Ok(self.rate.apply(self.limits.apply(settings)))
    }

    fn default_message(&self) -> String {
        match self.urls.as_slice() {
            [] => "capture of the plan".to_owned(),
            [url] => format!("capture of {url}"),
            [url, others @ ..] => format!("capture of {url} and {} more", others.len()),
        }
    }

    fn network_options(&self, session: &Session) -> Result<NetworkOptions, Error> {
        let HeaderArgs { headers, without_credentials } = &self.header;
        Ok(NetworkOptions {
            headers: headers.clone(),
            browser: self.browser.executable(),
            without_credentials: *without_credentials,
            ..self.network.network_options(session)?
        })
    }

    fn print(&self, session: &mut Session, ended: &RunEnd, seen: &CaptureSummary) -> Result<(), Error> {
        let tally = &ended.tally;
        if ended.is_unindexed {
            session.printer.warn(UNINDEXED_TEXT);
        }
        if self.json {
            return session.printer.json(&json!({
                "version": ended.version.map(|version| version.to_string()),
                "parent": ended.parent.map(|parent| parent.to_string()),
                "run": ended.run.to_string(),
                "captured": ended.captures,
                "captured_now": tally.captured,
                "pages": tally.pages,
                "pages_answered": seen.refused(),
                "unchanged": tally.unchanged,
                "truncated": tally.truncated,
                "exchanged": tally.exchanged,
                "present": tally.present,
                "failed": tally.failed + tally.failed_before,
                "failed_now": tally.failed,
                "skipped": tally.skipped,
                "bytes": tally.bytes,
                "queued": ended.queued,
                "limited": tally.limit_reached,
                "stopped": ended.stopped,
                "given_up": tally.unreachable_hosts,
                "again": ended.retry_at.map(|again| again.to_string()),
            }));
        }
        if let Some(version) = ended.version {
            session.printer.line(version)?;
        }
        seen.tell(&mut session.printer);
        session.printer.say(if self.finish { finished(ended) } else { summary(ended) });
        Ok(())
    }
}

/// The summary of `--finish`.
fn finished(ended: &RunEnd) -> String {
    match ended.version {
        Some(_) => format!("finished: {} captured", ended.captures),
        None => "finished: nothing was captured".to_owned(),
    }
}

/// The summary of a run.
fn summary(ended: &RunEnd) -> String {
    let got = got(ended);
    if ended.hosts_left {
        let then = ended.retry_at.map(|again| format!(", after {}", again.for_people())).unwrap_or_default();
        let why = match ended.tally.unreachable_hosts {
            0 => String::new(),
            hosts => format!(": {} given up", counted(hosts, "host")),
        };
        return format!(
            "{got}, {} left for later{why}\n`varve capture --resume` continues{then}; `varve capture --finish` ends the run",
            ended.queued
        );
    }
    match ended.version {
        _ if ended.stopped => format!(
            "stopped: {got}, {} waiting\n`varve capture --resume` continues; `varve capture --finish` ends the run",
            ended.queued
        ),
        _ => got,
    }
}

fn got(ended: &RunEnd) -> String {
    let tally = &ended.tally;
    if ended.version.is_none() {
        let parts = [(tally.failed, "failed"), (tally.skipped, "skipped")].into_iter();
        let parts: Vec<String> =
            parts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if ended.tally.present > 0 && parts.is_empty() {
            return format!("nothing to fetch: {} captured before", ended.tally.present);
        }
        let nothing = if ended.stopped { "nothing was captured" } else { "nothing could be captured" };
        return if parts.is_empty() {
            nothing.to_owned()
        } else {
            format!("{nothing}: {}", parts.join(", "))
        };
    }
    if tally.captured == tally.robots && ended.captures == tally.captured {
        return format!("nothing could be captured: {} failed, and the version says so", tally.failed);
    }
    // A resumed run has captures of earlier processes; only those of this process are counted by kind.
    let all_now = ended.captures == tally.captured;
    let now = if all_now { String::new() } else { format!(", {} of them now", tally.captured) };
    if !all_now && tally.captured == 0 && tally.failed == 0 {
        return format!("{} captured, all of them before", ended.captures);
    }
    let cut = if tally.truncated == 0 { String::new() } else { format!(", {} truncated", tally.truncated) };
    let aside = match tally.exchanged {
        0 => String::new(),
        count => format!(", {} of scripts", counted(count, "other exchange")),
    };
    let before = match tally.failed_before {
        0 => String::new(),
        count => format!(" ({count} of them before)"),
    };
    let limit =
        tally.limit_reached.map(|which| format!("; the limit of {which} was reached")).unwrap_or_default();
    format!(
        "{} captured{now} ({} of them {}, {} unchanged{cut}){aside}, {} failed{before}, {} received{limit}",
        ended.captures,
        tally.pages,
        if tally.pages == 1 { "a page" } else { "pages" },
        tally.unchanged,
        tally.failed + tally.failed_before,
        human_size(tally.bytes)
    )
}
