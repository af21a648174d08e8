//! ANSWER → FAULT: what a provider's error means, whether asking again helps, and what the user can do.
//!
//! The transport calls `classify` for answers with an error status, the decoders call the rest for
//! errors inside a stream. `body` finds the words in any envelope, `kind` judges them, `delay` finds
//! how long to wait, `sentence` writes what the user reads, `mask` keeps keys out of it. Failures of the
//! connection itself belong to the transport.

mod body;
mod delay;
mod kind;
mod mask;
mod overflow;
mod quota;
mod sentence;
mod shape;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use self::body::Said;
pub(super) use self::shape::{has_base_error, has_error, is_error};
use crate::protocol::{Fault, FaultKind, Millis};

/// A fault and the provider's own words in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    /// What the rest of the program sees.
    pub(super) fault: Fault,
    /// The provider's message, keys masked; none if there was none.
    pub(super) said: Option<String>,
}

/// What an error answer means. `provider` is the id in the configuration; header names may have any
/// case. A `retry-after` date is counted from the answer's own `date`, or from now.
pub fn classify(provider: &str, status: u16, headers: &[(String, String)], body: &[u8]) -> Fault {
    let now = now();
    let mut said = Said::of_body(body);
    let header = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    };
    if let Some(amazon) = header("x-amzn-errortype") {
        said.take_code(&amazon.into());
    }
    let mut verdict = kind::judge(Some(status), &said);
    if status == 400 && body.trim_ascii().is_empty() && provider.contains("cerebras") {
        // that server's only way to say that the prompt is too long
        verdict = kind::OVERFLOW;
    }
    let should_retry = header("x-should-retry").map(|value| value.eq_ignore_ascii_case("true"));
    let hopeless = matches!(
        verdict.kind,
        FaultKind::Auth | FaultKind::Quota | FaultKind::ContextOverflow
    );
    let retryable = match should_retry {
        Some(retry) if !hopeless => retry,
        _ => verdict.retryable,
    };
    let wait = delay::of_headers(&header, now)
        .or_else(|| delay::of_said(&said, now))
        .or_else(|| {
            // other answers carry these counts too, and they have nothing to do with them
            let limited = verdict.kind == FaultKind::RateLimit;
            limited.then(|| delay::of_limits(headers, now))?
        });
    Fault {
        kind: verdict.kind,
        message: sentence::message(provider, verdict.kind, Some(status), &said),
        hint: sentence::hint(provider, verdict.kind, &said),
        retryable,
        status: Some(status),
        retry_after_ms: wait.filter(|_| retryable),
    }
}

fn now() -> Millis {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as Millis)
}

/// What an error event inside a stream means. Takes the whole event.
pub(super) fn in_stream(event: &Value) -> Failure {
    of_said(&Said::of_value(event))
}

fn of_said(said: &Said) -> Failure {
    let status = said.status;
    let verdict = kind::judge(status, said);
    Failure {
        fault: Fault {
            kind: verdict.kind,
            message: sentence::message("", verdict.kind, status, said),
            hint: sentence::hint("", verdict.kind, said),
            retryable: verdict.retryable,
            status,
            retry_after_ms: delay::of_said(said, now()).filter(|_| verdict.retryable),
        },
        said: said.message.as_deref().map(mask::mask),
    }
}

/// What a chat `finish_reason` means that is a failure rather than an end; none for all others.
pub(super) fn finish_reason(reason: &str) -> Option<Failure> {
    let (kind, what) = match reason {
        "error" => (
            FaultKind::Server,
            "stopped with an error and did not say which",
        ),
        "network_error" => (FaultKind::Server, "lost its own connection to the model"),
        "insufficient_system_resource" => (
            FaultKind::Overloaded,
            "ran out of resources in the middle of the answer",
        ),
        _ => return None,
    };
    Some(Failure {
        fault: Fault::new(
            kind,
            format!("The provider {what} (finish reason `{reason}`)."),
            "Try again; if it lasts, choose another model with /model.",
        )
        .retryable(),
        said: None,
    })
}

/// The answer was cancelled on the server's side.
pub(super) fn cancelled() -> Failure {
    protocol_of(
        FaultKind::Server,
        "The provider cancelled the answer before it was complete.",
    )
}

/// A second message began inside the first.
pub(super) fn spliced() -> Failure {
    protocol_of(
        FaultKind::Server,
        "A second answer began in the middle of the first one, so neither can be trusted; a gateway \
         between dunlin and the model may have retried the request.",
    )
}

/// The server sent something that is no model answer; `what` completes "The server sent …".
pub(super) fn protocol(what: &str) -> Failure {
    protocol_of(FaultKind::Protocol, &format!("The server sent {what}."))
}

/// The same with a whole sentence.
pub(super) fn protocol_sentence(sentence: &str) -> Failure {
    protocol_of(FaultKind::Protocol, sentence)
}

fn protocol_of(kind: FaultKind, message: &str) -> Failure {
    let hint = "Try again; if it lasts, check the provider's base URL and wire format in the configuration.";
    Failure {
        fault: Fault::new(kind, message, hint).retryable(),
        said: None,
    }
}

/// An event whose data is no JSON.
pub(super) fn not_json(name: Option<&str>, data: &str, error: &serde_json::Error) -> Failure {
    // words are the server's own: `data: upstream timed out`
    if name == Some("error") || data.starts_with(|c: char| c.is_alphabetic()) {
        return of_said(&Said::of_body(data.as_bytes()));
    }
    let start = mask::mask(&sentence::clip(data, 80));
    protocol(&format!(
        "an event that is not valid JSON ({error}); it begins with `{start}`"
    ))
}

/// The stream ended before the answer did. `stray` is what came last and was no event.
pub(super) fn truncated(stray: &[u8]) -> Failure {
    let said = Said::of_body(stray);
    let is_json = serde_json::from_slice::<Value>(stray).is_ok_and(|said| is_error(&said));
    if said.page.is_some() || is_json {
        return of_said(&said);
    }
    let fault = Fault::new(
        FaultKind::StreamTruncated,
        "The answer broke off before its end: the server closed the connection too early.",
        "Try again; what had arrived is kept.",
    );
    Failure {
        fault: fault.retryable(),
        said: None,
    }
}

/// The body is an error although the status says success, or no model answer at all.
pub(super) fn not_a_stream(body: &[u8]) -> Failure {
    if body.trim_ascii().is_empty() {
        return truncated(b"");
    }
    let said = Said::of_body(body);
    let cut_json = said.page.is_none()
        && matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
        && serde_json::from_slice::<Value>(body).is_err();
    if cut_json {
        return truncated(b"");
    }
    of_said(&said)
}

/// Classifies a stored error answer {status, headers, body} for `dunlin debug error`.
pub fn debug_error(provider: &str, stored: &Value) -> Value {
    let status = stored["status"].as_u64().unwrap_or(0) as u16;
    let headers = delay::pairs(&stored["headers"]);
    let body = match &stored["body"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let fault = classify(provider, status, &headers, body.as_bytes());
    json!({
        "kind": fault.kind,
        "retryable": fault.retryable,
        "retry_delay_ms": fault.retry_after_ms,
        "message": fault.message,
        "hint": fault.hint,
    })
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "wording_tests.rs"]
mod wording_tests;
