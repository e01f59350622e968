//! Records of servers that lie, stall, flood and disconnect.

use std::io::Write;
use std::time::Duration;

use varve_fetch::{FetchErrorKind, FetchLimits, FetchRequest};
use varve_wire::TruncationReason;

use crate::server::*;

#[tokio::test]
async fn a_response_is_recorded_byte_for_byte() {
    let answer = b"HTTP/1.1 200 Fine, I guess\r\nX-ODD:   spaced  \r\nset-cookie: a\r\nServer : x\r\nSet-Cookie: b\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nTrailer: t\r\n\r\n";
    let exchange = get(answering(&answer[..])).await.unwrap();
    assert_answer(&exchange, answer, None);
    assert_eq!(exchange.protocol, ["http/1.1"]);
    assert_eq!(exchange.ip, Some("127.0.0.1".parse().unwrap()));
    let head = exchange.head().unwrap().unwrap();
    assert_eq!((head.status, head.reason), (200, &b"Fine, I guess"[..]));
}

#[tokio::test]
async fn a_body_shorter_than_its_content_length_is_truncated() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    let exchange = get(answering(&answer[..])).await.unwrap();
    assert_answer(&exchange, answer, Some(TruncationReason::Disconnect));
}

#[tokio::test]
async fn a_body_ends_at_its_content_length() {
    let exchange = get(answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonly this")).await.unwrap();
    assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonly", None);
}

#[tokio::test]
async fn contradicting_lengths_are_truncated() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 9\r\n\r\nonly this";
    let exchange = get(answering(&answer[..])).await.unwrap();
    assert_answer(&exchange, answer, Some(TruncationReason::Unspecified));
}

#[tokio::test]
async fn broken_and_incomplete_chunks_are_recorded() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, truncated) in [
        ("5\r\nhelloXX\r\n0\r\n\r\n", TruncationReason::Unspecified),
        ("zz\r\nhello", TruncationReason::Unspecified),
        ("fffffffffffffffff\r\nhello", TruncationReason::Unspecified),
        ("5\r\nhel", TruncationReason::Disconnect),
        ("5\r\nhello\r\n", TruncationReason::Disconnect),
    ] {
        let answer = format!("{head}{body}");
        let exchange = get(answering(answer.clone())).await.unwrap();
        assert_answer(&exchange, answer.as_bytes(), Some(truncated));
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_is_recorded() {
    for answer in ["<html>just a page</html>", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 OK 200\r\n\r\nbody"] {
        let exchange = get(answering(answer)).await.unwrap();
        assert_answer(&exchange, answer.as_bytes(), Some(TruncationReason::Unspecified));
        assert_eq!(exchange.head().unwrap(), None);
    }
}

#[tokio::test]
async fn a_slow_response_is_truncated_at_the_deadline() {
    let address = serve(|mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        while stream.write_all(b".").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let exchange = get_within(address, short_limits()).await.unwrap();
    assert_eq!(exchange.truncated, Some(TruncationReason::Time));
    assert!(bytes_of(&exchange).ends_with(b"\r\n\r\n.") || bytes_of(&exchange).ends_with(b".."));
}

#[tokio::test]
async fn a_stalled_response_is_truncated_after_the_idle_timeout() {
    let address = serve(|mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
        read_request(&mut stream);
    });
    let exchange = get_within(address, short_limits()).await.unwrap();
    assert_answer(
        &exchange,
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        Some(TruncationReason::Time),
    );
}

#[tokio::test]
async fn an_endless_body_is_truncated_at_the_limit() {
    let address = serve(|mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 8192]).is_ok() {}
    });
    let exchange =
        get_within(address, FetchLimits { bytes: 3_000_000, ..FetchLimits::default() }).await.unwrap();
    assert_eq!((exchange.response.len(), exchange.truncated), (3_000_000, Some(TruncationReason::Length)));
    assert_eq!(std::fs::read_dir(spool()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_body_as_long_as_the_limit_is_complete() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let limits = FetchLimits { bytes: answer.len() as u64, ..FetchLimits::default() };
    assert_answer(&get_within(answering(&answer[..]), limits).await.unwrap(), answer, None);
}

#[tokio::test]
async fn a_body_above_the_limit_in_one_read_is_truncated() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let limits = FetchLimits { bytes: answer.len() as u64 - 2, ..FetchLimits::default() };
    let exchange = get_within(answering(&answer[..]), limits).await.unwrap();
    assert_answer(&exchange, &answer[..answer.len() - 2], Some(TruncationReason::Length));
}

