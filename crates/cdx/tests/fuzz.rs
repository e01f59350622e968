//! The laws of the fuzz target `cdx`, over changed lines, for seconds and with a fixed seed.

#![expect(unreachable_pub, reason = "the laws are shared with the fuzz target")]

#[path = "../../../fuzz/laws/cdx.rs"]
mod cdx;

use cdx::index_lines;

/// Pseudorandom numbers (xorshift), the same in each run.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 16).unwrap_or(0)
}

const SEEDS: [&str; 5] = [
    "com,example)/ 20260102030405 {\"url\": \"http://example.com/\", \"mime\": \"text/html\", \"status\": 200, \"digest\": \"sha1:AB\", \"length\": \"12\", \"offset\": 345, \"filename\": \"a\\u00e9.warc.gz\", \"note\": [1.5, {\"a\": null}]}\n",
    " CDX N b a m s k r M S V g\ncom,example)/ 20260102030405 http://example.com/ text/html 200 AB - - 12 345 a.warc.gz\n",
    "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"a.cdx.gz\"}\ncom,example)/ 2026 {\"offset\": 0, \"length\": 12}\n",
    "com,example)/ 2026\tpart-0\t0\t12\t1\n",
    "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{\"a\": [1, {\"b\": \"c\"}]}\r\n--x--\r\n",
];

#[test]
fn the_laws_hold_for_changed_input() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..20_000 {
        let mut bytes = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        if round >= SEEDS.len() {
            for _ in 0..=next(&mut state) % 4 {
                let at = next(&mut state) % bytes.len();
                match next(&mut state) % 4 {
                    0 => bytes[at] = next(&mut state) as u8,
                    1 => bytes.truncate(at.max(1)),
                    2 => {
                        let other = SEEDS[next(&mut state) % SEEDS.len()].as_bytes();
                        let from = next(&mut state) % other.len();
                        bytes.splice(at..at, other[from..].iter().copied());
                    }
                    _ => bytes.insert(at, b" -\"{}[],:\n\t"[next(&mut state) % 11]),
                }
            }
        }
        index_lines(&bytes);
    }
}
