//! The guard, in front of real connections.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use varve_fetch::{AddressGuard, Client, FetchErrorKind, FetchRequest, Pending, Resolve};

use crate::server::*;

/// A resolver that answers each look-up differently, and counts.
struct Fickle(Mutex<VecDeque<Vec<IpAddr>>>);

impl Fickle {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Resolve for Fickle {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> Pending<'a, std::io::Result<Vec<SocketAddr>>> {
        let answer = self.0.lock().unwrap().pop_front().expect("no more look-ups than were expected");
        Box::pin(async move { Ok(answer.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()) })
    }
}

/// A client for which 127.0.0.2 is the public internet and the rest of loopback is not.
fn guarded(resolver: Arc<Fickle>) -> Client {
    let mut options = options();
    options.guard = AddressGuard::new();
    options.guard.allow("127.0.0.2").unwrap();
    options.resolver = resolver;
    Client::new(options).unwrap()
}

fn closing_server() -> SocketAddr {
    serve_at("0.0.0.0:0", |mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    })
}

#[tokio::test]
async fn a_name_that_resolves_differently_later_is_refused() {
    let port = closing_server().port();
    let resolver = Fickle::new(&[&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.2"]]);
    let client = guarded(Arc::clone(&resolver));
    let url = format!("http://rebinding.example:{port}/");
    let exchange = client.exchange(FetchRequest::get(&*url)).await.unwrap();
    assert_eq!(exchange.ip, Some("127.0.0.2".parse().unwrap()));
    assert_eq!(resolver.left(), 2, "one look-up for one connection: what was judged is what was dialled");
    assert_eq!(kind(client.exchange(FetchRequest::get(&*url)).await), FetchErrorKind::Guard);
    assert!(client.exchange(FetchRequest::get(&*url)).await.is_ok());
}

#[tokio::test]
async fn only_addresses_that_the_guard_allows_are_dialled() {
    let port = closing_server().port();
    let resolver = Fickle::new(&[&["127.0.0.1", "10.0.0.1", "127.0.0.2", "::1"]]);
    let exchange =
        guarded(resolver).exchange(FetchRequest::get(format!("http://mixed.example:{port}/"))).await.unwrap();
    assert_eq!(exchange.ip, Some("127.0.0.2".parse().unwrap()));
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_does_not_answer() {
    let port = closing_server().port();
    let mut options = options();
    options.resolver = Fickle::new(&[&["::1", "127.0.0.3"]]);
    let client = Client::new(options).unwrap();
    let exchange = client.exchange(FetchRequest::get(format!("http://two.example:{port}/"))).await.unwrap();
    assert_eq!(exchange.ip, Some("127.0.0.3".parse().unwrap()));
}

#[tokio::test]
async fn every_spelling_of_a_private_address_is_refused() {
    let client = guarded(Fickle::new(&[]));
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "169.254.169.254",
        "10.0.0.1",
        "100.64.0.1",
        "%31%32%37.0.0.1",
        "127。0。0。1",
    ] {
        let outcome = client.exchange(FetchRequest::get(format!("http://{host}/"))).await;
        let error = outcome.expect_err(host);
        assert_eq!(error.kind, FetchErrorKind::Guard, "{host}: {error}");
    }
}