#[tokio::test]
async fn the_largest_limits_do_not_overflow() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\nhello";
    let (ever, all) = (Duration::MAX, u64::MAX);
    let limits = FetchLimits {
        connect: ever,
        first_byte: ever,
        idle: ever,
        total: ever,
        bytes: all,
        ..FetchLimits::default()
    };
    assert_answer(
        &get_within(answering(&answer[..]), limits).await.unwrap(),
        answer,
        Some(TruncationReason::Disconnect),
    );
}

#[tokio::test]
async fn an_endless_body_without_pauses_is_truncated_at_the_deadline() {
    let address = serve(|mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 8192]).is_ok() {}
    });
    assert_eq!(get_within(address, short_limits()).await.unwrap().truncated, Some(TruncationReason::Time));
}

#[tokio::test]
async fn too_many_headers_are_truncated() {
    let address = serve(|mut stream, _| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X-Flood: and another one, and another one\r\n").is_ok() {}
    });
    let exchange = get(address).await.unwrap();
    assert_eq!(exchange.response.len(), FetchLimits::default().head_bytes as u64);
    assert_eq!(exchange.truncated, Some(TruncationReason::Length));

    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(1001));
    let exchange = get(answering(format!("{many}body"))).await.unwrap();
    assert_answer(&exchange, many.as_bytes(), Some(TruncationReason::Length));
}

#[tokio::test]
async fn interim_responses_are_counted_and_not_recorded() {
    let exchange = get(answering(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ))
    .await
    .unwrap();
    assert_answer(&exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", None);
    assert_eq!(exchange.interim, 2);
    let only_interim = answering("HTTP/1.1 100 Continue\r\n\r\n".repeat(3));
    assert_eq!(kind(get(only_interim).await), FetchErrorKind::Protocol);
    let without_end = serve(|mut stream, _| {
        read_request(&mut stream);
        while stream.write_all(b"HTTP/1.1 102 Processing\r\n\r\n").is_ok() {}
    });
    assert_eq!(kind(get(without_end).await), FetchErrorKind::Protocol);
}

/// Closes with what was sent still unread, which resets the connection.
#[tokio::test]
async fn a_reset_truncates_the_response() {
    let address = serve(|mut stream, _| {
        let mut some = [0; 8];
        let _ = std::io::Read::read(&mut stream, &mut some);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
        // Gives the bytes time to be read: a reset may overtake them.
        std::thread::sleep(Duration::from_millis(100));
    });
    let exchange = get(address).await.unwrap();
    assert_answer(
        &exchange,
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
        Some(TruncationReason::Disconnect),
    );
}

#[tokio::test]
async fn no_response_is_an_error() {
    let closed = serve(|mut stream, _| drop(read_request(&mut stream)));
    assert_eq!(kind(get(closed).await), FetchErrorKind::Protocol);
    let silent = serve(|mut stream, _| {
        read_request(&mut stream);
        read_request(&mut stream);
    });
    assert_eq!(kind(get_within(silent, short_limits()).await), FetchErrorKind::Timeout);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(kind(get(gone).await), FetchErrorKind::Refused);
    let nowhere = client().exchange(FetchRequest::get("http://no-such-host.invalid/")).await;
    assert_eq!(kind(nowhere), FetchErrorKind::Dns);
}

#[tokio::test]
async fn a_missing_spool_folder_is_an_error() {
    let mut options = options();
    options.spool_folder = std::path::Path::new("/nowhere/at/all").into();
    let client = varve_fetch::Client::new(options).unwrap();
    let long = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &vec![0; 2 << 20]].concat();
    let outcome = client.exchange(FetchRequest::get(format!("http://{}/", answering(long)))).await;
    assert_eq!(kind(outcome), FetchErrorKind::Spool);
}

#[tokio::test]
async fn content_codings_are_not_decoded() {
    // A megabyte of zeros in a few bytes would be no different: what is kept is what came.
    let answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n\x1f\x8b bomb! ";
    let exchange = get(answering(&answer[..])).await.unwrap();
    assert_eq!(bytes_of(&exchange), answer);
    assert_eq!(exchange.truncated, None);
}
