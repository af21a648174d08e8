//! What kind of failure an error answer is. Codes are believed first, then wordings, then the status:
//! providers use the same status for very different things.

use serde_json::Value;

use super::body::Said;
use crate::protocol::FaultKind;

/// A judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// What kind.
    pub(super) kind: FaultKind,
    /// True if asking again may help.
    pub(super) retryable: bool,
}

/// True if status, what was said, and its words make it that kind.
type Fits = fn(Option<u16>, &Said, &str) -> bool;

/// Judges an error answer; `status` is none for errors inside a stream that tell none.
pub(super) fn judge(status: Option<u16>, said: &Said) -> Verdict {
    let words = said.words();
    let status = match status {
        // an error in the body of a successful answer: the status inside counts
        Some(200..=299) | None => said.status,
        other => other,
    };
    let kind = find(status, said, &words);
    let retryable = match kind {
        FaultKind::RateLimit | FaultKind::Overloaded | FaultKind::Server => true,
        // the status says that it was not the request's fault, whatever the words are
        FaultKind::BadRequest => matches!(status, Some(408 | 409)),
        _ => false,
    };
    Verdict { kind, retryable }
}

fn find(status: Option<u16>, said: &Said, words: &str) -> FaultKind {
    let kinds: [(FaultKind, Fits); 6] = [
        (FaultKind::ContextOverflow, is_overflow),
        (FaultKind::Quota, is_quota),
        (FaultKind::Auth, is_auth),
        (FaultKind::NotFound, is_not_found),
        (FaultKind::Overloaded, is_overloaded),
        (FaultKind::RateLimit, is_rate_limit),
    ];
    for (kind, fits) in kinds {
        if fits(status, said, words) {
            return kind;
        }
    }
    let bad_request = [
        "invalid_request_error",
        "invalid_request",
        "invalid_argument",
        "invalid-argument",
        "bad_request",
        "bad request",
        "failed_precondition",
        "unprocessable_entity",
        "content_filter",
        "content_policy_violation",
        "invalid_prompt",
        "tool_use_failed",
        "validationexception",
    ];
    match status {
        Some(408 | 409 | 500..=599) => FaultKind::Server,
        Some(400..=499) => FaultKind::BadRequest,
        _ if said.has_code(&bad_request) => FaultKind::BadRequest,
        _ => FaultKind::Server,
    }
}

fn any(words: &str, of: &[&str]) -> bool {
    of.iter().any(|word| words.contains(word))
}

fn is_overflow(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "too_many_prompt_tokens",
        "too_many_tokens",
        "request_too_large",
        "prompt_too_long",
        "input_too_long",
        "max_context_length_exceeded",
    ];
    if said.has_code(&codes) {
        return true;
    }
    // the limit of the answer, not of the prompt
    let about_output = any(
        words,
        &[
            "number of output tokens",
            "maximum output",
            "max_tokens must be",
            "max_tokens is too large",
        ],
    );
    if about_output || any(words, &["please wait before trying again"]) {
        return false;
    }
    let outright = [
        "prompt is too long",
        "prompt too long",
        "prompt is too large",
        "input is too long",
        "input too long",
        "request is too long",
        "conversation is too long",
        "messages is too long",
        "input tokens exceeded",
        "tokens to keep from the initial prompt",
        "reduce the length of the messages",
        "reduce the length of your messages",
        "reduce the length of the prompt",
        "reduce your message size",
        "reduce your prompt",
        "tokens must be reduced",
        "shorten your prompt",
        "provide a shorter input",
        "using shorter or fewer inputs",
        "request too large for",
        "exceed context limit",
        "exceeds the max_model_len",
        "contains too many tokens",
        "request entity too large",
        "payload too large",
    ];
    if any(words, &outright) {
        return true;
    }
    let about = [
        "context length",
        "context window",
        "context size",
        "context limit",
        "context_length",
        "prompt length",
        "prompt token",
        "prompt tokens",
        "input token",
        "input length",
        "model token limit",
        "number of tokens",
        "token limit exceeded",
        "sequence length",
        "input_tokens",
    ];
    let too_much = [
        "exceed",
        "greater than",
        "larger than",
        "longer than",
        "more than",
        "too long",
        "too many",
        "maximum context length is",
        "maximum prompt length is",
        "over the limit",
        "above the limit",
        "does not fit",
    ];
    let limits_per_time = any(
        words,
        &["per minute", "per min", "per day", "rate limit", "quota"],
    );
    (any(words, &about) && any(words, &too_much) && !limits_per_time) || status == Some(413)
}

