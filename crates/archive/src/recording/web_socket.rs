//! A web socket through the proxy: bytes pass in both directions, and their frames are noted.

use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use varve_core::exchange::Exchange;
use varve_fetch::UpgradedConnection;
use varve_proxy::ClientUpgrade;

use super::frame_log::{FrameParser, FrameSender, MAX_LOG_BYTES, RecordedFrame};
use super::recorder::RecordJob;

/// The media type of the record of frames.
pub(super) const FRAMES_MEDIA_TYPE: &str = "application/vnd.varve.websocket+json";

/// A web socket on which nothing passes for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// A peer that takes no byte for this long is left.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Size of the buffer of each direction.
const COPY_BUFFER_BYTES: usize = 16 << 10;

/// The frames of a web socket, or a part of them.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedFrames {
    /// The URL of the request that opened it.
    pub(super) url: String,
    /// When that request was made.
    pub(super) opened: varve_core::Moment,
    /// The number of this record, from 1.
    part: u32,
    /// Whether no further record follows.
    pub(super) is_last: bool,
    frames: Vec<RecordedFrame>,
}

/// The frames that were not recorded yet.
struct FrameLog {
    frames: RecordedFrames,
    bytes: usize,
    began: Instant,
    jobs: mpsc::Sender<RecordJob>,
}

/// Passes the bytes of a web socket on until it ends, and records its frames.
pub(super) async fn pass_on(
    client: ClientUpgrade,
    server: UpgradedConnection,
    handshake: &Exchange,
    jobs: mpsc::Sender<RecordJob>,
) {
    let frames = RecordedFrames {
        url: handshake.url.clone(),
        opened: handshake.at,
        part: 1,
        is_last: false,
        frames: Vec::new(),
    };
    let mut log = FrameLog { frames, bytes: 0, began: Instant::now(), jobs };
    // A broken connection ends the web socket; what passed is recorded.
    let _ = copy_both(client, server, &mut log).await;
    log.frames.is_last = true;
    log.save().await;
}

async fn copy_both(client: ClientUpgrade, server: UpgradedConnection, log: &mut FrameLog) -> io::Result<()> {
    let mut parsers = [FrameParser::new(FrameSender::Client), FrameParser::new(FrameSender::Server)];
    let (mut from_client, mut to_client) = tokio::io::split(client.connection().await?);
    let (mut from_server, mut to_server) = tokio::io::split(server.stream);
    if !server.received.is_empty() {
        log.pass(&mut parsers[1], &server.received, &mut to_client).await?;
    }
    let (mut sent, mut received) = (vec![0; COPY_BUFFER_BYTES], vec![0; COPY_BUFFER_BYTES]);
    loop {
        tokio::select! {
            count = read(&mut from_client, &mut sent) => match count? {
                0 => return to_server.shutdown().await,
                count => log.pass(&mut parsers[0], &sent[..count], &mut to_server).await?,
            },
            count = read(&mut from_server, &mut received) => match count? {
                0 => return to_client.shutdown().await,
                count => log.pass(&mut parsers[1], &received[..count], &mut to_client).await?,
            },
            () = tokio::time::sleep(IDLE_TIMEOUT) => return Ok(()),
        }
    }
}

async fn read(from: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> io::Result<usize> {
    from.read(buffer).await
}

impl FrameLog {
    /// Passes bytes on, and notes the frames that they complete.
    async fn pass(
        &mut self,
        parser: &mut FrameParser,
        bytes: &[u8],
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let writing = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        tokio::time::timeout(WRITE_TIMEOUT, writing).await.map_err(late)??;
        let at = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (frames, total) = (&mut self.frames.frames, &mut self.bytes);
        parser.push(bytes, at, &mut |frame, size| {
            frames.push(frame);
            *total += size;
        });
        if self.bytes >= MAX_LOG_BYTES {
            self.save().await;
        }
        Ok(())
    }

    /// Gives the noted frames to the recorder.
    async fn save(&mut self) {
        self.bytes = 0;
        let frames = std::mem::take(&mut self.frames.frames);
        let RecordedFrames { url, opened, part, is_last, .. } = &mut self.frames;
        let record =
            RecordedFrames { url: url.clone(), opened: *opened, part: *part, is_last: *is_last, frames };
        *part += 1;
        // The recorder ends only with the whole recording.
        let _ = self.jobs.send(RecordJob::Frames(Box::new(record))).await;
    }
}
