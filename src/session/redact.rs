//! Takes secrets out of what leaves the machine: exports.
//!
//! Two nets: the values of environment variables that hold keys (and of stored keys), and the shapes of
//! known keys. What a model or a tool printed is searched too, which is why this works on text and not
//! on fields. Values are found in the disguises that tools give them: JSON escapes, percent signs,
//! entities, hex, base64, broken over lines or by colours.

mod shapes;
mod values;

use serde_json::Value;
use std::borrow::Cow;

use self::shapes::Shapes;
use self::values::Values;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Finds secrets in text and replaces them.
#[derive(Debug)]
pub struct Redactor {
    shapes: Shapes,
    values: Values,
}

/// Words in names of environment variables that hold keys.
const NAMES: &[&str] = &[
    "APIKEY",
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIALS",
];
/// The same, where nothing stands after them.
const LAST: &[&str] = &["PWD", "PASS", "PAT", "DSN", "AUTH"];
/// What follows such a word where the value is not the key but something about it.
const ABOUT: &[&str] = &[
    "ID",
    "FILE",
    "PATH",
    "NAME",
    "DIR",
    "TYPE",
    "MODE",
    "METHOD",
    "SOCK",
    "URL",
    "URI",
    "HOST",
    "PORT",
    "USER",
    "SIZE",
    "LIMIT",
    "COUNT",
    "TTL",
    "EXPIRY",
    "EXPIRES",
    "ALGORITHM",
    "FORMAT",
    "LAYOUT",
    "REPEAT",
    "DELAY",
    "TIMEOUT",
    "ENABLED",
    "REQUIRED",
    "PREFIX",
    "REGION",
    "ENDPOINT",
];

/// True for names of environment variables that hold keys.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if matches!(name.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    if name.ends_with("WEBHOOK_URL") {
        return true;
    }
    let words = name
        .split(['_', '-'])
        .map(|w| w.trim_end_matches(|c: char| c.is_ascii_digit()));
    let words: Vec<&str> = words.filter(|w| !w.is_empty()).collect();
    let last = words.last().copied().unwrap_or_default();
    let holds = words.iter().any(|word| NAMES.contains(word)) && !ABOUT.contains(&last);
    holds || LAST.contains(&last) || last.ends_with("PASSWORD") || last.ends_with("APIKEY")
}

impl Redactor {
    /// One that knows the secrets among these environment variables (and all shapes).
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let secrets = environment
            .into_iter()
            .filter(|(name, _)| names_a_secret(name))
            .map(|(_, value)| value);
        Self::with_values(secrets)
    }

    /// One that knows the secrets among the environment variables of this process (and all shapes).
    pub fn of_process() -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        Self::new(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    }

    /// One that knows these secrets (and all shapes); values under eight characters are ignored.
    pub fn with_values(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            shapes: Shapes::new(),
            values: Values::default(),
        }
        .and(secrets)
    }

    /// The same, knowing these secrets too.
    #[must_use]
    pub fn and(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.values.add(secrets);
        self
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        if let Some(clean) = self.values.clean(&text, REDACTED) {
            text = Cow::Owned(clean);
        }
        match self.shapes.clean(&text, REDACTED) {
            Some(clean) => Cow::Owned(clean),
            None => text,
        }
    }

    /// Takes the secrets out of all strings of a JSON value, names of fields included.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => {
                let dirty = |name: &String| matches!(self.text(name), Cow::Owned(_));
                if fields.keys().any(dirty) {
                    let all = std::mem::take(fields).into_iter();
                    fields.extend(all.map(|(name, v)| (self.text(&name).into_owned(), v)));
                }
                fields.values_mut().for_each(|field| self.json(field));
            }
            _ => {}
        }
    }
}

/// All strings of a JSON value.
pub(super) fn strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(strings)),
        Value::Object(fields) => Box::new(fields.values().flat_map(strings)),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
#[path = "redact/redact_tests.rs"]
mod tests;
