//! A task: one URL to fetch for one reason, on its way through a run.

use tokio::sync::oneshot;
use varve_catalog::{ClaimedUrl, NewUrl};
use varve_core::url::RequestUrl;
use varve_fetch::politeness::QueuedRequest;

use super::discovered_link::DiscoveredLink;
use super::fetch_reason::FetchReason;
use super::past_captures::EarlierCapture;
use super::skip_rule::SkipRule;

/// One URL to fetch.
#[derive(Debug)]
pub(crate) struct CrawlTask {
    /// Its number in the frontier; `None` for requests of the run itself.
    pub(crate) no: Option<i64>,
    /// The URL that is requested.
    pub(crate) url: RequestUrl,
    /// The spelling that was found, if the run requests the spelling of an earlier capture instead.
    pub(crate) found_as: Option<RequestUrl>,
    /// Why it is fetched.
    pub(crate) reason: FetchReason,
    /// The number of redirects that led to it.
    pub(crate) redirects: u8,
    /// The last capture of it.
    pub(crate) earlier: Option<Box<EarlierCapture>>,
    /// For a `robots.txt`, the URL whose origin it is for: redirects may have led elsewhere.
    pub(crate) robots_for: Option<RequestUrl>,
    /// The way in which the task is requested.
    pub(crate) mode: TaskMode,
    /// Whether it counts as a page in flight.
    pub(crate) is_counted_page: bool,
}

/// The way in which a task is requested.
#[derive(Debug, Default)]
pub(crate) enum TaskMode {
    /// A plain request, queued at its host.
    #[default]
    Request,
    /// A page in a browser. Each request that it makes takes a turn at its host.
    BrowserPage,
    /// The question of a page in a browser whether and when it may make a request.
    Admission(AdmissionReply),
    /// A `robots.txt` for which a page in a browser waits. It takes a turn, before queued requests.
    UrgentRobots,
    /// A response that is stored but is not a capture of its URL: a page sent data, or repeated a
    /// request.
    NonCapture,
}

/// Where the answer to a page in a browser goes.
#[derive(Debug)]
pub(crate) struct AdmissionReply {
    /// Receives the rule by which the request is denied, or `None`.
    pub(crate) verdict: Option<oneshot::Sender<Option<SkipRule>>>,
    /// Receives the turn at the host.
    pub(crate) turn: oneshot::Sender<HostTurn>,
}

impl AdmissionReply {
    /// Tells the page that it may make the request as soon as its turn comes.
    pub(crate) fn allow(&mut self) {
        if let Some(verdict) = self.verdict.take() {
            // The page may be gone.
            let _ = verdict.send(None);
        }
    }

    /// Tells the page that it may not make the request.
    pub(crate) fn deny(mut self, rule: SkipRule) {
        if let Some(verdict) = self.verdict.take() {
            let _ = verdict.send(Some(rule));
        }
    }
}

/// A turn at a host. Dropping it ends the turn.
pub(crate) struct HostTurn(Option<Box<dyn FnOnce() + Send>>);

impl HostTurn {
    /// A turn; `on_end` is called when it ends.
    pub(crate) fn new(on_end: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(on_end)))
    }
}

impl std::fmt::Debug for HostTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostTurn")
    }
}

impl Drop for HostTurn {
    fn drop(&mut self) {
        if let Some(on_end) = self.0.take() {
            on_end();
        }
    }
}

impl QueuedRequest for CrawlTask {
    fn takes_turns(&self) -> bool {
        matches!(self.mode, TaskMode::BrowserPage)
    }
}

impl CrawlTask {
    /// A task that is not in the frontier.
    pub(crate) fn new(url: RequestUrl, reason: FetchReason) -> Self {
        Self {
            no: None,
            url,
            found_as: None,
            reason,
            redirects: 0,
            earlier: None,
            robots_for: None,
            mode: TaskMode::Request,
            is_counted_page: false,
        }
    }

    /// The `robots.txt` at `url`, for the origin of `robots_for`.
    pub(crate) fn robots(url: RequestUrl, robots_for: RequestUrl, redirects: u8) -> Self {
        Self { redirects, robots_for: Some(robots_for), ..Self::new(url, FetchReason::Robots) }
    }

