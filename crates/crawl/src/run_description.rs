//! Describes the politeness of a run in the silos: a `warcinfo` record of its own, which the
//! response records of the run refer to.
//!
//! The record is for readers without varve, and uses the field names of the WARC standard where
//! they exist. Another record holds all settings of the run.

use std::time::Duration;

use varve_core::RunId;

use crate::settings::CrawlSettings;

/// How a run requests URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDescription {
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The scope, if the run follows links.
    pub scope: Option<String>,
    /// The delay between two requests to a host.
    pub delay: Duration,
    /// The maximum number of requests in flight to one host.
    pub per_host: usize,
    /// The maximum number of requests in flight.
    pub concurrency: usize,
    /// The maximum number of retries of a failed request.
    pub retries: u32,
    /// The proxies that requests go through, without credentials.
    pub proxy: Option<String>,
}

impl RunDescription {
    /// The description of a crawl.
    pub(crate) fn of(settings: &CrawlSettings, proxy: Option<String>) -> Self {
        let depth = settings.scope.depth.map_or_else(String::new, |depth| format!(" depth={depth}"));
        Self {
            robots: settings.politeness.obey_robots,
            user_agent: settings.politeness.user_agent.clone(),
            scope: Some(format!("{}{depth}", settings.scope.kind.word())),
            delay: Duration::from_millis(settings.politeness.delay),
            per_host: settings.politeness.per_host,
            concurrency: settings.politeness.concurrency,
            retries: settings.politeness.retries,
            proxy,
        }
    }

    /// The fields of the `warcinfo` record of this run.
    pub fn fields(&self, run: RunId) -> Vec<(&'static str, String)> {
        let Self { delay, per_host, concurrency, retries, .. } = self;
        let delay = delay.as_millis();
        let mut fields = vec![
            ("robots", if self.robots { "obey" } else { "ignore" }.to_owned()),
            ("http-header-user-agent", self.user_agent.clone()),
            ("varve-run", run.to_string()),
        ];
        fields.extend(self.scope.clone().map(|scope| ("varve-scope", scope)));
        fields.push((
            "varve-politeness",
            format!("delay={delay} per-host={per_host} concurrency={concurrency} retries={retries}"),
        ));
        fields.extend(self.proxy.clone().map(|proxy| ("varve-proxy", proxy)));
        fields
    }
}
