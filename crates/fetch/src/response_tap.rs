//! Passes a response on while it is received.
//!
//! The receiver gets the bytes of the message that is recorded, head first, in pieces. It sets the
//! pace: while the channel is full, nothing more is read from the server. A receiver that goes away
//! does not end the exchange at once, because a response that is almost there is worth recording;
//! the rest is received within a limit of bytes and time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Pieces that wait for the receiver; each is one read from the server.
const MAX_WAITING_PIECES: usize = 4;

/// Maximum number of bytes that are received after the receiver has gone away.
const MAX_BYTES_AFTER_RECEIVER: u64 = 16 << 20;

/// How long a receiver may take no piece.
const MAX_RECEIVER_DELAY: Duration = Duration::from_secs(90);

/// How long a response is received after the receiver has gone away.
const MAX_TIME_AFTER_RECEIVER: Duration = Duration::from_secs(20);

/// The sender of a response that is passed on. Clones belong to the same response.
#[derive(Clone, Debug)]
pub struct ResponseTap {
    sender: mpsc::Sender<Bytes>,
    is_ending: Arc<AtomicBool>,
}

/// The receiver of a response that is passed on.
#[derive(Debug)]
pub struct TappedResponse(mpsc::Receiver<Bytes>);

impl ResponseTap {
    /// A tap and its receiver. When `is_ending` is set, the response ends with its next bytes, and
    /// is marked as truncated.
    pub fn new(is_ending: Arc<AtomicBool>) -> (Self, TappedResponse) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_PIECES);
        (Self { sender, is_ending }, TappedResponse(receiver))
    }
}

impl TappedResponse {
    /// The next bytes; `None` after the last. Whether the response is complete is known from the
    /// exchange.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.0.recv().await
    }

    /// As [`TappedResponse::next`], for bodies that are polled.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(context)
    }
}

/// A tap in use: the bytes that were not passed on yet, and when the receiver went away.
pub(crate) struct OpenTap {
    tap: ResponseTap,
    waiting: Vec<u8>,
    abandoned: Option<Instant>,
}

impl OpenTap {
    pub(crate) fn new(tap: ResponseTap) -> Self {
        Self { tap, waiting: Vec::new(), abandoned: None }
    }

    /// Takes bytes, which [`OpenTap::flush`] passes on.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.abandoned.is_none() {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// Passes all bytes on. Returns the number of bytes that may still be received if the receiver
    /// was found to be gone just now.
    pub(crate) async fn flush(&mut self) -> Option<u64> {
        if self.abandoned.is_some() || self.waiting.is_empty() {
            return None;
        }
        let piece = Bytes::from(std::mem::take(&mut self.waiting));
        if let Ok(Ok(())) = timeout(MAX_RECEIVER_DELAY, self.tap.sender.send(piece)).await {
            return None;
        }
        self.abandoned = Some(Instant::now());
        Some(MAX_BYTES_AFTER_RECEIVER)
    }

    /// Whether the receiver is gone, or the caller ends all responses.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.is_some() || self.tap.is_ending.load(Ordering::Relaxed)
    }

    /// Whether the receiver has been gone for too long, or the caller ends all responses.
    pub(crate) fn is_given_up(&self) -> bool {
        self.tap.is_ending.load(Ordering::Relaxed)
            || self.abandoned.is_some_and(|since| since.elapsed() >= MAX_TIME_AFTER_RECEIVER)
    }
}
