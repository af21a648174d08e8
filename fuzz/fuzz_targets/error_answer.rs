//! Any status, header value and body as an error answer.
#![no_main]

use dunlin::model::error::classify;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|answer: (u16, String, Vec<u8>)| {
    let (status, value, body) = answer;
    let headers = ["retry-after", "retry-after-ms", "x-should-retry", "date", "x-amzn-errortype"]
        .map(|name| (name.to_owned(), value.clone()));
    let fault = classify("provider", status, &headers, &body);
    assert!(!fault.message.is_empty() && !fault.hint.is_empty());
    assert!(fault.message.len() < 8_000, "a message is a sentence, no dump");
    assert!(fault.retryable || fault.retry_after_ms.is_none());
});
