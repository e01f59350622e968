//! `CONNECT`: an HTTP proxy steps aside and passes bytes on.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use varve_core::exchange::{StatusLine, head_end};

use super::{broken, refused};
use crate::error::FetchError;
use crate::target::Origin;

/// An answer longer than this is none.
const LONGEST_ANSWER: usize = 16 << 10;

pub(super) async fn open_way(
    stream: &mut TcpStream,
    origin: &Origin,
    authorization: Option<String>,
) -> Result<(), FetchError> {
    let there = origin.host_and_port();
    let mut request = format!("CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n");
    if let Some(value) = authorization {
        request.push_str(&format!("Proxy-Authorization: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    let head = read_head(stream).await?;
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match StatusLine::read(first) {
        Some(line) if (200..300).contains(&line.status) => Ok(()),
        Some(line) => Err(refused(format!("the proxy answered {} to `CONNECT {there}`", line.status))),
        None => Err(refused("the proxy does not speak HTTP")),
    }
}

/// Reads the head of the answer and not one byte more: what is behind it belongs to the server.
async fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>, FetchError> {
    let mut head = Vec::with_capacity(256);
    while head.len() < LONGEST_ANSWER {
        // A proxy says this once a connection; a byte at a time is simpler than giving bytes back.
        head.push(stream.read_u8().await.map_err(broken)?);
        if head.ends_with(b"\n") && head_end(&head, head.len().saturating_sub(4)).is_some() {
            return Ok(head);
        }
    }
    Err(refused("the proxy answered without end"))
}
