//! Two listeners, and what stops them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use varve_archive::history::Holdings;

use crate::connection;
use crate::shelf::Shelf;
use crate::{replay, ui};

/// So many connections are open at a time, on both origins together; more wait.
const MOST_CONNECTIONS: usize = 512;
/// How often the flag is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long what is being answered may take when the server is asked to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long to wait when no connection can be taken, as when there are too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// What is served, and where.
pub struct Settings {
    /// What people call the archive.
    pub name: String,
    /// Says how many bytes the archive takes, if that is quickly known.
    pub size: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Where the pages for people and for programs are. Port 0 means any free one.
    pub listen: SocketAddr,
    /// Where archived pages are.
    pub replay_listen: SocketAddr,
    /// Names, besides the addresses, by which this server is called.
    pub hosts: Vec<String>,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened at.
    #[error("could not listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The process cannot have what a server needs.
    #[error("could not start the server")]
    Start(#[source] io::Error),
}

/// A server that listens already.
pub struct Server {
    shelf: Arc<Shelf>,
    runtime: Runtime,
    ui: tokio::net::TcpListener,
    replay: tokio::net::TcpListener,
}

impl Server {
    /// Listens at both addresses.
    pub fn bind(holdings: Box<dyn Holdings>, settings: Settings) -> Result<Self, ServeError> {
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(ServeError::Start)?;
        let (ui, ui_address) = listen(&runtime, settings.listen)?;
        let (replay, replay_address) = listen(&runtime, settings.replay_listen)?;
        let shelf = Shelf {
            holdings,
            name: settings.name,
            size: settings.size,
            ui: ui_address,
            replay: replay_address,
            hosts: settings.hosts,
            counted: Mutex::new(None),
        };
        Ok(Self { shelf: Arc::new(shelf), runtime, ui, replay })
    }

    /// Where the pages for people are.
    pub fn address(&self) -> SocketAddr {
        self.shelf.ui
    }

    /// Where archived pages are.
    pub fn replay_address(&self) -> SocketAddr {
        self.shelf.replay
    }

    /// Serves until the flag is raised; then what is being answered is finished, for a while.
    pub fn run(self, stop: &AtomicBool) {
        let Self { shelf, runtime, ui, replay } = self;
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        runtime.block_on(async {
            let graceful = GracefulShutdown::new();
            tokio::select! {
                () = accept(&ui, &room, &graceful, &shelf, ui::answer) => {}
                () = accept(&replay, &room, &graceful, &shelf, replay::answer) => {}
                () = raised(stop) => {}
            }
            let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
        });
        // Whoever still reads a long body is left without its end.
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

async fn raised(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Takes connections, for ever.
async fn accept(
    listener: &tokio::net::TcpListener,
    room: &Arc<Semaphore>,
    graceful: &GracefulShutdown,
    shelf: &Arc<Shelf>,
    site: connection::Site,
) {
    loop {
        let Ok(place) = Arc::clone(room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        // Small answers should not wait for more to come; where that cannot be said they do.
        let _ = stream.set_nodelay(true);
        let served = connection::serve(stream, Arc::clone(shelf), site, graceful);
        tokio::spawn(async move {
            // Connections break; whoever was at their other end knows.
            let _ = served.await;
            drop(place);
        });
    }
}
