//! Opens connections: name, guard, address, proxy, encryption.
//!
//! The address that passed the guard is the address that is dialled: the name is not looked up
//! again in between. Where a host has several addresses, those that pass are tried with a short
//! lead each, so that one which swallows packets costs a quarter of a second.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::error::{FetchError, FetchErrorKind};
use crate::guard::AddressGuard;
use crate::http1::Http1Connection;
use crate::http2;
use crate::proxy::Proxies;
use crate::request_target::ServerOrigin;
use crate::resolver::Resolve;
use crate::server_stream::ServerStream;
use crate::tls::{self, Handshake, Tls};

/// Delay before the next address of a host is tried too.
const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);

/// Addresses of one host that are tried at most.
const MAX_ADDRESSES: usize = 8;

/// Opens connections.
pub(crate) struct Connector {
    pub(crate) guard: AddressGuard,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) proxies: Proxies,
    pub(crate) tls: Tls,
}

/// An open connection and its properties.
pub(crate) struct Connection {
    pub(crate) link: ProtocolConnection,
    pub(crate) facts: Arc<ConnectionInfo>,
    /// How long opening took, until the first exchange has reported it.
    pub(crate) opening: Option<ConnectTimes>,
    /// Whether the server ignored ALPN.
    pub(crate) names_no_protocol: bool,
}

/// The protocol of a connection.
pub(crate) enum ProtocolConnection {
    Http1(Http1Connection),
    Http2(http2::Http2Connection),
}

/// Properties of a connection that records contain.
#[derive(Debug)]
pub(crate) struct ConnectionInfo {
    pub(crate) ip: Option<IpAddr>,
    pub(crate) protocol: Vec<String>,
    pub(crate) cipher: Option<String>,
}

/// How long the steps of connecting took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectTimes {
    pub(crate) dns: Duration,
    pub(crate) connect: Duration,
    pub(crate) tls: Option<Duration>,
    /// The address of the server, or none behind a proxy.
    ip: Option<IpAddr>,
}

impl Connector {
    /// Opens a connection to an origin.
    pub(crate) async fn open(&self, origin: &ServerOrigin) -> Result<Connection, FetchError> {
        let (stream, opening) = self.dial(origin).await?;
        if !origin.secure {
            return Ok(plain(stream, opening));
        }
        let started = Instant::now();
        match self.tls.agree(stream, origin, false).await? {
            Handshake::Agreed(stream) => Ok(encrypted(stream, opening, started)),
            Handshake::WantsHttp2 => self.open_http2(origin).await,
        }
    }

    /// Opens a connection to a server that supports only HTTP/2.
    pub(crate) async fn open_http2(&self, origin: &ServerOrigin) -> Result<Connection, FetchError> {
        let (stream, mut opening) = self.dial(origin).await?;
        let started = Instant::now();
        let ip = opening.ip;
        let Handshake::Agreed(stream) = self.tls.agree(stream, origin, true).await? else {
            return Err(FetchError::new(FetchErrorKind::Tls, format!("`{}` speaks no HTTP", origin.host)));
        };
        let (protocol, cipher) = agreed("h2", stream.get_ref().1);
        let session = http2::Http2Connection::begin(ServerStream::Tls(stream)).await?;
        opening.tls = Some(started.elapsed());
        let facts = Arc::new(ConnectionInfo { ip, protocol, cipher });
        let link = ProtocolConnection::Http2(session);
        Ok(Connection { link, facts, opening: Some(opening), names_no_protocol: false })
    }

    /// Opens a TCP connection to the origin, through the proxy if there is one, without TLS.
    async fn dial(&self, origin: &ServerOrigin) -> Result<(TcpStream, ConnectTimes), FetchError> {
        let started = Instant::now();
        let proxy = self.proxies.for_origin(origin)?;
        let addresses = match proxy {
            Some(proxy) => {
                self.guard.check_name(&origin.host).map_err(|what| refused_by_guard(&origin.host, what))?;
                self.resolve(proxy.host(), proxy.port()).await.map_err(of_proxy)?
            }
            None => self.vetted(origin).await?,
        };
        let dns = started.elapsed();
        let mut stream = match proxy {
            Some(proxy) => connect_any(addresses, proxy.host()).await.map_err(of_proxy)?,
            None => connect_any(addresses, &origin.host).await?,
        };
        // Requests are written whole: waiting to fill packets would only delay them.
        stream.set_nodelay(true).map_err(|error| FetchError::connect(&origin.host_and_port(), error))?;
        if let Some(proxy) = proxy {
            proxy.open_way(&mut stream, origin).await?;
        }
        let connect = started.elapsed().saturating_sub(dns);
        let ip = stream.peer_addr().ok().map(|address| address.ip()).filter(|_| proxy.is_none());
        Ok((stream, ConnectTimes { dns, connect, tls: None, ip }))
    }

