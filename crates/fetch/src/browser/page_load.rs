//! Loads one page: navigates, answers its requests until it is quiet, then takes the document and a
//! screenshot.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{timeout, timeout_at};

use super::devtools_pipe::{DevtoolsEvent, DevtoolsPipe};
use super::launch::launch;
use super::page_deadline::PageDeadline;
use super::paused_request::{PausedOutcome, PausedRequest, answer};
use super::{Browser, BrowserOptions, failed};
use crate::error::FetchError;
use crate::fetcher::{Fetched, Rendering, RenderingKind};
use crate::request_target::RequestTarget;

/// Timeout of browser calls that need no network.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout of the same calls for a page that has not settled: busy scripts may block them.
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

/// Loads a page and closes the browser, also after an error.
pub(super) async fn capture(
    browser: &Browser,
    url: String,
    hours: PageDeadline,
) -> Result<Fetched, FetchError> {
    let target = RequestTarget::parse(&url)?;
    let (process, input, output) = launch(&browser.options, browser.client.user_agent())?;
    let (pipe, events) = DevtoolsPipe::new(input, output);
    let outcome = load(browser, (target, hours), &pipe, events).await;
    // A browser that is asked to close takes its children with it; one that has crashed cannot be
    // asked.
    let _ = timeout(hours.at_most(BUSY_CALL_TIMEOUT), pipe.call(None, "Browser.close", json!({}))).await;
    drop(pipe);
    process.end(hours).await;
    outcome
}

async fn load(
    browser: &Browser,
    (target, hours): (RequestTarget, PageDeadline),
    pipe: &DevtoolsPipe,
    events: UnboundedReceiver<DevtoolsEvent>,
) -> Result<Fetched, FetchError> {
    let session = hours.within(CALL_TIMEOUT, open_page(pipe)).await?;
    let mut page = PageLoad {
        browser,
        pipe,
        session,
        url: target.url,
        hours,
        closing: hours.closing(),
        events,
        tasks: PageTasks::default(),
        requests: RequestCounts::default(),
        status: PageStatus::default(),
        fetched: Fetched::default(),
        first_error: None,
    };
    page.navigate();
    page.run().await?;
    if page.fetched.exchanges.is_empty() {
        return Err(match page.first_error {
            Some(error) => error,
            None if page.status.settled => failed("the browser asked for nothing"),
            None => FetchError::timeout("loading a page of", &target.origin.host_and_port()),
        });
    }
    page.render().await;
    Ok(page.fetched)
}

/// Opens an empty page whose requests are intercepted. Returns its session.
async fn open_page(pipe: &DevtoolsPipe) -> Result<String, FetchError> {
    pipe.call(None, "Browser.setDownloadBehavior", json!({ "behavior": "deny" })).await?;
    let target = pipe.call(None, "Target.createTarget", json!({ "url": "about:blank" })).await?;
    let attach = json!({ "targetId": target["targetId"], "flatten": true });
    let attached = pipe.call(None, "Target.attachToTarget", attach).await?;
    let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Network.enable", json!({})),
        ("Network.setCacheDisabled", json!({ "cacheDisabled": true })),
        ("Network.setBypassServiceWorker", json!({ "bypass": true })),
        ("ServiceWorker.enable", json!({})),
        ("Inspector.enable", json!({})),
        ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*", "requestStage": "Request" }] })),
    ] {
        pipe.call(Some(&session), method, params).await?;
    }
    Ok(session)
}

/// A page that is being loaded.
struct PageLoad<'a> {
    browser: &'a Browser,
    pipe: &'a DevtoolsPipe,
    session: String,
    url: String,
    hours: PageDeadline,
    /// When the page is taken as it is.
    closing: Instant,
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
    settled: bool,
    /// The response came too late to be shown.
    is_blank: bool,
}

