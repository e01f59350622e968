//! A proxy that shows an archive, without the web pages and APIs of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use varve_archive::history::HistoryReader;
use varve_proxy::ProxyServer;

use super::{MuseumHandler, MuseumSettings};
use crate::server::ServeError;

/// Threads for reading the archive.
const MAX_READING_THREADS: usize = 16;

/// How often the end is polled.
const END_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A proxy whose listener is bound.
pub struct MuseumServer {
    runtime: Runtime,
    proxy: ProxyServer,
    handler: Arc<MuseumHandler>,
    settings: MuseumSettings,
}

impl MuseumServer {
    /// Binds the address.
    pub fn bind(history: HistoryReader, settings: MuseumSettings) -> Result<Self, ServeError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MAX_READING_THREADS)
            .enable_all()
            .build()
            .map_err(ServeError::Start)?;
        let proxy = {
            let _inside = runtime.enter();
            ProxyServer::bind(settings.listen)?
        };
        let handler = Arc::new(MuseumHandler::new(history, settings.time));
        Ok(Self { runtime, proxy, handler, settings })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// Serves until `has_ended` says so, which is polled.
    pub fn run(self, has_ended: &mut dyn FnMut() -> bool) {
        let Self { runtime, proxy, handler, settings } = self;
        runtime.spawn(proxy.serve(handler, settings.authority));
        while !has_ended() {
            std::thread::sleep(END_POLL_INTERVAL);
        }
        runtime.shutdown_background();
    }
}
