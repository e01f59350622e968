//! How politely a run asks the web, as silos say it: a `warcinfo` of its own, which the answers of the run name.
//!
//! For whoever reads the records without varve: in the words of the standard where it has some. All that a run was asked to
//! do stands in another record, as settings.

use std::time::Duration;

use varve_core::RunId;

use crate::settings::CrawlSettings;

/// How the web is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDescription {
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// Who asks.
    pub user_agent: String,
    /// How far it goes, where it goes anywhere by itself.
    pub scope: Option<String>,
    /// Between two requests to a host.
    pub delay: Duration,
    /// Requests under way to one host at a time.
    pub per_host: usize,
    /// Requests under way at a time.
    pub concurrency: usize,
    /// How often something that failed is tried again.
    pub retries: u32,
    /// The proxies that requests go through, without credentials.
    pub proxy: Option<String>,
}

impl RunDescription {
    /// That of a crawl.
    pub(crate) fn of(settings: &CrawlSettings, proxy: Option<String>) -> Self {
        let depth = settings.depth.map_or_else(String::new, |depth| format!(" depth={depth}"));
        Self {
            robots: settings.obey_robots,
            user_agent: settings.user_agent.clone(),
            scope: Some(format!("{}{depth}", settings.scope.word())),
            delay: Duration::from_millis(settings.delay),
            per_host: settings.per_host,
            concurrency: settings.concurrency,
            retries: settings.retries,
            proxy,
        }
    }

    /// What is said of a run that asks so.
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
