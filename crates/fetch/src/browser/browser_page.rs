//! Opens and closes a page in the shared browser process.
//!
//! Each page has a browser context of its own, so pages share no cache or storage. A page that
//! cannot be closed makes its process unfit for further pages.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::Browser;
use super::devtools_pipe::{DevtoolsEvent, DevtoolsPipe};
use super::launch::BrowserProcess;
use super::page_deadline::PageDeadline;
use super::shared_process::SharedProcess;
use crate::error::{FetchError, FetchErrorKind};

/// How long a browser may take to open a page. It may have to start first.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a browser may take to close a page, whose scripts may be busy.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);

/// Width and height of the window of a page.
const WINDOW_SIZE: (u32, u32) = (1280, 1024);

/// The calls that a page accepts. Cloning shares it.
#[derive(Clone)]
pub(super) struct PageSession {
    pipe: DevtoolsPipe,
    id: Arc<str>,
}

impl PageSession {
    /// Calls a method of the page and waits for its result.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, FetchError> {
        self.pipe.call(Some(&self.id), method, params).await
    }
}

/// A page in the browser.
pub(super) struct BrowserPage<'a> {
    pub(super) session: PageSession,
    context: Value,
    lease: ProcessLease<'a>,
}

/// A page's share of the process. The process is retired unless the page was closed, also when the
/// future of the page is dropped while it is opened.
struct ProcessLease<'a> {
    shared: &'a SharedProcess,
    process: Arc<BrowserProcess>,
    is_closed: bool,
}

impl Drop for ProcessLease<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            self.shared.retire(&self.process);
        }
    }
}

impl<'a> BrowserPage<'a> {
    /// Opens an empty page whose requests are intercepted. Returns it with its events.
    pub(super) async fn open(
        browser: &'a Browser,
        deadline: PageDeadline,
    ) -> Result<(Self, UnboundedReceiver<DevtoolsEvent>), FetchError> {
        let process = browser.process.acquire(&browser.options, browser.network.client.user_agent())?;
        let lease = ProcessLease { shared: &browser.process, process, is_closed: false };
        let pipe = &lease.process.pipe;
        let opened = deadline.within(OPEN_TIMEOUT, open_context(pipe)).await;
        match opened {
            Ok((session, context, events)) => Ok((Self { session, context, lease }, events)),
            Err(error) => {
                // A process that opens no page hangs, and so do its other pages.
                if error.kind == FetchErrorKind::Browser {
                    lease.process.kill();
                }
                Err(error)
            }
        }
    }

    /// Whether the process of the page has ended.
    pub(super) fn has_ended(&self) -> bool {
        !self.lease.process.pipe.is_open()
    }

    /// Closes the page and removes everything that it stored.
    pub(super) async fn close(mut self, deadline: PageDeadline) {
        let params = json!({ "browserContextId": self.context });
        let close = self.lease.process.pipe.call(None, "Target.disposeBrowserContext", params);
        let closed = timeout(deadline.at_most(CLOSE_TIMEOUT), close).await;
        self.lease.is_closed = closed.is_ok_and(|closed| closed.is_ok());
    }
}

type OpenedContext = (PageSession, Value, UnboundedReceiver<DevtoolsEvent>);

/// Opens a page in a new context.
async fn open_context(pipe: &DevtoolsPipe) -> Result<OpenedContext, FetchError> {
    let context = pipe.call(None, "Target.createBrowserContext", json!({})).await?["browserContextId"].take();
    let downloads = json!({ "behavior": "deny", "browserContextId": context });
    pipe.call(None, "Browser.setDownloadBehavior", downloads).await?;
    let (width, height) = WINDOW_SIZE;
    let page = json!({
        "url": "about:blank", "browserContextId": context, "newWindow": true, "width": width, "height": height,
    });
    let target = pipe.call(None, "Target.createTarget", page).await?;
    let attach = json!({ "targetId": target["targetId"], "flatten": true });
    let attached = pipe.call(None, "Target.attachToTarget", attach).await?;
    let id = attached["sessionId"].as_str().unwrap_or_default();
    let (session, events) = (PageSession { pipe: pipe.clone(), id: id.into() }, pipe.events_of(id));
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Network.enable", json!({})),
        ("Network.setCacheDisabled", json!({ "cacheDisabled": true })),
        ("Network.setBypassServiceWorker", json!({ "bypass": true })),
        ("ServiceWorker.enable", json!({})),
        ("Inspector.enable", json!({})),
        ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*", "requestStage": "Request" }] })),
    ] {
        session.call(method, params).await?;
    }
    Ok((session, context, events))
}
