//! Whether an error means that credit or a lasting quota is used up, so that waiting a little is no help.

use serde_json::Value;

use super::body::Said;
use super::kind::any;

/// True if credit or a lasting quota is used up.
pub(super) fn is_quota(status: Option<u16>, said: &Said, words: &str) -> bool {
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
        "usage_not_included",
        "arrearage",
        "accountoverdueerror",
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
        "all available credits",
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
        "free-models-per-day",
        "valid credit card",
        "credit limit exceeded",
        "daily free allocation",
        "calls / month",
        "requests per month",
        // Bedrock
        "tokens per day, please wait",
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
