//! Any bytes as an answer of the wire.
#![no_main]

mod wire;

use dunlin::model::decode::Wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wire::check(Wire::Anthropic, data));
