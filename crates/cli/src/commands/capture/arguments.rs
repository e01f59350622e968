//! The options of `varve capture`, in groups.

use std::path::PathBuf;
use std::time::Duration;

use varve_archive::verbs::capture::{
    CrawlSettings, RefetchSettings, RequestSettings, RunLimits, ScopeKind, ScopeSettings,
};
use varve_archive::verbs::key::ShownUrl;
use varve_archive::{ByteSize, Moment};

use crate::printer::{Printer, WARNING_STYLE, visible};
use crate::{clock, duration};

/// Which pages belong to a run. These options cannot change when a run is resumed.
#[derive(clap::Args)]
#[command(next_help_heading = "Scope")]
pub(super) struct ScopeArgs {
    /// Follow links up to N steps from the given pages
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "finish"])]
    depth: Option<u32>,

    /// Follow links to: the given pages only, URLs that begin like them, their hosts, their domains
    #[arg(long, value_name = "SCOPE", value_parser = ["page", "prefix", "host", "domain"], conflicts_with_all = ["resume", "finish"])]
    scope: Option<String>,

    /// Follow only links that match; may be repeated
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["resume", "finish"])]
    include: Vec<String>,

    /// Skip URLs that match; may be repeated
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["resume", "finish"])]
    exclude: Vec<String>,

    /// Follow at most N redirects in a row
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..101), conflicts_with_all = ["resume", "finish"])]
    max_redirects: u8,

    /// Ignore `robots.txt` and `nofollow`
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    ignore_robots: bool,

    /// Follow `nofollow` links, but obey `robots.txt`
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    ignore_nofollow: bool,

    /// Follow links also where they look like a crawler trap: endless calendars, thousands of parameters for one page,
    /// a session id in each link, repeating paths
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    ignore_traps: bool,
}

impl ScopeArgs {
    /// Whether `--scope` or `--depth` was given, which only apply to given URLs.
    pub(super) fn needs_urls(&self) -> bool {
        self.scope.is_some() || self.depth.is_some()
    }

    /// Says of patterns that look like another language that their characters stand for themselves.
    pub(super) fn note_literals(&self, printer: &mut Printer) {
        let is_foreign = |pattern: &&String| {
            pattern.contains(['[', ']', '{', '}', '|', '^', '\\']) || pattern.contains(".*")
        };
        for pattern in self.include.iter().chain(&self.exclude).filter(is_foreign) {
            printer.say(format_args!(
                "{WARNING_STYLE}note:{WARNING_STYLE:#} the pattern `{}` is taken literally: only `**`, `*` and `#` stand for other text",
                visible(&ShownUrl(pattern).to_string())
            ));
        }
    }

    fn kind(&self) -> ScopeKind {
        match (self.scope.as_deref(), self.depth) {
            (Some("prefix"), _) => ScopeKind::Prefix,
            (Some("domain"), _) => ScopeKind::Domain,
            (Some("host"), _) | (None, Some(1..)) => ScopeKind::Host,
            _ => ScopeKind::Page,
        }
    }

    /// The crawl settings with these options, and defaults elsewhere.
    pub(super) fn settings(&self) -> CrawlSettings {
        let obey_robots = !self.ignore_robots;
        let scope = ScopeSettings {
            kind: self.kind(),
            depth: self.depth,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            max_redirects: self.max_redirects,
            obey_nofollow: obey_robots && !self.ignore_nofollow,
            avoid_traps: !self.ignore_traps,
        };
        CrawlSettings { scope, ..CrawlSettings::default() }
            .with(|settings| settings.politeness.obey_robots = obey_robots)
    }
}

/// When a run stops, and how large a response may be.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Stop after N pages
    #[arg(long, value_name = "N")]
    limit_pages: Option<u64>,

    /// Stop after this many bytes were received; responses in progress are truncated
    #[arg(long, value_name = "SIZE")]
    limit_bytes: Option<ByteSize>,

    /// Stop after this time; responses in progress are truncated. A page in a browser is kept as far as it was loaded,
    /// without document and screenshot
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    limit_time: Option<Duration>,

    /// Truncate a response at this size
    #[arg(long, value_name = "SIZE", default_value = "16 GiB")]
    max_size: ByteSize,

    /// Time for one response altogether
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    timeout: Duration,

    /// Time to connect
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration::parse)]
    connect_timeout: Duration,

    /// Time without new bytes in a response
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    idle_timeout: Duration,
}

impl LimitArgs {
    pub(super) fn apply(&self, settings: CrawlSettings) -> CrawlSettings {
        let limits = RunLimits {
            max_pages: self.limit_pages,
            max_bytes: self.limit_bytes.map(|size| size.0),
            max_time: self.limit_time.map(millis),
        };
        let requests = RequestSettings {
            max_size: self.max_size.0,
            timeout: millis(self.timeout),
            connect_timeout: millis(self.connect_timeout),
            idle_timeout: millis(self.idle_timeout),
            ..settings.requests
        };
        CrawlSettings { limits, requests, ..settings }
    }
}

