//! A body of a gigabyte costs memory for a few buffers. Alone in its process, so that the peak is
//! its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use std::io::{Read, Seek, SeekFrom, Write};
use std::net::TcpListener;

use varve_fetch::{AddressGuard, Client, FetchRequest, HttpClientOptions};

const CHUNK_BYTES: usize = 1 << 20;
const PIECES: usize = 1024;

/// The peak memory of this process in bytes; none if the system does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

fn piece(number: usize) -> Vec<u8> {
    vec![u8::try_from(number % 251).unwrap(); CHUNK_BYTES]
}

#[tokio::test]
async fn a_gigabyte_is_spooled_to_disk() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", CHUNK_BYTES * PIECES).unwrap();
        for number in 0..PIECES {
            stream.write_all(&piece(number)).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut options = HttpClientOptions::new(folder.path());
    options.guard = AddressGuard::allow_private();
    let client = Client::new(options).unwrap();
    let exchange = client.exchange(FetchRequest::get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(exchange.truncated, None);
    let head = exchange.head().unwrap().unwrap().length as u64;
    assert_eq!(exchange.response.len() - head, (CHUNK_BYTES * PIECES) as u64);
    let mut reader = exchange.response.reader();
    reader.seek(SeekFrom::Start(head)).unwrap();
    let mut found = vec![0; CHUNK_BYTES];
    for number in 0..PIECES {
        reader.read_exact(&mut found).unwrap();
        assert_eq!(found, piece(number), "piece {number}");
    }
    match peak() {
        Some(peak) => assert!(peak < 100 << 20, "{peak} bytes"),
        None => println!("skipped: this system does not report memory use"),
    }
}
