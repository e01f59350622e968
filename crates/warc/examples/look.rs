//! temporary
use std::sync::atomic::AtomicU64;
fn main() {
    for path in std::env::args().skip(1) {
        let file = std::fs::File::open(&path).unwrap();
        let threads = std::env::var("THREADS").map_or(2, |t| t.parse().unwrap());
        let options = varve_warc::inspect::Options {
            threads,
            strict: std::env::var("STRICT").is_ok(),
            ..Default::default()
        };
        match varve_warc::inspect::inspect(&file, options, &AtomicU64::new(0)) {
            Ok(r) => {
                println!(
                    "{path}: {:?} {:?} {} {:?} {:?} good {} of {}",
                    r.format, r.encoding, r.records, r.by_type, r.digests, r.last_good_offset, r.size
                );
                for f in r.findings.iter().take(12) {
                    println!("   {} @{} {}", f.rule.code(), f.offset, f.message);
                }
            }
            Err(e) => println!("{path}: ERROR {e}"),
        }
    }
}
