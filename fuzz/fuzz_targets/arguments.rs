//! Any text as arguments of a call.
#![no_main]

use dunlin::model::arguments::{Watch, explain, parse, preview};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert!(preview(text).is_object());
    let mut watch = Watch::default();
    watch.feed(text);
    match parse(text) {
        Ok(value) => assert!(!watch.is_closed() || value.is_object()),
        Err(raw) => assert!(!explain(&raw).is_empty()),
    }
});
