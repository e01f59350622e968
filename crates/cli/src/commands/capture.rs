//! `varve capture`: fetches pages with all that belongs to them, and makes one version of them, or revisions of a Crystal
//! project.

mod given;
mod list;
mod project;
mod unsent;
mod watcher;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use varve_archive::history::ArchiveHistory;
use varve_archive::verbs::capture::{
    self as verb, CrawlEvent, CrawlSettings, NetworkOptions, RunEnd, RunOptions, SavedNetworkOptions,
    ScopeKind,
};
use varve_archive::verbs::plan::{Plan, is_project, load};
use varve_archive::{ArchiveError, Layout, Size};

use self::given::{Given, usual_per_host};
use self::unsent::Unsent;
use self::watcher::{Seen, Watcher};
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::counted;
use crate::reaching::Reaching;
use crate::session::Session;
use crate::{duration, interrupt};

const EXAMPLES: &str = "\
Examples:
  varve capture https://example.com/
  varve capture https://example.com/docs/ --scope prefix -m 'the manual of version 3'
  varve capture https://example.com/ --depth 2 --exclude '**/print/**' --limit-pages 1000
  varve capture https://intranet.example/ --scope host --allow-private --credentials secrets.txt
  VARVE_CREDENTIALS='intranet.example Cookie: session=1' varve capture https://intranet.example/
  varve capture https://example.com/ --browser
  varve capture
  varve capture --resume";

