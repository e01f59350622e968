//! The way of one question through redirects to its answer.

use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_core::url::resolve;
use varve_fetch::{FetchError, FetchErrorKind};

use super::observe::Glance;
use crate::crawl::sentence;
use crate::expectations::{Answer, Follow, Observed, Question, Redirect, Trouble};

/// No more redirects are followed.
pub(super) const MOST_REDIRECTS: usize = 10;

/// One question on its way.
pub(super) struct Journey {
    /// The number of the question.
    pub(super) number: usize,
    /// What is asked next.
    pub(super) url: String,
    /// Whether the content counts.
    pub(super) content: bool,
    /// How long the content is promised to be.
    pub(super) length: Option<u64>,
    follow: Follow,
    redirects: Vec<Redirect>,
    /// Where it has been.
    visited: Vec<String>,
    exchanges: Vec<Exchange>,
    took: Option<Duration>,
}

/// What follows from an answer.
pub(super) enum Step {
    /// The next URL is to be asked.
    Onward(Journey),
    /// The question has its answer.
    Arrived(usize, Answer),
}

impl Journey {
    pub(super) fn new(number: usize, question: &Question) -> Self {
        Self {
            number,
            url: question.url.clone(),
            content: question.content,
            length: question.length,
            follow: question.follow,
            redirects: Vec::new(),
            visited: Vec::new(),
            exchanges: Vec::new(),
            took: None,
        }
    }

    /// Counts how long a request took.
    pub(super) fn spend(&mut self, time: Duration) {
        self.took = Some(self.took.unwrap_or_default() + time);
    }

    /// Ends without a whole answer.
    pub(super) fn fail(self, reason: impl Into<String>) -> (usize, Answer) {
        let observed = Observed { redirects: self.redirects, ..Observed::failed(reason) };
        let (exchanges, took) = (self.exchanges, self.took);
        (self.number, Answer { observed, exchanges, took, ..Answer::default() })
    }

    /// Ends without being asked.
    pub(super) fn leave(self, reason: &str) -> (usize, Answer) {
        let (number, answer) = self.fail(reason);
        (number, Answer { unasked: Some(reason.to_owned()), ..answer })
    }

    /// Ends without an answer.
    pub(super) fn fail_by(self, error: &FetchError) -> (usize, Answer) {
        let trouble = Some(Trouble { kind: error.kind, url: self.url.clone() });
        let (number, answer) = self.fail(sentence(error));
        // What may not be asked, or does not fit on this disk, says nothing of the site.
        let is_ours = matches!(error.kind, FetchErrorKind::Guard | FetchErrorKind::Spool);
        let unasked = answer.observed.error.clone().filter(|_| is_ours);
        (number, Answer { trouble, unasked, ..answer })
    }

    /// Goes on, or ends, with what was seen at the present URL.
    pub(super) fn see(mut self, glance: Glance) -> Step {
        self.exchanges.extend(glance.exchange);
        let observed = glance.observed;
        let leads_on = self.follow == Follow::Redirects && observed.error.is_none();
        match (&observed.location, observed.status) {
            (Some(location), Some(status)) if leads_on => {
                self.redirects.push(Redirect { status, location: location.clone() });
                let location = location.clone();
                self.onward(&location, status)
            }
            _ => {
                let kind = glance.wants_tls.then_some(FetchErrorKind::WantsTls);
                let trouble = kind.map(|kind| Trouble { kind, url: self.url.clone() });
                let final_url = Some(self.url);
                let observed = Observed { redirects: self.redirects, final_url, ..observed };
                let (exchanges, took) = (self.exchanges, self.took);
                Step::Arrived(self.number, Answer { observed, exchanges, took, trouble, unasked: None })
            }
        }
    }

    fn onward(mut self, location: &str, status: u16) -> Step {
        let next = resolve(&self.url, location).map(without_fragment);
        let from = std::mem::take(&mut self.url);
        self.visited.push(from);
        let reason = match next {
            Err(_) => format!("a redirect leads to `{}`, which is no URL", location.escape_debug()),
            Ok(next) if self.visited.contains(&next) => format!("the redirects go in a circle to `{next}`"),
            Ok(_) if self.redirects.len() > MOST_REDIRECTS => {
                format!("there are more than {MOST_REDIRECTS} redirects")
            }
            Ok(next) => {
                self.url = next;
                return Step::Onward(self);
            }
        };
        let (number, mut answer) = self.fail(reason);
        answer.observed.status = Some(status);
        Step::Arrived(number, answer)
    }
}

fn without_fragment(mut url: String) -> String {
    if let Some(at) = url.find('#') {
        url.truncate(at);
    }
    url
}
