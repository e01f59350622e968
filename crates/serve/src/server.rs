//! The two listeners, their limits, and graceful shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use chrono::Utc;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use varve_archive::history::HistoryReader;
use varve_archive::pages::PageService;
use varve_proxy::{CertificateAuthority, ListenError, ProxyServer};

use crate::api::fetch_slots::{FetchSlots, MAX_RUNNING_FETCHES};
use crate::app_state::AppState;
use crate::museum::{MuseumHandler, MuseumSettings};
use crate::token::SigningKey;
use crate::{connection, replay, ui};

/// Open connections on each origin; further clients wait in the listen queue. Archived pages, which may
/// keep connections open on purpose, take none from the UI.
const MAX_CONNECTIONS: usize = 512;
/// Threads for handlers and for reading bodies. Slow readers hold none of them, so a few serve
/// every connection. Requests that fetch have threads besides these.
const MAX_READING_THREADS: usize = 32;
/// How often the stop flag is polled.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long open responses may take after the stop flag is set.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after a failed `accept`, for example because of too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// What to serve, and where.
pub struct ServeSettings {
    /// The name of the archive, as the UI shows it.
    pub name: String,
    /// Returns the size of the archive in bytes, or none where finding out would take long.
    pub size: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Address of the UI and the APIs. Port 0 means any free port.
    pub listen: SocketAddr,
    /// Address of archived pages.
    pub replay_listen: SocketAddr,
    /// Host names, besides IP addresses, under which clients may call this server.
    pub hosts: Vec<String>,
    /// Reads pages for the extraction API, which without it answers that there is none.
    pub pages: Option<PageService>,
    /// Verifies the tokens of API clients; without it they need none.
    pub signing_key: Option<SigningKey>,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address could not be bound.
    #[error("could not listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The address of the proxy could not be bound.
    #[error(transparent)]
    Proxy(#[from] ListenError),
    /// The runtime could not be started.
    #[error("could not start the server")]
    Start(#[source] io::Error),
}

/// The routers of both origins, without sockets: what [`Server`] serves, and what tests call.
#[derive(Clone)]
pub struct Origins {
    /// The UI and the APIs.
    pub ui: Router,
    /// Archived pages.
    pub replay: Router,
}

impl Origins {
    /// Makes the routers. `settings` has the addresses under which clients reach them.
    pub fn new(history: HistoryReader, settings: ServeSettings) -> Self {
        let state = Arc::new(AppState {
            history,
            name: settings.name,
            size: settings.size,
            ui: settings.listen,
            replay: settings.replay_listen,
            hosts: settings.hosts,
            pages: settings.pages.map(Arc::new),
            fetch_slots: FetchSlots::default(),
            signing_key: settings.signing_key,
            started: Utc::now(),
            totals: Mutex::new(None),
        });
        Self { ui: ui::router(&state), replay: replay::router(&state) }
    }
}

/// A server whose listeners are bound.
pub struct Server {
    origins: Origins,
    runtime: Runtime,
    ui: tokio::net::TcpListener,
    replay: tokio::net::TcpListener,
    ui_address: SocketAddr,
    replay_address: SocketAddr,
    museum: Option<(ProxyServer, Arc<MuseumHandler>, Arc<CertificateAuthority>)>,
}

impl Server {
    /// Binds both addresses.
    pub fn bind(history: HistoryReader, settings: ServeSettings) -> Result<Self, ServeError> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .max_blocking_threads(MAX_READING_THREADS + MAX_RUNNING_FETCHES)
            .build()
            .map_err(ServeError::Start)?;
        let (ui, ui_address) = listen(&runtime, settings.listen)?;
        let (replay, replay_address) = listen(&runtime, settings.replay_listen)?;
        let settings = ServeSettings { listen: ui_address, replay_listen: replay_address, ..settings };
        let origins = Origins::new(history, settings);
        Ok(Self { origins, runtime, ui, replay, ui_address, replay_address, museum: None })
    }

    /// Serves the archive through a proxy as well. Returns the address of the proxy.
    pub fn add_museum(
        &mut self,
        history: HistoryReader,
        settings: MuseumSettings,
    ) -> Result<SocketAddr, ServeError> {
        let _inside = self.runtime.enter();
        let proxy = ProxyServer::bind(settings.listen)?;
        let address = proxy.address();
        let handler = Arc::new(MuseumHandler::new(history, settings.time));
        self.museum = Some((proxy, handler, settings.authority));
        Ok(address)
    }

    /// The address of the UI.
    pub fn address(&self) -> SocketAddr {
        self.ui_address
    }

    /// The address of archived pages.
    pub fn replay_address(&self) -> SocketAddr {
        self.replay_address
    }

    /// Serves until `stop` is set, then waits up to `SHUTDOWN_TIMEOUT` for open responses.
    pub fn run(self, stop: &AtomicBool) {
        let Self { origins, runtime, ui, replay, museum, .. } = self;
        let museum = museum.map(|(proxy, handler, authority)| runtime.spawn(proxy.serve(handler, authority)));
        let limits = [(); 2].map(|()| Arc::new(Semaphore::new(MAX_CONNECTIONS)));
        runtime.block_on(async {
            let graceful = GracefulShutdown::new();
            tokio::select! {
                () = accept(&ui, &limits[0], &graceful, &origins.ui) => {}
                () = accept(&replay, &limits[1], &graceful, &origins.replay) => {}
                () = wait_for(stop) => {}
            }
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
        });
        if let Some(museum) = museum {
            museum.abort();
        }
        // Connections that are still open are cut.
        runtime.shutdown_background();
    }
}

fn listen(
    runtime: &Runtime,
    address: SocketAddr,
) -> Result<(tokio::net::TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let _inside = runtime.enter();
    Ok((tokio::net::TcpListener::from_std(listener).map_err(failed)?, bound))
}

async fn wait_for(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(STOP_POLL_INTERVAL).await;
    }
}

/// Accepts connections until the future is dropped.
async fn accept(
    listener: &tokio::net::TcpListener,
    free_connections: &Arc<Semaphore>,
    graceful: &GracefulShutdown,
    router: &Router,
) {
    loop {
        let Ok(permit) = Arc::clone(free_connections).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        // Without `TCP_NODELAY` small responses wait for more data. Failing to set it costs only
        // time.
        let _ = stream.set_nodelay(true);
        let served = connection::serve(stream, router.clone(), graceful);
        tokio::spawn(async move {
            // A broken connection concerns only its client.
            let _ = served.await;
            drop(permit);
        });
    }
}
