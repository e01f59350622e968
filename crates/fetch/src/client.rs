//! The HTTP client: makes one exchange per request.
//!
//! Follows no redirects and decodes nothing. Retries only on an idle connection that the server had
//! closed. Everything it needs is in [`HttpClientOptions`]; it reads neither environment nor settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::time::timeout;
use varve_core::Moment;
use varve_core::exchange::{Exchange, Timing};
use varve_core::secret::Secret;

use crate::budget::ByteBudget;
use crate::connect::{ConnectTimes, Connection, Connector, ProtocolConnection};
use crate::connection_pool::ConnectionPool;
use crate::credentials::Credentials;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::{FetchRequest, Fetched, Fetcher, Pending};
use crate::guard::AddressGuard;
use crate::http1::{self, ExchangeDeadlines, ExchangeFailure, ReceivedResponse};
use crate::limits::FetchLimits;
use crate::proxy::{Proxies, Proxy};
use crate::request_bytes::{PreparedRequest, RequestDefaults, compose};
use crate::request_target::RequestTarget;
use crate::resolver::{Resolve, SystemResolver};
use crate::response_spool::ResponseSpool;
use crate::tls::{RootsError, Tls};
use crate::tls_hint;

/// The settings of a client.
pub struct HttpClientOptions {
    /// The folder for answers too long for memory. Files in it have no name.
    pub spool_folder: PathBuf,
    /// Responses up to this many bytes are held in memory.
    pub spool_over: usize,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The limits of one exchange.
    pub limits: FetchLimits,
    /// The limit on all responses together, if there is one.
    pub budget: Option<ByteBudget>,
    /// Which addresses may be connected to.
    pub guard: AddressGuard,
    /// Headers for single origins.
    pub credentials: Credentials,
    /// The proxies.
    pub proxies: Proxies,
    /// Root certificates to trust besides the platform's, as PEM.
    pub additional_roots: Option<Vec<u8>>,
    /// Idle connections kept for one origin.
    pub idle_per_origin: usize,
    /// Idle connections kept in all.
    pub idle_in_all: usize,
    /// The name resolver.
    pub resolver: Arc<dyn Resolve>,
}

impl HttpClientOptions {
    /// The defaults, with long responses in that folder.
    pub fn new(spool_folder: impl Into<PathBuf>) -> Self {
        Self {
            spool_folder: spool_folder.into(),
            spool_over: 1 << 20,
            user_agent: user_agent(None),
            limits: FetchLimits::default(),
            budget: None,
            guard: AddressGuard::new(),
            credentials: Credentials::new(),
            proxies: Proxies::default(),
            additional_roots: None,
            idle_per_origin: 16,
            idle_in_all: 512,
            resolver: Arc::new(SystemResolver),
        }
    }
}

/// The `User-Agent` of varve, with the contact address of its operator.
pub fn user_agent(contact: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match contact {
        Some(contact) => format!("varve/{version} (+{contact})"),
        None => format!("varve/{version} (+web archive, no contact given)"),
    }
}

/// Asks servers over HTTP. Cloning shares its connections.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    connector: Connector,
    pool: ConnectionPool,
    limits: FetchLimits,
    budget: Option<ByteBudget>,
    user_agent: String,
    credentials: Credentials,
    spool_folder: Arc<Path>,
    spool_over: usize,
}

impl Client {
    /// A client without connections yet.
    pub fn new(options: HttpClientOptions) -> Result<Self, RootsError> {
        let tls = Tls::new(options.additional_roots.as_deref())?;
        let connector =
            Connector { guard: options.guard, resolver: options.resolver, proxies: options.proxies, tls };
        Ok(Self(Arc::new(ClientState {
            connector,
            pool: ConnectionPool::new(options.idle_per_origin, options.idle_in_all),
            limits: options.limits,
            budget: options.budget,
            user_agent: options.user_agent,
            credentials: options.credentials,
            spool_folder: options.spool_folder.into(),
            spool_over: options.spool_over,
        })))
    }

    /// Makes one exchange. An answer that is cut short is an exchange that says so; no answer at
    /// all is an error.
    pub async fn exchange(&self, mut request: FetchRequest) -> Result<Exchange, FetchError> {
        let started = Instant::now();
        let mut limits = request.limits.take().unwrap_or(self.0.limits);
        let left = request.until.map(|until| until.saturating_duration_since(started));
        limits.total = left.map_or(limits.total, |left| limits.total.min(left));
        let target = RequestTarget::parse(&request.url)?;
        let through_proxy = self.0.sends_whole_urls(&target);
        let composed = self.0.compose(request, &target)?;
        let host = target.origin.host_and_port();
        let patience = ExchangeDeadlines {
            limits: &limits,
            deadline: http1::deadline(started, limits.total),
            host: &host,
        };
        let exchange = self.0.run(target, composed, &patience, started).await?;
        if through_proxy && is_refused_by_proxy(&exchange) {
            let sentence = "the proxy wants a name and a password: it answered 407";
            return Err(FetchError::new(FetchErrorKind::Proxy, sentence));
        }
        if tls_hint::is_alert(&exchange) {
            let sentence = format!("`{host}` speaks TLS there, and was asked without");
            return Err(FetchError::new(FetchErrorKind::WantsTls, sentence));
        }
        Ok(exchange)
    }
}

impl Client {
    /// How long everything may take.
    #[cfg(unix)]
    pub(crate) fn total(&self) -> Duration {
        self.0.limits.total
    }

