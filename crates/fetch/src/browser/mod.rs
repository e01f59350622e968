//! Loads pages in Chromium: every request of a page, the document after its scripts, and a
//! screenshot.
//!
//! Chromium renders pages and runs scripts, but never uses the network. Each of its requests is
//! intercepted, made by our [`Client`] with the same guard, records and limits, and its response is
//! handed to the page. Requests that cannot be intercepted, such as web sockets and those of
//! service workers, go to a proxy that does not exist, and are noted. Each page has a process group
//! of its own: a crash loses only that page, and no process outlives the capture.

mod decode;
mod devtools_pipe;
mod identity;
mod launch;
mod page_deadline;
mod page_load;
mod paused_request;
mod running_browsers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use identity::{Identity, identify};
pub use running_browsers::end_all;

use crate::client::Client;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::{FetchRequest, Fetched, Fetcher, Pending};
use crate::request_gate::RequestGate;
use page_deadline::PageDeadline;

/// The settings of a browser.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// Chromium.
    pub executable: PathBuf,
    /// A folder in which each capture makes a profile, and removes it.
    pub folder: PathBuf,
    /// Whether Chromium uses its sandbox, which is not possible as root.
    pub sandbox: bool,
    /// Width and height of the window.
    pub window: (u32, u32),
    /// A page has settled when it makes no request for this long.
    pub settle: Duration,
    /// A page that does not settle is taken as it is after this time, or after the total timeout of
    /// the client.
    pub patience: Duration,
    /// Maximum number of requests of one page.
    pub most_requests: usize,
    /// Maximum number of redirects in a row. The request after the last one is refused.
    pub redirects: u8,
}

impl BrowserOptions {
    /// The defaults.
    pub fn new(executable: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
            folder: folder.into(),
            sandbox: !launch::is_root(),
            window: (1280, 1024),
            settle: Duration::from_secs(1),
            patience: Duration::from_secs(60),
            most_requests: 2000,
            redirects: 10,
        }
    }
}

/// Loads pages in Chromium. Each capture has a browser of its own.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    options: BrowserOptions,
    gate: Option<Arc<dyn RequestGate>>,
}

impl Browser {
    /// A browser whose requests are made by that client.
    pub fn new(client: Client, options: BrowserOptions) -> Self {
        Self { client, options, gate: None }
    }

    /// A browser whose requests a gate decides about.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn RequestGate>) -> Self {
        self.gate = Some(gate);
        self
    }
}

impl Fetcher for Browser {
    /// Loads a page. Headers and body of the request are not used: the browser makes its own.
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        let patience = self.options.patience.min(self.client.total());
        Box::pin(page_load::capture(self, request.url, PageDeadline::new(patience, request.until)))
    }
}

fn failed(what: impl Into<String>) -> FetchError {
    FetchError::new(FetchErrorKind::Browser, what)
}
