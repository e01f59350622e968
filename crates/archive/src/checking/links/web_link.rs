//! A link to the web: after redirects there must be a page, with the elements that links name.

use std::io::Read;

use serde_json::{Value, json};
use varve_core::exchange::Exchange;
use varve_core::history::Capture;
use varve_core::pattern::GroupPattern;
use varve_crawl::wire_exchange::open_wire_body;
use varve_expect::{Departure, Follow};
use varve_page::links::LinkFormat;

use super::LinkCollection;
use super::link_collection::LinkUses;
use crate::checking::{CheckTarget, Judgement};
use crate::expectations::report::LinkReferrers;
use crate::expectations::{ProbeRequest, ProbeResponse, Verdict};

/// Bytes read of a target of which only the status counts. A link may lead to a film.
const MAX_BRIEF_BYTES: u64 = 64 << 10;
/// Bytes read of a target whose elements are looked for.
const MAX_PAGE_BYTES: u64 = 8 << 20;

/// Statuses that count as success besides 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedStatuses(Vec<(u16, u16)>);

impl AcceptedStatuses {
    /// Adds a range of statuses, both ends included.
    pub fn add(&mut self, first: u16, last: u16) {
        self.0.push((first, last));
    }

    fn contains(&self, status: u16) -> bool {
        (200..300).contains(&status) || self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

/// Which links are checked, and when they are good.
#[derive(Clone, Debug, Default)]
pub struct LinkRules {
    /// URLs that match one of these are not checked.
    pub exclude: Vec<GroupPattern>,
    /// Further statuses that count as success.
    pub accept: AcceptedStatuses,
}

impl LinkRules {
    pub(super) fn excludes(&self, url: &str) -> bool {
        self.exclude.iter().any(|pattern| pattern.matches(url))
    }
}

/// The URL that links lead to.
pub(super) struct WebLink<'a> {
    pub(super) url: &'a str,
    pub(super) uses: &'a LinkUses,
    pub(super) links: &'a LinkCollection,
    pub(super) rules: &'a LinkRules,
}

impl CheckTarget for WebLink<'_> {
    fn probe_request(&self) -> Result<ProbeRequest, Verdict> {
        let names_elements = self.uses.fragments().next().is_some();
        let max_bytes = Some(if names_elements { MAX_PAGE_BYTES } else { MAX_BRIEF_BYTES });
        let url = self.url.to_owned();
        Ok(ProbeRequest { url, follow: Follow::Redirects, content: false, length: None, max_bytes })
    }

    fn judge(&self, answer: &ProbeResponse) -> Judgement {
        let observed = &answer.observed;
        let verdict = match (&observed.error, &observed.dead_end, observed.status) {
            (Some(reason), _, _) => Verdict::Unreachable(reason.clone()),
            (_, Some(reason), _) => Verdict::Broken(vec![Departure::DeadEnd { reason: reason.clone() }]),
            (_, _, Some(got)) if !self.rules.accept.contains(got) => {
                let url = observed.final_url.clone().unwrap_or_default();
                Verdict::Broken(vec![match observed.redirects.is_empty() {
                    true => Departure::Status { expected: "HTTP 2xx", got },
                    false => Departure::RedirectEnd { url, got },
                }])
            }
            (_, _, Some(200..=299)) => self.judge_elements(answer.judged_exchange()),
            (_, _, Some(_)) => Verdict::Ok,
            (_, _, None) => Verdict::Unreachable("there was no answer".to_owned()),
        };
        Judgement { verdict, comparison: None }
    }

    fn accepts(&self, capture: &Capture) -> bool {
        capture.is_good()
    }

    fn expectation_json(&self) -> Value {
        let LinkReferrers { pages, count } = self.links.referrers(self.uses, None);
        let fragments: Vec<&str> = self.uses.fragments().collect();
        json!({ "referrers": pages, "referrer_count": count, "fragments": fragments })
    }

    fn referrers(&self, verdict: &Verdict) -> LinkReferrers {
        self.links.referrers_for(self.uses, verdict)
    }

    fn is_met_by(&self, expectation: &Value) -> bool {
        let known = expectation["fragments"].as_array().cloned().unwrap_or_default();
        self.uses.fragments().all(|name| known.iter().any(|other| other == name))
    }
}

impl WebLink<'_> {
    /// Whether a page has the elements that links name. A body that is no HTML or was cut is not
    /// judged.
    fn judge_elements(&self, exchange: Option<&Exchange>) -> Verdict {
        let Some(exchange) = exchange.filter(|exchange| exchange.truncated.is_none()) else {
            return Verdict::Ok;
        };
        if self.uses.fragments().next().is_none() {
            return Verdict::Ok;
        }
        let Ok(Some(head)) = exchange.head() else { return Verdict::Ok };
        let content_type = head.headers.get_text("content-type").map(|value| value.into_owned());
        if LinkFormat::of(content_type.as_deref(), &exchange.url) != LinkFormat::Html {
            return Verdict::Ok;
        }
        let mut html = Vec::new();
        let read = open_wire_body(&exchange.response)
            .and_then(|body| body.map(|body| body.take(MAX_PAGE_BYTES).read_to_end(&mut html)).transpose());
        if read.is_err() {
            return Verdict::Ok;
        }
        let missing = super::missing_fragments(&html, self.uses.fragments());
        match missing.is_empty() {
            true => Verdict::Ok,
            false => Verdict::Broken(vec![Departure::Fragments { missing }]),
        }
    }
}