fn is_quota(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_credits",
        "insufficient_user_quota",
        "payment_required",
        "access_terminated",
        "usage_limit_reached",
        // z.ai: account in arrears
        "1113",
    ];
    if status == Some(402) || said.has_code(&codes) {
        return true;
    }
    let outright = [
        "credit balance",
        "insufficient balance",
        "insufficient credit",
        "insufficient quota",
        "insufficient funds",
        "out of credits",
        "not enough credits",
        "any credits",
        "no credits",
        "purchase credits",
        "add more credits",
        "payment required",
        "plan and billing details",
        "billing hard limit",
        "monthly usage limit",
        "spending limit",
        "spend limit",
        "usage limit",
        "account is suspended",
        "account is not active",
        "please recharge",
    ];
    let quota = any(words, &["exceeded your current quota", "quota exceeded"])
        || said.has_code(&["resource_exhausted"]);
    if quota && is_google(said) {
        return google_quota_is_final(said, words);
    }
    any(words, &outright)
        || any(
            words,
            &["exceeded your current quota", "daily limit", "daily quota"],
        )
}

/// Google's status words or details are there.
fn is_google(said: &Said) -> bool {
    said.has_code(&["resource_exhausted"])
        || said
            .details
            .iter()
            .any(|detail| detail.get("@type").is_some())
}

/// Google says "exceeded your current quota" for limits per minute as well as for those per day.
fn google_quota_is_final(said: &Said, words: &str) -> bool {
    let per_day = said
        .details
        .iter()
        .filter_map(|detail| detail.get("violations")?.as_array())
        .flatten()
        .filter_map(|violation| violation.get("quotaId").and_then(Value::as_str))
        .any(|id| id.contains("PerDay"));
    // `limit: 0,` but not `limit: 0.5`
    let zero = words.match_indices("limit: 0").any(|(at, found)| {
        let next = words.as_bytes().get(at + found.len());
        !next.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.')
    });
    per_day || zero || any(words, &["per day", "daily"])
}

fn is_auth(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "invalid_api_key",
        "authentication_error",
        "permission_error",
        "permission_denied",
        "unauthenticated",
        "unauthorized",
        "api_key_invalid",
        "api_key_service_blocked",
        "account_deactivated",
        "forbidden",
        "accessdeniedexception",
        "expiredtokenexception",
        "unrecognizedclientexception",
    ];
    match status {
        Some(401) => true,
        // moderation of the prompt answers 403 too
        Some(403) => !any(words, &["moderation", "flagged", "content policy"]),
        Some(400) | None => {
            said.has_code(&codes)
                || any(
                    words,
                    &[
                        "api key not valid",
                        "incorrect api key",
                        "invalid api key",
                        "api key is invalid",
                        "invalid x-api-key",
                        "api key expired",
                        "api_key_invalid",
                        "invalid authentication",
                    ],
                )
        }
        _ => false,
    }
}

fn is_not_found(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "model_not_found",
        "not_found_error",
        "not_found",
        "deploymentnotfound",
        "deployment_not_found",
        "model_not_available",
        "resourcenotfoundexception",
    ];
    match status {
        Some(404 | 410) => true,
        Some(400 | 422) | None => {
            said.has_code(&codes)
                || any(
                    words,
                    &[
                        "model not found",
                        "model does not exist",
                        "unknown model",
                        "no such model",
                    ],
                )
                || (words.contains("model") && words.contains("does not exist"))
                || (words.contains("model") && words.contains("is not found"))
        }
        _ => false,
    }
}

fn is_overloaded(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "overloaded_error",
        "engine_overloaded_error",
        "engine_overloaded",
        "unavailable",
        "service_unavailable",
        "service_unavailable_error",
        "serviceunavailableexception",
        "server_overloaded",
        "server_is_overloaded",
        "slow_down",
        "model_overloaded",
        "modelnotreadyexception",
        "over_capacity",
    ];
    if matches!(status, Some(503 | 529)) || said.has_code(&codes) {
        return true;
    }
    let wordings = [
        "overloaded",
        "over capacity",
        "no capacity",
        "at capacity",
        "too busy",
        "is busy",
        "high demand",
        "high load",
        "heavy load",
    ];
    let may_be = match status {
        Some(429) => !words.contains("rate limit"),
        Some(400) => said.has_code(&["resource_exhausted", "unavailable"]),
        Some(500..=599) | None => true,
        _ => false,
    };
    may_be && any(words, &wordings)
}

fn is_rate_limit(status: Option<u16>, said: &Said, words: &str) -> bool {
    let codes = [
        "rate_limit_error",
        "rate_limit_exceeded",
        "rate_limited",
        "rate_limit",
        "ratelimitreached",
        "too_many_requests",
        "resource_exhausted",
        "throttlingexception",
        "throttling",
        "tokens_exceeded_error",
    ];
    match status {
        Some(429) => true,
        Some(400..=499) | None => {
            said.has_code(&codes)
                || (status.is_none()
                    && any(
                        words,
                        &[
                            "rate limit",
                            "rate-limit",
                            "too many requests",
                            "too many tokens, please wait",
                        ],
                    ))
        }
        _ => said.has_code(&[
            "rate_limit_error",
            "rate_limit_exceeded",
            "throttlingexception",
        ]),
    }
}
