//! The contract of every body store.

use std::io::{self, Read};

use varve_core::BodyId;
use varve_core::body::{BodySource, BodyStore};

/// `sha256("")` and `sha256("abc")`, from FIPS 180-4.
const KNOWN_DIGESTS: [(&str, &str); 2] = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
];

/// Runs the suite on an empty store.
pub fn body_store(store: &dyn BodyStore) {
    ids_are_sha_256(store);
    keeping_twice_keeps_once(store);
    any_size_comes_back(store);
    what_is_not_here_is_not_given(store);
    many_keep_at_once(store);
    a_source_that_fails_leaves_nothing(store);
}

fn keep(store: &dyn BodyStore, bytes: &[u8]) -> BodyId {
    let kept = store.keep_body(&mut &bytes[..]).expect("kept");
    assert_eq!(kept.length, bytes.len() as u64);
    store.sync_bodies().expect("synced");
    kept.id
}

fn read(store: &dyn BodySource, id: &BodyId) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open_body(id).expect("opened").expect("here").read_to_end(&mut bytes).expect("whole");
    bytes
}

fn ids_are_sha_256(store: &dyn BodyStore) {
    for (text, hex) in KNOWN_DIGESTS {
        assert_eq!(keep(store, text.as_bytes()).to_string(), hex);
    }
}

fn keeping_twice_keeps_once(store: &dyn BodyStore) {
    let first = store.keep_body(&mut b"twice".as_slice()).expect("kept");
    let again = store.keep_body(&mut b"twice".as_slice()).expect("kept");
    store.sync_bodies().expect("synced");
    let after = store.keep_body(&mut b"twice".as_slice()).expect("kept");
    assert!(first.new && !again.new && !after.new);
    assert!(first.id == again.id && again.id == after.id);
}

fn any_size_comes_back(store: &dyn BodyStore) {
    for length in [1, 511, 512, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 3_000_000] {
        let bytes: Vec<u8> = (0..length).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let id = keep(store, &bytes);
        assert!(read(store, &id) == bytes, "{length} bytes");
    }
}

fn what_is_not_here_is_not_given(store: &dyn BodyStore) {
    let absent = BodyId::new([0xee; 32]);
    assert!(store.open_body(&absent).expect("answered").is_none());
    let here = keep(store, b"here");
    assert_eq!(store.have_bodies(&[here, absent, here]).expect("answered"), [true, false, true]);
    assert_eq!(store.have_bodies(&[]).expect("answered"), [false; 0]);
}

fn many_keep_at_once(store: &dyn BodyStore) {
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            scope.spawn(move || {
                for number in 0..20u32 {
                    // Half of the bodies are the same for all threads.
                    let own = if number % 2 == 0 { thread } else { 99 };
                    let id = keep(store, format!("body {own} {number}").as_bytes());
                    assert_eq!(read(store, &id), format!("body {own} {number}").as_bytes());
                }
            });
        }
    });
}

/// Yields some bytes and then fails.
struct FailingSource(usize);

impl Read for FailingSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.min(buffer.len());
        self.0 -= count;
        buffer[..count].fill(7);
        if count == 0 { Err(io::Error::other("the source broke")) } else { Ok(count) }
    }
}

fn a_source_that_fails_leaves_nothing(store: &dyn BodyStore) {
    for length in [0, 100, 2_000_000] {
        assert!(store.keep_body(&mut FailingSource(length)).is_err(), "{length} bytes");
        store.sync_bodies().expect("the store goes on");
    }
    let id = keep(store, b"after trouble");
    assert_eq!(read(store, &id), b"after trouble");
}
