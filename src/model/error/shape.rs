//! Whether an event of a stream is an error, whatever shape its server gives errors.
//!
//! The decoders ask before they take an event that is none of their own. What the error says is found by
//! `super::body`.

use serde_json::Value;

/// True if there is an `error` that says something. Some servers send an empty one with every chunk.
pub(in crate::model) fn has_error(event: &Value) -> bool {
    event.get("error").is_some_and(is_something)
}

/// True if this event, which has nothing of an answer in it, is an error.
pub(in crate::model) fn is_error(event: &Value) -> bool {
    let Value::Object(map) = event else {
        return false;
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or("");
    let there = |keys: &[&str]| {
        keys.iter()
            .any(|key| map.get(*key).is_some_and(is_something))
    };
    let is_event = there(&["type", "object", "id", "event"]);
    map.get("error").is_some_and(|error| !error.is_null())
        || there(&[
            "errors",
            "detail",
            "fault",
            "errorMessage",
            "error_message",
            "error_msg",
        ])
        || [text("type"), text("object"), text("event")]
            .iter()
            .any(|kind| kind.rsplit('.').next() == Some("error"))
        || (!text("message").is_empty()
            && (!is_event || there(&["code", "status", "status_code", "statusCode"])))
        || has_base_error(event)
}

/// True if MiniMax says so, in a member of every chunk; 0 is success.
pub(in crate::model) fn has_base_error(event: &Value) -> bool {
    event
        .pointer("/base_resp/status_code")
        .and_then(Value::as_i64)
        .is_some_and(|code| code != 0)
}

/// False for what only looks as if it were there: null, `false`, `0`, `""`, `{}`, `[]`, and an object
/// of such.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(told) => *told,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim(), "" | "0"),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => map.values().any(is_something),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_known_by_any_of_their_shapes() {
        for event in [
            json!({"error": {"message": "x"}}),
            json!({"error": "x"}),
            json!({"error": {}}),
            json!({"errors": [{"message": "x"}], "success": false}),
            json!({"detail": "x"}),
            json!({"object": "error", "message": "x"}),
            json!({"type": "response.error", "code": "x"}),
            json!({"code": "Throttling", "message": "x", "request_id": "1"}),
            json!({"message": "Internal server error"}),
            json!({"errorMessage": "x", "errorType": "y"}),
            json!({"error_code": 429, "error_msg": "x"}),
            json!({"fault": {"faultstring": "x"}}),
            json!({"base_resp": {"status_code": 1002}}),
        ] {
            assert!(is_error(&event), "{event}");
        }
        for event in [
            json!({}),
            json!(null),
            json!("error"),
            json!({"type": "ping"}),
            json!({"type": "progress", "message": "thinking"}),
            json!({"id": "1", "object": "chat.completion.chunk", "choices": []}),
            json!({"base_resp": {"status_code": 0, "status_msg": ""}}),
            json!({"error": null, "usage": {"prompt_tokens": 1}}),
        ] {
            assert!(!is_error(&event), "{event}");
        }
        for error in [
            json!({}),
            json!(""),
            json!(false),
            json!({"code": 0, "message": ""}),
        ] {
            assert!(!has_error(&json!({ "error": error })));
        }
    }
}
