//! The floor of storing what streams by: the least that hashing and packing it can cost on one thread.
//!
//! Reads standard input in steps, takes its SHA-256 once, and deflates it as a stream with zlib-rs at the level that is
//! given. No record, no segment, no duplicate is looked for, nothing is written.

use std::io::Read as _;

use flate2::{Compress, Compression, FlushCompress};
use sha2::{Digest as _, Sha256};

fn main() {
    let level = std::env::args().nth(1).and_then(|level| level.parse().ok()).expect("usage: stream LEVEL < FILE");
    let mut deflate = Compress::new(Compression::new(level), false);
    let mut hasher = Sha256::new();
    let (mut plain, mut packed) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = std::io::stdin().read(&mut plain).expect("readable input");
        let flush = if count == 0 { FlushCompress::Finish } else { FlushCompress::None };
        hasher.update(&plain[..count]);
        let mut taken = 0;
        loop {
            let (before_in, before_out) = (deflate.total_in(), deflate.total_out());
            deflate.compress(&plain[taken..count], &mut packed, flush).expect("deflate");
            taken += (deflate.total_in() - before_in) as usize;
            if taken == count && deflate.total_out() - before_out < packed.len() as u64 {
                break;
            }
        }
        if count == 0 {
            break;
        }
    }
    let mixed = hasher.finalize()[0];
    println!("{} bytes, {} packed ({mixed:02x})", deflate.total_in(), deflate.total_out());
}
