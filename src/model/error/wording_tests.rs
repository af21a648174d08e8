//! Error answers in the words of providers that the recordings do not have: what they are, whether
//! asking again helps, and when.

use FaultKind::{
    Auth, BadRequest, ContextOverflow, NotFound, Overloaded, Quota, RateLimit, Server,
};

use super::*;

/// Status, headers, body; what it is, and the wait that it asks for.
type Case = (
    u16,
    &'static [(&'static str, &'static str)],
    &'static str,
    FaultKind,
    Option<u64>,
);

fn check(cases: &[Case]) {
    for (status, headers, body, kind, wait) in cases {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let fault = classify("example", *status, &headers, body.as_bytes());
        assert_eq!(fault.kind, *kind, "{status} {body}");
        assert_eq!(fault.retry_after_ms, *wait, "{status} {body}");
        let retryable = matches!(kind, RateLimit | Overloaded | Server);
        assert_eq!(fault.retryable, retryable, "{status} {body}");
    }
}

#[test]
fn overflow_in_the_words_of_every_provider() {
    check(&[
        (
            400,
            &[],
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            ContextOverflow,
            None,
        ),
        (
            413,
            &[],
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens (129000 in the messages, 1512 in the functions). Please reduce the length of the messages or functions.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 290000 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"[{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"object":"error","message":"Prompt contains 40960 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)","type":"invalid_request_error"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"message":"Please reduce the length of the messages or completion. Current length is 140000 while limit is 131072","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error","code":"invalid_parameter_error"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"message":"Input is too long for requested model."}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
            ContextOverflow,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: AnthropicException - {\"error\":{\"message\":\"prompt is too long\"}}","type":null,"code":"400"}}"#,
            ContextOverflow,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"message":"Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Requested 52000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ContextOverflow,
            None,
        ),
    ]);
}

#[test]
fn what_only_sounds_like_an_overflow_is_none() {
    check(&[
        // the prompt fits; only the answer's limit does not
        (
            400,
            &[],
            r#"{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 23 input tokens (8192 > 4096 - 23).","type":"BadRequestError","code":400}"#,
            BadRequest,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"max_tokens is too large: 65536. This model supports at most 16384 completion tokens, whereas you provided 65536.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}"#,
            BadRequest,
            None,
        ),
        (
            429,
            &[("retry-after", "8")],
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute."}}"#,
            RateLimit,
            Some(8_000),
        ),
        (
            429,
            &[],
            r#"{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}"#,
            RateLimit,
            None,
        ),
        (
            400,
            &[],
            r#"{"error":{"message":"Invalid 'messages[1].content': array too long. Expected an array with maximum length 2048, but got an array with length 3000 instead.","code":"array_above_max_length"}}"#,
            BadRequest,
            None,
        ),
    ]);
}

#[test]
fn used_up_is_final_and_limits_per_time_are_not() {
    check(&[
        (
            429,
            &[("retry-after", "3600")],
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"message":"Rate limit reached for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 20s. Visit https://example.org to learn more.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            RateLimit,
            Some(20_000),
        ),
        (
            429,
            &[],
            r#"{"error":{"message":"Rate limit reached for requests per day (RPD): Limit 200. Please try again in 7m12s.","type":"requests","code":"rate_limit_exceeded"}}"#,
            RateLimit,
            Some(432_000),
        ),
        (
            400,
            &[],
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            Quota,
            None,
        ),
        (402, &[], "", Quota, None),
        (
            402,
            &[],
            r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1200.","code":402}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429}}"#,
            RateLimit,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":5400}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-22 18:00:00"}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}"#,
            RateLimit,
            None,
        ),
        (
            429,
            &[],
            r#"{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 33.5s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"5"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"33s"}]}}"#,
            RateLimit,
            Some(33_000),
        ),
        (
            429,
            &[],
            r#"{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"33s"}]}}"#,
            Quota,
            None,
        ),
        (
            429,
            &[("retry-after-ms", "1250"), ("retry-after", "2")],
            r#"{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2025-01-01 have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 20 seconds."}}"#,
            RateLimit,
            Some(1_250),
        ),
        (
            429,
            &[],
            r#"{"error":{"code":"429","message":"Requests have exceeded call rate limit of your current pricing tier. Please retry after 20 seconds."}}"#,
            RateLimit,
            Some(20_000),
        ),
        (
            402,
            &[],
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            Quota,
            None,
        ),
        (
            200,
            &[],
            r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            Quota,
            None,
        ),
    ]);
}

