//! One client connection: HTTP/1.1 with limits on the size and the time of a request head and on
//! slow readers.
//!
//! hyper is used directly, because `axum::serve` has no setting for these limits.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

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

/// A stream whose writes fail when the peer takes no byte for a while.
struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Set while a write is pending.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, deadline: None }
    }

    /// Passes on the result of a write, and starts or checks the deadline when it is pending.
    fn check<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let timeout = self.timeout;
        let deadline =
            self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + timeout)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_times_out_and_one_that_takes_a_little_does_not() {
        let timeout = Duration::from_secs(60);
        let (ours, theirs) = tokio::io::duplex(16);
        let mut stalled = WriteTimeout::new(ours, timeout);
        let error = stalled.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);

        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut slow = WriteTimeout::new(ours, timeout);
        let reader = tokio::spawn(async move {
            let mut byte = [0; 8];
            for _ in 0..8 {
                tokio::time::sleep(Duration::from_secs(50)).await;
                tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut byte).await.unwrap();
            }
        });
        slow.write_all(&[0; 64]).await.unwrap();
        reader.await.unwrap();
    }
}