impl PageLoad<'_> {
    /// Starts the navigation. The call returns only with the first response, so it is not awaited
    /// here.
    fn navigate(&mut self) {
        let (pipe, session, url) = (self.pipe.clone(), self.session.clone(), self.url.clone());
        self.tasks.calls.spawn(async move {
            let outcome = pipe.call(Some(&session), "Page.navigate", json!({ "url": url })).await;
            let shows_nothing = outcome.as_ref().is_ok_and(|outcome| outcome["errorText"].is_string());
            let notes = outcome.as_ref().err().map(ToString::to_string).into_iter().collect();
            PausedOutcome { error: outcome.err(), notes, shows_nothing, ..PausedOutcome::default() }
        });
    }

    /// Answers requests until the page is quiet or its time is over.
    async fn run(&mut self) -> Result<(), FetchError> {
        loop {
            let left = self.closing.saturating_duration_since(Instant::now());
            let quiet = self.tasks.requests.is_empty() && self.tasks.calls.is_empty() && self.status.loaded;
            let wait = if quiet { self.browser.options.settle.min(left) } else { left };
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.take_event(event)?,
                    None => return Err(failed("the browser ended before the page was loaded")),
                },
                Some(answered) = self.tasks.requests.join_next() => self.take_answer(answered),
                Some(answered) = self.tasks.calls.join_next() => self.take_answer(answered),
                () = tokio::time::sleep(wait) => {
                    self.status.settled = quiet;
                    if !quiet {
                        self.close().await;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Ends a page whose time is over before it has settled.
    async fn close(&mut self) {
        if !self.hours.are_over() {
            let seconds = self.hours.patience().as_secs();
            self.note(format!("the page had not settled after {seconds} s and was taken as it was"));
        }
        // The deadline of these requests has passed too: they return the bytes received so far.
        if self.hours.are_over() || self.fetched.exchanges.is_empty() {
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
        self.fetched.recalled.extend(answered.recalled);
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
            "Inspector.targetCrashed" => return Err(failed("the page crashed the browser")),
            _ => {}
        }
        Ok(())
    }

    fn take_request(&mut self, event: DevtoolsEvent) {
        self.requests.total += 1;
        let session = event.session.unwrap_or_else(|| self.session.clone());
        if self.is_refused(&event.params) {
            let params = json!({ "requestId": event.params["requestId"], "errorReason": "BlockedByClient" });
            self.send("Fetch.failRequest", params);
            return;
        }
        // A truncated page is worth keeping. A slow subresource is not: the crawler fetches it
        // again later.
        let is_page = self.fetched.exchanges.is_empty();
        let until = if is_page { Some(self.closing) } else { self.hours.until() };
        let is_first = self.requests.total == 1;
        let stopped = PausedRequest { session, paused: event.params, until, is_page: is_first };
        self.tasks.requests.spawn(answer(self.browser.clone(), self.pipe.clone(), stopped));
    }

    /// Whether a request is refused without asking the gate. The crawler continues redirects that
    /// end here.
    fn is_refused(&mut self, paused: &Value) -> bool {
        let BrowserOptions { most_requests, redirects, .. } = self.browser.options;
        if self.requests.total > most_requests {
            self.note(format!("the page made more than {most_requests} requests; the rest was refused"));
        }
        self.requests.total > most_requests || self.redirects_to(paused) > redirects
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
        let (pipe, session) = (self.pipe.clone(), self.session.clone());
        self.tasks.calls.spawn(async move {
            let _ = pipe.call(Some(&session), method, params).await;
            PausedOutcome::default()
        });
    }

    /// Takes the document and a screenshot. Failures become notes.
    async fn render(&mut self) {
        if self.hours.are_over() {
            self.fetched.unfinished = true;
            self.note(
                "the deadline passed before the page was done: there is no document and no screenshot"
                    .to_owned(),
            );
            return;
        }
        if self.status.is_blank {
            return self.note_nothing_shown();
        }
        let patience = if self.status.settled { CALL_TIMEOUT } else { BUSY_CALL_TIMEOUT };
        match self.hours.within(patience, self.evaluate("location.href")).await {
            Ok(url) if url.starts_with("http:") || url.starts_with("https:") => {
                self.render_shown(&url, patience).await;
            }
            // The browser shows its own error page, or an empty one.
            Ok(_) => self.note_nothing_shown(),
            Err(error) => self.note(format!("there is no document and no screenshot: {error}")),
        }
        self.fetched.unfinished = self.hours.are_over();
    }

    fn note_nothing_shown(&mut self) {
        self.note("the browser shows nothing: there is no document and no screenshot".to_owned());
    }

    async fn render_shown(&mut self, url: &str, patience: Duration) {
        let (document, picture) = tokio::join!(
            self.hours.within(patience, self.document(url)),
            self.hours.within(patience, self.picture(url))
        );
        for (rendering, what) in [(document, "document"), (picture.map(Some), "screenshot")] {
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
        let result = self.pipe.call(Some(&self.session), "Runtime.evaluate", params).await?;
        let text = result["result"]["value"].as_str();
        text.map(str::to_owned).ok_or_else(|| failed("the page has no document"))
    }

    async fn picture(&self, url: &str) -> Result<Rendering, FetchError> {
        let call = |method, params| self.pipe.call(Some(&self.session), method, params);
        let size = call("Page.getLayoutMetrics", json!({})).await?["cssContentSize"].take();
        let (width, height) =
            (size["width"].as_f64().unwrap_or(1280.0), size["height"].as_f64().unwrap_or(1024.0));
        let clip = json!({
            "x": 0, "y": 0, "scale": 1,
            "width": width.clamp(1.0, MAX_SCREENSHOT_PIXELS), "height": height.clamp(1.0, MAX_SCREENSHOT_PIXELS),
        });
        let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = call("Page.captureScreenshot", params).await?;
        let content = BASE64.decode(shot["data"].as_str().unwrap_or_default().as_bytes());
        let content = content.map_err(|error| failed("the picture cannot be read").because(error))?;
        let (kind, media_type) = (RenderingKind::Screenshot, "image/png".to_owned());
        Ok(Rendering { kind, url: url.to_owned(), media_type, content })
    }
}
