#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lakebed_fuzz::variant(bytes));
