//! A page as a browser loads it: every request it makes, the document its scripts left, and a picture.
//!
//! Chromium renders and runs scripts; it never touches the network. Each request it wants to make is stopped, made by our own
//! [`Client`] (same guard, same records, same limits) and answered by hand. What cannot be stopped that way,
//! web sockets and the requests of service workers among it, runs into a proxy that does not exist, and is noted. One
//! process group a page: a crash loses that page, and nothing of it outlives the capture.

mod answer;
mod capture;
mod decode;
mod hours;
mod identity;
mod launch;
mod pipe;
mod running;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use identity::{Identity, identify};
pub use running::end_all;

use crate::client::Client;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::{FetchRequest, Fetched, Fetcher, Pending};
use crate::gate::Gate;
use hours::Hours;

/// How pages are loaded.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// Chromium.
    pub executable: PathBuf,
    /// A folder in which each capture makes a profile, and removes it.
    pub folder: PathBuf,
    /// Whether Chromium shuts itself in. It cannot when it is run by root.
    pub sandbox: bool,
    /// Width and height of the window.
    pub window: (u32, u32),
    /// A page has settled when nothing was asked for during this time.
    pub settle: Duration,
    /// A page that does not settle is taken as it is after this time, or after what its client gives any answer.
    pub patience: Duration,
    /// Maximum number of requests of one page.
    pub most_requests: usize,
    /// Maximum number of redirects in a row. The request after the last one is refused.
    pub redirects: u8,
}

impl BrowserOptions {
    /// The usual.
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
    gate: Option<Arc<dyn Gate>>,
}

impl Browser {
    /// A browser whose requests are made by that client.
    pub fn new(client: Client, options: BrowserOptions) -> Self {
        Self { client, options, gate: None }
    }

    /// A browser that asks before it asks.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = Some(gate);
        self
    }
}

impl Fetcher for Browser {
    /// Loads a page. Headers and body of the request are not used: the browser makes its own.
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        let patience = self.options.patience.min(self.client.total());
        Box::pin(capture::capture(self, request.url, Hours::new(patience, request.until)))
    }
}

fn failed(what: impl Into<String>) -> FetchError {
    FetchError::new(FetchErrorKind::Browser, what)
}