    /// The addresses of an origin that the guard lets through.
    async fn vetted(&self, origin: &ServerOrigin) -> Result<Vec<SocketAddr>, FetchError> {
        let mut addresses = self.resolve(origin.bare_host(), origin.port).await?;
        let mut refusal = None;
        addresses.retain(|address| match self.guard.check(&origin.host, address.ip()) {
            Ok(()) => true,
            Err(what) => {
                refusal = Some(format!("{what} ({})", address.ip()));
                false
            }
        });
        match refusal {
            Some(what) if addresses.is_empty() => Err(refused_by_guard(&origin.host, &what)),
            _ => Ok(addresses),
        }
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, FetchError> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let failed = || FetchError::new(FetchErrorKind::Dns, format!("`{host}` has no address"));
        let addresses = self.resolver.resolve(host, port).await.map_err(|error| failed().because(error))?;
        if addresses.is_empty() { Err(failed()) } else { Ok(addresses) }
    }
}

fn agreed(http: &str, session: &rustls::ClientConnection) -> (Vec<String>, Option<String>) {
    (vec![http.to_owned(), tls::version(session).to_owned()], tls::cipher(session))
}

fn plain(stream: TcpStream, opening: ConnectTimes) -> Connection {
    let ip = opening.ip;
    let facts = Arc::new(ConnectionInfo { ip, protocol: vec!["http/1.1".to_owned()], cipher: None });
    let link = ProtocolConnection::Http1(Http1Connection::new(ServerStream::Plain(stream)));
    Connection { link, facts, opening: Some(opening), names_no_protocol: false }
}

fn encrypted(
    stream: Box<tokio_rustls::client::TlsStream<TcpStream>>,
    mut opening: ConnectTimes,
    started: Instant,
) -> Connection {
    opening.tls = Some(started.elapsed());
    let (_, session) = stream.get_ref();
    let ip = opening.ip;
    let (protocol, cipher) = agreed("http/1.1", session);
    let facts = Arc::new(ConnectionInfo { ip, protocol, cipher });
    let names_no_protocol = session.alpn_protocol().is_none();
    let link = ProtocolConnection::Http1(Http1Connection::new(ServerStream::Tls(stream)));
    Connection { link, facts, opening: Some(opening), names_no_protocol }
}

/// A failure to reach the proxy, which is no failure of the host.
fn of_proxy(failure: FetchError) -> FetchError {
    FetchError::new(FetchErrorKind::Proxy, "the proxy cannot be reached").because(failure)
}

fn refused_by_guard(host: &str, what: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Guard, format!("`{host}` is {what}, which is not fetched unless allowed"))
}

/// Connects to the first of several addresses that accepts.
async fn connect_any(mut addresses: Vec<SocketAddr>, host: &str) -> Result<TcpStream, FetchError> {
    if let [address] = addresses[..] {
        return TcpStream::connect(address).await.map_err(|error| failed(host, address, error));
    }
    addresses.truncate(MAX_ADDRESSES);
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut last_failure = None;
    loop {
        if let Some(address) = waiting.next() {
            attempts
                .spawn(async move { TcpStream::connect(address).await.map_err(|error| (address, error)) });
        }
        let outcome = tokio::select! {
            outcome = attempts.join_next() => outcome,
            () = tokio::time::sleep(NEXT_ADDRESS_DELAY), if waiting.len() > 0 => continue,
        };
        match outcome {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err((address, error)))) => last_failure = Some(failed(host, address, error)),
            Some(Err(_)) => {}
            None if waiting.len() > 0 => {}
            None => break,
        }
    }
    Err(last_failure
        .unwrap_or_else(|| FetchError::new(FetchErrorKind::Connect, format!("cannot connect to `{host}`"))))
}

fn failed(host: &str, address: SocketAddr, error: std::io::Error) -> FetchError {
    FetchError::connect(&format!("`{host}` ({address})"), error)
}
