//! Tests of the HTTP side of a model against a server in the test: streams, ends, refusals, silence.

use std::path::PathBuf;

use super::*;
use crate::model::decode::Wire;
use crate::protocol::FaultKind;

#[test]
fn a_base_url_is_an_origin_with_or_without_a_version() {
    for (base, wire, url) in [
        ("http://h", Wire::Anthropic, "http://h/v1/messages"),
        ("http://h/", Wire::Anthropic, "http://h/v1/messages"),
        ("http://h:81/v1", Wire::Anthropic, "http://h:81/v1/messages"),
        (
            "https://h/v1/",
            Wire::OpenaiChat,
            "https://h/v1/chat/completions",
        ),
        (
            "https://h/v1",
            Wire::OpenaiResponses,
            "https://h/v1/responses",
        ),
        (
            "https://h/api/paas/v4",
            Wire::OpenaiChat,
            "https://h/api/paas/v4/chat/completions",
        ),
        (
            "https://h/openai",
            Wire::OpenaiChat,
            "https://h/openai/v1/chat/completions",
        ),
        (
            "https://h/v1beta/openai",
            Wire::OpenaiChat,
            "https://h/v1beta/openai/chat/completions",
        ),
        (
            "https://h/v1/chat/completions",
            Wire::OpenaiChat,
            "https://h/v1/chat/completions",
        ),
        (
            "https://h/x?key=1",
            Wire::OpenaiChat,
            "https://h/x/v1/chat/completions?key=1",
        ),
        (
            "http://h",
            Wire::Gemini,
            "http://h/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        (
            "http://h/v1beta",
            Wire::Gemini,
            "http://h/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        (
            "http://h/v1",
            Wire::Gemini,
            "http://h/v1/models/m:streamGenerateContent?alt=sse",
        ),
    ] {
        let got = request_url(base, wire, "m").expect(base);
        assert_eq!(got.as_str(), url);
    }
    for bad in ["", "h", "ftp://h", "file:///x", "http://"] {
        let fault = request_url(bad, Wire::Anthropic, "m").expect_err(bad);
        assert_eq!(fault.kind, FaultKind::Config);
    }
}

#[test]
fn clients_for_plain_http_need_no_certificates() {
    let http = Http::new(Some(PathBuf::from("/nowhere/ca.pem")));
    let local = Url::parse("http://127.0.0.1:1").expect("a URL");
    assert!(http.client(&local).is_ok());
    let secure = Url::parse("https://example.org").expect("a URL");
    let fault = http.client(&secure).expect_err("the named file is missing");
    assert!(fault.message.contains("/nowhere/ca.pem"), "{fault}");
}

#[test]
fn the_secure_client_is_built_with_or_without_a_store() {
    let http = Http::new(None);
    http.warm();
    let secure = Url::parse("https://example.org").expect("a URL");
    assert!(http.client(&secure).is_ok());
}
