//! The extraction API: requests go to the router, and its pages come from a test web on loopback.

mod domain_settings;
mod page_lists;
mod pages;
mod routes;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::Value;
use varve_archive::history::ArchiveHistoryReader;
use varve_archive::pages::{PageService, PageServiceOptions};
use varve_archive::verbs::capture::NetworkOptions;
use varve_archive::{Date, WriterOptions};
use varve_serve::token::SigningKey;
use varve_testkit::web::{Answer, Site, Web};

use super::museum::{Museum, Reply, TestOrigins, UI_HOST};

/// When the clock of a test begins, in seconds since 1970: 2026-11-16T12:00:00Z.
const START_SECONDS: i64 = 1_794_830_400;
/// How long an extraction is an answer.
const TTL: Duration = Duration::from_secs(3600);

/// An archive with the API, a web to fetch from, and a clock.
struct Api {
    museum: Museum,
    web: Web,
    origins: TestOrigins,
    clock: Arc<AtomicI64>,
}

/// What a test changes of the service.
struct ApiOptions {
    may_write: bool,
    allow_private: bool,
    browser: Option<PathBuf>,
    timeout: Duration,
    signing_key: Option<SigningKey>,
}

impl Default for ApiOptions {
    fn default() -> Self {
        let timeout = Duration::from_secs(20);
        Self { may_write: true, allow_private: true, browser: None, timeout, signing_key: None }
    }
}

impl Api {
    fn new(site: Site) -> Self {
        Self::with(site, ApiOptions::default())
    }

    fn with(site: Site, options: ApiOptions) -> Self {
        Self::over(Museum::new(true), Web::serve(site), options)
    }

    /// The API over an archive that exists.
    fn over(museum: Museum, web: Web, options: ApiOptions) -> Self {
        let clock = Arc::new(AtomicI64::new(START_SECONDS));
        let (seconds, allow_private) = (Arc::clone(&clock), options.allow_private);
        let opening = move || WriterOptions {
            holder: "a test".to_owned(),
            software: "varve".to_owned(),
            clock: Arc::new({
                let seconds = Arc::clone(&seconds);
                move || date(seconds.load(Ordering::Relaxed))
            }),
        };
        let network = NetworkOptions { allow_private, browser: options.browser, ..NetworkOptions::default() };
        let writer = options.may_write.then(|| Arc::new(opening) as _);
        let options_of_pages = PageServiceOptions {
            ttl: Some(TTL),
            timeout: options.timeout,
            delay: Duration::ZERO,
            ..PageServiceOptions::new(network, "varve-test".to_owned(), writer)
        };
        let history = ArchiveHistoryReader::open(&museum.root()).unwrap();
        let pages = PageService::open(history, options_of_pages).unwrap();
        let origins = museum.serve_with(Some(pages), options.signing_key);
        Self { museum, web, origins, clock }
    }

    /// Lets time pass.
    fn advance(&self, time: Duration) {
        self.clock.fetch_add(i64::try_from(time.as_secs()).unwrap(), Ordering::Relaxed);
    }

    fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.origins.send(UI_HOST, method, target, headers, body)
    }

    /// A request with JSON.
    fn json(&self, method: &str, target: &str, body: &Value) -> Reply {
        self.send(method, target, &[("Content-Type", "application/json")], &body.to_string())
    }

    /// `GET /extract` of a page of the web.
    fn extract(&self, path: &str) -> Reply {
        self.get("/extract", &self.web.url(path), "")
    }

    /// GET with a URL, and more of a query.
    fn get(&self, path: &str, url: &str, more: &str) -> Reply {
        self.send("GET", &format!("{path}?url={}{more}", query_value(url)), &[], "")
    }
}

fn date(seconds: i64) -> Date {
    let text = varve_archive::Moment::from_seconds(seconds).to_string();
    Date::parse(text.as_bytes()).unwrap()
}

fn query_value(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The JSON of a response.
fn value(reply: &Reply) -> Value {
    assert_eq!(reply.header("content-type"), Some("application/json"), "{reply:?}");
    serde_json::from_str(&reply.text()).unwrap()
}

/// An article with a text that is long enough to be found.
fn article(title: &str, text: &str) -> Answer {
    Answer::html(format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>{title}</title></head><body><article><h1>{title}</h1>\
         <p>{text} A varve is the thin layer of sediment that a lake lays down each year, and a lake \
         never forgets a year that it has seen.</p><p>Read the layers from the top, and you read the \
         history of the lake backwards, one year after the other, until the ice.</p></article></body></html>"
    ))
}
