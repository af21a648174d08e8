//! What kind of failure an error answer is. Codes are believed first, then wordings, then the status:
//! providers use the same status for very different things.

use super::body::Said;
use super::overflow::is_overflow;
use super::quota::is_quota;
use crate::protocol::FaultKind;

/// A judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// What kind.
    pub(super) kind: FaultKind,
    /// True if asking again may help.
    pub(super) retryable: bool,
}

/// The request is too large.
pub(super) const OVERFLOW: Verdict = Verdict {
    kind: FaultKind::ContextOverflow,
    retryable: false,
};

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
        _ if said.has_code(&bad_request) || said.codes.iter().any(|code| is_refusal(code)) => {
            FaultKind::BadRequest
        }
        _ => FaultKind::Server,
    }
}

/// True for codes such as `invalid_image` or `cyber_policy_violation`.
fn is_refusal(code: &str) -> bool {
    code.starts_with("invalid_") || code.starts_with("unsupported_") || code.contains("policy")
}

/// True if one of these is in the words.
pub(super) fn any(words: &str, of: &[&str]) -> bool {
    of.iter().any(|word| words.contains(word))
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
        // LiteLLM without a database, which it would look an unknown key up in
        "no_db_connection",
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
                        "api key not found",
                        "invalid api token",
                        "no auth credentials",
                        "invalid authentication",
                        "login fail",
                        "credential is only authorized",
                        "organization has been disabled",
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
        "model_decommissioned",
        "resourcenotfoundexception",
    ];
    match status {
        // redirects and refused methods: the address is not that of the API
        Some(300..=399 | 404 | 405 | 410) => true,
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
        "capacity_exceeded",
    ];
    if matches!(status, Some(498 | 503 | 529)) || said.has_code(&codes) {
        return true;
    }
    let wordings = [
        "overloaded",
        "over capacity",
        "capacity exceeded",
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
