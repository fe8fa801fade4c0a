#![no_main]

#[allow(dead_code)]
#[path = "../src/cursor.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
