//! Keeping connections open: exact boundaries, and never an answer that belongs to another request.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_fetch::{Client, Credentials, FetchRequest};

use crate::server::*;

/// Answers every request on a connection with a body that names it, in a framing that depends on
/// it.
fn naming(connections: Arc<AtomicUsize>) -> std::net::SocketAddr {
    serve(move |mut stream, _| {
        connections.fetch_add(1, Ordering::SeqCst);
        loop {
            let request = read_request(&mut stream);
            let Some(path) = request.split(' ').nth(1) else { return };
            let number: usize = path[1..].parse().unwrap();
            let _ = stream.write_all(&answer(number));
        }
    })
}

fn answer(number: usize) -> Vec<u8> {
    let body = number.to_string().repeat(20_000);
    match number % 3 {
        0 => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
        1 => format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\nA: b\r\n\r\n",
            body.len()
        ),
        _ => format!("HTTP/1.1 304 Not Modified\r\nETag: \"{number}\"\r\n\r\n"),
    }
    .into_bytes()
}

#[tokio::test]
async fn responses_on_one_connection_have_exact_boundaries() {
    let connections = Arc::new(AtomicUsize::new(0));
    let address = naming(Arc::clone(&connections));
    let client = client();
    for number in 0..30 {
        let exchange =
            client.exchange(FetchRequest::get(format!("http://{address}/{number}"))).await.unwrap();
        assert_eq!(bytes_of(&exchange), answer(number));
        assert_eq!(exchange.truncated, None);
        assert_eq!(exchange.timing.connect.is_some(), number == 0);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_get_their_own_responses() {
    let connections = Arc::new(AtomicUsize::new(0));
    let address = naming(Arc::clone(&connections));
    let client = client();
    let mut asking = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let client = client.clone();
        asking.spawn(async move {
            for number in (worker..200).step_by(8) {
                let request = FetchRequest::get(format!("http://{address}/{number}"));
                let exchange = client.exchange(request).await.unwrap();
                assert_eq!(bytes_of(&exchange), answer(number));
            }
        });
    }
    asking.join_all().await;
    assert!(connections.load(Ordering::SeqCst) <= 8);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let address = serve(|mut stream, number| {
        read_request(&mut stream);
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
        // Closes although it promised to keep open.
    });
    let client = client();
    for number in 0..4 {
        let exchange = client.exchange(FetchRequest::get(format!("http://{address}/"))).await.unwrap();
        let wanted = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
        assert_answer(&exchange, wanted.as_bytes(), None);
    }
}

/// A server that answers twice: the second answer must not be taken for that of the next request.
#[tokio::test]
async fn unrequested_bytes_close_a_connection() {
    let address = serve(|mut stream, number| {
        read_request(&mut stream);
        let body = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nreal{number}");
        let _ = stream.write_all(body.as_bytes());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfake!");
        read_request(&mut stream);
    });
    let client = client();
    for number in 0..3 {
        let exchange = client.exchange(FetchRequest::get(format!("http://{address}/"))).await.unwrap();
        let wanted = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nreal{number}");
        assert_answer(&exchange, wanted.as_bytes(), None);
        // So that the second answer has arrived.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Sends back what it was asked.
fn echoing() -> std::net::SocketAddr {
    serve(|mut stream, _| {
        loop {
            let request = read_request(&mut stream);
            if request.is_empty() {
                return;
            }
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{request}", request.len());
        }
    })
}

#[tokio::test]
async fn the_recorded_request_is_the_sent_request() {
    let address = echoing();
    let request = FetchRequest::get(format!("http://{address}/a?b=c#d")).header("If-None-Match", "\"e\"");
    let exchange = client().exchange(request).await.unwrap();
    let answer = bytes_of(&exchange);
    assert!(answer.ends_with(&exchange.request));
    let text = String::from_utf8(exchange.request).unwrap();
    assert!(
        text.starts_with(&format!("GET /a?b=c HTTP/1.1\r\nHost: {address}\r\nUser-Agent: varve/")),
        "{text}"
    );
    assert!(text.contains("Accept-Encoding: gzip, br, zstd\r\nIf-None-Match: \"e\"\r\n\r\n"), "{text}");
    assert_eq!(exchange.url, format!("http://{address}/a?b=c"));
}

#[tokio::test]
async fn credentials_are_sent_to_their_host_and_not_recorded() {
    let (mine, other) = (echoing(), echoing());
    let mut options = options();
    options.credentials = Credentials::parse(&format!("http://{mine} Cookie: session=hunter2")).unwrap();
    let client = Client::new(options).unwrap();
    let exchange = client.exchange(FetchRequest::get(format!("http://{mine}/"))).await.unwrap();
    assert!(String::from_utf8(bytes_of(&exchange)).unwrap().contains("Cookie: session=hunter2\r\n"));
    assert!(!String::from_utf8_lossy(&exchange.request).contains("hunter2"));
    let exchange = client.exchange(FetchRequest::get(format!("http://{other}/"))).await.unwrap();
    assert!(!String::from_utf8(bytes_of(&exchange)).unwrap().contains("hunter2"));
}

#[tokio::test]
async fn redirects_are_recorded_and_not_followed() {
    let answer =
        b"HTTP/1.1 301 Moved Permanently\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    assert_answer(&get(answering(&answer[..])).await.unwrap(), answer, None);
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    let address = serve(|mut stream, _| {
        loop {
            let request = read_request(&mut stream);
            if !request.starts_with("HEAD ") {
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        }
    });
    let client = client();
    for _ in 0..2 {
        let request =
            FetchRequest { method: "HEAD".into(), ..FetchRequest::get(format!("http://{address}/")) };
        let exchange = client.exchange(request).await.unwrap();
        assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", None);
    }
}
