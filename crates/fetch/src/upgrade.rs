//! Requests that ask a server to change the protocol of the connection, as web sockets do.
//!
//! Such a connection is always new, is never pooled, and belongs to the caller afterwards. A server
//! that does not change the protocol has given an ordinary response.

use std::time::Instant;

use varve_core::exchange::Exchange;

use crate::client::{Client, now};
use crate::connect::ProtocolConnection;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::FetchRequest;
use crate::http1::{self, ExchangeDeadlines, ExchangeFailure, ServerStream};
use crate::request_bytes::prepare;
use crate::request_target::RequestTarget;

/// The status of a response that changes the protocol.
const SWITCHING_PROTOCOLS: u16 = 101;

/// The answer to a request for another protocol.
pub struct UpgradeOutcome {
    /// The request and its response.
    pub exchange: Exchange,
    /// The connection, if the server changed the protocol.
    pub connection: Option<UpgradedConnection>,
}

/// A connection on which a server speaks another protocol.
pub struct UpgradedConnection {
    /// The connection.
    pub stream: Box<dyn ServerStream>,
    /// Bytes of the other protocol that came with the response.
    pub received: Vec<u8>,
}

impl Client {
    /// Makes a request with an [`FetchRequest::upgrade`] on a connection of its own.
    pub async fn upgrade(&self, request: FetchRequest) -> Result<UpgradeOutcome, FetchError> {
        let started = Instant::now();
        let state = self.state();
        let limits = request.limits.unwrap_or(state.options.limits);
        let target = RequestTarget::parse(&request.url)?;
        if state.proxy_for(&target).is_some() {
            let sentence = "the proxy passes on no upgrade of an unencrypted connection";
            return Err(FetchError::new(FetchErrorKind::Proxy, sentence));
        }
        let prepared = prepare(request, &target, &state.options, None)?;
        let host = target.origin.host_and_port();
        let deadline = http1::deadline(started, limits.total);
        let deadlines = ExchangeDeadlines { limits: &limits, deadline, host: &host };
        let mut connection = state.open(&target, &deadlines, false).await?;
        let ProtocolConnection::Http1(mut http1) = connection.protocol else {
            let sentence = format!("`{host}` speaks only HTTP/2, which has no upgrades");
            return Err(FetchError::new(FetchErrorKind::Protocol, sentence));
        };
        let at = now();
        let spool = state.spool(&prepared, &deadlines);
        let mut response = http1::exchange(&mut http1, &prepared, spool, &deadlines).await.map_err(
            |failure| match failure {
                ExchangeFailure::Failed(error) => error,
                ExchangeFailure::Closed(lost) => crate::client::closed(&host, lost),
            },
        )?;
        let status = response.head.as_ref().and_then(varve_wire::MessageHead::status);
        let received = std::mem::take(&mut response.surplus);
        let is_upgraded = status == Some(SWITCHING_PROTOCOLS) && response.interim == 0;
        let stream = http1.into_stream();
        let times = connection.times.take();
        let exchange =
            crate::client::exchange_of(target.url, prepared, connection.info, times, response, at, started)
                .await?;
        let connection = is_upgraded.then_some(UpgradedConnection { stream, received });
        Ok(UpgradeOutcome { exchange, connection })
    }
}
