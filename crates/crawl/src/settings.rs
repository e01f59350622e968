//! What a run was asked to do. Kept with the run, so that whoever resumes it need not say it again.
//!
//! Nothing here is secret: of headers and credentials it is kept that there were some, and whoever resumes gives them anew.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use varve_fetch::FetchLimits;
use varve_fetch::politeness::{Backoff, PolitenessPolicy};
use varve_plan::Plan;

use super::scope::ScopeKind;
use crate::network_options::SavedNetworkOptions;

/// A pause after failures grows to so many times the first: whoever wants short ones wants no long ones.
const MAX_BACKOFF_FACTOR: u32 = 150;

/// What to capture, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlSettings {
    /// Where to begin.
    pub seeds: Vec<String>,
    /// The plan that is followed, if one is. The seeds are its roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Whether pages are loaded in a browser.
    pub browser: bool,
    /// How many links away from a seed pages may be; any number, if nobody says.
    pub depth: Option<u32>,
    /// How far around its seeds it goes.
    pub scope: ScopeKind,
    /// Pages must match one of these, if there are any.
    pub include: Vec<String>,
    /// What matches one of these is left out.
    pub exclude: Vec<String>,
    /// Stop after so many pages; what they embed is still fetched.
    pub max_pages: Option<u64>,
    /// Stop after so many bytes were received.
    pub max_bytes: Option<u64>,
    /// Stop after so long, in milliseconds.
    pub max_time: Option<u64>,
    /// How many redirects in a row are followed.
    pub max_redirects: u8,
    /// Requests under way at a time.
    pub concurrency: usize,
    /// Requests under way to one host at a time.
    pub per_host: usize,
    /// Between two requests to a host, in milliseconds.
    pub delay: u64,
    /// Whether `robots.txt` is obeyed.
    pub obey_robots: bool,
    /// Whether `nofollow` on links and pages is obeyed.
    pub obey_nofollow: bool,
    /// Whether what looks like one of endlessly many URLs is left out.
    pub avoid_traps: bool,
    /// Whether everything is asked for whole, though the server might say that it has not changed.
    #[serde(default)]
    pub no_conditional: bool,
    /// How often something that failed is tried again.
    pub retries: u32,
    /// The pause after the first failure, in milliseconds; it doubles with each further one.
    pub retry_pause: u64,
    /// For how long a host that asks to be left alone is waited for, in milliseconds; one that asks for more is left for whoever resumes.
    pub max_wait: u64,
    /// Who asks.
    pub user_agent: String,
    /// For one answer altogether, in milliseconds.
    pub timeout: u64,
    /// For a connection, in milliseconds.
    pub connect_timeout: u64,
    /// Between two pieces of an answer, in milliseconds.
    pub idle_timeout: u64,
    /// Bytes of one answer.
    pub max_size: u64,
    /// The message of the version.
    pub message: String,
    /// Who makes it.
    pub author: Option<String>,
    /// How far it reaches. This is for whoever resumes it, and is not written into silos.
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
    /// How polite it is.
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

    /// How much one answer may take.
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

    /// The name by which `robots.txt` speaks of whoever asks: the first word of the user agent.
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
