//! The settings of a run. They are saved with the run, so that the user need not repeat them to
//! resume it.
//!
//! No secret is saved: of headers and credentials only the names are saved, and the user gives the
//! values again to resume.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use varve_fetch::FetchLimits;
use varve_fetch::politeness::{Backoff, PolitenessPolicy};
use varve_plan::Plan;

use super::scope::ScopeKind;
use crate::network_options::SavedNetworkOptions;

/// Maximum delay between retries, as a multiple of the first delay: a user who sets a short first
/// delay does not want long ones later.
const MAX_BACKOFF_FACTOR: u32 = 150;

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlSettings {
    /// The URLs to start from.
    pub seeds: Vec<String>,
    /// The plan that the run follows, if there is one. Its roots are the seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Whether pages are loaded in a browser.
    pub browser: bool,
    /// The maximum number of links between a seed and a page; unlimited if `None`.
    pub depth: Option<u32>,
    /// The scope around the seeds.
    pub scope: ScopeKind,
    /// If not empty, pages must match one of these patterns.
    pub include: Vec<String>,
    /// URLs that match one of these patterns are skipped.
    pub exclude: Vec<String>,
    /// The maximum number of pages; the resources that they embed are still fetched.
    pub max_pages: Option<u64>,
    /// The maximum number of bytes received.
    pub max_bytes: Option<u64>,
    /// The maximum duration in milliseconds.
    pub max_time: Option<u64>,
    /// The maximum number of redirects in a row.
    pub max_redirects: u8,
    /// The maximum number of requests in flight.
    pub concurrency: usize,
    /// The maximum number of requests in flight to one host.
    pub per_host: usize,
    /// The delay between two requests to a host, in milliseconds.
    pub delay: u64,
    /// Whether `robots.txt` is obeyed.
    pub obey_robots: bool,
    /// Whether `nofollow` on links and pages is obeyed.
    pub obey_nofollow: bool,
    /// Whether URLs that look like crawler traps are skipped.
    pub avoid_traps: bool,
    /// Whether all requests are unconditional, so that no server can answer that nothing changed.
    #[serde(default)]
    pub no_conditional: bool,
    /// The maximum number of retries of a failed request.
    pub retries: u32,
    /// The delay after the first failure, in milliseconds; it doubles with each further failure.
    pub retry_pause: u64,
    /// The longest `Retry-After` that the run waits for, in milliseconds. A host that asks for more
    /// is left for a resumed run.
    pub max_wait: u64,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The timeout of a whole response, in milliseconds.
    pub timeout: u64,
    /// The timeout of a connection attempt, in milliseconds.
    pub connect_timeout: u64,
    /// The timeout between two reads of a response, in milliseconds.
    pub idle_timeout: u64,
    /// The maximum size of a response, in bytes.
    pub max_size: u64,
    /// The message of the version.
    pub message: String,
    /// The author of the version.
    pub author: Option<String>,
    /// The network options to resume the run with. They are not written to silos.
    #[serde(skip_serializing_if = "SavedNetworkOptions::is_nothing")]
    pub network: SavedNetworkOptions,
}

impl Default for CrawlSettings {
    fn default() -> Self {
        let (limits, policy) = (FetchLimits::default(), PolitenessPolicy::default());
        Self {
            seeds: Vec::new(),
            plan: None,
            browser: false,
            depth: None,
            scope: ScopeKind::Page,
            include: Vec::new(),
            exclude: Vec::new(),
            max_pages: None,
            max_bytes: None,
            max_time: None,
            max_redirects: 10,
            concurrency: 16,
            per_host: policy.connections_per_host,
            delay: millis(policy.delay),
            obey_robots: true,
            obey_nofollow: true,
            avoid_traps: true,
            no_conditional: false,
            retries: policy.retries,
            retry_pause: millis(policy.backoff.first),
            max_wait: millis(policy.longest_retry_after),
            user_agent: varve_fetch::user_agent(None),
            timeout: millis(limits.total),
            connect_timeout: millis(limits.connect),
            idle_timeout: millis(limits.idle),
            max_size: limits.bytes,
            message: String::new(),
            author: None,
            network: SavedNetworkOptions::default(),
        }
    }
}

impl CrawlSettings {
    /// The politeness policy of the run.
    pub(crate) fn policy(&self) -> PolitenessPolicy {
        let (policy, first) = (PolitenessPolicy::default(), Duration::from_millis(self.retry_pause));
        PolitenessPolicy {
            delay: Duration::from_millis(self.delay),
            connections_per_host: self.per_host.max(1),
            retries: self.retries,
            longest_retry_after: Duration::from_millis(self.max_wait),
            backoff: Backoff {
                first,
                longest: policy.backoff.longest.min(first.saturating_mul(MAX_BACKOFF_FACTOR)),
            },
            ..policy
        }
    }

    /// The limits of one response.
    pub fn fetch_limits(&self) -> FetchLimits {
        let limits = FetchLimits::default();
        let idle = Duration::from_millis(self.idle_timeout);
        FetchLimits {
            connect: Duration::from_millis(self.connect_timeout),
            first_byte: limits.first_byte.min(idle),
            idle,
            total: Duration::from_millis(self.timeout),
            bytes: self.max_size,
            ..limits
        }
    }

    /// The product name that `robots.txt` rules are matched with: the first word of the
    /// `User-Agent`.
    pub(crate) fn product(&self) -> &str {
        let end =
            self.user_agent.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
        match &self.user_agent[..end.unwrap_or(self.user_agent.len())] {
            "" => "varve",
            product => product,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_later_varve_are_read_as_far_as_they_are_known() {
        let text = r#"{"seeds":["http://h/"],"scope":"host","flying":true}"#;
        let settings: CrawlSettings = serde_json::from_str(text).unwrap();
        assert_eq!((settings.scope, settings.concurrency), (ScopeKind::Host, 16));
        let again = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<CrawlSettings>(&again).unwrap(), settings);
    }

    #[test]
    fn the_product_is_the_first_word() {
        let named = |user_agent: &str| CrawlSettings {
            user_agent: user_agent.to_owned(),
            ..CrawlSettings::default()
        };
        assert_eq!(named("varve/1.2 (+x)").product(), "varve");
        assert_eq!(named("My-Bot").product(), "My-Bot");
        assert_eq!(named("").product(), "varve");
    }
}