    /// The question whether a page in a browser may request a URL.
    pub(crate) fn admission(url: RequestUrl, reason: FetchReason, reply: AdmissionReply) -> Self {
        Self { mode: TaskMode::Admission(reply), ..Self::new(url, reason) }
    }

    /// What the frontier gave, with its URL as `parse` reads it; `None` if it cannot be read.
    pub(crate) fn claimed(claimed: &ClaimedUrl, parse: impl Fn(&str) -> Option<RequestUrl>) -> Option<Self> {
        let url = parse(&claimed.url)?;
        let ClaimedUrl { no, reason, redirects, .. } = *claimed;
        Some(Self { no: Some(no), redirects, ..Self::new(url, reason) })
    }

    /// The host with its port: whose queue the task joins.
    pub(crate) fn host(&self) -> &str {
        self.url.authority()
    }

    /// Whether it is an ordinary task of the frontier.
    pub(crate) fn is_plain(&self) -> bool {
        self.no.is_some() && self.robots_for.is_none() && !self.is_admission()
    }

    /// Whether it is the question of a page in a browser.
    pub(crate) fn is_admission(&self) -> bool {
        matches!(self.mode, TaskMode::Admission(_))
    }

    /// Whether it takes a turn before queued requests.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.mode, TaskMode::UrgentRobots)
    }

    /// Whether its response is not a capture of its URL.
    pub(crate) fn is_non_capture(&self) -> bool {
        matches!(self.mode, TaskMode::NonCapture)
    }
}

/// A link on its way into the frontier.
#[derive(Debug)]
pub(crate) struct FrontierEntry {
    link: DiscoveredLink,
    identity: String,
    redirects: u8,
    found_on: Option<i64>,
    /// Whether it was queued before at a greater depth.
    is_nearer: bool,
}

impl FrontierEntry {
    /// The entry of a link. A page that is found again at a smaller depth has an entry for each
    /// depth.
    pub(crate) fn new(link: DiscoveredLink, redirects: u8, found_on: Option<i64>, is_nearer: bool) -> Self {
        let identity = link.identity().into_owned();
        Self { link, identity, redirects, found_on, is_nearer }
    }

    /// The row for the frontier.
    pub(crate) fn as_new(&self) -> NewUrl<'_> {
        let priority = i32::try_from(self.link.reason.priority()).unwrap_or(i32::MAX);
        NewUrl {
            identity: &self.identity,
            url: self.link.url.as_str(),
            host: self.link.url.authority(),
            reason: self.link.reason,
            redirects: self.redirects,
            requeued: self.is_nearer,
            priority: -priority,
            found_on: self.found_on,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_claimed_as_the_task_it_was() {
        for (reason, redirects, is_nearer) in [
            (FetchReason::Page { depth: 12 }, 0, false),
            (FetchReason::Page { depth: 3 }, 7, true),
            (FetchReason::Embed { chain: 2 }, 10, false),
        ] {
            let url = RequestUrl::parse("http://h:81/a?b=1&a=2").unwrap();
            let link = DiscoveredLink::new(url.clone(), reason);
            let entry = FrontierEntry::new(link, redirects, Some(4), is_nearer);
            let new = entry.as_new();
            assert_eq!((new.identity, new.host), ("http://h:81/a?a=2&b=1", "h:81"));
            let claimed = ClaimedUrl {
                no: 9,
                url: new.url.to_owned(),
                host: new.host.to_owned(),
                reason: new.reason,
                redirects: new.redirects,
                found_on: new.found_on,
                tries: 0,
            };
            let task = CrawlTask::claimed(&claimed, RequestUrl::parse).unwrap();
            assert_eq!((&task.url, task.host()), (&url, "h:81"));
            assert_eq!((task.no, task.reason, task.redirects), (Some(9), reason, redirects));
        }
    }

    #[test]
    fn a_turn_ends_once() {
        let (sender, ends) = std::sync::mpsc::channel();
        drop(HostTurn::new(move || sender.send(()).unwrap()));
        assert_eq!(ends.iter().count(), 1);
    }
}
