//! One client connection: HTTP/1.1 with limits on the size and the time of a request head and on
//! slow readers.
//!
//! hyper is used directly, because `axum::serve` has no setting for these limits.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use varve_proxy::WriteTimeout;

/// hyper refuses request heads that are longer, and buffers no more of a response.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long a client may take to send a request head.
const HEAD_READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take no byte of a response before its connection is cut.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves one connection to its end, or to the end of the current response when the server shuts
/// down.
pub(crate) fn serve(
    stream: TcpStream,
    router: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = Result<(), hyper::Error>> + Send + 'static {
    let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_READ_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    graceful.watch(connection)
}
