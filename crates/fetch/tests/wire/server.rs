//! Servers with a thread for each connection, which send exactly the bytes that a test chooses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_fetch::{
    AddressGuard, Client, FetchError, FetchErrorKind, FetchLimits, FetchRequest, HttpClientOptions,
};
use varve_wire::TruncationReason;

/// Runs a server that lives as long as the test; each connection is given to `handle`, with its
/// number.
pub(crate) fn serve(handle: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    serve_at("127.0.0.1:0", handle)
}

pub(crate) fn serve_at(at: &str, handle: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    let handle = std::sync::Arc::new(handle);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let handle = std::sync::Arc::clone(&handle);
            std::thread::spawn(move || handle(stream, number));
        }
    });
    address
}

/// Reads the head of a request; empty when the connection was closed.
pub(crate) fn read_request(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A server that answers every request with these bytes and closes.
pub(crate) fn answering(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = bytes.into();
    serve(move |mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(&bytes);
    })
}

/// Where all tests put long answers.
pub(crate) fn spool() -> &'static std::path::Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// Client options for servers on loopback.
pub(crate) fn options() -> HttpClientOptions {
    let mut options = HttpClientOptions::new(spool());
    options.guard = AddressGuard::allow_private();
    options
}

pub(crate) fn client() -> Client {
    Client::new(options()).unwrap()
}

pub(crate) async fn get(address: SocketAddr) -> Result<Exchange, FetchError> {
    client().exchange(FetchRequest::get(format!("http://{address}/"))).await
}

pub(crate) async fn get_within(address: SocketAddr, limits: FetchLimits) -> Result<Exchange, FetchError> {
    client().exchange(FetchRequest::get(format!("http://{address}/")).limits(limits)).await
}

/// Limits that a test can wait for.
pub(crate) fn short_limits() -> FetchLimits {
    let short = Duration::from_millis(200);
    FetchLimits {
        first_byte: short,
        idle: short,
        total: Duration::from_millis(600),
        ..FetchLimits::default()
    }
}

pub(crate) fn bytes_of(exchange: &Exchange) -> Vec<u8> {
    let mut bytes = Vec::new();
    exchange.response.reader().read_to_end(&mut bytes).unwrap();
    bytes
}

/// The answer is exactly these bytes, whole or not.
pub(crate) fn assert_answer(exchange: &Exchange, bytes: &[u8], truncated: Option<TruncationReason>) {
    assert_eq!(String::from_utf8_lossy(&bytes_of(exchange)), String::from_utf8_lossy(bytes));
    assert_eq!(exchange.truncated, truncated);
}

pub(crate) fn kind(outcome: Result<Exchange, FetchError>) -> FetchErrorKind {
    outcome.expect_err("no answer").kind
}