#[test]
fn overload_key_model_and_the_rest() {
    check(&[
        (
            529,
            &[],
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
            Overloaded,
            None,
        ),
        (
            498,
            &[],
            r#"{"error":{"message":"Flex tier capacity exceeded","type":"capacity_exceeded"}}"#,
            Overloaded,
            None,
        ),
        (
            503,
            &[],
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            Overloaded,
            None,
        ),
        (
            503,
            &[
                ("retry-after", "Sun, 22 Nov 2026 10:00:07 GMT"),
                ("date", "Sun, 22 Nov 2026 10:00:00 GMT"),
            ],
            "<html><head><title>503 Service Temporarily Unavailable</title></head></html>",
            Overloaded,
            Some(7_000),
        ),
        (504, &[], "", Server, None),
        (524, &[], "error code: 524", Server, None),
        (
            500,
            &[],
            "data: {\"error\": {\"message\": \"Error processing stream start\", \"type\": \"internal_server_error\", \"code\": \"500\"}}\n\ndata: [DONE]\n\n",
            Server,
            None,
        ),
        (
            429,
            &[],
            "event: error\ndata: {\"error\": {\"message\": \"slow down, try again in 3s\", \"type\": \"rate_limit_error\"}}\n\n",
            RateLimit,
            Some(3_000),
        ),
        (
            401,
            &[],
            r#"{"error":{"message":"Authentication Error, Invalid proxy server token passed. Received API Key = sk-...9999, Key Hash (Token) =abc. Unable to find token in cache or `LiteLLM_VerificationTable`","type":"token_not_found_in_db","param":"key","code":"401"}}"#,
            Auth,
            None,
        ),
        (
            403,
            &[],
            r#"{"error":{"message":"Your input was flagged by moderation","code":403,"metadata":{"reasons":["violence"]}}}"#,
            BadRequest,
            None,
        ),
        (
            404,
            &[],
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-nonexistent"}}"#,
            NotFound,
            None,
        ),
        (
            404,
            &[],
            r#"{"error":"model \"llama9\" not found, try pulling it first"}"#,
            NotFound,
            None,
        ),
        (
            404,
            &[],
            r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#,
            NotFound,
            None,
        ),
        (404, &[], "404 page not found", NotFound, None),
        (
            400,
            &[],
            r#"{"error":"registry.example.org/library/gemma does not support tools"}"#,
            BadRequest,
            None,
        ),
        (
            400,
            &[],
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}"#,
            BadRequest,
            None,
        ),
        (
            422,
            &[],
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted","input":"x"}]}"#,
            BadRequest,
            None,
        ),
        (
            407,
            &[],
            "<html><title>Proxy Authentication Required</title></html>",
            BadRequest,
            None,
        ),
    ]);
}

#[test]
fn a_model_name_that_is_refused_as_invalid_gets_a_hint_about_it() {
    let body = r#"{"error":{"message":"Invalid model name passed in model=no-such-model. Call `/v1/models` to view available models for your key.","code":"400"}}"#;
    let fault = classify("litellm", 400, &[], body.as_bytes());
    assert_eq!(fault.kind, BadRequest);
    assert!(fault.hint.contains("/model"), "{fault}");
}

#[test]
fn the_words_of_an_event_stream_with_an_error_status_are_read() {
    let body =
        "data: {\"error\": {\"message\": \"Error processing stream start\"}}\n\ndata: [DONE]\n\n";
    let fault = classify("litellm", 500, &[], body.as_bytes());
    assert!(
        fault.message.ends_with(": Error processing stream start."),
        "{fault}"
    );
}

/// Each body with the status 400, unless it begins with another.
fn all_are(kind: FaultKind, bodies: &[(u16, &str)]) {
    for (status, body) in bodies {
        let fault = classify("example", *status, &[], body.as_bytes());
        assert_eq!(fault.kind, kind, "{status} {body}");
    }
}

