#![no_main]

#[path = "../laws/wacz.rs"]
mod wacz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wacz::wacz(bytes));
