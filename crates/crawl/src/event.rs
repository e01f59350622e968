//! What a run tells whoever watches it, while it goes on and when it ends.

use std::time::Duration;

use varve_core::{Moment, RunId, VersionId};

use super::skip_rule::SkipRule;

/// Something happened.
#[derive(Clone, Debug)]
pub enum CrawlEvent<'a> {
    /// The run began, or goes on.
    Began {
        /// The run.
        run: RunId,
        /// Whether it began earlier.
        resumed: bool,
    },
    /// Something was captured.
    Captured(CapturedPage<'a>),
    /// A page asked for something in a way that makes no capture of it: by another method than `GET`, or once more. The
    /// exchange was kept all the same.
    Exchanged {
        /// The URL.
        url: &'a str,
        /// The method.
        method: &'a str,
        /// The status of the answer; 0 where it could not be read.
        status: u16,
        /// The length of its body.
        length: u64,
    },
    /// Something could not be had, and will not be tried again.
    Failed {
        /// The URL.
        url: &'a str,
        /// The sort of failure, as a word.
        kind: &'a str,
        /// What happened, as a sentence.
        message: &'a str,
    },
    /// Something was captured, but not all that was wanted of it could be done.
    Noted {
        /// The URL.
        url: &'a str,
        /// What was not done, as a sentence.
        note: &'a str,
    },
    /// Something was not asked for.
    Skipped {
        /// The URL.
        url: &'a str,
        /// Why.
        rule: &'a SkipRule,
        /// Whether it was named by whoever asked, or a redirect from there led to it.
        is_seed: bool,
    },
    /// A server that was asked in plain HTTP answers that TLS is spoken there.
    TlsRequired {
        /// What was asked for.
        url: &'a str,
    },
    /// A host asks to be left alone.
    RetryAfter {
        /// The host.
        host: &'a str,
        /// Until then.
        until: Moment,
        /// Whether that is too long for this run, so that what is wanted of it is left for whoever resumes.
        left: bool,
    },
    /// A host was given up, and what was not asked of it is left for whoever resumes. Told at the end.
    HostUnreachable {
        /// The host.
        host: &'a str,
        /// The sort of failure, as a word.
        kind: &'a str,
        /// What happened, as a sentence.
        message: &'a str,
    },
    /// Everything up to here is safe.
    Checkpoint {
        /// Captures so far.
        captured: u64,
    },
    /// How far it is; comes several times a second.
    Progress(&'a CrawlProgress),
}

/// A capture.
#[derive(Clone, Debug)]
pub struct CapturedPage<'a> {
    /// The URL.
    pub url: &'a str,
    /// When.
    pub time: Moment,
    /// The status of the answer; 0 where it could not be read.
    pub status: u16,
    /// The length of its body.
    pub length: u64,
    /// Whether it is a page, as opposed to a part of one or a file for robots.
    pub is_page: bool,
    /// Whether its body is the one that was captured last.
    pub unchanged: bool,
    /// Why the answer is not whole, if it is not.
    pub truncated: Option<&'a str>,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlProgress {
    /// What came of it so far.
    pub tally: CrawlTally,
    /// URLs that wait.
    pub queued: u64,
    /// Requests under way.
    pub in_flight: usize,
    /// Hosts that are being asked.
    pub hosts: Vec<String>,
    /// How long it is until any of them may be asked again, if nothing is under way until then.
    pub idle_for: Option<Duration>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlTally {
    /// Captures, all together.
    pub captured: u64,
    /// Those that are files for robots.
    pub robots: u64,
    /// Those that are pages.
    pub pages: u64,
    /// Those whose body is the one that was captured last.
    pub unchanged: u64,
    /// Those whose answer is not whole.
    pub truncated: u64,
    /// Exchanges that pages made and that are no captures.
    pub exchanged: u64,
    /// URLs that could not be had.
    pub failed: u64,
    /// URLs that earlier processes of the same run could not have.
    pub failed_before: u64,
    /// URLs that were not asked for.
    pub skipped: u64,
    /// Those among them that were named by whoever asked, and are not for robots.
    pub seeds_refused: u64,
    /// Hosts that were given up, of which something is left for whoever resumes.
    pub unreachable_hosts: u64,
    /// Bytes that were received.
    pub bytes: u64,
    /// The limit that was reached, if something was not asked for or not taken in because of it: of pages, of bytes or of time.
    pub limit_reached: Option<&'static str>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// The version that it became; none if nothing was captured.
    pub version: Option<VersionId>,
    /// What that descends from.
    pub parent: Option<VersionId>,
    /// What came of this process's share of it.
    pub tally: CrawlTally,
    /// Captures in the version.
    pub captures: u64,
    /// URLs that still wait.
    pub queued: u64,
    /// Whether it was stopped, or left something for another day, and can be resumed.
    pub stopped: bool,
    /// Whether it ended by itself, and is to be resumed because hosts asked to be left alone or were given up.
    pub hosts_left: bool,
    /// From when on there is something to ask of hosts that asked to be left alone, if that is why it ended.
    pub retry_at: Option<Moment>,
}
