//! `CONNECT`: an HTTP proxy opens a tunnel to a server.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use varve_wire::{HeadCollector, MessageHead};

use super::{broken, refused};
use crate::error::FetchError;
use crate::request_target::ServerOrigin;

/// A longer response is an error.
const MAX_ANSWER_BYTES: usize = 16 << 10;

pub(super) async fn open_tunnel(
    stream: &mut TcpStream,
    origin: &ServerOrigin,
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
    match head.as_ref().and_then(MessageHead::status) {
        Some(200..300) => Ok(()),
        Some(status) => Err(refused(format!("the proxy answered {status} to `CONNECT {there}`"))),
        None => Err(refused("the proxy does not speak HTTP")),
    }
}

/// Reads the head of the response and not one byte more: the bytes after it belong to the server.
async fn read_head(stream: &mut TcpStream) -> Result<Option<MessageHead>, FetchError> {
    let mut head = HeadCollector::new();
    while head.bytes().len() < MAX_ANSWER_BYTES {
        // A proxy sends this once a connection; a byte at a time is simpler than giving bytes back.
        let byte = stream.read_u8().await.map_err(broken)?;
        if head.push(&[byte]).1 {
            return Ok(head.head());
        }
    }
    Err(refused("the proxy answered without end"))
}
