//! Runs the laws of `fuzz/laws` for a few seconds, always in the same way.
//!
//! A small generator of a fixed seed changes files that the tests make, and files of the public
//! corpora where they are present, and calls the same functions as libFuzzer does.
//! `VARVE_FUZZ_TIMES=50` multiplies the number of rounds by 50; `fuzz/README.md` describes runs of
//! hours.

mod made;

#[path = "../../../fuzz/laws/mod.rs"]
mod laws;

use std::path::Path;

use made::{PACKINGS, archive, packed, some_records};
use varve_warc::Encoding;
use varve_warc::digest::Algorithm;

/// SplitMix64: a small generator that never changes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Words that parsers look for.
const WORDS: [&[u8]; 20] = [
    b"WARC/1.0\r\n",
    b"\nWARC/1.1\r\n",
    b"WARC-Type: response\r\n",
    b"Content-Length: ",
    b"Content-Length: 18446744073709551615\r\n",
    b"WARC-Truncated: length\r\n",
    b"Content-Type: application/http\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b": ",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"\x5d\x2a\x4d\x18\x10\x00\x00\x00",
    b"http://a/ 1.2.3.4 20080430204825 text/html 10\n",
];

/// Changes bytes in one of several ways.
fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let to = (at + random.below(40)).min(bytes.len());
    match random.below(8) {
        0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 if at < bytes.len() => bytes[at] = random.next() as u8,
        3 => drop(bytes.drain(at..to)),
        4 => {
            let again = bytes[at..to].to_vec();
            bytes.splice(at..at, again);
        }
        5 => bytes.truncate(at),
        6 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            let length = random.below(300).min(other.len() - from);
            bytes.splice(at..to, other[from..from + length].iter().copied());
        }
        _ => {
            bytes.splice(at..to, WORDS[random.below(WORDS.len())].iter().copied());
        }
    }
}

/// Calls a law with every seed, then with changed ones. `finish` is applied to the changed bytes
/// first.
fn run(name: &str, law: fn(&[u8]), seeds: &[Vec<u8>], rounds: usize, finish: fn(Vec<u8>, usize) -> Vec<u8>) {
    for seed in seeds {
        law(seed);
        keep(name, seed);
    }
    let times = std::env::var("VARVE_FUZZ_TIMES").map_or(1, |times| times.parse().expect("a number"));
    let mut random = Random(2026);
    for round in 0..rounds * times {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            change(&mut bytes, seeds, &mut random);
        }
        let bytes = finish(bytes, round);
        let outcome = std::panic::catch_unwind(|| law(&bytes));
        assert!(outcome.is_ok(), "round {round}: {}", bytes.escape_ascii());
    }
}

/// Seeds are written where libFuzzer looks for them, when asked for.
fn keep(name: &str, seed: &[u8]) {
    if let Some(folder) = std::env::var_os("VARVE_FUZZ_SEEDS") {
        let folder = Path::new(&folder).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let digest = Algorithm::Sha1.digest(seed).to_string().replace(':', "-");
        std::fs::write(folder.join(digest), seed).expect("a writable folder");
    }
}

fn as_it_is(bytes: Vec<u8>, _: usize) -> Vec<u8> {
    bytes
}

/// Changes and then packs, so that the checksum of the changed bytes is right.
fn in_one_member(bytes: Vec<u8>, round: usize) -> Vec<u8> {
    packed([Encoding::Gzip, Encoding::Zstd][round % 2], &bytes)
}

/// The files that the tests make, and small ones of the corpora.
fn files(corpus_ending: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = PACKINGS.iter().map(|packing| archive(*packing, &some_records()).bytes).collect();
    files.push(packed(Encoding::Gzip, &some_records().concat()));
    files.extend(corpus(corpus_ending));
    files
}

fn corpus(ending: &str) -> Vec<Vec<u8>> {
    let Some(folder) = varve_testkit::fixtures("warc") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    collect(&folder, ending, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending)
            && entry.metadata().is_ok_and(|data| data.len() < 6000)
        {
            found.push(std::fs::read(path).expect("a readable fixture"));
        }
    }
}

#[test]
fn warc() {
    run("warc", laws::warc, &files(".warc"), 800, as_it_is);
    run("warc", laws::warc, &files(".warc.gz"), 800, as_it_is);
    run("warc", laws::warc, &[some_records().concat()], 400, in_one_member);
}

#[test]
fn arc() {
    let line =
        b"http://a/ 1.2.3.4 20080430204825 text/html 4\nbody\n\nhttp://b/ 0.0.0.0 2008 unk -1\n".to_vec();
    let mut seeds = vec![line];
    seeds.extend(corpus(".arc"));
    run("arc", laws::arc, &seeds, 2000, as_it_is);
}

#[test]
fn repair() {
    run("repair", laws::repair, &files(".warc"), 1000, as_it_is);
    run("repair", laws::repair, &files(".arc"), 500, as_it_is);
}

#[test]
fn http() {
    let head = b"HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: a\r\n b\r\nContent-Encoding: ";
    let body = b"the lake lays down one layer each year ".repeat(5);
    let with = |coding: &[u8], body: &[u8]| [&head[..], coding, b"\r\n\r\n", body].concat();
    let seeds = [
        b"GET / HTTP/1.1\r\nHost: varve.example\r\n\r\n".to_vec(),
        with(b"identity", &body),
        with(b"gzip", &packed(Encoding::Gzip, &body)),
        with(b"zstd", &packed(Encoding::Zstd, &body)),
        with(b"br", &[0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03]),
        with(b"gzip\r\nTransfer-Encoding: chunked", b"4\r\nlake\r\n0\r\n\r\n"),
    ];
    run("http", laws::message, &seeds, 3000, as_it_is);
}

#[test]
fn chunked() {
    let seeds = [
        b"4\r\nlake\r\n5;a=b\r\nlayer\r\n0\r\nT: x\r\n\r\n".to_vec(),
        b"1\nx\n0\n\n".to_vec(),
        b"<p>".to_vec(),
    ];
    run("chunked", laws::chunked, &seeds, 3000, as_it_is);
}

#[test]
fn zstd_dictionary() {
    let samples: Vec<Vec<u8>> =
        (0..200).map(|number| format!("layer {number} of the lake, ").into_bytes()).collect();
    let trained = zstd::dict::from_samples(&samples, 1024).expect("a dictionary");
    let with_length = |dictionary: &[u8]| [&[200], dictionary].concat();
    let compressed = packed(Encoding::Zstd, &trained);
    let seeds = [with_length(&trained), with_length(&compressed), with_length(b"raw"), with_length(b"")];
    run("zstd_dictionary", laws::zstd_dictionary, &seeds, 1000, as_it_is);
}

#[test]
fn text() {
    let seeds = [
        b"2026-11-15T23:30:01.123456789Z".to_vec(),
        b"2020-01-01t01:00:60+02:00".to_vec(),
        b"20260229235960".to_vec(),
        b"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".to_vec(),
        b"sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_vec(),
        b"md5:1B2M2Y8AsgTpgAmY7PhCfg==".to_vec(),
        b"Name: value\r\n folded\r\nName:\t=?utf-8?Q?caf=C3=A9_?= =?iso-8859-1?B?6Q==?=\r\n\r\n".to_vec(),
    ];
    run("text", laws::text, &seeds, 20_000, as_it_is);
}
