#![no_main]

#[path = "../laws/mod.rs"]
#[allow(dead_code, unused_imports)]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::repair(bytes));
