//! The floor of storing: the least that hashing and packing files can cost on one thread.
//!
//! Reads each file whose name comes on standard input into one buffer, takes its SHA-256 once, and deflates it in one go
//! with libdeflate at the level that is given. No record, no index, no duplicate is looked for, nothing is written.

use std::fs::File;
use std::io::{BufRead as _, Read as _};

use libdeflater::{CompressionLvl, Compressor};
use sha2::{Digest as _, Sha256};

fn main() {
    let level = std::env::args().nth(1).and_then(|level| level.parse().ok()).expect("usage: pack LEVEL < NAMES");
    let mut deflater = Compressor::new(CompressionLvl::new(level).expect("a level from 1 to 12"));
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    let (mut files, mut before, mut after, mut mixed) = (0_u64, 0, 0, 0_u8);
    for name in std::io::stdin().lock().lines() {
        plain.clear();
        File::open(name.expect("names")).and_then(|mut file| file.read_to_end(&mut plain)).expect("a readable file");
        mixed ^= Sha256::digest(&plain)[0];
        packed.resize(packed.len().max(deflater.gzip_compress_bound(plain.len())), 0);
        after += deflater.gzip_compress(&plain, &mut packed).expect("room");
        before += plain.len();
        files += 1;
    }
    println!("{files} files, {before} bytes, {after} packed ({mixed:02x})");
}
