//! One connection: requests in, answers out.
//!
//! An answer is made on a thread that may block. What it writes is held back until it is known whether it fits in memory: then it
//! goes out whole, with its length; if making it failed, an error goes out instead. What is longer goes out through a
//! channel of a few pieces, so that whoever reads slowly slows down whoever writes. If making it fails then, the connection is
//! cut, so that half a body never looks like a whole one.

use std::convert::Infallible;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{Answer, Body, Instead, Produce};
use crate::request::{Method, Request};
use crate::shelf::Shelf;

/// What is shorter goes out whole.
const HELD_BACK: usize = 256 << 10;
/// How many pieces are under way.
const PIECES: usize = 4;
const PIECE: usize = 64 << 10;
/// Longer heads are refused.
const LONGEST_HEAD: usize = 64 << 10;
/// How long a head may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a reader may take for one piece.
const READER_PATIENCE: Duration = Duration::from_secs(60);

/// Makes answers.
pub(crate) type Site = fn(&Arc<Shelf>, &Request) -> Answer;

type Response = http::Response<Outgoing>;

/// Serves one connection, to its end, or to the end of what is being answered when the server ends.
pub(crate) fn serve(
    stream: TcpStream,
    shelf: Arc<Shelf>,
    site: Site,
    graceful: &GracefulShutdown,
) -> impl Future<Output = Result<(), hyper::Error>> + Send + 'static {
    let service = service_fn(move |request: http::Request<Incoming>| {
        let shelf = Arc::clone(&shelf);
        async move { Ok::<_, Infallible>(respond(request, shelf, site).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    graceful.watch(connection)
}

async fn respond(request: http::Request<Incoming>, shelf: Arc<Shelf>, site: Site) -> Response {
    let request = Request::of(request.into_parts().0);
    let (head, answered) = oneshot::channel();
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || {
        let head_only = request.method == Some(Method::Head);
        let answer = site(&shelf, &request);
        deliver(answer, head_only, head, handle);
    });
    // Nobody answers if making the answer panicked: that is a bug, and said so.
    answered.await.unwrap_or_else(|_| whole(500, HeaderMap::new(), Bytes::from_static(b"a bug in varve\n")))
}

/// Sends an answer, and makes its body if it has to be made.
fn deliver(answer: Answer, head_only: bool, head: oneshot::Sender<Response>, handle: Handle) {
    let Answer { status, mut headers, body } = answer;
    match body {
        Body::Whole(bytes) => {
            // Whoever asked may be gone, here as below: then there is nobody to tell.
            let _ = head.send(if head_only {
                head_of(status, headers, &bytes)
            } else {
                whole(status, headers, bytes)
            });
        }
        Body::Made { length, produce, instead } => {
            if let Some(length) = length {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            if head_only {
                // A body of unknown length, which nobody asked for.
                let nothing = Outgoing::Pieces(mpsc::channel(1).1);
                let _ = head.send(response(status, headers, nothing));
                return;
            }
            make(Outlet::new(status, headers, head, handle), produce, instead);
        }
    }
}

fn make(mut outlet: Outlet, produce: Produce, instead: Instead) {
    match produce(&mut outlet) {
        Ok(()) => outlet.finish(),
        Err(error) => outlet.fail(error, instead),
    }
}

fn whole(status: u16, headers: HeaderMap, bytes: Bytes) -> Response {
    response(status, headers, Outgoing::Whole(Some(bytes)))
}

/// The head of an answer, without the body that it tells of.
fn head_of(status: u16, mut headers: HeaderMap, bytes: &Bytes) -> Response {
    headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(bytes.len()));
    response(status, headers, Outgoing::Whole(None))
}

fn response(status: u16, headers: HeaderMap, body: Outgoing) -> Response {
    let mut response = http::Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::OK);
    *response.headers_mut() = headers;
    response
}

/// Where a body goes that is being made.
struct Outlet {
    /// What was held back.
    held: Vec<u8>,
    status: u16,
    headers: HeaderMap,
    /// There until the head went out.
    head: Option<oneshot::Sender<Response>>,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
    handle: Handle,
}

impl Outlet {
    fn new(status: u16, headers: HeaderMap, head: oneshot::Sender<Response>, handle: Handle) -> Self {
        Self { held: Vec::new(), status, headers, head: Some(head), pieces: None, handle }
    }

    /// Sends the head, if it has not gone out yet, and what was held back.
    fn send(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            let (pieces, outgoing) = mpsc::channel(PIECES);
            self.pieces = Some(pieces);
            let headers = std::mem::take(&mut self.headers);
            let sent = head.send(response(self.status, headers, Outgoing::Pieces(outgoing)));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        let held = std::mem::take(&mut self.held);
        self.push(Ok(Bytes::from(held)))
    }

    fn push(&self, piece: io::Result<Bytes>) -> io::Result<()> {
        let Some(pieces) = &self.pieces else { return Ok(()) };
        let sending = async { tokio::time::timeout(READER_PATIENCE, pieces.send(piece)).await };
        match self.handle.block_on(sending) {
            Ok(Ok(())) => Ok(()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn finish(mut self) {
        match self.head.take() {
            Some(head) => {
                let held = Bytes::from(std::mem::take(&mut self.held));
                let _ = head.send(whole(self.status, std::mem::take(&mut self.headers), held));
            }
            None if !self.held.is_empty() => {
                let _ = self.send();
            }
            None => {}
        }
    }

    fn fail(mut self, error: io::Error, instead: Instead) {
        match self.head.take() {
            Some(head) => deliver(instead(&error), false, head, self.handle),
            None => {
                let _ = self.push(Err(error));
            }
        }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let most = if self.head.is_some() { HELD_BACK } else { PIECE };
        if self.held.len() >= most {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body on its way out.
pub(crate) enum Outgoing {
    /// All of it.
    Whole(Option<Bytes>),
    /// Piece by piece.
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(
                bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))),
            ),
            Self::Pieces(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}
