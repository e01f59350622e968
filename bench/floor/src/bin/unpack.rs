//! The floor of audit and rebuild: the least that reading all silos can cost on one thread.
//!
//! One gzip member after another through libdeflate, and SHA-256 once over what comes out. No header is read, no digest
//! compared, nothing is looked up.

use std::fs::File;
use std::io::Read as _;

use libdeflate_sys as sys;
use sha2::{Digest as _, Sha256};

fn main() {
    let mut plain = vec![0; 64 << 20];
    let (mut members, mut bytes, mut mixed) = (0_u64, 0, 0_u8);
    // SAFETY: takes no arguments.
    let inflater = unsafe { sys::libdeflate_alloc_decompressor() };
    assert!(!inflater.is_null(), "memory");
    for name in std::env::args().skip(1) {
        let mut file = File::open(name).expect("a readable file");
        let mut packed = vec![0; 64 << 20];
        let (mut start, mut end, mut left) = (0, 0, file.metadata().expect("a file").len());
        loop {
            // A member is at most half of the buffer, so a view of that size holds it whole.
            if end - start < packed.len() / 2 && left > 0 {
                packed.copy_within(start..end, 0);
                end -= start;
                start = 0;
                while end < packed.len() {
                    match file.read(&mut packed[end..]).expect("a readable file") {
                        0 => break,
                        count => (end, left) = (end + count, left - count as u64),
                    }
                }
            }
            if start == end {
                break;
            }
            let (mut taken, mut given) = (0, 0);
            // SAFETY: both pointers come from slices and are passed with their lengths; the decompressor is live.
            let result = unsafe {
                sys::libdeflate_gzip_decompress_ex(
                    inflater,
                    packed[start..end].as_ptr().cast(),
                    end - start,
                    plain.as_mut_ptr().cast(),
                    plain.len(),
                    &mut taken,
                    &mut given,
                )
            };
            assert_eq!(result, sys::libdeflate_result_LIBDEFLATE_SUCCESS, "a whole member");
            start += taken;
            mixed ^= Sha256::digest(&plain[..given])[0];
            members += 1;
            bytes += given;
        }
    }
    println!("{members} members, {bytes} bytes ({mixed:02x})");
}
