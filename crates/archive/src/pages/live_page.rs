//! A page of the live web: its exchanges, redirects first, and what a browser made of it.
//!
//! Every request goes through the client with its address guard, waits for the turn of its host, and
//! is sent with the settings of its domain: a redirect to another domain gets the headers of that
//! domain only. Nothing is stored here. `robots.txt` is not asked: a person or program asked for this
//! very page, as in a check.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_core::history::{DomainSettings, FetchMethod};
use varve_core::url::{RequestUrl, request_url, resolve};
use varve_crawl::{ClientOptions, NetworkOptions};
use varve_fetch::browser::{Browser, BrowserOptions};
use varve_fetch::{
    Client, FetchError, FetchErrorKind, FetchLimits, FetchRequest, Fetched, Fetcher, Rendering,
};
use varve_file::TemporaryFolder;
use varve_wire::TruncationReason;

use super::host_turns::HostTurns;
use super::{PageError, PageServiceOptions};

/// Maximum number of redirects in a row.
const MAX_REDIRECTS: u8 = 10;

/// A page as it was fetched.
pub(super) struct LivePage {
    /// The exchanges, in their order.
    pub(super) exchanges: Vec<Exchange>,
    /// The position of the response that is the page.
    pub(super) page: usize,
    /// The renderings of the page in a browser.
    pub(super) renderings: Vec<Rendering>,
    /// How it was fetched.
    pub(super) method: FetchMethod,
}

/// Finds the settings of the domain of a URL.
pub(super) type SettingsOf = Arc<dyn Fn(&str) -> Result<DomainSettings, PageError> + Send + Sync>;

/// Fetches the pages of one call. Cookies that servers set are sent within the call only.
pub(super) struct LiveFetcher {
    client: Client,
    limits: FetchLimits,
    browser: Option<(PathBuf, TemporaryFolder)>,
    network: NetworkOptions,
    user_agent: String,
    temporary: TemporaryFolder,
    turns: Arc<HostTurns>,
    settings_of: SettingsOf,
}

impl LiveFetcher {
    /// A fetcher with new connections. Long responses are spooled in `temporary`.
    pub(super) fn new(
        options: &PageServiceOptions,
        network: &NetworkOptions,
        temporary: &TemporaryFolder,
        turns: Arc<HostTurns>,
        settings_of: SettingsOf,
    ) -> Result<Self, PageError> {
        let limits =
            FetchLimits { total: options.timeout, bytes: options.max_bytes, ..FetchLimits::default() };
        let browser = network.browser.clone().map(|executable| (executable, temporary.clone()));
        let client = client_of(network, temporary, &options.user_agent, limits)?;
        Ok(Self {
            client,
            limits,
            browser,
            network: network.clone(),
            user_agent: options.user_agent.clone(),
            temporary: temporary.clone(),
            turns,
            settings_of,
        })
    }

    /// Fetches a page. Settings of its domain may ask for a browser.
    pub(super) async fn fetch(&self, url: &str, method: FetchMethod) -> Result<LivePage, PageError> {
        let settings = (self.settings_of)(url)?;
        let wants_browser = settings.fetch_client == Some(FetchMethod::ChromiumHeadless);
        match method {
            FetchMethod::ChromiumHeadless => self.in_browser(url, &settings).await,
            _ if wants_browser => self.in_browser(url, &settings).await,
            _ => self.directly(url).await,
        }
    }

