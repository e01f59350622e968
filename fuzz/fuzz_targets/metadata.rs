#![no_main]

#[path = "../laws/metadata.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::metadata(bytes));
