//! The politeness of a run: delays, requests at a time, retries, `robots.txt`, and the name under
//! which it makes requests.
//!
//! Owns the settings and makes the policy of them. The host table of `varve_fetch::politeness`
//! applies the policy; `hosts` adds what a crawl knows about each host.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use varve_fetch::politeness::{Backoff, PolitenessPolicy};

/// Maximum delay between retries, as a multiple of the first delay: a user who sets a short first
/// delay does not want long ones later.
const MAX_BACKOFF_FACTOR: u32 = 150;

/// How hosts are requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolitenessSettings {
    /// The maximum number of requests in flight.
    pub concurrency: usize,
    /// The maximum number of requests in flight to one host.
    pub per_host: usize,
    /// The delay between two requests to a host, in milliseconds.
    pub delay: u64,
    /// The maximum number of retries of a failed request.
    pub retries: u32,
    /// The delay after the first failure, in milliseconds; it doubles with each further failure.
    pub retry_pause: u64,
    /// The longest `Retry-After` that the run waits for, in milliseconds. A host that asks for more
    /// is left for a resumed run.
    pub max_wait: u64,
    /// Whether `robots.txt` is obeyed.
    pub obey_robots: bool,
    /// The `User-Agent`.
    pub user_agent: String,
}

impl Default for PolitenessSettings {
    fn default() -> Self {
        let policy = PolitenessPolicy::default();
        Self {
            concurrency: 16,
            per_host: policy.connections_per_host,
            delay: millis(policy.delay),
            retries: policy.retries,
            retry_pause: millis(policy.backoff.first),
            max_wait: millis(policy.longest_retry_after),
            obey_robots: true,
            user_agent: varve_fetch::user_agent(None),
        }
    }
}

impl PolitenessSettings {
    /// The policy for the host table.
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

/// A duration as the settings hold it.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_the_first_word() {
        let named = |user_agent: &str| PolitenessSettings {
            user_agent: user_agent.to_owned(),
            ..PolitenessSettings::default()
        };
        assert_eq!(named("varve/1.2 (+x)").product(), "varve");
        assert_eq!(named("My-Bot").product(), "My-Bot");
        assert_eq!(named("").product(), "varve");
    }
}
