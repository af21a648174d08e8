//! Tests of the classification beyond what recordings show; those are in `tests/it/wire`.

use super::*;

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Fault {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    classify("example", status, &headers, body.as_bytes())
}

fn kind(status: u16, message: &str) -> FaultKind {
    answer(
        status,
        &[],
        &json!({"error": {"message": message}}).to_string(),
    )
    .kind
}

#[test]
fn a_request_larger_than_the_window_is_known_in_every_wording() {
    for message in [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Your input exceeds the context window of this model",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "This endpoint's maximum context length is 262144 tokens. However, you requested about 300000 tokens",
        "the request exceeds the available context size, try increasing it",
        "Prompt contains 140210 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097",
        "Range of input length should be [1, 30720]",
        "litellm.ContextWindowExceededError: the prompt is too long",
        "Request body too large for this model. Max size: 8000 tokens.",
    ] {
        assert_eq!(kind(400, message), FaultKind::ContextOverflow, "{message}");
    }
    let aws = r#"{"__type":"com.amazonaws#ThrottlingException","message":"Too many tokens, please wait."}"#;
    assert_eq!(answer(400, &[], aws).kind, FaultKind::RateLimit);
    assert_eq!(
        kind(
            400,
            "max_tokens: 9 > 8, which is the maximum allowed number of output tokens"
        ),
        FaultKind::BadRequest
    );
    assert_eq!(
        kind(
            429,
            "Rate limit reached for input tokens per minute: 30000 exceeded"
        ),
        FaultKind::RateLimit
    );
}

#[test]
fn the_status_decides_when_nothing_was_said() {
    for (status, kind, retryable) in [
        (400, FaultKind::BadRequest, false),
        (401, FaultKind::Auth, false),
        (402, FaultKind::Quota, false),
        (403, FaultKind::Auth, false),
        (404, FaultKind::NotFound, false),
        (408, FaultKind::Server, true),
        (409, FaultKind::Server, true),
        (413, FaultKind::ContextOverflow, false),
        (418, FaultKind::BadRequest, false),
        (422, FaultKind::BadRequest, false),
        (429, FaultKind::RateLimit, true),
        (500, FaultKind::Server, true),
        (503, FaultKind::Overloaded, true),
        (529, FaultKind::Overloaded, true),
        (599, FaultKind::Server, true),
    ] {
        for body in [
            "",
            "<html><body>x</body></html>",
            "null",
            "[]",
            "\u{fffd}\u{0}",
        ] {
            let fault = answer(status, &[], body);
            assert_eq!(
                (fault.kind, fault.retryable),
                (kind, retryable),
                "{status} {body}"
            );
            assert_eq!(fault.status, Some(status));
        }
    }
}

#[test]
fn the_server_may_say_whether_to_ask_again_but_not_for_hopeless_cases() {
    let retry = [("X-Should-Retry", "true")];
    assert!(answer(400, &retry, "").retryable);
    assert!(!answer(401, &retry, "").retryable);
    assert!(!answer(402, &retry, "").retryable);
    assert!(!answer(500, &[("x-should-retry", "false")], "").retryable);
}

#[test]
fn a_wait_is_told_only_with_a_retry() {
    let wait = [("Retry-After", "5")];
    assert_eq!(answer(429, &wait, "").retry_after_ms, Some(5_000));
    assert_eq!(answer(401, &wait, "").retry_after_ms, None);
    let loading = r#"{"error":"Model is currently loading","estimated_time":20.5}"#;
    assert_eq!(answer(503, &[], loading).retry_after_ms, Some(20_500));
}

#[test]
fn the_sentences_name_provider_cause_and_remedy_and_never_a_key() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghij0123456789ABCDEFGHIJ"}}"#;
    let fault = answer(401, &[], body);
    assert!(
        fault.message.starts_with("example did not accept"),
        "{}",
        fault.message
    );
    assert!(fault.message.contains("Incorrect API key") && fault.message.contains("401"));
    assert!(!fault.to_string().contains("abcdefghij"), "{fault}");
    assert!(fault.hint.contains("dunlin auth") && fault.hint.contains("EXAMPLE_API_KEY"));
    let upstream = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"model x is rate-limited"}}}"#;
    assert!(
        answer(429, &[], upstream)
            .message
            .contains("model x is rate-limited")
    );
    let page = answer(
        502,
        &[],
        "<html><head><title>502 Bad Gateway</title></head></html>",
    );
    assert!(
        page.message.contains("“502 Bad Gateway”"),
        "{}",
        page.message
    );
    assert!(page.hint.contains("base URL"), "{}", page.hint);
}

#[test]
fn envelopes_of_all_kinds_are_opened() {
    for body in [
        r#"{"error":{"message":"the words"}}"#,
        r#"{"error":"the words"}"#,
        r#"{"message":"the words"}"#,
        r#"{"detail":"the words"}"#,
        r#"{"detail":[{"msg":"the words","loc":["body"]}]}"#,
        r#"[{"error":{"message":"the words"}}]"#,
        r#"{"errors":[{"message":"the words"}]}"#,
        r#"{"error":{"message":"{\"error\":{\"message\":\"the words\"}}"}}"#,
        r#"upstream said: {"error":{"message":"the words"}}"#,
        "the words",
        "<p>the <b>words</b></p>",
    ] {
        let message = answer(400, &[], body).message;
        assert!(message.contains("the words"), "{body}: {message}");
    }
}

#[test]
fn errors_inside_a_stream_are_judged_like_answers() {
    for (event, kind, retryable) in [
        (
            json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}),
            FaultKind::Overloaded,
            true,
        ),
        (
            json!({"error":{"code":429,"message":"slow"}}),
            FaultKind::RateLimit,
            true,
        ),
        (
            json!({"error":{"code":"502","message":"x"}}),
            FaultKind::Server,
            true,
        ),
        (
            json!({"type":"error","code":"context_length_exceeded","message":"x"}),
            FaultKind::ContextOverflow,
            false,
        ),
        (
            json!({"error":{"code":"server_error","message":"x"}}),
            FaultKind::Server,
            true,
        ),
        (
            json!({"error":{"code":"invalid_image_url","message":"x"}}),
            FaultKind::BadRequest,
            false,
        ),
        (
            json!({"error":{"status":"UNAVAILABLE","code":503,"message":"x"}}),
            FaultKind::Overloaded,
            true,
        ),
        (json!({"error":"something"}), FaultKind::Server, true),
        (
            json!({"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}),
            FaultKind::Quota,
            false,
        ),
    ] {
        let Failure { fault, .. } = in_stream(&event);
        assert_eq!((fault.kind, fault.retryable), (kind, retryable), "{event}");
    }
    let waits =
        in_stream(&json!({"error":{"code":"rate_limit_exceeded","message":"Try again in 1.3s."}}));
    assert_eq!(waits.fault.retry_after_ms, Some(1_300));
}
