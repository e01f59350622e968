//! Opens connections: name, guard, address, proxy, encryption.
//!
//! The address that passed the guard is the address that is dialled: the name is not looked up
//! again in between. If a host has several addresses, the next is tried a quarter of a second after
//! the last, and the first that accepts is used.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;

use crate::error::{FetchError, FetchErrorKind};
use crate::guard::{AddressGuard, ProxiedHostRefusal};
use crate::http1::Http1Connection;
use crate::http2::Http2Connection;
use crate::proxy::Proxies;
use crate::request_target::ServerOrigin;
use crate::resolver::Resolve;
use crate::tls::{self, Tls};

/// Delay before the next address of a host is tried too.
const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);

/// Maximum number of addresses of one host that are tried.
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
    pub(crate) protocol: ProtocolConnection,
    pub(crate) info: ConnectionInfo,
    /// How long connecting took, until the first exchange has reported it.
    pub(crate) times: Option<ConnectTimes>,
    /// Whether the server ignored ALPN.
    pub(crate) ignored_alpn: bool,
}

/// The protocol of a connection.
pub(crate) enum ProtocolConnection {
    Http1(Http1Connection),
    Http2(Http2Connection),
}

/// Properties of a connection that records contain.
#[derive(Clone)]
pub(crate) struct ConnectionInfo {
    /// The address of the server, or none behind a proxy.
    pub(crate) ip: Option<IpAddr>,
    pub(crate) protocol: Vec<String>,
    pub(crate) cipher: Option<String>,
}

/// How long the steps of connecting took.
#[derive(Clone, Copy)]
pub(crate) struct ConnectTimes {
    pub(crate) dns: Duration,
    pub(crate) connect: Duration,
    pub(crate) tls: Option<Duration>,
}

impl Connector {
    /// Opens a connection to an origin: HTTP/1.1, unless `http2` is set or the server supports
    /// nothing else.
    pub(crate) async fn open(
        &self,
        origin: &ServerOrigin,
        mut http2: bool,
    ) -> Result<Connection, FetchError> {
        loop {
            let (stream, times, ip) = self.dial(origin).await?;
            if !origin.secure {
                let protocol = ProtocolConnection::Http1(Http1Connection::new(Box::new(stream)));
                let info = ConnectionInfo { ip, protocol: vec!["http/1.1".to_owned()], cipher: None };
                return Ok(Connection { protocol, info, times: Some(times), ignored_alpn: false });
            }
            let started = Instant::now();
            match self.tls.agree(stream, origin, http2).await? {
                Some(stream) => {
                    let times = ConnectTimes { tls: Some(started.elapsed()), ..times };
                    return encrypted(stream, ip, times, http2).await;
                }
                None => http2 = true,
            }
        }
    }

    /// Opens a TCP connection to the origin, through the proxy if there is one, without TLS.
    async fn dial(
        &self,
        origin: &ServerOrigin,
    ) -> Result<(TcpStream, ConnectTimes, Option<IpAddr>), FetchError> {
        let started = Instant::now();
        let proxy = self.proxies.for_origin(origin)?;
        let addresses = match proxy {
            Some(proxy) => {
                let checked = self.guard.check_proxied(&origin.host, proxy.is_socks());
                checked.map_err(|refusal| refused_behind_proxy(&origin.host, refusal))?;
                self.resolve(&proxy.host, proxy.port).await.map_err(proxy_unreachable)?
            }
            None => self.allowed_addresses(origin).await?,
        };
        let dns = started.elapsed();
        let mut stream = match proxy {
            Some(proxy) => connect_any(addresses, &proxy.host).await.map_err(proxy_unreachable)?,
            None => connect_any(addresses, &origin.host).await?,
        };
        // Requests are written whole: waiting to fill packets would only delay them.
        stream.set_nodelay(true).map_err(|error| FetchError::connect(&origin.host_and_port(), error))?;
        if let Some(proxy) = proxy {
            proxy.open_tunnel(&mut stream, origin).await?;
        }
        let connect = started.elapsed().saturating_sub(dns);
        let ip = stream.peer_addr().ok().map(|address| address.ip()).filter(|_| proxy.is_none());
        Ok((stream, ConnectTimes { dns, connect, tls: None }, ip))
    }

    /// The addresses of an origin that the guard lets through.
    async fn allowed_addresses(&self, origin: &ServerOrigin) -> Result<Vec<SocketAddr>, FetchError> {
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

async fn encrypted(
    stream: TlsStream<TcpStream>,
    ip: Option<IpAddr>,
    times: ConnectTimes,
    http2: bool,
) -> Result<Connection, FetchError> {
    let session = stream.get_ref().1;
    let ignored_alpn = !http2 && session.alpn_protocol().is_none();
    let http = if http2 { "h2" } else { "http/1.1" };
    let protocol = vec![http.to_owned(), tls::version(session).to_owned()];
    let info = ConnectionInfo { ip, protocol, cipher: tls::cipher(session) };
    let protocol = match http2 {
        true => ProtocolConnection::Http2(Http2Connection::begin(stream).await?),
        false => ProtocolConnection::Http1(Http1Connection::new(Box::new(stream))),
    };
    Ok(Connection { protocol, info, times: Some(times), ignored_alpn })
}

/// A failure to reach the proxy, which says nothing about the host.
fn proxy_unreachable(failure: FetchError) -> FetchError {
    FetchError::new(FetchErrorKind::Proxy, "the proxy cannot be reached").because(failure)
}

fn refused_by_guard(host: &str, what: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Guard, format!("`{host}` is {what}, which is not fetched unless allowed"))
}

fn refused_behind_proxy(host: &str, refusal: ProxiedHostRefusal) -> FetchError {
    let what = match refusal {
        ProxiedHostRefusal::Address(what) => return refused_by_guard(host, what),
        ProxiedHostRefusal::Name(what) => what,
    };
    let sentence = format!(
        "`{host}` is {what}, and the proxy would resolve it, so its address cannot be checked; \
         `--proxy-resolves` allows it"
    );
    FetchError::new(FetchErrorKind::Guard, sentence)
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
