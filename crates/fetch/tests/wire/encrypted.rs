//! TLS: trusted and untrusted certificates, connections without close_notify, and HTTP/2.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use varve_fetch::{Client, FetchErrorKind, FetchLimits, FetchRequest, Pending, Resolve, wants_tls};
use varve_wire::TruncationReason;

use crate::server::*;

/// A certificate for `secure.example` that vouches for itself.
pub(crate) struct Authority {
    pub(crate) pem: Vec<u8>,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

pub(crate) fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(["secure.example".to_owned()]).unwrap();
        let key = made.signing_key.serialize_der();
        Authority { pem: made.cert.pem().into_bytes(), certificate: made.cert.der().clone(), key }
    })
}

/// A certificate that says of itself that it is an authority, as `openssl req -x509` makes them.
fn own_authority() -> Authority {
    own_authority_until(4096)
}

fn own_authority_until(year: i32) -> Authority {
    let mut parameters = rcgen::CertificateParams::new(["secure.example".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = parameters.self_signed(&key).unwrap();
    Authority { pem: made.pem().into_bytes(), certificate: made.der().clone(), key: key.serialize_der() }
}

fn server_config(protocols: &[&[u8]]) -> Arc<ServerConfig> {
    config_of(authority(), protocols)
}

fn config_of(authority: &Authority, protocols: &[&[u8]]) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(authority.key.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![authority.certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

/// A server that answers requests in TLS with these bytes; after each it waits for the next.
pub(crate) fn answer_in_tls(bytes: &'static [u8]) -> SocketAddr {
    answer_as(server_config(&[b"http/1.1"]), bytes)
}

fn answer_as(config: Arc<ServerConfig>, bytes: &'static [u8]) -> SocketAddr {
    serve(move |stream, _| {
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
        while !read_request(&mut stream).is_empty() {
            let _ = stream.write_all(bytes);
            let _ = stream.flush();
        }
    })
}

/// Every name is on loopback.
struct Here;

impl Resolve for Here {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> Pending<'a, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![SocketAddr::new("127.0.0.1".parse().unwrap(), port)]) })
    }
}

fn trusting(trusted: bool) -> Client {
    client_with(trusted.then(|| authority().pem.clone()))
}

fn client_with(additional_roots: Option<Vec<u8>>) -> Client {
    let mut options = options();
    options.resolver = Arc::new(Here);
    options.additional_roots = additional_roots;
    Client::new(options).unwrap()
}

#[tokio::test]
async fn protocol_and_cipher_are_recorded() {
    let address = answer_in_tls(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let client = trusting(true);
    for first in [true, false] {
        let url = format!("https://secure.example:{}/", address.port());
        let exchange = client.exchange(FetchRequest::get(url)).await.unwrap();
        assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", None);
        assert_eq!(exchange.protocol, ["http/1.1", "tls/1.3"]);
        let cipher = exchange.cipher.clone().unwrap();
        assert!(cipher.starts_with("TLS_AES_") || cipher.starts_with("TLS_CHACHA20_"), "{cipher}");
        assert_eq!(exchange.timing.tls.is_some(), first);
    }
}

#[tokio::test]
async fn untrusted_certificates_are_rejected() {
    let address = answer_in_tls(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let ask = |client: Client, host: &'static str| async move {
        kind(client.exchange(FetchRequest::get(format!("https://{host}:{}/", address.port()))).await)
    };
    assert_eq!(ask(trusting(false), "secure.example").await, FetchErrorKind::Issuer, "self-signed");
    assert_eq!(ask(trusting(true), "other.example").await, FetchErrorKind::Name, "for another name");
    assert_eq!(ask(trusting(true), "127.0.0.1").await, FetchErrorKind::Name, "for a name, not an address");
    let message = |client: Client, host: &'static str| async move {
        let url = format!("https://{host}:{}/", address.port());
        client.exchange(FetchRequest::get(url)).await.unwrap_err().to_string()
    };
    let [unknown, other] =
        [message(trusting(false), "secure.example").await, message(trusting(true), "other.example").await];
    let why = "`secure.example` is not trusted: the issuer of its certificate is not known";
    assert_eq!(unknown, why);
    assert_eq!(other, "`other.example` is not trusted: its certificate is for another name");
}

#[tokio::test]
async fn an_added_self_signed_authority_is_trusted() {
    let (named, other) = (own_authority(), own_authority());
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let address = answer_as(config_of(&named, &[b"http/1.1"]), answer);
    let ask = |pem: &Authority, host: &'static str| {
        let client = client_with(Some(pem.pem.clone()));
        let url = format!("https://{host}:{}/", address.port());
        async move { client.exchange(FetchRequest::get(url)).await }
    };
    assert_answer(&ask(&named, "secure.example").await.unwrap(), answer, None);
    assert_eq!(kind(ask(&named, "other.example").await), FetchErrorKind::Name, "for another name");
    assert_eq!(kind(ask(&other, "secure.example").await), FetchErrorKind::Issuer, "another one was named");
}

#[tokio::test]
async fn an_expired_certificate_is_rejected() {
    let named = own_authority_until(2020);
    let address = answer_as(config_of(&named, &[b"http/1.1"]), b"HTTP/1.1 200 OK\r\n\r\n");
    let url = format!("https://secure.example:{}/", address.port());
    let error = client_with(Some(named.pem)).exchange(FetchRequest::get(url)).await.unwrap_err();
    assert_eq!(error.to_string(), "`secure.example` is not trusted: its certificate has expired");
    assert_eq!(error.kind.word(), "tls:expired");
}

#[tokio::test]
async fn servers_that_do_not_speak_tls() {
    let address = serve(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nThis is plain HTTP\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let url = format!("https://secure.example:{}/", address.port());
    assert_eq!(kind(trusting(true).exchange(FetchRequest::get(url)).await), FetchErrorKind::NoTls);
    let silent = serve(|mut stream, _| drop(read_request(&mut stream)));
    let limits = FetchLimits { connect: std::time::Duration::from_millis(200), ..FetchLimits::default() };
    let request = FetchRequest::get(format!("https://secure.example:{}/", silent.port())).limits(limits);
    assert_eq!(kind(trusting(true).exchange(request).await), FetchErrorKind::Timeout);
}

#[tokio::test]
async fn roots_must_be_certificates() {
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let mut options = options();
        options.additional_roots = Some(pem.into());
        assert!(Client::new(options).is_err(), "{pem}");
    }
}

/// Without its farewell an encrypted connection may have been cut by anyone.
#[tokio::test]
async fn a_tls_end_without_close_notify_is_truncated() {
    for (farewell, truncated) in [(true, None), (false, Some(TruncationReason::Unspecified))] {
        let config = server_config(&[b"http/1.1"]);
        let address = serve(move |stream, _| {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
            if farewell {
                stream.conn.send_close_notify();
            }
            let _ = stream.flush();
            let _ = stream.sock.shutdown(std::net::Shutdown::Write);
            let _ = stream.sock.read(&mut [0; 1024]);
        });
        let url = format!("https://secure.example:{}/", address.port());
        let exchange = trusting(true).exchange(FetchRequest::get(url)).await.unwrap();
        assert_answer(&exchange, b"HTTP/1.1 200 OK\r\n\r\nuntil the end", truncated);
    }
}

/// How a server insists on HTTP/2.
#[derive(Clone, Copy, Debug)]
enum Insists {
    /// It refuses to agree on anything else.
    AtOnce,
    /// It agrees on nothing in particular, and hangs up.
    Later,
}

/// The connection of a client that wants HTTP/2; none with another.
async fn accept_http2(
    stream: tokio::net::TcpStream,
    insists: Insists,
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    let hello = tokio_rustls::LazyConfigAcceptor::new(Default::default(), stream).await.ok()?;
    let wants = hello.client_hello().alpn().is_some_and(|mut names| names.any(|name| name == b"h2"));
    match (insists, wants) {
        (Insists::AtOnce, _) | (_, true) => hello.into_stream(server_config(&[b"h2"])).await.ok(),
        (Insists::Later, false) => {
            let _ = hello.into_stream(server_config(&[])).await;
            None
        }
    }
}

/// A server that speaks HTTP/2 and nothing else. Asked for `/cut` it breaks off in the middle.
async fn http2_only(insists: Insists) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Some(stream) = accept_http2(stream, insists).await else { return };
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let response = http::Response::builder()
                        .status(200)
                        .header("x-authority", request.uri().authority().unwrap().as_str())
                        .header("set-cookie", "a")
                        .header("set-cookie", "b")
                        .body(())
                        .unwrap();
                    let mut body = respond.send_response(response, false).unwrap();
                    let cut = request.uri().path() == "/cut";
                    body.send_data("hello ".into(), false).unwrap();
                    if cut {
                        tokio::spawn(async move {
                            // What is not yet sent would be lost with the reset.
                            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                            body.send_reset(h2::Reason::INTERNAL_ERROR);
                        });
                    } else {
                        body.send_data("world".into(), false).unwrap();
                        let mut trailers = http::HeaderMap::new();
                        trailers.insert("x-checksum", "1f".parse().unwrap());
                        body.send_trailers(trailers).unwrap();
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn http2_is_used_if_the_server_supports_nothing_else() {
    for insists in [Insists::AtOnce, Insists::Later] {
        insist_on_http2(insists).await;
    }
}

async fn insist_on_http2(insists: Insists) {
    let address = http2_only(insists).await;
    let client = trusting(true);
    let port = address.port();
    let wanted = format!(
        "HTTP/1.1 200 \r\nx-authority: secure.example:{port}\r\nset-cookie: a\r\nset-cookie: b\r\n\r\nhello world"
    );
    for first in [true, false] {
        let url = format!("https://secure.example:{port}/");
        let exchange = client.exchange(FetchRequest::get(url)).await.unwrap();
        assert_answer(&exchange, wanted.as_bytes(), None);
        assert_eq!(exchange.protocol, ["h2", "tls/1.3"]);
        assert_eq!(exchange.trailers, ["x-checksum: 1f"]);
        assert!(exchange.request.starts_with(b"GET / HTTP/1.1\r\nHost: secure.example:"));
        assert_eq!(exchange.timing.tls.is_some(), first);
    }
    let cut = client.exchange(FetchRequest::get(format!("https://secure.example:{port}/cut"))).await.unwrap();
    assert_eq!(cut.truncated, Some(TruncationReason::Disconnect));
    assert!(bytes_of(&cut).ends_with(b"\r\n\r\nhello "));
}

/// It accepts any protocol and hangs up at once. The failure of HTTP/2 does not explain that.
#[tokio::test]
async fn a_server_that_closes_without_a_response_is_a_protocol_error() {
    let [unnamed, two] = [&[][..], &[&b"h2"[..]]].map(server_config);
    let address = serve(move |stream, number| {
        let config = if number == 0 { &unnamed } else { &two };
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream);
        let _ = stream.read(&mut [0]);
    });
    let url = format!("https://secure.example:{}/", address.port());
    let error = trusting(true).exchange(FetchRequest::get(url)).await.unwrap_err();
    assert!(error.to_string().contains("closed the connection without an answer"), "{error}");
}

/// The last of the data comes with what ends it, and there is no room for all of it.
#[tokio::test]
async fn http2_is_truncated_at_the_limit() {
    let address = http2_only(Insists::AtOnce).await;
    let url = format!("https://secure.example:{}/", address.port());
    let whole = trusting(true).exchange(FetchRequest::get(url.as_str())).await.unwrap();
    let bytes = whole.response.len() - 2;
    let mut request = FetchRequest::get(url);
    request.limits = Some(FetchLimits { bytes, ..FetchLimits::default() });
    let cut = trusting(true).exchange(request).await.unwrap();
    assert_eq!((cut.response.len(), cut.truncated), (bytes, Some(TruncationReason::Length)));
}

/// A request with the wrong scheme fails with an error that says so.
#[tokio::test]
async fn the_wrong_scheme_is_an_error_of_its_own() {
    assert_eq!(kind(get(answering([21, 3, 1, 0, 2, 2, 70])).await), FetchErrorKind::WantsTls);
    let go = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    assert!(wants_tls(&get(answering(go)).await.unwrap()));
    let others = ["HTTP/1.0 400 Bad Request\r\n\r\nno such page\n", &go.replacen("400", "200", 1)];
    for other in others {
        assert!(!wants_tls(&get(answering(other)).await.unwrap()), "{other}");
    }
}
