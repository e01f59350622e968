//! The request loop that `capture` and `check` share: it starts requests as their hosts permit and
//! delivers how each ended.
//!
//! Requests run on a small runtime with threads of its own. Everything that happens comes back as a
//! message to the one thread that decides. The [`HostTable`] says which request may start when;
//! this loop limits how many are in flight at a time. It knows nothing about what a request is for.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use varve_core::exchange::Exchange;
use varve_fetch::FetchError;
use varve_fetch::politeness::{
    HostState, HostTable, NextRequest, QueuedRequest, RequestOutcome, parse_retry_after,
};
use varve_wire::TruncationReason;

/// More threads for sockets are seldom busy.
const MAX_FETCH_THREADS: usize = 4;
/// Aborted requests end at once; a browser among them takes as long as its processes take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the deciding thread looks whether it should stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A request that the host table released: send it now.
pub(crate) struct ReadyRequest<T> {
    /// The host.
    pub(crate) host: Box<str>,
    /// The request.
    pub(crate) item: T,
    /// The number of attempts before this one.
    pub(crate) tries: u32,
}

/// Why no more requests were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopState {
    /// No host may be requested before this instant.
    WaitUntil(Instant),
    /// Requests in flight must end first.
    InFlight,
    /// Nothing waits and nothing is in flight.
    Empty,
}

impl LoopState {
    /// The instant to wait for, if only time has to pass.
    pub(crate) fn wait_until(self) -> Option<Instant> {
        match self {
            Self::WaitUntil(until) => Some(until),
            Self::InFlight | Self::Empty => None,
        }
    }
}

/// Requests in flight and the messages about them.
pub(crate) struct RequestLoop<M> {
    runtime: Option<Runtime>,
    /// Requests in flight, and some that have ended.
    requests: JoinSet<()>,
    sender: Sender<M>,
    messages: Receiver<M>,
    /// Messages that were received while the thread waited for another one.
    postponed: VecDeque<M>,
    max_in_flight: usize,
    in_flight: usize,
}

impl<M: Send + 'static> RequestLoop<M> {
    /// A loop with at most `max_in_flight` requests at a time, on at most `threads` threads.
    pub(crate) fn new(threads: usize, max_in_flight: usize) -> io::Result<Self> {
        let threads = threads.clamp(1, MAX_FETCH_THREADS);
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("fetch").enable_all().build()?;
        let (sender, messages) = channel();
        Ok(Self {
            runtime: Some(runtime),
            requests: JoinSet::new(),
            sender,
            messages,
            postponed: VecDeque::new(),
            max_in_flight: max_in_flight.max(1),
            in_flight: 0,
        })
    }

    /// Where other threads send their messages.
    pub(crate) fn sender(&self) -> Sender<M> {
        self.sender.clone()
    }

    /// The number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Takes the next request that its host permits, as long as fewer than the maximum are in
    /// flight.
    pub(crate) fn next_ready<T: QueuedRequest, S: HostState>(
        &mut self,
        hosts: &mut HostTable<T, S>,
        now: Instant,
    ) -> Result<ReadyRequest<T>, LoopState> {
        if self.in_flight >= self.max_in_flight {
            return Err(LoopState::InFlight);
        }
        match hosts.next(now) {
            NextRequest::Send { host, item, tries } => Ok(ReadyRequest { host, item, tries }),
            NextRequest::Wait(until) => Err(LoopState::WaitUntil(until)),
            NextRequest::InFlight => Err(LoopState::InFlight),
            NextRequest::Empty if self.in_flight > 0 => Err(LoopState::InFlight),
            NextRequest::Empty => Err(LoopState::Empty),
        }
    }

    /// Starts a request; its message is delivered when it ends.
    pub(crate) fn start(&mut self, request: impl Future<Output = M> + Send + 'static) {
        while self.requests.try_join_next().is_some() {}
        self.in_flight += 1;
        let sender = self.sender.clone();
        let deliver = async move {
            // The loop may be gone when the request ends.
            let _ = sender.send(request.await);
        };
        let runtime = self.runtime.as_ref().expect("the runtime exists until the loop is dropped");
        self.requests.spawn_on(deliver, runtime.handle());
    }

    /// Counts a request as ended. Call it once for each message of a request.
    pub(crate) fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// Waits for a message, until an instant or for a moment.
    pub(crate) fn receive(&mut self, until: Option<Instant>, now: Instant) -> Option<M> {
        let wait = until.map_or(STOP_POLL_INTERVAL, |until| until.saturating_duration_since(now));
        self.try_receive().or_else(|| self.messages.recv_timeout(wait.min(STOP_POLL_INTERVAL)).ok())
    }

    /// A message that is there already.
    pub(crate) fn try_receive(&mut self) -> Option<M> {
        self.postponed.pop_front().or_else(|| self.messages.try_recv().ok())
    }

    /// Waits for a message that `wanted` takes. The others are delivered later.
    pub(crate) fn receive_only<W>(&mut self, wanted: impl Fn(M) -> Result<W, M>) -> Option<W> {
        let message = self.messages.recv_timeout(STOP_POLL_INTERVAL).ok()?;
        match wanted(message) {
            Ok(wanted) => Some(wanted),
            Err(message) => {
                self.postponed.push_back(message);
                None
            }
        }
    }

    /// Whether messages were postponed.
    pub(crate) fn has_postponed(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// Aborts the requests in flight and drops all messages.
    pub(crate) fn reset(&mut self) {
        self.abort();
        self.postponed.clear();
        while self.messages.try_recv().is_ok() {}
        self.in_flight = 0;
    }

    /// Aborts the requests in flight and waits for their end: a browser is a process with its own
    /// files.
    pub(crate) fn abort(&mut self) {
        if let Some(runtime) = &self.runtime {
            let gone = async { tokio::time::timeout(SHUTDOWN_TIMEOUT, self.requests.shutdown()).await };
            let _ = runtime.block_on(gone);
        }
    }
}