#[test]
fn overflow_in_the_words_of_servers_and_gateways() {
    all_are(
        ContextOverflow,
        &[
            // cloud platforms
            (
                400,
                r#"{"message":"The model returned the following errors: Input is too long for requested model."}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"Unable to submit request because the input token count is 1200000 but the model only supports up to 1048576. Reduce the input token count and try again.","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"tokens limit reached","code":"tokens_limit_reached"}}"#,
            ),
            (
                413,
                r#"{"errors":[{"message":"AiError: The estimated number of input and maximum output tokens (40000) exceeded this model context window limit (32768).","code":5021}],"success":false}"#,
            ),
            (
                400,
                r#"{"message":"max tokens of 128000 exceeded","request_id":"x"}"#,
            ),
            (
                400,
                r#"{"errors":[{"code":"invalid_input_argument","message":"the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}],"status_code":400}"#,
            ),
            (
                400,
                r#"{"title":"Bad Request","status":400,"detail":"Inference error: Input length 40000 exceeds context window 32768"}"#,
            ),
            // makers of models
            (
                400,
                r#"{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]","request_id":"x"}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Total message token length exceed model limit","code":"invalid_parameter_error"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Total tokens of image and text exceed max message tokens.","code":"InvalidParameter"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"输入长度超过限制","code":"400"}}"#,
            ),
            (
                200,
                r#"{"base_resp":{"status_code":1039,"status_msg":"token limit"}}"#,
            ),
            (
                200,
                r#"{"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}"#,
            ),
            (
                400,
                r#"{"code":20015,"message":"length of prompt_tokens (140000) must be less than max_seq_len (131072)","data":null}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Requested 140000 tokens, exceeding the limit of 127072 tokens","code":400}}"#,
            ),
            (
                400,
                r#"{"error":"The prompt has a length of 50000 which exceeds max_seq_len 32768"}"#,
            ),
            (
                400,
                r#"{"message":"Please make sure your input + max_tokens is less than 131072 tokens."}"#,
            ),
            // servers on one's own machine
            (
                400,
                r#"{"error":"Reached context length of 4096 tokens with model (arch: qwen2) that does not currently support mid-generation context overflow."}"#,
            ),
            (
                400,
                r#"{"error":"Cannot truncate prompt with n_keep (9000) >= n_ctx (4096)"}"#,
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"prompt too long; exceeded max context length by 2000 tokens","type":"invalid_request_error"}}"#,
            ),
        ],
    );
    all_are(
        BadRequest,
        &[
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Unable to submit request because it must have a maxOutputTokens value from 1 (inclusive) to 65537 (exclusive) but the entered value was 100000."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64","code":"string_above_max_length"}}"#,
            ),
        ],
    );
}

#[test]
fn keys_accounts_and_addresses_in_the_words_of_servers_and_gateways() {
    all_are(
        Auth,
        &[
            // LiteLLM would look an unknown key up in a database that it does not have
            (
                400,
                r#"{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API Key not found. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                200,
                r#"{"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"This credential is only authorized for use with another program."}}"#,
            ),
        ],
    );
    all_are(
        Quota,
        &[
            (
                403,
                r#"{"error":{"message":"AI Gateway requires a valid credit card on file to service requests.","type":"customer_verification_required"}}"#,
            ),
            (
                429,
                r#"{"errors":[{"message":"you have used up your daily free allocation of 10,000 neurons","code":4006}],"success":false}"#,
            ),
            (
                429,
                r#"{"message":"You are using a Trial key, which is limited to 1000 API calls / month."}"#,
            ),
            (
                429,
                r#"{"message":"Too many tokens per day, please wait before trying again."}"#,
            ),
            (
                402,
                r#"{"error":{"message":"Credit limit exceeded","type":"credit_limit"}}"#,
            ),
        ],
    );
    all_are(
        NotFound,
        &[
            (301, ""),
            (308, ""),
            (405, ""),
            (302, "<html><title>Found</title></html>"),
        ],
    );
    let moved = classify("example", 307, &[], b"");
    assert!(
        !moved.retryable && moved.hint.contains("base URL"),
        "{moved}"
    );
}

#[test]
fn limits_that_are_used_up_tell_the_wait_of_rate_limits_only() {
    let headers = [
        ("x-ratelimit-remaining-tokens".to_owned(), "0".to_owned()),
        ("x-ratelimit-reset-tokens".to_owned(), "7.66s".to_owned()),
    ];
    assert_eq!(
        classify("p", 429, &headers, b"").retry_after_ms,
        Some(7_660)
    );
    assert_eq!(classify("p", 500, &headers, b"").retry_after_ms, None);
    // the sentence is about this very request
    let said = br#"{"error":{"message":"Rate limit reached. Please try again in 2s."}}"#;
    assert_eq!(
        classify("p", 429, &headers, said).retry_after_ms,
        Some(2_000)
    );
    // OpenRouter puts the upstream's headers into the body
    let told = br#"{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"30"}}}}"#;
    assert_eq!(classify("p", 429, &[], told).retry_after_ms, Some(30_000));
}