/// Capture pages from the web, with all that belongs to them, as one version
///
/// A page brings what it embeds: images, style sheets, scripts, fonts, frames, on whatever host they lie. Without
/// `--depth` and `--scope` only the given pages are captured. With `--depth` links are followed on the hosts of the given
/// pages; with `--scope` alone they are followed however deep.
///
/// Without URLs the plan is followed (see `varve plan`): its roots are captured, then the members of its groups that are
/// found on their sources.
///
/// With `--browser` pages are loaded in Chromium, which runs their scripts: what they ask for is captured as well, and the
/// document that the scripts left and a picture of it are kept beside each page. What the run
/// has is given to them without asking again, unless its server forbids that. What they send, by `POST` and the like, and
/// what they are answered again is recorded as well, and is no capture of its URL.
///
/// A page that did not change since it was captured last is asked for in a way that costs next to nothing, and takes
/// next to no room.
///
/// In a Crystal project every answer becomes a revision, and a failure is recorded as one; without URLs its roots are
/// captured, and the members of its groups. Cookies that were sent are recorded with the revision, as Crystal does. An answer
/// that was cut short is kept if its `Content-Length` shows it, and else recorded as a failure. `--browser` is refused: a
/// project has no place for the document and the picture that a browser makes.
///
/// Ctrl-C stops a run, and makes a version of what it has got; the exit code is 130. A run that was stopped, or broke off by whatever, goes on
/// with `--resume` where it was; the version that it then becomes holds all of it. Options that would change which pages belong to it are refused
/// then, others that are given count from there on. `--finish` leaves it at what it has got. What sites ask of robots is obeyed, and hosts are asked slowly: one request at a time, with a pause.
///
/// Patterns: `**` is any text, `*` any text without `/`, `?`, `=` and `&`, `#` a number; they match the whole URL.
///
/// With `--json` there is one object a line: events with `event` (`captured`, `exchanged`, `failed`, `skipped`, ...), and last
/// `version`, `captured`, `unchanged`, `exchanged`, `failed`, `skipped`, `bytes`, `queued`, `stopped`, and `pages_answered`: how many pages were answered
/// with which status of 400 or more. `given_up` counts hosts that stopped answering, whose pages are left for `--resume`. `again` is there when hosts asked to be left alone for longer than `--max-wait`: from then on `--resume` goes on.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Capture {
    #[command(flatten)]
    given: Given,

    /// Where to begin; without any, the plan says it
    #[arg(value_name = "URL", conflicts_with_all = ["resume", "finish"])]
    urls: Vec<String>,

    /// Follow links so many steps away
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "finish"])]
    depth: Option<u32>,

    /// Follow links within this: the given pages alone, what begins as they do, their hosts, their domains
    #[arg(long, value_name = "SCOPE", value_parser = ["page", "prefix", "host", "domain"], conflicts_with_all = ["resume", "finish"])]
    scope: Option<String>,

    /// Follow only links to pages that match
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["resume", "finish"])]
    include: Vec<String>,

    /// Leave out what matches
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["resume", "finish"])]
    exclude: Vec<String>,

    /// Stop after so many pages
    #[arg(long, value_name = "N")]
    limit_pages: Option<u64>,

    /// Stop once so much was received: nothing else is asked for then, and what is under way is cut short there
    #[arg(long, value_name = "SIZE")]
    limit_bytes: Option<Size>,

    /// Stop after so long: nothing else is asked for then, and what is under way is cut short there; a page in a browser is kept as far as it
    /// came, without document and picture
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    limit_time: Option<Duration>,

    /// Load pages in headless Chromium
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    browser: bool,

    /// Where Chromium is; without it, it is looked for
    #[arg(long, value_name = "FILE", env = "VARVE_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Requests under way at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..1001))]
    concurrency: u16,

    /// Requests under way to one host at a time; 1, or without `--delay` between them as many as there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..1001))]
    per_host: Option<u16>,

    /// Between two requests to a host
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration::parse)]
    delay: Duration,

    /// How often something that failed is tried again
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,

    /// The pause after the first failure; it doubles with each further one
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    retry_pause: Duration,

    /// Wait for a host that asks to be left alone (`Retry-After`) for so long; one that asks for more is left for `--resume`
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    max_wait: Duration,

    /// Ask for what sites ask robots not to ask for, and follow links that say they should not be followed
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    ignore_robots: bool,

    /// Follow links that say they should not be followed, but obey `robots.txt`
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    ignore_nofollow: bool,

    /// Follow links also where they look like a trap: calendars without end, one page with thousands of parameters or with a
    /// session in each link, paths that repeat themselves
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    no_traps: bool,

    /// List every URL that is skipped in this file: the rule, a tab, the URL. A file that is there is replaced; with `--resume` it is added to
    #[arg(long, value_name = "FILE")]
    skipped: Option<PathBuf>,

    /// Ask for everything whole, though a server might say that it has not changed; what is the same is still stored once.
    /// For silos that pywb is to replay: it shows a 304 as it came, where varve shows the page
    #[arg(long)]
    whole: bool,

    #[command(flatten)]
    reaching: Reaching,

    /// A header for the hosts of the given pages; it is not recorded
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,

    /// With `--resume`: go on though headers or credentials that the run was begun with are not given again; from then on
    /// they are not asked for
    #[arg(long, requires = "resume")]
    without_credentials: bool,

    /// For one answer altogether
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    timeout: Duration,

    /// For a connection
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration::parse)]
    connect_timeout: Duration,

    /// Between two pieces of an answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    idle_timeout: Duration,

    /// Bytes of one answer; what is longer is cut off there, and said to be
    #[arg(long, value_name = "SIZE", default_value = "16 GiB")]
    largest: Size,

    /// Redirects in a row that are followed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..101), conflicts_with_all = ["resume", "finish"])]
    redirects: u8,

    /// Why this version is made
    #[arg(short, long)]
    message: Option<String>,

    /// Who makes it
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// Go on with the run that was stopped or broke off, as it was begun, with its `--allow-private`, `--ca` and `--proxy`; headers and
    /// credentials were not kept, and must be given again. Limits (they count anew), pace, timeouts, `--largest`,
    /// `--whole`, `--user-agent`, message and author may be said anew, and stay with the run
    #[arg(long, conflicts_with = "finish")]
    resume: bool,

    /// Leave the run that was stopped or broke off at what it has got
    #[arg(long, conflicts_with_all = ["message", "limit_pages", "limit_bytes", "limit_time"])]
    finish: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Capture {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let reach = self.reach(session)?;
        if is_project(&Layout::new(&session.root()?)) {
            return self.fill_project(session, reach);
        }
        let settings = self.settings(session)?;
        let history = session.open_archive_history()?;
        let intent = session.intent(&history)?;
        let stop = interrupt::flag();
        let unsent = Unsent::new(&reach);
        let manner = RunOptions { reach, threads: Session::threads(), stop: &stop, intent };
        let mut watcher = Watcher::new(&mut session.printer, self.json, self.list(), unsent)?;
        let ended = self.start(settings, &history, manner, &mut |event| watcher.see(&event));
        let seen = watcher.end()?;
        let is_left = || verb::unfinished(&history).is_ok_and(|runs| !runs.is_empty());
        if ended.as_ref().is_err_and(|error| error.lacks_room() && is_left()) {
            session
                .printer
                .say("what was captured is kept; with more room, `varve capture --resume` goes on");
        }
        let ended = ended?;
        self.print(session, &ended, &seen)?;
        Ok(outcome(&ended))
    }
}

