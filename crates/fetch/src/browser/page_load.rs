//! Loads one page: navigates, answers its requests until there are no more, then takes the document
//! and a screenshot.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::browser_page::{BrowserPage, PageSession};
use super::devtools_pipe::DevtoolsEvent;
use super::page_cookies::{give_cookies, take_cookies};
use super::page_deadline::PageDeadline;
use super::paused_request::{PausedOutcome, PausedRequest};
use super::{Browser, BrowserOptions, failed};
use crate::error::FetchError;
use crate::fetcher::{Fetched, Rendering, RenderingKind};
use crate::request_target::RequestTarget;

/// Timeout of browser calls that need no network.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout of the same calls for a page that is still loading: busy scripts may block them.
const BUSY_CALL_TIMEOUT: Duration = Duration::from_secs(4);

/// How long requests may take after the deadline to return the bytes received so far.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum width and height of a screenshot.
const MAX_SCREENSHOT_PIXELS: f64 = 16_384.0;

/// JavaScript that returns the document with its doctype.
const DOCUMENT_EXPRESSION: &str = "(document.doctype ? new XMLSerializer().serializeToString(document.doctype) + '\\n' : '') \
                        + document.documentElement.outerHTML";

/// Media types of documents. Around anything else, such as a PDF or an image, the browser puts a
/// document of its own.
const DOCUMENT_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// Loads a page and closes it, also after an error.
pub(super) async fn capture(
    browser: &Browser,
    url: &str,
    deadline: PageDeadline,
) -> Result<Fetched, FetchError> {
    let target = RequestTarget::parse(url)?;
    let (page, events) = BrowserPage::open(browser, deadline).await?;
    let outcome = load(browser, (target, deadline), page.session.clone(), events).await;
    let has_ended = page.has_ended();
    page.close(deadline).await;
    match outcome {
        // Its renderings may be missing because of another page.
        Ok(_) if has_ended => Err(failed("the browser ended before the page was rendered")),
        outcome => outcome,
    }
}

async fn load(
    browser: &Browser,
    (target, deadline): (RequestTarget, PageDeadline),
    session: PageSession,
    events: UnboundedReceiver<DevtoolsEvent>,
) -> Result<Fetched, FetchError> {
    let mut page = PageLoad {
        browser,
        session,
        url: target.url,
        deadline,
        load_deadline: deadline.load_deadline(),
        events,
        tasks: PageTasks::default(),
        requests: RequestCounts::default(),
        status: PageStatus::default(),
        fetched: Fetched::default(),
        first_error: None,
    };
    let (cookies, session) = (browser.network.client.cookies(), page.session.clone());
    deadline.within(CALL_TIMEOUT, give_cookies(&session, cookies)).await?;
    page.navigate();
    page.run().await?;
    if page.fetched.exchanges.is_empty() {
        return Err(match page.first_error {
            Some(error) => error,
            None if page.status.is_idle => failed("the browser made no request"),
            None => FetchError::timeout("loading a page of", &target.origin.host_and_port()),
        });
    }
    page.render().await;
    let taken = deadline.within(BUSY_CALL_TIMEOUT, take_cookies(&session, cookies)).await;
    if let Err(error) = taken
        && !deadline.has_passed()
    {
        page.note(format!("the cookies that scripts of the page set are not known: {error}"));
    }
    Ok(page.fetched)
}

/// A page that is being loaded.
struct PageLoad<'a> {
    browser: &'a Browser,
    session: PageSession,
    url: String,
    deadline: PageDeadline,
    /// When the page is captured as it is.
    load_deadline: Instant,
    events: UnboundedReceiver<DevtoolsEvent>,
    tasks: PageTasks,
    requests: RequestCounts,
    status: PageStatus,
    fetched: Fetched,
    first_error: Option<FetchError>,
}

/// The tasks of a page that have not ended.
#[derive(Default)]
struct PageTasks {
    /// Requests of the page.
    requests: JoinSet<PausedOutcome>,
    /// Calls of the browser whose result is not awaited.
    calls: JoinSet<PausedOutcome>,
}

/// The requests of a page, counted for the limits.
#[derive(Default)]
struct RequestCounts {
    total: usize,
    /// For each request after a redirect, how many redirects led to it.
    redirects: HashMap<String, u8>,
}

/// How far a page is.
#[derive(Default)]
struct PageStatus {
    loaded: bool,
    /// It was loaded and made no further request for the idle time.
    is_idle: bool,
    /// The response came too late to be shown.
    is_blank: bool,
}

