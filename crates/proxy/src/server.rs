//! The listener of the proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::certificate_authority::CertificateAuthority;
use crate::connection::{ProxyFront, serve_client};
use crate::handler::ProxyHandler;

/// Open connections of clients; further ones wait in the listen queue.
const MAX_CONNECTIONS: usize = 2048;

/// Delay after a failed `accept`, for example because of too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("could not listen at {address}")]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub source: io::Error,
}

/// A proxy whose listener is bound.
pub struct ProxyServer {
    listener: TcpListener,
    address: SocketAddr,
}

impl ProxyServer {
    /// Binds an address; port 0 selects a free one. Must be called in a runtime.
    pub fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |source| ListenError { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok(Self { listener: TcpListener::from_std(listener).map_err(failed)?, address: bound })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients until the future is dropped. Connections that are open then go on until the
    /// runtime ends.
    pub async fn serve(self, handler: Arc<dyn ProxyHandler>, authority: Arc<CertificateAuthority>) {
        let free_connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let front = Arc::new(ProxyFront { handler, authority, address: self.address });
        loop {
            let Ok(permit) = Arc::clone(&free_connections).acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            // Failing to set it costs only time.
            let _ = stream.set_nodelay(true);
            tokio::spawn(serve_client(stream, Arc::clone(&front), permit));
        }
    }
}