    async fn directly(&self, url: &str) -> Result<LivePage, PageError> {
        let mut exchanges = Vec::new();
        let mut next = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let settings = (self.settings_of)(&next)?;
            let request = with_settings(FetchRequest::get(next.clone()), &settings);
            let mut fetched = self.request(&self.client, request).await?;
            let exchange = match fetched.exchanges.is_empty() {
                true => return Err(self.failure(&next, FetchError::nothing(&next))),
                false => fetched.exchanges.swap_remove(0),
            };
            if exchange.truncated == Some(TruncationReason::Time) {
                return Err(self.timeout(url));
            }
            let target = redirect_of(&exchange);
            exchanges.push(exchange);
            match target {
                None => {
                    let page = exchanges.len() - 1;
                    let method = FetchMethod::Direct;
                    return Ok(LivePage { exchanges, page, renderings: Vec::new(), method });
                }
                Some(target) => {
                    let not_web = || PageError::Redirects { url: url.to_owned(), is_endless: false };
                    next = target.ok_or_else(not_web)?;
                }
            }
        }
        Err(PageError::Redirects { url: url.to_owned(), is_endless: true })
    }

    async fn in_browser(&self, url: &str, settings: &DomainSettings) -> Result<LivePage, PageError> {
        let disabled = || PageError::HeadlessDisabled(url.to_owned());
        let (executable, folder) = self.browser.as_ref().ok_or_else(disabled)?;
        let user_agent = settings.user_agent.as_deref().map(user_agent_of).unwrap_or(&self.user_agent);
        let client = client_of(&self.network, &self.temporary, user_agent, self.limits)?;
        let options = BrowserOptions {
            max_redirects: MAX_REDIRECTS,
            ..BrowserOptions::new(executable, folder.clone())
        };
        let settings_of = Arc::clone(&self.settings_of);
        // A page loads resources of other domains, each with the headers of its own.
        let headers = move |url: &str| settings_of(url).map(|of| headers_of(&of)).unwrap_or_default();
        let browser = Browser::new(client, options).with_headers(Arc::new(headers));
        let Fetched { exchanges, renderings, .. } = self.request(&browser, FetchRequest::get(url)).await?;
        if exchanges.is_empty() {
            return Err(self.failure(url, FetchError::nothing(url)));
        }
        let shown = renderings.first().and_then(|rendering| rendering.url.split('#').next());
        let is_shown = |exchange: &Exchange| exchange.is_get() && Some(exchange.url.as_str()) == shown;
        let page = exchanges.iter().rposition(is_shown).unwrap_or(0);
        Ok(LivePage { exchanges, page, renderings, method: FetchMethod::ChromiumHeadless })
    }

    /// Makes a request when it is the turn of its host.
    async fn request(&self, fetcher: &dyn Fetcher, request: FetchRequest) -> Result<Fetched, PageError> {
        let url = request.url.clone();
        let host = RequestUrl::parse(&url).map(|url| url.page().host().to_owned()).unwrap_or_default();
        let fetched = self.turns.in_turn(&host, fetcher.fetch(request)).await;
        fetched.map_err(|error| self.failure(&url, error))
    }

    fn failure(&self, url: &str, error: FetchError) -> PageError {
        let url = url.to_owned();
        match error.kind {
            FetchErrorKind::Guard => PageError::Refused { url, source: Box::new(error) },
            FetchErrorKind::Timeout => self.timeout(&url),
            _ => PageError::Unreachable { url, source: Box::new(error) },
        }
    }

    fn timeout(&self, url: &str) -> PageError {
        PageError::Timeout { url: url.to_owned(), seconds: Duration::as_secs(&self.limits.total) }
    }
}

fn client_of(
    network: &NetworkOptions,
    temporary: &TemporaryFolder,
    user_agent: &str,
    limits: FetchLimits,
) -> Result<Client, PageError> {
    let asker = ClientOptions { temporary, user_agent, limits, budget: None, per_host: 1, seeds: &[] };
    network.client(&asker).map_err(|error| PageError::Archive(error.into()))
}

/// The request with the headers that the settings of its domain have.
fn with_settings(request: FetchRequest, settings: &DomainSettings) -> FetchRequest {
    FetchRequest { headers: headers_of(settings), ..request }
}

/// The headers that the settings of a domain have.
fn headers_of(settings: &DomainSettings) -> Vec<(String, String)> {
    let user_agent = settings.user_agent.as_deref();
    let user_agent = user_agent.map(|text| ("User-Agent".to_owned(), user_agent_of(text).to_owned()));
    let others = settings.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    user_agent.into_iter().chain(others).collect()
}

/// The `User-Agent` that a setting stands for: browsers have short names.
fn user_agent_of(setting: &str) -> &str {
    match setting {
        ":firefox:" => "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        ":safari:" => {
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) \
             Version/18.5 Safari/605.1.15"
        }
        ":chrome:" => {
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 \
             Safari/537.36"
        }
        other => other,
    }
}

/// The target of a redirect; `Some(None)` if it is no URL of the web, `None` if there is no redirect.
fn redirect_of(exchange: &Exchange) -> Option<Option<String>> {
    let head = exchange.head().ok()??;
    let is_redirect = matches!(head.status, 301 | 302 | 303 | 307 | 308);
    let location = head.headers.get_text("location").filter(|_| is_redirect)?;
    let target = resolve(&exchange.url, location.trim()).ok();
    Some(target.as_deref().and_then(request_url))
}