impl<M> Drop for RequestLoop<M> {
    /// Aborts the requests in flight. Does not wait for other work of the runtime, such as name
    /// lookups.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            let gone = async { tokio::time::timeout(SHUTDOWN_TIMEOUT, self.requests.shutdown()).await };
            let _ = runtime.block_on(gone);
            runtime.shutdown_background();
        }
    }
}

/// The outcome of a request as politeness sees it. A response that grew too long would do so again.
pub(crate) fn request_outcome(result: &Result<Box<Exchange>, FetchError>) -> RequestOutcome {
    match result {
        Err(error) if error.kind.is_silence() => RequestOutcome::Silent,
        Err(error) if error.kind.is_retryable() => RequestOutcome::Failed,
        Err(_) => RequestOutcome::PermanentFailure,
        Ok(exchange) if exchange.truncated.is_some_and(|cut| cut != TruncationReason::Length) => {
            RequestOutcome::Failed
        }
        Ok(exchange) => match exchange.head() {
            Ok(Some(head)) => {
                let wait = head
                    .headers
                    .get_text("retry-after")
                    .and_then(|text| parse_retry_after(&text, exchange.at));
                RequestOutcome::Answered { status: head.status, retry_after: wait }
            }
            _ => RequestOutcome::answered(0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualTime;
    use varve_fetch::politeness::PolitenessPolicy;

    #[test]
    fn no_more_requests_start_than_may_be_in_flight() {
        let mut requests: RequestLoop<u32> = RequestLoop::new(1, 2).unwrap();
        let policy =
            PolitenessPolicy { delay: Duration::ZERO, connections_per_host: 8, ..Default::default() };
        let mut hosts: HostTable<u32> = HostTable::new(policy, 1);
        let now = ManualTime::new().instant();
        for item in 0..3 {
            hosts.push("h", item, now);
        }
        for _ in 0..2 {
            let ready = requests.next_ready(&mut hosts, now).ok().unwrap();
            requests.start(async move { ready.item });
        }
        assert_eq!(requests.next_ready(&mut hosts, now).err(), Some(LoopState::InFlight));
        let first = loop {
            if let Some(message) = requests.receive(None, now) {
                break message;
            }
        };
        requests.ended();
        assert!(first < 2);
        assert!(requests.next_ready(&mut hosts, now).is_ok());
    }

    #[test]
    fn messages_that_are_not_wanted_yet_are_delivered_later() {
        let mut requests: RequestLoop<u32> = RequestLoop::new(1, 1).unwrap();
        requests.sender().send(1).unwrap();
        requests.sender().send(2).unwrap();
        let even = |number: u32| if number.is_multiple_of(2) { Ok(number) } else { Err(number) };
        assert_eq!(requests.receive_only(even), None);
        assert_eq!(requests.receive_only(even), Some(2));
        assert!(requests.has_postponed());
        assert_eq!(requests.try_receive(), Some(1));
    }
}
