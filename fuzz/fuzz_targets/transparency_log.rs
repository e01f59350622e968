#![no_main]

#[path = "../laws/transparency_log.rs"]
mod transparency_log;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transparency_log::transparency_log(bytes));
