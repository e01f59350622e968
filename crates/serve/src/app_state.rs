//! The state that all handlers share: the archive, and the addresses of both origins.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use http::request::Parts;
use varve_archive::VersionId;
use varve_archive::history::HistoryReader;
use varve_archive::pages::PageService;

use crate::api::fetch_slots::FetchSlots;
use crate::request::RequestParts;
use crate::token::SigningKey;

/// The state that all handlers share.
pub(crate) struct AppState {
    pub(crate) history: HistoryReader,
    /// The name of the archive, as the UI shows it.
    pub(crate) name: String,
    /// Returns the size of the archive in bytes, or none where finding out would take long.
    pub(crate) size: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// The address of the UI.
    pub(crate) ui: SocketAddr,
    /// The address of archived pages.
    pub(crate) replay: SocketAddr,
    /// Host names under which clients may call this server.
    pub(crate) hosts: Vec<String>,
    /// Reads pages for the API; only archives have it.
    pub(crate) pages: Option<Arc<PageService>>,
    /// The places for requests that fetch.
    pub(crate) fetch_slots: FetchSlots,
    /// Verifies the tokens of API clients, if they need one.
    pub(crate) signing_key: Option<SigningKey>,
    /// When the server started.
    pub(crate) started: DateTime<Utc>,
    /// The totals that were counted last.
    pub(crate) totals: Mutex<Option<ArchiveTotals>>,
}

/// How many versions and captures an archive has.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArchiveTotals {
    /// The newest version at the time of counting. The totals hold as long as it is the newest.
    pub(crate) newest: Option<VersionId>,
    pub(crate) versions: u64,
    pub(crate) captures: u64,
    /// Counting stopped early: there are more.
    pub(crate) is_truncated: bool,
}

impl AppState {
    /// The state of a proxy, which has neither a UI nor an origin for archived pages.
    pub(crate) fn without_origins(history: HistoryReader) -> Self {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            history,
            name: String::new(),
            size: Box::new(|| None),
            ui: nowhere,
            replay: nowhere,
            hosts: Vec::new(),
            pages: None,
            fetch_slots: FetchSlots::default(),
            signing_key: None,
            started: Utc::now(),
            totals: Mutex::new(None),
        }
    }

    /// The totals that were counted last.
    pub(crate) fn cached_totals(&self) -> Option<ArchiveTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn cache_totals(&self, totals: ArchiveTotals) {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = Some(totals);
    }

    /// The origin of archived pages, under the host name that the client used.
    pub(crate) fn replay_origin(&self, request: &Parts) -> String {
        origin_at(self.replay, request)
    }

    /// The origin of the UI, under the host name that the client used.
    pub(crate) fn ui_origin(&self, request: &Parts) -> String {
        origin_at(self.ui, request)
    }
}

/// The origin of the listener at `address`, under the host name in the request.
fn origin_at(address: SocketAddr, request: &Parts) -> String {
    let host = request.header("host").map(host_name).filter(|host| !host.is_empty());
    match host {
        Some(host) => format!("http://{host}:{}", address.port()),
        None => format!("http://{address}"),
    }
}

/// The name in a `Host` header, without the port.
pub(crate) fn host_name(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}