    /// The name under which it asks.
    #[cfg(unix)]
    pub(crate) fn user_agent(&self) -> &str {
        &self.0.user_agent
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
    /// Whether the proxy itself answers requests for a target, as opposed to passing bytes on.
    fn sends_whole_urls(&self, target: &RequestTarget) -> bool {
        self.proxy_for(target).is_some()
    }

    /// The proxy that answers requests for a target itself.
    fn proxy_for(&self, target: &RequestTarget) -> Option<&Proxy> {
        // The connector reports a proxy that cannot be used.
        let proxy = self.connector.proxies.for_origin(&target.origin).ok().flatten();
        proxy.filter(|proxy| proxy.takes_whole_urls(&target.origin))
    }

    fn compose(&self, request: FetchRequest, target: &RequestTarget) -> Result<PreparedRequest, FetchError> {
        let proxy = self.proxy_for(target);
        let proxy_authorization = proxy.and_then(Proxy::authorization).map(Secret::new);
        let manner = RequestDefaults {
            user_agent: &self.user_agent,
            credentials: &self.credentials,
            proxied: proxy.is_some(),
            proxy_authorization: proxy_authorization.as_ref().map(|value| value.expose().as_str()),
        };
        compose(request, target, &manner)
    }

    /// Asks on an idle connection, or on another if that has died, or on a new one. A server that
    /// would not say what it speaks and hangs up when asked in HTTP/1.1 may speak nothing but
    /// HTTP/2, and is asked so.
    async fn run(
        &self,
        target: RequestTarget,
        request: PreparedRequest,
        patience: &ExchangeDeadlines<'_>,
        started: Instant,
    ) -> Result<Exchange, FetchError> {
        let mut hung_up = None;
        loop {
            let idle = if request.is_repeatable() { self.pool.take(&target.origin) } else { None };
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => match self.open(&target, patience, hung_up.is_some()).await {
                    Ok(connection) => connection,
                    Err(error) => return Err(hung_up.unwrap_or(error)),
                },
            };
            let at = now();
            match self.ask(&mut connection, &target, &request, patience).await {
                Ok(answer) => return self.conclude(target, request, connection, answer, at, started).await,
                Err(ExchangeFailure::Closed(_)) if reused => {}
                Err(ExchangeFailure::Closed(lost)) => {
                    let error = closed(patience.host, lost);
                    if !connection.names_no_protocol || !request.is_repeatable() || hung_up.is_some() {
                        return Err(error);
                    }
                    hung_up = Some(error);
                }
                // That HTTP/2 does not help either says nothing of why the server hung up.
                Err(ExchangeFailure::Failed(error)) => return Err(hung_up.unwrap_or(error)),
            }
        }
    }

    async fn open(
        &self,
        target: &RequestTarget,
        patience: &ExchangeDeadlines<'_>,
        http2: bool,
    ) -> Result<Connection, FetchError> {
        let opening = async {
            match http2 {
                true => self.connector.open_http2(&target.origin).await,
                false => self.connector.open(&target.origin).await,
            }
        };
        match timeout(patience.left(patience.limits.connect), opening).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::timeout("connecting to", patience.host)),
        }
    }

    async fn ask(
        &self,
        connection: &mut Connection,
        target: &RequestTarget,
        request: &PreparedRequest,
        patience: &ExchangeDeadlines<'_>,
    ) -> Result<ReceivedResponse, ExchangeFailure> {
        let spool =
            ResponseSpool::new(Arc::clone(&self.spool_folder), self.spool_over, patience.limits.bytes)
                .within(self.budget.clone());
        match &mut connection.link {
            ProtocolConnection::Http1(line) => http1::exchange(line, request, spool, patience).await,
            ProtocolConnection::Http2(session) => {
                let url = format!("https://{}{}", target.authority, target.path);
                session.exchange(request, &url, spool, patience).await
            }
        }
    }

    /// Gives the connection back and puts the exchange together.
    async fn conclude(
        &self,
        target: RequestTarget,
        request: PreparedRequest,
        mut connection: Connection,
        answer: ReceivedResponse,
        at: Moment,
        started: Instant,
    ) -> Result<Exchange, FetchError> {
        let total = started.elapsed();
        let opening = connection.opening.take();
        let facts = Arc::clone(&connection.facts);
        if answer.reusable {
            self.pool.give_back(target.origin, connection);
        }
        let response = answer.spool.into_message().await.map_err(FetchError::spool)?;
        Ok(Exchange {
            url: target.url,
            at,
            request: request.recorded,
            response: response.with_head(answer.head),
            interim: answer.interim,
            ip: facts.ip,
            protocol: facts.protocol.clone(),
            cipher: facts.cipher.clone(),
            timing: timing(opening, answer.first_byte, total),
            truncated: answer.truncated,
            trailers: answer.trailers,
        })
    }
}

fn timing(opening: Option<ConnectTimes>, first_byte: Duration, total: Duration) -> Timing {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Timing {
        dns: opening.map(|opening| micros(opening.dns)),
        connect: opening.map(|opening| micros(opening.connect)),
        tls: opening.and_then(|opening| opening.tls).map(micros),
        first_byte: micros(first_byte),
        total: micros(total),
    }
}

/// Only a proxy answers 407, and what it says then is not the page.
fn is_refused_by_proxy(exchange: &Exchange) -> bool {
    exchange.head().is_ok_and(|head| head.is_some_and(|head| head.status == 407))
}

fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn closed(host: &str, lost: Option<std::io::Error>) -> FetchError {
    let error = FetchError::new(
        FetchErrorKind::Protocol,
        format!("`{host}` closed the connection without an answer"),
    );
    match lost {
        Some(lost) => error.because(lost),
        None => error,
    }
}