impl PageLoad<'_> {
    /// Starts the navigation. The call returns only with the first response, so it is not awaited
    /// here.
    fn navigate(&mut self) {
        let (session, params) = (self.session.clone(), json!({ "url": self.url }));
        self.tasks.calls.spawn(async move {
            let outcome = session.call("Page.navigate", params).await;
            let shows_nothing = outcome.as_ref().is_ok_and(|outcome| outcome["errorText"].is_string());
            let notes = outcome.as_ref().err().map(ToString::to_string).into_iter().collect();
            PausedOutcome { error: outcome.err(), notes, shows_nothing, ..PausedOutcome::default() }
        });
    }

    /// Answers requests until the page is idle or its deadline has passed.
    async fn run(&mut self) -> Result<(), FetchError> {
        loop {
            let left = self.load_deadline.saturating_duration_since(Instant::now());
            let is_quiet =
                self.tasks.requests.is_empty() && self.tasks.calls.is_empty() && self.status.loaded;
            let wait = if is_quiet { self.browser.options.idle_time.min(left) } else { left };
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.take_event(event)?,
                    None => return Err(failed("the browser ended before the page was loaded")),
                },
                Some(answered) = self.tasks.requests.join_next() => self.take_answer(answered),
                Some(answered) = self.tasks.calls.join_next() => self.take_answer(answered),
                () = tokio::time::sleep(wait) => {
                    self.status.is_idle = is_quiet;
                    if !is_quiet {
                        self.stop_loading().await;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Ends the requests of a page that is still loading at its deadline.
    async fn stop_loading(&mut self) {
        if !self.deadline.has_passed() {
            let seconds = self.deadline.load_timeout.as_secs();
            self.note(format!("the page was still loading after {seconds} s and was captured as it was"));
        }
        // The deadline of these requests has passed too: they return the bytes received so far.
        if self.deadline.has_passed() || self.fetched.exchanges.is_empty() {
            let until = tokio::time::Instant::now() + HANDOVER_TIMEOUT;
            while let Ok(Some(answered)) = timeout_at(until, self.tasks.requests.join_next()).await {
                self.take_answer(answered);
            }
        }
        self.tasks.requests.abort_all();
        self.tasks.calls.abort_all();
    }

    fn note(&mut self, note: String) {
        if !self.fetched.notes.contains(&note) {
            self.fetched.notes.push(note);
        }
    }

    fn take_answer(&mut self, answered: Result<PausedOutcome, tokio::task::JoinError>) {
        let Ok(answered) = answered else { return };
        self.status.is_blank |= answered.is_late && self.fetched.exchanges.is_empty();
        self.fetched.exchanges.extend(answered.exchange);
        self.fetched.reused.extend(answered.reused);
        let refused = answered.refused.filter(|refused| !self.fetched.refused.contains(refused));
        self.fetched.refused.extend(refused);
        for note in answered.notes {
            self.note(note);
        }
        // A page that is not shown never fires its load event.
        self.status.loaded |= answered.shows_nothing;
        if let Some(error) = answered.error {
            self.first_error.get_or_insert(error);
            // Without a response there is nothing to load.
            self.status.loaded |= self.fetched.exchanges.is_empty();
        }
    }

    fn take_event(&mut self, event: DevtoolsEvent) -> Result<(), FetchError> {
        match event.method.as_str() {
            "Fetch.requestPaused" => self.take_request(event),
            "Page.loadEventFired" => self.status.loaded = true,
            "Page.javascriptDialogOpening" => {
                self.send("Page.handleJavaScriptDialog", json!({ "accept": true }));
            }
            "Network.webSocketCreated" => {
                let url = event.params["url"].as_str().unwrap_or_default();
                self.note(format!("the web socket `{url}` was refused"));
            }
            "ServiceWorker.workerRegistrationUpdated" => {
                for scope in event.params["registrations"].as_array().into_iter().flatten() {
                    let scope = scope["scopeURL"].as_str().unwrap_or_default();
                    self.note(format!("the service worker of `{scope}` was refused"));
                }
            }
            "Inspector.targetCrashed" => return Err(failed("the page crashed")),
            _ => {}
        }
        Ok(())
    }

    fn take_request(&mut self, event: DevtoolsEvent) {
        self.requests.total += 1;
        if self.is_refused(&event.params) {
            let params = json!({ "requestId": event.params["requestId"], "errorReason": "BlockedByClient" });
            self.send("Fetch.failRequest", params);
            return;
        }
        // A truncated page is worth keeping. A slow subresource is not: the crawler fetches it
        // again later.
        let is_page = self.fetched.exchanges.is_empty();
        let until = if is_page { Some(self.load_deadline) } else { self.deadline.until };
        let (network, session) = (self.browser.network.clone(), self.session.clone());
        let (paused, is_page) = (event.params, self.requests.total == 1);
        self.tasks.requests.spawn(PausedRequest { network, session, paused, until, is_page }.answer());
    }

    /// Whether a request is refused without asking the gate. The crawler continues redirects that
    /// end here.
    fn is_refused(&mut self, paused: &Value) -> bool {
        let BrowserOptions { max_requests, max_redirects, .. } = self.browser.options;
        if self.requests.total > max_requests {
            self.note(format!("the page made more than {max_requests} requests; the rest was refused"));
        }
        self.requests.total > max_requests || self.redirects_to(paused) > max_redirects
    }

    /// How many redirects led to a request.
    fn redirects_to(&mut self, paused: &Value) -> u8 {
        let Some(from) = paused["redirectedRequestId"].as_str() else { return 0 };
        let count = self.requests.redirects.remove(from).unwrap_or(0).saturating_add(1);
        let id = paused["requestId"].as_str().unwrap_or_default();
        self.requests.redirects.insert(id.to_owned(), count);
        count
    }

    /// Calls a method without awaiting its result.
    fn send(&mut self, method: &'static str, params: Value) {
        let session = self.session.clone();
        self.tasks.calls.spawn(async move {
            let _ = session.call(method, params).await;
            PausedOutcome::default()
        });
    }

    /// Takes the document and a screenshot. Failures become notes.
    async fn render(&mut self) {
        if self.deadline.has_passed() {
            self.fetched.unfinished = true;
            return self.note_nothing_rendered("the deadline passed before the page was done");
        }
        if self.status.is_blank {
            return self.note_nothing_rendered("the browser shows nothing");
        }
        let timeout = if self.status.is_idle { CALL_TIMEOUT } else { BUSY_CALL_TIMEOUT };
        match self.deadline.within(timeout, self.evaluate("location.href")).await {
            Ok(url) if url.starts_with("http:") || url.starts_with("https:") => {
                self.render_shown(&url, timeout).await;
            }
            // The browser shows its own error page, or an empty one.
            Ok(_) => self.note_nothing_rendered("the browser shows nothing"),
            Err(error) => self.note_nothing_rendered(&error.to_string()),
        }
        self.fetched.unfinished = self.deadline.has_passed();
    }

    fn note_nothing_rendered(&mut self, why: &str) {
        self.note(format!("{why}: there is no document and no screenshot"));
    }

    async fn render_shown(&mut self, url: &str, timeout: Duration) {
        let (document, screenshot) = tokio::join!(
            self.deadline.within(timeout, self.document(url)),
            self.deadline.within(timeout, self.screenshot(url))
        );
        for (rendering, what) in [(document, "document"), (screenshot.map(Some), "screenshot")] {
            match rendering {
                Ok(rendering) => self.fetched.renderings.extend(rendering),
                Err(error) => self.note(format!("there is no {what}: {error}")),
            }
        }
    }

    /// The document, or none where the browser shows another type.
    async fn document(&self, url: &str) -> Result<Option<Rendering>, FetchError> {
        let shown = self.evaluate("document.contentType").await?;
        if !DOCUMENT_TYPES.contains(&shown.as_str()) {
            return Ok(None);
        }
        Ok(Some(Rendering {
            kind: RenderingKind::Document,
            url: url.to_owned(),
            media_type: "text/html; charset=utf-8".to_owned(),
            content: self.evaluate(DOCUMENT_EXPRESSION).await?.into_bytes(),
        }))
    }

    async fn evaluate(&self, expression: &str) -> Result<String, FetchError> {
        let params = json!({ "expression": expression, "returnByValue": true });
        let result = self.session.call("Runtime.evaluate", params).await?;
        let text = result["result"]["value"].as_str();
        text.map(str::to_owned).ok_or_else(|| failed("the page has no document"))
    }

    async fn screenshot(&self, url: &str) -> Result<Rendering, FetchError> {
        let size = self.session.call("Page.getLayoutMetrics", json!({})).await?["cssContentSize"].take();
        let (width, height) =
            (size["width"].as_f64().unwrap_or(1280.0), size["height"].as_f64().unwrap_or(1024.0));
        let clip = json!({
            "x": 0, "y": 0, "scale": 1,
            "width": width.clamp(1.0, MAX_SCREENSHOT_PIXELS), "height": height.clamp(1.0, MAX_SCREENSHOT_PIXELS),
        });
        let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.session.call("Page.captureScreenshot", params).await?;
        let content = BASE64.decode(shot["data"].as_str().unwrap_or_default().as_bytes());
        let content = content.map_err(|error| failed("the screenshot cannot be read").because(error))?;
        let (kind, media_type) = (RenderingKind::Screenshot, "image/png".to_owned());
        Ok(Rendering { kind, url: url.to_owned(), media_type, content })
    }
}
