//! Requests through HTTP and SOCKS proxies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use varve_fetch::{
    AddressGuard, Client, FetchErrorKind, FetchRequest, HttpClientOptions, Proxies, ProxyTexts,
};

use crate::encrypted::{answer_in_tls, authority};
use crate::server::*;

fn through(proxy: &str, guard: AddressGuard) -> HttpClientOptions {
    let mut options = options();
    options.guard = guard;
    options.proxies = Proxies::parse(&ProxyTexts::all(proxy)).unwrap();
    options
}

/// Passes bytes on in both directions until both ends have closed.
fn relay(client: TcpStream, server: TcpStream) {
    let (mut client_in, mut server_out) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let up = std::thread::spawn(move || {
        let _ = std::io::copy(&mut client_in, &mut server_out);
        let _ = server_out.shutdown(std::net::Shutdown::Write);
    });
    let (mut server_in, mut client_out) = (server, client);
    let _ = std::io::copy(&mut server_in, &mut client_out);
    let _ = client_out.shutdown(std::net::Shutdown::Write);
    let _ = up.join();
}

#[tokio::test]
async fn plain_requests_to_an_http_proxy_have_the_whole_url() {
    let seen = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&seen);
    let proxy = serve(move |mut stream, _| {
        *log.lock().unwrap() = read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    let options = through(&format!("http://me:hunter2@{proxy}"), AddressGuard::new());
    let client = Client::new(options).unwrap();
    let exchange = client.exchange(FetchRequest::get("http://example.com/a?b")).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(seen.starts_with("GET http://example.com/a?b HTTP/1.1\r\nHost: example.com\r\n"), "{seen}");
    assert!(seen.contains("Proxy-Authorization: Basic bWU6aHVudGVyMg==\r\n"), "{seen}");
    let recorded = String::from_utf8(exchange.request.clone()).unwrap();
    assert!(!recorded.contains("Proxy-Authorization"), "{recorded}");
    assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", None);
    assert_eq!(exchange.ip, None);
}

#[tokio::test]
async fn encrypted_requests_go_through_connect() {
    let server = answer_in_tls(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let proxy = serve(move |mut stream, _| {
        let request = read_request(&mut stream);
        assert!(request.starts_with("CONNECT secure.example:443 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("Proxy-Authorization: Basic "), "{request}");
        let _ = stream.write_all(b"HTTP/1.1 200 Connected\r\nVia: me\r\n\r\n");
        relay(stream, TcpStream::connect(server).unwrap());
    });
    let mut options = through(&format!("http://me:hunter2@{proxy}"), AddressGuard::new());
    options.additional_roots = Some(authority().pem.clone());
    let client = Client::new(options).unwrap();
    for _ in 0..2 {
        let exchange = client.exchange(FetchRequest::get("https://secure.example/")).await.unwrap();
        assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", None);
        let recorded = String::from_utf8(exchange.request.clone()).unwrap();
        assert!(recorded.starts_with("GET / HTTP/1.1\r\n"), "{recorded}");
        assert_eq!((exchange.ip, exchange.protocol.len()), (None, 2));
    }
}

#[tokio::test]
async fn a_proxy_that_requires_a_login_is_a_proxy_error() {
    let proxy = answering("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    let client = Client::new(through(&format!("http://{proxy}"), AddressGuard::new())).unwrap();
    // To a plain request it is the proxy that answers, and not the page.
    for url in ["https://example.com/", "http://example.com/"] {
        let error = client.exchange(FetchRequest::get(url)).await.unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::Proxy, "{url}");
        assert!(error.to_string().contains("407"), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_proxy_is_a_proxy_error() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::new(through(&format!("http://{unused}"), AddressGuard::new())).unwrap();
    let error = client.exchange(FetchRequest::get("http://example.com/")).await.unwrap_err();
    assert_eq!(
        (error.kind, error.to_string()),
        (FetchErrorKind::Proxy, "the proxy cannot be reached".to_owned())
    );
}

/// SOCKS 5 with a login; reports the requested target to `seen` and always connects to `server`.
fn socks(seen: Arc<Mutex<Vec<u8>>>, server: SocketAddr) -> SocketAddr {
    serve(move |mut stream, _| {
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting, [5, 2, 0, 2]);
        stream.write_all(&[5, 2]).unwrap();
        let mut login = [0; 12];
        stream.read_exact(&mut login).unwrap();
        assert_eq!(&login, b"\x01\x02me\x07hunter2");
        stream.write_all(&[1, 0]).unwrap();
        let mut request = [0; 5];
        stream.read_exact(&mut request).unwrap();
        let mut rest = vec![0; usize::from(request[4]) + 2];
        stream.read_exact(&mut rest).unwrap();
        *seen.lock().unwrap() = [&request[..], &rest].concat();
        stream.write_all(&[5, 0, 0, 1, 1, 2, 3, 4, 0, 80]).unwrap();
        relay(stream, TcpStream::connect(server).unwrap());
    })
}

#[tokio::test]
async fn socks_is_given_names_to_resolve() {
    let server = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let proxy = socks(Arc::clone(&seen), server);
    let client = Client::new(through(&format!("socks5://me:hunter2@{proxy}"), AddressGuard::new())).unwrap();
    let exchange = client.exchange(FetchRequest::get("http://only-there.example:81/x")).await.unwrap();
    assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", None);
    assert_eq!(*seen.lock().unwrap(), b"\x05\x01\x00\x03\x12only-there.example\x00\x51");
    assert!(exchange.request.starts_with(b"GET /x HTTP/1.1\r\nHost: only-there.example:81\r\n"));
}

#[tokio::test]
async fn a_socks_proxy_that_cannot_connect_is_a_proxy_error() {
    let proxy = serve(|mut stream, _| {
        let mut greeting = [0; 3];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(&[5, 0]).unwrap();
        let mut request = [0; 10];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    });
    let client = Client::new(through(&format!("socks5://{proxy}"), AddressGuard::new())).unwrap();
    let error = client.exchange(FetchRequest::get("http://8.8.8.8/")).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Proxy);
    assert!(error.to_string().contains("the host is unreachable"), "{error}");
}

#[tokio::test]
async fn private_hosts_are_refused_before_the_proxy_is_asked() {
    let proxy = serve(|_, _| panic!("the proxy was asked"));
    let client = Client::new(through(&format!("socks5://{proxy}"), AddressGuard::new())).unwrap();
    for url in ["http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://router.local/"] {
        assert_eq!(kind(client.exchange(FetchRequest::get(url)).await), FetchErrorKind::Guard, "{url}");
    }
    for url in ["http://wiki/", "https://git.corp/", "http://nas.home/", "http://db.private/"] {
        let error = client.exchange(FetchRequest::get(url)).await.unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::Guard, "{url}");
        assert!(error.to_string().contains("`--proxy-resolves` allows it"), "{error}");
    }
}

#[tokio::test]
async fn onion_names_are_for_socks_proxies_only() {
    let proxy = serve(|_, _| panic!("the proxy was asked"));
    let client = Client::new(through(&format!("http://{proxy}"), AddressGuard::new())).unwrap();
    let refused = client.exchange(FetchRequest::get("http://abcdef.onion/")).await;
    assert_eq!(kind(refused), FetchErrorKind::Guard);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let proxy = socks(Arc::clone(&seen), server);
    let client = Client::new(through(&format!("socks5://me:hunter2@{proxy}"), AddressGuard::new())).unwrap();
    client.exchange(FetchRequest::get("http://abcdef.onion/")).await.unwrap();
    assert!(seen.lock().unwrap().windows(12).any(|part| part == b"abcdef.onion"));
}

#[tokio::test]
async fn a_trusted_proxy_is_given_private_names_and_no_private_addresses() {
    let proxy = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let mut guard = AddressGuard::new();
    guard.allow_proxied_names();
    let client = Client::new(through(&format!("http://{proxy}"), guard)).unwrap();
    client.exchange(FetchRequest::get("http://wiki.corp/")).await.unwrap();
    let refused = client.exchange(FetchRequest::get("http://10.0.0.1/")).await;
    assert_eq!(kind(refused), FetchErrorKind::Guard);
}
