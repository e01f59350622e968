//! The HTTP client: makes one exchange per request.
//!
//! Follows no redirects and decodes nothing. Retries only on an idle connection that the server had
//! closed. Everything it needs is in [`HttpClientOptions`]; it reads neither environment nor
//! settings.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::time::timeout;
use varve_core::Moment;
use varve_core::exchange::{Exchange, Timing};

use crate::client_options::HttpClientOptions;
use crate::connect::{ConnectTimes, Connection, ConnectionInfo, Connector, ProtocolConnection};
use crate::connection_pool::ConnectionPool;
use crate::cookies::CookieJar;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::{FetchRequest, Fetched, Fetcher, Pending};
use crate::http1::{self, ExchangeDeadlines, ExchangeFailure, ReceivedResponse};
use crate::proxy::Proxy;
use crate::request_bytes::{PreparedRequest, prepare};
use crate::request_target::RequestTarget;
use crate::response_spool::ResponseSpool;
use crate::tls::{RootsError, Tls};
use crate::tls_hint;

/// Responses up to this many bytes are held in memory.
const MAX_MEMORY_BYTES: usize = 1 << 20;

/// The same for responses that are passed on: of these many may be in progress for long.
const MAX_TAPPED_MEMORY_BYTES: usize = 256 << 10;

/// An HTTP client. Cloning shares its connections.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

pub(crate) struct ClientState {
    pub(crate) options: HttpClientOptions,
    connector: Connector,
    pool: ConnectionPool,
}

impl Client {
    /// A client without connections yet.
    pub fn new(options: HttpClientOptions) -> Result<Self, RootsError> {
        let tls = Tls::new(options.additional_roots.as_deref())?;
        let connector = Connector {
            guard: options.guard.clone(),
            resolver: Arc::clone(&options.resolver),
            proxies: options.proxies.clone(),
            tls,
        };
        let pool = ConnectionPool::new(options.idle_per_origin);
        Ok(Self(Arc::new(ClientState { options, connector, pool })))
    }

    /// Makes one exchange. A truncated response is an exchange that is marked; no response is an
    /// error.
    pub async fn exchange(&self, mut request: FetchRequest) -> Result<Exchange, FetchError> {
        let started = Instant::now();
        let mut limits = request.limits.take().unwrap_or(self.0.options.limits);
        let left = request.until.map(|until| until.saturating_duration_since(started));
        limits.total = left.map_or(limits.total, |left| limits.total.min(left));
        let target = RequestTarget::parse(&request.url)?;
        let proxy = self.0.proxy_for(&target);
        let is_verbatim = request.is_verbatim;
        let prepared = prepare(request, &target, &self.0.options, proxy)?;
        let host = target.origin.host_and_port();
        let deadlines = ExchangeDeadlines {
            limits: &limits,
            deadline: http1::deadline(started, limits.total),
            host: &host,
        };
        let exchange = self.0.run(target, prepared, &deadlines, started).await?;
        if proxy.is_some() && is_refused_by_proxy(&exchange) {
            let sentence = "the proxy requires a login: it answered 407";
            return Err(FetchError::new(FetchErrorKind::Proxy, sentence));
        }
        if tls_hint::is_alert(&exchange) {
            let sentence = format!("`{host}` expects TLS on that port, and was asked in plain HTTP");
            return Err(FetchError::new(FetchErrorKind::WantsTls, sentence));
        }
        if !is_verbatim {
            self.0.options.cookies.take_response(&exchange);
        }
        Ok(exchange)
    }

    /// What all clones share.
    pub(crate) fn state(&self) -> &ClientState {
        &self.0
    }

    /// The cookies of all requests.
    pub fn cookies(&self) -> &CookieJar {
        &self.0.options.cookies
    }

    /// The timeout of an exchange.
    pub(crate) fn total_timeout(&self) -> Duration {
        self.0.options.limits.total
    }

    /// The value of `User-Agent`.
    pub(crate) fn user_agent(&self) -> &str {
        &self.0.options.user_agent
    }
}

impl Fetcher for Client {
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let exchange = self.exchange(request).await?;
            Ok(Fetched { exchanges: vec![exchange], ..Fetched::default() })
        })
    }
}

impl ClientState {
    /// The proxy that answers requests for a target itself, as opposed to a tunnel.
    pub(crate) fn proxy_for(&self, target: &RequestTarget) -> Option<&Proxy> {
        // The connector reports a proxy that cannot be used.
        let proxy = self.connector.proxies.for_origin(&target.origin).ok().flatten();
        proxy.filter(|proxy| proxy.takes_whole_urls(&target.origin))
    }

