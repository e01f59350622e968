//! Loads pages in Chromium: every request of a page, the document after its scripts, and a
//! screenshot.
//!
//! Chromium renders pages and runs scripts, but never uses the network. Each of its requests is
//! intercepted, made by our [`Client`] with the same guard, records and limits, and its response is
//! handed to the page. Requests that cannot be intercepted, such as web sockets and those of
//! service workers, go to a proxy that does not exist, and are noted.
//!
//! All pages of a [`Browser`] are in one Chromium process, each in a browser context of its own. A
//! crash fails the pages in flight, which can be retried; the next page starts a new process. The
//! process ends when the browser is dropped.

mod browser_page;
mod browser_window;
mod decode;
mod devtools_pipe;
mod identity;
mod launch;
mod page_cookies;
mod page_deadline;
mod page_load;
mod paused_request;
mod running_browsers;
mod shared_process;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use varve_file::TemporaryFolder;

pub use browser_window::{BrowserWindow, WindowOptions};
pub use identity::{Identity, identify};
pub use running_browsers::end_all;

use crate::client::Client;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::{FetchRequest, Fetched, Fetcher, Pending};
use crate::request_gate::RequestGate;
use page_deadline::PageDeadline;
use shared_process::SharedProcess;

/// The settings of a browser.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// Chromium.
    pub executable: PathBuf,
    /// A folder in which each process makes a profile, and removes it.
    pub folder: TemporaryFolder,
    /// A page is loaded when it has made no request for this long.
    pub idle_time: Duration,
    /// A page that is still loading is captured as it is after this time, or after the total
    /// timeout of the client.
    pub load_timeout: Duration,
    /// Maximum number of requests of one page.
    pub max_requests: usize,
    /// Maximum number of redirects in a row. The request after the last one is refused.
    pub max_redirects: u8,
    /// Maximum number of pages at a time. Each has a renderer process of about 100 MB.
    pub max_pages: usize,
    /// The process is replaced after this many pages, because a browser leaks memory.
    pub max_pages_per_process: usize,
}

impl BrowserOptions {
    /// The defaults.
    pub fn new(executable: impl Into<PathBuf>, folder: impl Into<TemporaryFolder>) -> Self {
        Self {
            executable: executable.into(),
            folder: folder.into(),
            idle_time: Duration::from_secs(1),
            load_timeout: Duration::from_secs(60),
            max_requests: 2000,
            max_redirects: 10,
            max_pages: 4,
            max_pages_per_process: 100,
        }
    }
}

/// Loads pages in one Chromium process. Cloning shares it.
#[derive(Clone)]
pub struct Browser {
    network: PageNetwork,
    options: BrowserOptions,
    process: Arc<SharedProcess>,
    permits: Arc<Semaphore>,
}

/// Who makes the requests of pages. Kept by their tasks, which may end after the browser.
#[derive(Clone)]
struct PageNetwork {
    client: Client,
    gate: Option<Arc<dyn RequestGate>>,
    headers: Option<Arc<HeadersByUrl>>,
}

/// Returns the headers that replace those of the browser in a request for a URL.
pub type HeadersByUrl = dyn Fn(&str) -> Vec<(String, String)> + Send + Sync;

impl Browser {
    /// A browser whose requests are made by that client. Its process starts with the first page.
    pub fn new(client: Client, options: BrowserOptions) -> Self {
        let permits = Arc::new(Semaphore::new(options.max_pages));
        Self {
            network: PageNetwork { client, gate: None, headers: None },
            options,
            process: Arc::default(),
            permits,
        }
    }

    /// A browser whose requests a gate decides about.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn RequestGate>) -> Self {
        self.network.gate = Some(gate);
        self
    }

    /// A browser that sends these headers, in place of its own of the same name.
    #[must_use]
    pub fn with_headers(mut self, headers: Arc<HeadersByUrl>) -> Self {
        self.network.headers = Some(headers);
        self
    }
}

impl Fetcher for Browser {
    /// Loads a page. Headers and body of the request are not used: the browser makes its own.
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let _permit = request.in_time(self.permits.acquire()).await?;
            let load_timeout = self.options.load_timeout.min(self.network.client.total_timeout());
            let deadline = PageDeadline { load_timeout, until: request.until };
            page_load::capture(self, &request.url, deadline).await
        })
    }
}

fn failed(what: impl Into<String>) -> FetchError {
    FetchError::new(FetchErrorKind::Browser, what)
}