/// How quickly servers are asked.
#[derive(clap::Args)]
#[command(next_help_heading = "Rate")]
pub(super) struct RateArgs {
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..1001))]
    concurrency: u16,

    /// Requests at a time to one host [default: 1; as many as `--concurrency` with `--delay 0`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..1001))]
    per_host: Option<u16>,

    /// Pause between two requests to a host
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration::parse)]
    delay: Duration,

    /// Retry a failed request N times
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,

    /// Pause before the first retry; it doubles with each further one
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    retry_delay: Duration,

    /// Longest `Retry-After` to wait for; a host that asks for more is left for `--resume`
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    max_wait: Duration,

    /// Send no conditional requests: fetch every page completely, though the server might answer "304 Not Modified".
    /// Unchanged content is still stored once
    #[arg(long)]
    no_conditional: bool,
}

impl RateArgs {
    pub(super) fn apply(&self, settings: CrawlSettings) -> CrawlSettings {
        let settings = settings.with(|settings| {
            let politeness = &mut settings.politeness;
            politeness.concurrency = usize::from(self.concurrency);
            politeness.delay = millis(self.delay);
            politeness.retries = self.retries;
            politeness.retry_pause = millis(self.retry_delay);
            politeness.max_wait = millis(self.max_wait);
            settings.requests.no_conditional = self.no_conditional;
        });
        let per_host = self.per_host.map_or_else(|| default_per_host(&settings), usize::from);
        settings.with(|settings| settings.politeness.per_host = per_host)
    }
}

/// Requests at a time to one host, unless `--per-host` is given.
pub(super) fn default_per_host(settings: &CrawlSettings) -> usize {
    if settings.politeness.delay == 0 { settings.politeness.concurrency } else { 1 }
}

/// Which pages with an earlier capture are fetched again.
#[derive(clap::Args)]
#[command(next_help_heading = "Fetching again")]
pub(super) struct RefetchArgs {
    /// Fetch again pages captured at this time or before (or longer ago than `30d`), and missing pages
    #[arg(long, value_name = "TIME", value_parser = clock::parse_moment, conflicts_with_all = ["again", "resume", "finish"])]
    stale_before: Option<Moment>,

    /// Fetch everything again; the default in archives
    #[arg(long, conflicts_with_all = ["retry_errors", "resume", "finish"])]
    again: bool,

    /// Fetch again what failed before, and what is missing. In an archive, a response that is incomplete or has a
    /// status of 400 or above has failed; in a Crystal project, a download without a response
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    retry_errors: bool,
}

impl RefetchArgs {
    /// In an archive, everything is fetched unless an option selects less.
    pub(super) fn for_archive(&self) -> RefetchSettings {
        self.settings(self.stale_before.is_some() || self.retry_errors)
    }

    /// In a Crystal project, only what is missing is fetched unless an option selects more.
    pub(super) fn for_project(&self) -> RefetchSettings {
        self.settings(!self.again)
    }

    fn settings(&self, missing_only: bool) -> RefetchSettings {
        RefetchSettings { missing_only, stale_before: self.stale_before, retry_errors: self.retry_errors }
    }
}

/// Loading pages in Chromium.
#[derive(clap::Args)]
#[command(next_help_heading = "Browser")]
pub(super) struct BrowserArgs {
    /// Load pages in headless Chromium
    #[arg(long, conflicts_with_all = ["resume", "finish"])]
    pub(super) browser: bool,

    /// Path of Chromium [default: looked for in PATH]
    #[arg(long, value_name = "FILE", env = "VARVE_CHROMIUM")]
    chromium: Option<PathBuf>,
}

impl BrowserArgs {
    /// The Chromium that was named, or the first in `PATH`.
    pub(super) fn executable(&self) -> Option<PathBuf> {
        self.chromium.clone().or_else(find_chromium)
    }
}

/// The first Chromium in `PATH`.
pub(in crate::commands) fn find_chromium() -> Option<PathBuf> {
    const CHROMIUM_NAMES: [&str; 4] =
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = CHROMIUM_NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Headers for the given pages.
#[derive(clap::Args)]
#[command(next_help_heading = "Network")]
pub(super) struct HeaderArgs {
    /// Send a header to the hosts of the given pages; it is not recorded. May be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(super) headers: Vec<String>,

    /// With `--resume`: continue without the headers or credentials that the run was started with
    #[arg(long, requires = "resume")]
    pub(super) without_credentials: bool,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
