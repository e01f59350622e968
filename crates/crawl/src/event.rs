//! The events that a run reports to its caller, and the summary at its end.

use std::time::Duration;

use varve_core::{Moment, RunId, VersionId};

use super::skip_rule::SkipRule;

/// An event of a run.
#[derive(Clone, Debug)]
pub enum CrawlEvent<'a> {
    /// The run began or was resumed.
    Began {
        /// The run.
        run: RunId,
        /// Whether the run began earlier.
        resumed: bool,
    },
    /// A recording can begin: its proxy listens.
    Listening {
        /// The address.
        address: std::net::SocketAddr,
    },
    /// The newest version is later than the clock shows: the clock is behind, or was ahead when
    /// that version was made.
    ClockBehind {
        /// The newest version.
        version: VersionId,
        /// Its time.
        time: Moment,
        /// The time that the clock shows.
        now: Moment,
    },
    /// A response was captured.
    Captured(CapturedPage<'a>),
    /// A page in a browser made a request that is not a capture of its URL: with another method
    /// than `GET`, or repeated. The exchange was stored nevertheless.
    Exchanged {
        /// The URL.
        url: &'a str,
        /// The method.
        method: &'a str,
        /// The status of the response; 0 if it could not be read.
        status: u16,
        /// The length of its body.
        length: u64,
    },
    /// A URL could not be fetched and will not be retried.
    Failed {
        /// The URL.
        url: &'a str,
        /// The kind of failure, as a word.
        kind: &'a str,
        /// What happened, as a sentence.
        message: &'a str,
    },
    /// A URL was captured, but a part of the work for it could not be done.
    Noted {
        /// The URL.
        url: &'a str,
        /// The part that was not done, as a sentence.
        note: &'a str,
    },
    /// A URL was not requested.
    Skipped {
        /// The URL.
        url: &'a str,
        /// The rule that excluded it.
        rule: &'a SkipRule,
        /// Whether the URL is a seed, or a redirect from a seed led to it.
        is_seed: bool,
    },
    /// Links of a page were not followed, because it has too many. [`CrawlEvent::Skipped`] follows for
    /// each of them that no other link has led to.
    LinksSkipped {
        /// The URL of the page.
        url: &'a str,
        /// The number of links.
        links: u64,
        /// The rule that excluded them.
        rule: &'a SkipRule,
    },
    /// A server that received a plain HTTP request answered that it requires TLS.
    TlsRequired {
        /// The URL that was requested.
        url: &'a str,
    },
    /// A host sent `Retry-After`.
    RetryAfter {
        /// The host.
        host: &'a str,
        /// The end of the wait that the host asked for.
        until: Moment,
        /// Whether the wait is too long for this run, so that the URLs of the host are left for a
        /// resumed run.
        left: bool,
    },
    /// The run gave up a host and left its remaining URLs for a resumed run. Reported at the end.
    HostUnreachable {
        /// The host.
        host: &'a str,
        /// The kind of failure, as a word.
        kind: &'a str,
        /// What happened, as a sentence.
        message: &'a str,
    },
    /// Everything before this event is durable.
    Checkpoint {
        /// The number of captures so far.
        captured: u64,
    },
    /// The progress of the run; reported several times a second.
    Progress(&'a CrawlProgress),
}

/// A capture.
#[derive(Clone, Debug)]
pub struct CapturedPage<'a> {
    /// The URL.
    pub url: &'a str,
    /// The time of the capture.
    pub time: Moment,
    /// The status of the response; 0 if it could not be read.
    pub status: u16,
    /// The length of its body.
    pub length: u64,
    /// Whether it is a page, as opposed to an embedded resource or a `robots.txt`.
    pub is_page: bool,
    /// Whether its body equals that of the previous capture.
    pub unchanged: bool,
    /// Why the response is truncated, if it is.
    pub truncated: Option<&'a str>,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlProgress {
    /// The counts so far.
    pub tally: CrawlTally,
    /// The number of URLs that wait.
    pub queued: u64,
    /// The number of requests in flight.
    pub in_flight: usize,
    /// The hosts that the run is requesting URLs from.
    pub hosts: Vec<String>,
    /// The time until the next request to any of them may start, if no request is in flight until
    /// then.
    pub idle_for: Option<Duration>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlTally {
    /// All captures.
    pub captured: u64,
    /// Captures of `robots.txt` files.
    pub robots: u64,
    /// Captures of pages.
    pub pages: u64,
    /// Captures whose body equals that of the previous capture.
    pub unchanged: u64,
    /// Captures with a truncated response.
    pub truncated: u64,
    /// Exchanges of pages in a browser that are not captures.
    pub exchanged: u64,
    /// URLs that were not requested, because they were captured before.
    pub present: u64,
    /// URLs that could not be fetched.
    pub failed: u64,
    /// URLs that earlier processes of the same run could not fetch.
    pub failed_before: u64,
    /// URLs that were not requested.
    pub skipped: u64,
    /// Skipped seeds that `robots.txt` disallows, redirect targets of seeds included.
    pub seeds_refused: u64,
    /// Hosts that the run gave up and that have URLs left for a resumed run.
    pub unreachable_hosts: u64,
    /// Bytes received.
    pub bytes: u64,
    /// The limit that kept a URL from being requested or stored, if one did: of pages, of bytes or
    /// of time.
    pub limit_reached: Option<&'static str>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// The version that it became; `None` if nothing was captured.
    pub version: Option<VersionId>,
    /// The parent of that version.
    pub parent: Option<VersionId>,
    /// The counts of this process.
    pub tally: CrawlTally,
    /// The number of captures in the version.
    pub captures: u64,
    /// Whether the version could not be added to the search index. The next search tries again, and
    /// reports the error.
    pub is_unindexed: bool,
    /// The number of URLs that still wait.
    pub queued: u64,
    /// Whether the run was stopped or left URLs for later, so that it can be resumed.
    pub stopped: bool,
    /// Whether the run ended by itself but left URLs, because hosts sent `Retry-After` or were
    /// given up.
    pub hosts_left: bool,
    /// When the first of the hosts that sent `Retry-After` may be requested again, if the run ended
    /// because of them.
    pub retry_at: Option<Moment>,
}
