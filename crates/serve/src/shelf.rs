//! What is served: the holdings, and what both origins must know of each other.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use varve_archive::VersionId;
use varve_archive::history::Holdings;

use crate::request::Request;

/// What is served.
pub(crate) struct Shelf {
    pub(crate) holdings: Box<dyn Holdings>,
    /// What people call it.
    pub(crate) name: String,
    /// How many bytes it takes, where that is quickly known.
    pub(crate) size: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Where the pages for people are.
    pub(crate) ui: SocketAddr,
    /// Where archived pages are.
    pub(crate) replay: SocketAddr,
    /// Names by which others may call this server.
    pub(crate) hosts: Vec<String>,
    /// How much there is, as it was counted last.
    pub(crate) counted: Mutex<Option<Totals>>,
}

/// How much there is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    /// The newest version when it was counted.
    pub(crate) of: Option<VersionId>,
    pub(crate) versions: u64,
    pub(crate) captures: u64,
    /// There are more.
    pub(crate) is_cut: bool,
}

impl Shelf {
    /// How much there is, if it was counted.
    pub(crate) fn totals(&self) -> Option<Totals> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn remember(&self, totals: Totals) {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(totals);
    }

    /// The origin of archived pages, for whoever asked so.
    pub(crate) fn replay_origin(&self, request: &Request) -> String {
        origin(request, self.replay)
    }

    /// The origin of the pages for people, for whoever asked so.
    pub(crate) fn ui_origin(&self, request: &Request) -> String {
        origin(request, self.ui)
    }
}

/// The origin at another port of the host that was asked.
fn origin(request: &Request, address: SocketAddr) -> String {
    let host = request.header("host").map(host_name).filter(|host| !host.is_empty());
    match host {
        Some(host) => format!("http://{host}:{}", address.port()),
        None => format!("http://{address}"),
    }
}

/// The name in a `Host`, without the port.
pub(crate) fn host_name(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}
