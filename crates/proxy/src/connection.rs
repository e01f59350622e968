//! Connections of clients: plain HTTP, and tunnels with or without TLS.
//!
//! Every step has a limit: the size and the time of a request head, the time of a handshake, the
//! number of streams, and the time in which a client takes no byte of a response.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::certificate_authority::CertificateAuthority;
use crate::handler::{ProxyHandler, ProxyResponse, plain_response};
use crate::host_certificates::tls_settings;
use crate::local_page::local_page;
use crate::request_routing::{RequestRoute, TunnelTarget, route, tunnel_target};
use crate::write_timeout::WriteTimeout;

/// Longer request heads are refused.
const MAX_HEAD_BYTES: usize = 256 << 10;

/// Request heads with more lines are refused.
const MAX_HEAD_LINES: usize = 500;

/// How long a client may take to send a request head. An idle connection is closed after this time.
const HEAD_READ_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client may take for the first byte in a tunnel, and for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take no byte of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Requests in flight on one HTTP/2 connection.
const MAX_STREAMS: u32 = 200;

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE_BYTE: u8 = 0x16;

/// The state that all connections share.
pub(crate) struct ProxyFront {
    pub(crate) handler: Arc<dyn ProxyHandler>,
    pub(crate) authority: Arc<CertificateAuthority>,
    pub(crate) address: SocketAddr,
}

/// Whether requests of a connection are for the proxy, or for the server of a tunnel.
#[derive(Clone)]
pub(crate) enum ConnectionKind {
    /// Requests have absolute URLs.
    Proxy,
    /// Requests are for this server.
    Tunnel {
        /// The server.
        target: Arc<TunnelTarget>,
        /// Whether the tunnel is encrypted.
        is_secure: bool,
    },
}

/// Serves one connection of a client to its end.
pub(crate) async fn serve_client(stream: TcpStream, front: Arc<ProxyFront>, permit: OwnedSemaphorePermit) {
    let permit = Arc::new(permit);
    let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
    // A broken connection concerns only its client.
    let _ = serve_http1(stream, front, ConnectionKind::Proxy, permit).await;
}

/// A stream of a client.
trait ClientStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> ClientStream for S {}

async fn serve_http1(
    stream: impl ClientStream,
    front: Arc<ProxyFront>,
    kind: ConnectionKind,
    permit: Arc<OwnedSemaphorePermit>,
) -> Result<(), hyper::Error> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_READ_TIMEOUT)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(2 * MAX_HEAD_BYTES)
        .max_headers(MAX_HEAD_LINES)
        .auto_date_header(false)
        .title_case_headers(true)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| {
                respond(request, Arc::clone(&front), kind.clone(), Arc::clone(&permit))
            }),
        )
        .with_upgrades()
        .await
}

async fn serve_http2(
    stream: impl ClientStream,
    front: Arc<ProxyFront>,
    kind: ConnectionKind,
    permit: Arc<OwnedSemaphorePermit>,
) -> Result<(), hyper::Error> {
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(HEAD_READ_TIMEOUT)
        .keep_alive_timeout(HANDSHAKE_TIMEOUT)
        .auto_date_header(false)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| {
                respond(request, Arc::clone(&front), kind.clone(), Arc::clone(&permit))
            }),
        )
        .await
}

/// A future with a known type: tunnels contain connections, which contain tunnels.
type Responding = Pin<Box<dyn Future<Output = Result<ProxyResponse, Infallible>> + Send>>;

fn respond(
    mut request: Request<Incoming>,
    front: Arc<ProxyFront>,
    kind: ConnectionKind,
    permit: Arc<OwnedSemaphorePermit>,
) -> Responding {
    Box::pin(async move {
        if request.method() == Method::CONNECT {
            return Ok(open_tunnel(&mut request, front, &kind, permit));
        }
        Ok(match route(request, &kind, front.address) {
            RequestRoute::Forward(request) => front.handler.answer(*request).await,
            RequestRoute::Local(path) => local_page(&path, &front.authority, front.address),
            RequestRoute::Refuse(status, why) => plain_response(status, why),
        })
    })
}

/// Answers `CONNECT`. Nothing is connected: the proxy is the server at the end of the tunnel.
fn open_tunnel(
    request: &mut Request<Incoming>,
    front: Arc<ProxyFront>,
    kind: &ConnectionKind,
    permit: Arc<OwnedSemaphorePermit>,
) -> ProxyResponse {
    if !matches!(kind, ConnectionKind::Proxy) {
        return plain_response(StatusCode::BAD_REQUEST, "there is no tunnel inside a tunnel");
    }
    let target = match tunnel_target(request.uri()) {
        Ok(target) => Arc::new(target),
        Err((status, why)) => return plain_response(status, why),
    };
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        // A broken tunnel concerns only its client.
        let _ = serve_tunnel(upgrade, target, front, permit).await;
    });
    let mut response = plain_response(StatusCode::OK, "");
    *response.body_mut() = http_body_util::BodyExt::boxed_unsync(http_body_util::BodyExt::map_err(
        http_body_util::Empty::new(),
        |never| match never {},
    ));
    response.headers_mut().clear();
    response
}

async fn serve_tunnel(
    upgrade: OnUpgrade,
    target: Arc<TunnelTarget>,
    front: Arc<ProxyFront>,
    permit: Arc<OwnedSemaphorePermit>,
) -> io::Result<()> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let mut stream = TokioIo::new(upgrade.await.map_err(io::Error::other)?);
    let mut first = [0; 1];
    timeout(HANDSHAKE_TIMEOUT, stream.read_exact(&mut first)).await.map_err(late)??;
    let stream = PeekedStream { first: Some(first[0]), stream };
    if first[0] != TLS_HANDSHAKE_BYTE {
        let kind = ConnectionKind::Tunnel { target, is_secure: false };
        return serve_http1(stream, front, kind, permit).await.map_err(io::Error::other);
    }
    let settings = tls_settings(&front.authority, &target.host).map_err(io::Error::other)?;
    let accepting = TlsAcceptor::from(settings).accept(stream);
    let stream = timeout(HANDSHAKE_TIMEOUT, accepting).await.map_err(late)??;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let kind = ConnectionKind::Tunnel { target, is_secure: true };
    let served = match is_http2 {
        true => serve_http2(stream, front, kind, permit).await,
        false => serve_http1(stream, front, kind, permit).await,
    };
    served.map_err(io::Error::other)
}

/// A stream whose first byte was read already.
struct PeekedStream<S> {
    first: Option<u8>,
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for PeekedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        if buffer.remaining() > 0
            && let Some(first) = self.first.take()
        {
            buffer.put_slice(&[first]);
            return std::task::Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PeekedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
