//! Something to fetch, on its way through a run.

use varve_catalog::{ClaimedUrl, NewUrl};

use super::address::host_of;
use super::browser_gate::AdmissionReply;
use super::crawl_policy::DiscoveredLink;
use super::fetch_reason::FetchReason;
use super::past_captures::EarlierCapture;

/// Something to fetch.
#[derive(Debug)]
pub(crate) struct CrawlTask {
    /// Its number in the frontier; none for what the run asks on its own account.
    pub(crate) no: Option<i64>,
    /// What is asked for.
    pub(crate) url: String,
    /// The spelling that was met, where it is asked for by another, by which it is here.
    pub(crate) met: Option<String>,
    /// The host, as politeness knows it.
    pub(crate) host: String,
    /// Why.
    pub(crate) reason: FetchReason,
    /// How many redirects led to it.
    pub(crate) redirects: u8,
    /// The last capture of it.
    pub(crate) earlier: Option<Box<EarlierCapture>>,
    /// For a file for robots, whose it is: a redirect may have led elsewhere.
    pub(crate) origin: Option<Box<str>>,
    /// Whether it is among the pages that are being asked for.
    pub(crate) counts: bool,
    /// Who wants to know whether it may be asked for, if that is all: then it is not asked for here.
    pub(crate) reply: Option<AdmissionReply>,
    /// Whether it is not the capture of its URL: a page asked otherwise than by `GET`, or asked again.
    pub(crate) non_capture: bool,
    /// Whether a page that is under way waits for it, so that it cannot wait until that page is done.
    pub(crate) urgent: bool,
}

impl CrawlTask {
    /// The file for robots of an origin, at that address.
    pub(crate) fn robots(origin: &str, url: String, redirects: u8) -> Self {
        let host = host_of(&url).to_owned();
        let task = Self::of(url, host, FetchReason::Robots);
        Self { redirects, origin: Some(Box::from(origin)), ..task }
    }

    /// The question whether something may be asked for.
    pub(crate) fn inquiry(url: String, errand: FetchReason, reply: AdmissionReply) -> Self {
        let host = host_of(&url).to_owned();
        Self { reply: Some(reply), ..Self::of(url, host, errand) }
    }

    /// Something that is not in the frontier.
    pub(crate) fn of(url: String, host: String, errand: FetchReason) -> Self {
        Self {
            no: None,
            url,
            met: None,
            host,
            reason: errand,
            redirects: 0,
            earlier: None,
            origin: None,
            counts: false,
            reply: None,
            non_capture: false,
            urgent: false,
        }
    }

    /// What the frontier gave.
    pub(crate) fn claimed(claimed: ClaimedUrl) -> Self {
        let ClaimedUrl { no, url, host, reason, redirects, .. } = claimed;
        Self { no: Some(no), redirects, ..Self::of(url, host, reason) }
    }
}

/// A lead on its way into the frontier.
#[derive(Debug)]
pub(crate) struct FrontierEntry {
    url: String,
    /// What tells whether it is there already, where that is another text.
    key: Option<String>,
    reason: FetchReason,
    redirects: u8,
    /// Whether it was queued before at a greater distance.
    requeued: bool,
    priority: i32,
    found_on: Option<i64>,
}

impl FrontierEntry {
    /// The entry of a lead. A page that was reached again by a shorter way has an entry of its own for each way.
    pub(crate) fn new(lead: DiscoveredLink, redirects: u8, found_on: Option<i64>, shorter: bool) -> Self {
        let priority = i32::try_from(lead.reason.priority()).unwrap_or(i32::MAX);
        let DiscoveredLink { url, key, reason, .. } = lead;
        Self { url, key, reason, redirects, requeued: shorter, priority: -priority, found_on }
    }

    /// As the frontier takes it.
    pub(crate) fn as_new(&self) -> NewUrl<'_> {
        NewUrl {
            identity: self.key.as_deref().unwrap_or(&self.url),
            url: &self.url,
            host: host_of(&self.url),
            reason: self.reason,
            redirects: self.redirects,
            requeued: self.requeued,
            priority: self.priority,
            found_on: self.found_on,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_the_task_it_was() {
        for (errand, redirects, shorter) in [
            (FetchReason::Page { depth: 12 }, 0, false),
            (FetchReason::Page { depth: 3 }, 7, true),
            (FetchReason::Embed { chain: 2 }, 10, false),
        ] {
            let key = Some("http://h:81/a".to_owned());
            let lead = DiscoveredLink {
                url: "http://h:81/a b".to_owned(),
                key,
                reason: errand,
                redirect: false,
                unfollowed: None,
            };
            let entry = FrontierEntry::new(lead, redirects, Some(4), shorter);
            let new = entry.as_new();
            let claimed = ClaimedUrl {
                no: 9,
                url: new.url.to_owned(),
                host: new.host.to_owned(),
                reason: new.reason,
                redirects: new.redirects,
                found_on: new.found_on,
                tries: 0,
            };
            let task = CrawlTask::claimed(claimed);
            assert_eq!((task.url.as_str(), task.host.as_str()), ("http://h:81/a b", "h:81"));
            assert_eq!((task.no, task.reason, task.redirects), (Some(9), errand, redirects));
        }
    }
}
