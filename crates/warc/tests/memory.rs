//! Memory stays within fixed buffers for any file: a record of a gibibyte, decompression bombs, and
//! files of nothing but defects. One test alone in its process, since it counts all allocations of
//! the process.

mod made;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::{Compress, Compression, FlushCompress};
use made::{codes, packed, record};
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::rules::Rule;
use varve_warc::{Encoding, Error};
use varve_wire::ReadAt;

/// The system's allocator, counting.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator unchanged; counting touches only atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, which is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(size: usize) {
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Maximum allocation of an inspection with two threads.
const MAX_ALLOCATED_BYTES: usize = 24 << 20;
const GIBIBYTE: u64 = 1 << 30;

/// A start, then one byte repeated, then an end.
struct Long {
    beginning: Vec<u8>,
    repeated: Vec<u8>,
    times: u64,
    end: Vec<u8>,
}

impl ReadAt for Long {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let (first, middle) = (self.beginning.len() as u64, self.repeated.len() as u64 * self.times);
        if offset < first {
            return self.beginning.read_at(buffer, offset);
        }
        if offset >= first + middle {
            return self.end.read_at(buffer, offset - first - middle);
        }
        let at = ((offset - first) % self.repeated.len() as u64) as usize;
        let length = buffer.len().min(self.repeated.len() - at);
        buffer[..length].copy_from_slice(&self.repeated[at..at + length]);
        Ok(length)
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.beginning.len() as u64 + self.repeated.len() as u64 * self.times + self.end.len() as u64)
    }
}

impl Long {
    fn new(beginning: &[u8], repeated: &[u8], length: u64, end: &[u8]) -> Self {
        // The reader asks for large pieces; a repetition of one byte should not make it ask for
        // each.
        let (repeated, times) = match repeated.len() {
            length_of_one @ ..1024 => (repeated.repeat(65536 / length_of_one), length / 65536),
            _ => (repeated.to_vec(), length),
        };
        Self { beginning: beginning.to_vec(), repeated, times, end: end.to_vec() }
    }
}

fn header(length: u64) -> Vec<u8> {
    let record = record("resource", 1, "WARC-Target-URI: http://a/\r\nContent-Type: text/plain\r\n", b"");
    let text = String::from_utf8(record).expect("text").replace("WARC-Block-Digest", "X");
    text.trim_end().replace("Content-Length: 0", &format!("Content-Length: {length}\r\n\r\n")).into_bytes()
}

/// A gzip member with a header and a gibibyte of zeros, made of one repeated piece of deflate data.
fn gzip_bomb() -> Long {
    let deflated = |bytes: &[u8], flush| {
        let mut compress = Compress::new(Compression::fast(), false);
        let mut output = Vec::with_capacity(1 << 20);
        compress.compress_vec(bytes, &mut output, flush).expect("deflate");
        output
    };
    let stretch = vec![0; 1 << 20];
    let mut crc = crc32fast::Hasher::new();
    let mut beginning = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let header = header(GIBIBYTE);
    beginning.extend(deflated(&header, FlushCompress::Full));
    crc.update(&header);
    (0..1024).for_each(|_| crc.update(&stretch));
    crc.update(b"\r\n\r\n");
    let mut end = deflated(b"\r\n\r\n", FlushCompress::Finish);
    end.extend(crc.finalize().to_le_bytes());
    end.extend((header.len() as u32 + (1 << 30) + 4).to_le_bytes());
    Long { beginning, repeated: deflated(&stretch, FlushCompress::Full), times: 1024, end }
}

fn zstd_bomb() -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.write_all(&header(GIBIBYTE)).expect("memory");
    let stretch = vec![0; 1 << 20];
    (0..1024).for_each(|_| encoder.write_all(&stretch).expect("memory"));
    encoder.write_all(b"\r\n\r\n").expect("memory");
    encoder.finish().expect("memory")
}

/// Inspects with two threads; the allocations beyond those that were there before must stay below
/// the bound.
fn inspected(name: &str, source: &(impl ReadAt + ?Sized), strict: bool) -> Result<InspectReport, Error> {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let options = InspectOptions { strict, threads: 2, ..InspectOptions::default() };
    let report = inspect(source, options, &|_| {});
    let peak = PEAK.load(Ordering::Relaxed) - before;
    assert!(peak < MAX_ALLOCATED_BYTES, "{name}: {} MB were allocated", peak >> 20);
    report
}

fn clean(name: &str, source: &(impl ReadAt + ?Sized), findings: &[&str]) {
    let report = inspected(name, source, false).expect("an archive");
    assert_eq!((report.records, codes(&report)), (1, findings.to_vec()), "{name}");
    assert_eq!(report.last_good_offset, report.size, "{name}");
}

#[test]
fn memory_is_bounded() {
    clean("a large record", &Long::new(&header(GIBIBYTE), b"\0", GIBIBYTE, b"\r\n\r\n"), &[]);
    clean("a gzip bomb", &gzip_bomb(), &[]);
    clean("a zstd bomb", &zstd_bomb(), &["C07"]);

    let end = b"\r\n\r\n";
    let newlines = Long::new(&[header(0), end.to_vec()].concat(), b"\r\n", 64 << 20, end);
    assert_eq!(codes(&inspected("newlines", &newlines, false).expect("an archive")), ["R02"]);
    let fields = Long::new(b"WARC/1.1\r\n", b"a: b\r\n", 8 << 20, end);
    inspected("a header without end", &fields, true).expect("an archive");

    // Defects without a record between, at which findings would be taken.
    let first = packed(Encoding::Gzip, &[header(0), end.to_vec()].concat());
    let trouble: [(&str, Vec<u8>, Vec<u8>); 4] = [
        ("empty members", first.clone(), packed(Encoding::Gzip, b"")),
        ("members that are no record", first.clone(), packed(Encoding::Gzip, b"x")),
        ("cut headers", first, packed(Encoding::Gzip, b"WARC/1.1\r\n")),
        (
            "lines that are no record",
            b"filedesc://x 0.0.0.0 20080430204825 text/plain 0\n\n".to_vec(),
            b"x\n".to_vec(),
        ),
    ];
    for (name, beginning, repeated) in trouble {
        let report =
            inspected(name, &Long::new(&beginning, &repeated, 1 << 20, b""), true).expect("an archive");
        assert_eq!(report.records, 1, "{name}");
        assert!(!report.findings.is_empty(), "{name}");
    }

    // Records whose ids would take more memory than all else, packed to a few kilobytes.
    let tiny = b"WARC/1.1\r\nWARC-Record-ID: <urn:x:y>\r\nContent-Length: 0\r\n\r\n\r\n\r\n".repeat(1 << 10);
    let tiny =
        Long { beginning: vec![], repeated: packed(Encoding::Gzip, &tiny), times: 1 << 7, end: vec![] };
    let report = inspected("tiny records", &tiny, true).expect("an archive");
    assert_eq!((report.records, report.by_rule.get(&Rule::RecordIdsUnchecked)), (1 << 17, Some(&1)));

    let types: Vec<u8> =
        (0..1000).flat_map(|number| record(&format!("type-{number}"), number, "", b"")).collect();
    let report = inspected("many record types", &packed(Encoding::Gzip, &types), true).expect("an archive");
    assert_eq!((report.records, report.by_type.values().sum::<u64>()), (1000, 1000));
    assert_eq!((report.by_type.len(), report.by_type["(others)"]), (101, 900));
}
