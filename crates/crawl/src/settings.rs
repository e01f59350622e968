//! The settings of a run. They are saved with the run, so that the user need not repeat them to
//! resume it.
//!
//! No secret is saved: of headers and credentials only the names are saved, and the user gives the
//! values again to resume.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use varve_core::Moment;
use varve_fetch::FetchLimits;
use varve_plan::Plan;

use super::politeness_settings::{PolitenessSettings, millis};
use super::scope::ScopeKind;
use crate::network_options::SavedNetworkOptions;

/// The settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlSettings {
    /// The URLs to start from.
    pub seeds: Vec<String>,
    /// The plan that the run follows, if there is one. Its roots are the seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Whether pages are loaded in a browser.
    pub browser: bool,
    /// Whether requests are made by a browser or program behind the recording proxy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recording: bool,
    /// Which links are followed.
    pub scope: ScopeSettings,
    /// When the run ends early.
    pub limits: RunLimits,
    /// How hosts are requested.
    pub politeness: PolitenessSettings,
    /// How one response is requested.
    pub requests: RequestSettings,
    /// Which URLs are requested again.
    #[serde(skip_serializing_if = "RefetchSettings::is_default")]
    pub refetch: RefetchSettings,
    /// The message of the version.
    pub message: String,
    /// The author of the version.
    pub author: Option<String>,
    /// The network options to resume the run with. They are not written to silos.
    #[serde(skip_serializing_if = "SavedNetworkOptions::is_default")]
    pub network: SavedNetworkOptions,
}

/// Which links a run follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeSettings {
    /// The scope around the seeds.
    pub kind: ScopeKind,
    /// The maximum number of links between a seed and a page; unlimited if `None`.
    pub depth: Option<u32>,
    /// If not empty, pages must match one of these patterns.
    pub include: Vec<String>,
    /// URLs that match one of these patterns are skipped.
    pub exclude: Vec<String>,
    /// The maximum number of redirects in a row.
    pub max_redirects: u8,
    /// Whether `nofollow` on links and pages is obeyed.
    pub obey_nofollow: bool,
    /// Whether URLs that look like crawler traps are skipped.
    pub avoid_traps: bool,
}

impl Default for ScopeSettings {
    fn default() -> Self {
        Self {
            kind: ScopeKind::Page,
            depth: None,
            include: Vec::new(),
            exclude: Vec::new(),
            max_redirects: 10,
            obey_nofollow: true,
            avoid_traps: true,
        }
    }
}

/// When a run ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// The maximum number of pages; the resources that they embed are still fetched.
    pub max_pages: Option<u64>,
    /// The maximum number of bytes received.
    pub max_bytes: Option<u64>,
    /// The maximum duration in milliseconds.
    pub max_time: Option<u64>,
}

/// Which URLs with an earlier capture are requested again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefetchSettings {
    /// Whether URLs with an earlier capture are not requested, unless the other settings select
    /// them. Otherwise everything is requested.
    pub missing_only: bool,
    /// Captures made at this time or before are stale: their URLs are requested again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_before: Option<Moment>,
    /// Whether URLs whose last capture failed are requested again.
    pub retry_errors: bool,
}

impl RefetchSettings {
    /// Whether nothing but the default is set, so that nothing is saved.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a capture makes a request unnecessary. A capture without a time is never stale.
    pub(crate) fn is_fresh(&self, time: Option<Moment>, has_failed: bool) -> bool {
        let is_stale = self.stale_before.zip(time).is_some_and(|(limit, time)| time <= limit);
        self.missing_only && !is_stale && !(self.retry_errors && has_failed)
    }
}

/// How one response is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestSettings {
    /// The timeout of a whole response, in milliseconds.
    pub timeout: u64,
    /// The timeout of a connection attempt, in milliseconds.
    pub connect_timeout: u64,
    /// The timeout between two reads of a response, in milliseconds.
    pub idle_timeout: u64,
    /// The maximum size of a response, in bytes.
    pub max_size: u64,
    /// Whether all requests are unconditional, so that no server can answer that nothing changed.
    pub no_conditional: bool,
}

impl Default for RequestSettings {
    fn default() -> Self {
        let limits = FetchLimits::default();
        Self {
            timeout: millis(limits.total),
            connect_timeout: millis(limits.connect),
            idle_timeout: millis(limits.idle),
            max_size: limits.bytes,
            no_conditional: false,
        }
    }
}

impl RequestSettings {
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
}

impl CrawlSettings {
    /// These settings, changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_fresh_unless_they_are_stale_or_failed() {
        let at = |text: &str| Some(text.parse::<Moment>().unwrap());
        let missing = RefetchSettings { missing_only: true, ..RefetchSettings::default() };
        assert!(!RefetchSettings::default().is_fresh(None, false));
        assert!(missing.is_fresh(None, false) && missing.is_fresh(at("2020"), true));
        let stale = RefetchSettings { stale_before: at("2021"), ..missing };
        assert!(!stale.is_fresh(at("2020"), false) && !stale.is_fresh(at("2021"), false));
        assert!(stale.is_fresh(at("2022"), true) && stale.is_fresh(None, false));
        let retry = RefetchSettings { retry_errors: true, ..missing };
        assert!(retry.is_fresh(at("2020"), false) && !retry.is_fresh(at("2020"), true));
    }

    #[test]
    fn unknown_settings_are_ignored_and_missing_ones_have_their_defaults() {
        let text = r#"{"seeds":["http://h/"],"scope":{"kind":"host"},"flying":true}"#;
        let settings: CrawlSettings = serde_json::from_str(text).unwrap();
        assert_eq!((settings.scope.kind, settings.politeness.concurrency), (ScopeKind::Host, 16));
        let again = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<CrawlSettings>(&again).unwrap(), settings);
    }
}
