//! Held-back and streamed bodies: order, damage, and slow readers on few threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body::Body as _;
use tokio::runtime::Runtime;

use super::*;

fn runtime(blocking_threads: usize) -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(blocking_threads)
        .enable_all()
        .build()
        .unwrap()
}

fn get() -> Parts {
    http::Request::new(()).into_parts().0
}

async fn next_frame(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
}

async fn read_all(mut body: Body) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    while let Some(frame) = next_frame(&mut body).await {
        match frame {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(_) => return (bytes, false),
        }
    }
    (bytes, true)
}

/// Streams `chunks` as a handler does: the first part on the blocking pool.
async fn streamed(
    length: Option<u64>,
    chunks: impl Iterator<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let make = move || {
        stream(&get(), Response::default(), length, chunks, |error| {
            let mut response = Response::new(Body::from(error.to_string()));
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    };
    tokio::task::spawn_blocking(make).await.unwrap()
}

/// `count` chunks of 64 KiB, then an error if `is_damaged`.
fn chunks(count: u8, is_damaged: bool) -> impl Iterator<Item = io::Result<Bytes>> + Send {
    let good = (0..count).map(|number| Ok(Bytes::from(vec![number; CHUNK_BYTES])));
    good.chain(is_damaged.then(|| Err(io::Error::other("damage"))))
}

#[test]
fn a_short_body_is_complete_and_has_a_length() {
    runtime(1).block_on(async {
        let response = streamed(None, chunks(3, false)).await;
        assert_eq!(response.body().size_hint().exact(), Some(3 * CHUNK_BYTES as u64));
        let (bytes, is_whole) = read_all(response.into_body()).await;
        assert!(is_whole && bytes.len() == 3 * CHUNK_BYTES);
    });
}

#[test]
fn a_long_body_arrives_whole_and_in_order() {
    runtime(1).block_on(async {
        let with_empty = chunks(40, false).flat_map(|chunk| [Ok(Bytes::new()), chunk]);
        let response = streamed(None, with_empty).await;
        assert_eq!(response.body().size_hint().exact(), None);
        let (bytes, is_whole) = read_all(response.into_body()).await;
        assert!(is_whole);
        assert_eq!(bytes, (0..40).flat_map(|number| vec![number; CHUNK_BYTES]).collect::<Vec<u8>>());
    });
}

#[test]
fn early_damage_becomes_an_error_page_and_late_damage_cuts_the_body_short() {
    runtime(1).block_on(async {
        let early = streamed(Some(3 * CHUNK_BYTES as u64), chunks(3, true)).await;
        assert_eq!(early.status(), http::StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(read_all(early.into_body()).await, (b"damage".to_vec(), true));
        // All announced bytes were made before the damage shows, as with a checksum at the end.
        let length = 10 * CHUNK_BYTES as u64;
        let late = streamed(Some(length), chunks(10, true)).await;
        assert_eq!(late.status(), http::StatusCode::OK);
        let (bytes, is_whole) = read_all(late.into_body()).await;
        assert!(!is_whole && (bytes.len() as u64) < length, "{}", bytes.len());
    });
}

#[test]
fn a_reader_of_another_length_than_expected_is_damage() {
    let read = |length: usize, expected| {
        ReadChunks::new(io::Cursor::new(vec![0; length]), expected).collect::<io::Result<Vec<_>>>()
    };
    let size = 2 * CHUNK_BYTES;
    assert_eq!(read(size, Some(size as u64)).unwrap().concat().len(), size);
    assert_eq!(read(size, None).unwrap().concat().len(), size);
    assert!(read(size - 1, Some(size as u64)).is_err());
    assert!(read(size + 1, Some(size as u64)).is_err());
}

/// 200 clients stop reading in the middle of a body, with two blocking threads. A thread that
/// waited for its reader would never get to the others.
#[test]
fn slow_readers_hold_no_thread() {
    let made = Arc::new(AtomicUsize::new(0));
    runtime(2).block_on(async {
        let mut stalled = Vec::new();
        for _ in 0..200 {
            let made = Arc::clone(&made);
            let counted = chunks(100, false).inspect(move |_| {
                made.fetch_add(1, Ordering::Relaxed);
            });
            let mut body = streamed(None, counted).await.into_body();
            assert!(next_frame(&mut body).await.unwrap().is_ok());
            stalled.push(body);
        }
        let other = streamed(None, chunks(50, false)).await;
        let read = tokio::time::timeout(Duration::from_secs(20), read_all(other.into_body())).await;
        assert_eq!(read.unwrap().0.len(), 50 * CHUNK_BYTES);
        // Each stalled body is held back, and at most three chunks ahead of its reader.
        assert!(made.load(Ordering::Relaxed) <= 200 * 8, "{made:?}");
        let (bytes, is_whole) = read_all(stalled.remove(0)).await;
        assert!(is_whole && bytes.len() == 95 * CHUNK_BYTES, "{}", bytes.len());
    });
}
