//! The floor: the least that checking every digest of a `.warc.gz` can cost on one thread.
//!
//! One gzip member after another through libdeflate into one buffer, the header lines through memchr, SHA-1 over the
//! block and over the payload, compared with what the header says. No damage, no large members, no other packing, no
//! other algorithm, no findings: whatever a reader does beyond this is what it costs to be one.

use std::fs::File;
use std::io::Read as _;

use libdeflate_sys as sys;
use memchr::memmem;
use sha1::{Digest as _, Sha1};

fn main() {
    let path = std::env::args().nth(1).expect("usage: floor FILE.warc.gz");
    let mut file = File::open(path).expect("a readable file");
    let mut packed = vec![0; 4 << 20];
    let mut plain = vec![0; 64 << 20];
    let (mut start, mut end) = (0, 0);
    let mut counts = Counts::default();
    // SAFETY: takes no arguments.
    let inflater = unsafe { sys::libdeflate_alloc_decompressor() };
    assert!(!inflater.is_null(), "memory");
    loop {
        // A member is at most half of the buffer, so a view of that size holds it whole.
        if end - start < packed.len() / 2 {
            packed.copy_within(start..end, 0);
            end -= start;
            start = 0;
            while end < packed.len() {
                match file.read(&mut packed[end..]).expect("a readable file") {
                    0 => break,
                    count => end += count,
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
        counts.check(&plain[..given]);
    }
    println!("{} records, {} digests right, {} wrong", counts.records, counts.right, counts.wrong);
}

#[derive(Default)]
struct Counts {
    records: u64,
    right: u64,
    wrong: u64,
}

impl Counts {
    fn check(&mut self, record: &[u8]) {
        self.records += 1;
        let header_end = memmem::find(record, b"\r\n\r\n").expect("an empty line") + 4;
        let (mut length, mut block_digest, mut payload_digest, mut is_http) = (0, None, None, false);
        for line in record[..header_end].split(|byte| *byte == b'\n') {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"Content-Length") {
                length = std::str::from_utf8(value).expect("digits").parse().expect("a length");
            } else if name.eq_ignore_ascii_case(b"WARC-Block-Digest") {
                block_digest = Some(value);
            } else if name.eq_ignore_ascii_case(b"WARC-Payload-Digest") {
                payload_digest = Some(value);
            } else if name.eq_ignore_ascii_case(b"Content-Type") {
                is_http = value.starts_with(b"application/http");
            }
        }
        let block = &record[header_end..header_end + length];
        if let Some(expected) = block_digest {
            self.compare(block, expected);
        }
        if let Some(expected) = payload_digest {
            let head = if is_http { memmem::find(block, b"\r\n\r\n").map_or(0, |at| at + 4) } else { 0 };
            self.compare(&block[head..], expected);
        }
    }

    fn compare(&mut self, bytes: &[u8], expected: &[u8]) {
        let value = expected.strip_prefix(b"sha1:").expect("SHA-1, as wget writes it");
        let found = Sha1::digest(bytes);
        let mut decoded = [0; 20];
        let length = data_encoding::BASE32.decode_mut(value, &mut decoded).expect("Base32, as wget writes it");
        *if decoded[..length] == found[..] { &mut self.right } else { &mut self.wrong } += 1;
    }
}
