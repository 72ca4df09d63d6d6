#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lakebed_fuzz::file_path(bytes));
