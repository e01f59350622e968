#![no_main]

#[path = "../laws/cdx.rs"]
mod cdx;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cdx::index_lines(bytes));
