#![no_main]

#[path = "../src/timestamp.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