fn outcome(ended: &RunEnd) -> Outcome {
    let failed = ended.tally.failed + ended.tally.failed_before;
    match ended.version {
        Some(_) if ended.hosts_left => Outcome::Findings,
        None if ended.hosts_left => Outcome::Incomplete,
        _ if ended.stopped => Outcome::Interrupted,
        // That a site is not for robots is what was found out.
        None if failed == 0 && ended.tally.seeds_refused > 0 => Outcome::Findings,
        None => Outcome::Incomplete,
        Some(_) if failed > 0 || ended.tally.seeds_refused > 0 => Outcome::Findings,
        Some(_) => Outcome::Done,
    }
}

impl Capture {
    fn start(
        &self,
        settings: CrawlSettings,
        history: &ArchiveHistory,
        manner: RunOptions<'_>,
        report: &mut dyn FnMut(CrawlEvent<'_>),
    ) -> Result<RunEnd, ArchiveError> {
        if self.finish {
            return verb::finish(history, manner);
        }
        if self.resume {
            let change = |kept: &mut CrawlSettings| self.given.change(kept, &settings);
            return verb::resume(history, change, manner, report);
        }
        verb::capture(history, settings, manner, report)
    }

    /// Where all that is skipped is listed, and whether that goes on with what is there.
    fn list(&self) -> Option<(&Path, bool)> {
        self.skipped.as_deref().map(|path| (path, self.resume))
    }

    /// Whether the plan is followed.
    fn follows_plan(&self) -> Result<bool, Error> {
        if !self.urls.is_empty() || self.resume || self.finish {
            return Ok(false);
        }
        if self.scope.is_some() || self.depth.is_some() {
            let message = "`--scope` and `--depth` are for URLs that are given; a plan has groups\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message).into());
        }
        Ok(true)
    }

    fn settings(&self, session: &Session) -> Result<CrawlSettings, Error> {
        let plan = match self.follows_plan()? {
            true => Some(load(&Layout::new(&session.root()?))?.plan),
            false => None,
        };
        self.settings_with(session, plan)
    }

    fn settings_with(&self, session: &Session, plan: Option<Plan>) -> Result<CrawlSettings, Error> {
        let scope = match (self.scope.as_deref(), self.depth) {
            (Some("prefix"), _) => ScopeKind::Prefix,
            (Some("domain"), _) => ScopeKind::Domain,
            (Some("host"), _) | (None, Some(1..)) => ScopeKind::Host,
            _ => ScopeKind::Page,
        };
        let settings = CrawlSettings {
            seeds: self.urls.clone(),
            plan,
            browser: self.browser,
            depth: self.depth,
            scope,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            max_pages: self.limit_pages,
            max_bytes: self.limit_bytes.map(|size| size.0),
            max_time: self.limit_time.map(millis),
            max_redirects: self.redirects,
            concurrency: usize::from(self.concurrency),
            per_host: 1,
            delay: millis(self.delay),
            obey_robots: !self.ignore_robots,
            obey_nofollow: !self.ignore_robots && !self.ignore_nofollow,
            avoid_traps: !self.no_traps,
            no_conditional: self.whole,
            retries: self.retries,
            retry_pause: millis(self.retry_pause),
            max_wait: millis(self.max_wait),
            user_agent: self.reaching.user_agent(session)?,
            timeout: millis(self.timeout),
            connect_timeout: millis(self.connect_timeout),
            idle_timeout: millis(self.idle_timeout),
            max_size: self.largest.0,
            message: self.message.clone().unwrap_or_else(|| self.usual_message()),
            author: self.author.clone(),
            network: SavedNetworkOptions::default(),
        };
        let per_host = self.per_host.map_or_else(|| usual_per_host(&settings), usize::from);
        Ok(CrawlSettings { per_host, ..settings })
    }

    fn usual_message(&self) -> String {
        match self.urls.as_slice() {
            [] => "capture by the plan".to_owned(),
            [url] => format!("capture of {url}"),
            [url, others @ ..] => format!("capture of {url} and {} more", others.len()),
        }
    }

    fn reach(&self, session: &Session) -> Result<NetworkOptions, Error> {
        let browser = self.chromium.clone().or_else(chromium);
        let (headers, without_credentials) = (self.headers.clone(), self.without_credentials);
        Ok(NetworkOptions { headers, browser, without_credentials, ..self.reaching.reach(session)? })
    }

    fn print(&self, session: &mut Session, ended: &RunEnd, seen: &Seen) -> Result<(), Error> {
        let tally = &ended.tally;
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

/// Chromium, where the system has it.
fn chromium() -> Option<PathBuf> {
    const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// What a run was left at, for people.
fn finished(ended: &RunEnd) -> String {
    match ended.version {
        Some(_) => format!("finished with what it had got: {} captured", ended.captures),
        None => "finished; it had captured nothing".to_owned(),
    }
}

/// What came of it, for people.
fn summary(ended: &RunEnd) -> String {
    let got = got(ended);
    if ended.hosts_left {
        let then = ended.retry_at.map(|again| format!(", after {}", again.for_people())).unwrap_or_default();
        let why = match ended.tally.unreachable_hosts {
            0 => String::new(),
            hosts => format!(": {} given up", counted(hosts, "host")),
        };
        return format!(
            "{got}, {} left for later{why}\n`varve capture --resume` goes on{then}; `varve capture --finish` leaves it at that",
            ended.queued
        );
    }
    match ended.version {
        _ if ended.stopped => format!(
            "stopped: {got}, {} waiting\n`varve capture --resume` goes on; `varve capture --finish` leaves it at that",
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
        let nothing = if ended.stopped { "nothing was captured" } else { "nothing could be captured" };
        return if parts.is_empty() {
            nothing.to_owned()
        } else {
            format!("{nothing}: {}", parts.join(", "))
        };
    }
    // A run that was resumed has captures that other processes made, and only those are counted by kind that were made now.
    let all_now = ended.captures == tally.captured;
    let now = if all_now { String::new() } else { format!(", {} of them now", tally.captured) };
    if !all_now && tally.captured == 0 && tally.failed == 0 {
        return format!("{} captured, none of them now", ended.captures);
    }
    let cut = if tally.truncated == 0 { String::new() } else { format!(", {} cut short", tally.truncated) };
    let aside = match tally.exchanged {
        0 => String::new(),
        count => format!(", {} beside them", counted(count, "exchange")),
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
        people_size(tally.bytes)
    )
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn people_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}