    /// Sends the request on an idle connection, on another if that was closed, or on a new one. A
    /// server that ignored ALPN and closes the connection without a response may support only
    /// HTTP/2, which is tried next.
    async fn run(
        &self,
        target: RequestTarget,
        request: PreparedRequest,
        deadlines: &ExchangeDeadlines<'_>,
        started: Instant,
    ) -> Result<Exchange, FetchError> {
        let mut first_failure = None;
        loop {
            let idle = if request.is_repeatable() { self.pool.take(&target.origin) } else { None };
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => match self.open(&target, deadlines, first_failure.is_some()).await {
                    Ok(connection) => connection,
                    Err(error) => return Err(first_failure.unwrap_or(error)),
                },
            };
            let at = now();
            match self.ask(&mut connection, &target, &request, deadlines).await {
                Ok(received) => return self.finish(target, request, connection, received, at, started).await,
                Err(ExchangeFailure::Closed(_)) if reused => {}
                Err(ExchangeFailure::Closed(lost)) => {
                    let error = closed(deadlines.host, lost);
                    if !connection.ignored_alpn || !request.is_repeatable() || first_failure.is_some() {
                        return Err(error);
                    }
                    first_failure = Some(error);
                }
                // The first failure is the reason; HTTP/2 was a guess.
                Err(ExchangeFailure::Failed(error)) => return Err(first_failure.unwrap_or(error)),
            }
        }
    }

    pub(crate) async fn open(
        &self,
        target: &RequestTarget,
        deadlines: &ExchangeDeadlines<'_>,
        http2: bool,
    ) -> Result<Connection, FetchError> {
        let opened = self.connector.open(&target.origin, http2);
        let opened = timeout(deadlines.left(deadlines.limits.connect), opened).await;
        opened.unwrap_or_else(|_| Err(FetchError::timeout("connecting to", deadlines.host)))
    }

    /// A spool for the response to a request.
    pub(crate) fn spool(
        &self,
        request: &PreparedRequest,
        deadlines: &ExchangeDeadlines<'_>,
    ) -> ResponseSpool {
        let (folder, budget) = (self.options.spool_folder.clone(), self.options.budget.clone());
        let memory = if request.tap.is_some() { MAX_TAPPED_MEMORY_BYTES } else { MAX_MEMORY_BYTES };
        ResponseSpool::new(folder, memory, deadlines.limits.bytes, budget).with_tap(request.tap.clone())
    }

    async fn ask(
        &self,
        connection: &mut Connection,
        target: &RequestTarget,
        request: &PreparedRequest,
        deadlines: &ExchangeDeadlines<'_>,
    ) -> Result<ReceivedResponse, ExchangeFailure> {
        let spool = self.spool(request, deadlines);
        match &mut connection.protocol {
            ProtocolConnection::Http1(http1) => http1::exchange(http1, request, spool, deadlines).await,
            ProtocolConnection::Http2(session) => {
                let url = format!("https://{}{}", target.authority, target.path);
                session.exchange(request, &url, spool, deadlines).await
            }
        }
    }

    /// Gives the connection back and makes the exchange.
    async fn finish(
        &self,
        target: RequestTarget,
        request: PreparedRequest,
        mut connection: Connection,
        received: ReceivedResponse,
        at: Moment,
        started: Instant,
    ) -> Result<Exchange, FetchError> {
        let (times, info) = (connection.times.take(), connection.info.clone());
        if received.reusable {
            self.pool.give_back(target.origin, connection);
        }
        exchange_of(target.url, request, info, times, received, at, started).await
    }
}

/// The exchange of a request and its response.
pub(crate) async fn exchange_of(
    url: String,
    request: PreparedRequest,
    info: ConnectionInfo,
    times: Option<ConnectTimes>,
    received: ReceivedResponse,
    at: Moment,
    started: Instant,
) -> Result<Exchange, FetchError> {
    let total = started.elapsed();
    Ok(Exchange {
        url,
        at,
        request: request.recorded,
        cookie: request.cookie,
        response: received.spool.into_message().await.map_err(FetchError::spool)?.with_head(received.head),
        interim: received.interim,
        ip: info.ip,
        protocol: info.protocol,
        cipher: info.cipher,
        timing: timing(times, received.first_byte, total),
        truncated: received.truncated,
        trailers: received.trailers,
    })
}

fn timing(times: Option<ConnectTimes>, first_byte: Duration, total: Duration) -> Timing {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Timing {
        dns: times.map(|times| micros(times.dns)),
        connect: times.map(|times| micros(times.connect)),
        tls: times.and_then(|times| times.tls).map(micros),
        first_byte: micros(first_byte),
        total: micros(total),
    }
}

/// Only a proxy answers 407, and its response is not the page.
fn is_refused_by_proxy(exchange: &Exchange) -> bool {
    exchange.head().is_ok_and(|head| head.is_some_and(|head| head.status == 407))
}

pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

pub(crate) fn closed(host: &str, lost: Option<std::io::Error>) -> FetchError {
    let sentence = format!("`{host}` closed the connection without an answer");
    let error = FetchError::new(FetchErrorKind::Protocol, sentence);
    match lost {
        Some(lost) => error.because(lost),
        None => error,
    }
}
