//! Lenient reading of JSON whose types a server may get wrong.
//!
//! The decoders use `Text` in the typed fast paths and the getters on trees everywhere else: a field of
//! the wrong type is a field that is not there, never a failed answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// Text borrowed from the event unless it has escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text at `key`; none if it is missing, no text, or empty.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The items of the list at `key`; nothing if there is none.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The whole number at `path` (keys separated by dots); also one written as a float or as text. None
/// if negative.
pub(super) fn number(value: &Value, path: &str) -> Option<u64> {
    let at = path
        .split('.')
        .try_fold(value, |value, key| value.get(key))?;
    at.as_u64()
        .or_else(|| at.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
        .or_else(|| at.as_str()?.trim().parse().ok())
}

/// What stands at `key` unless it is null.
pub(super) fn some<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// A list of texts that count as one: a plain text, a list of texts, or of objects with a `text` (or
/// `content`).
pub(super) fn joined_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(joined_text).collect(),
        Value::Object(_) => text(value, "text")
            .or_else(|| text(value, "content"))
            .unwrap_or("")
            .to_owned(),
        _ => String::new(),
    }
}
