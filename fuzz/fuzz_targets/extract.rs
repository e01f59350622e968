#![no_main]

#[path = "../laws/page.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::page(bytes));
