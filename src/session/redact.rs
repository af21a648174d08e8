//! Takes secrets out of what leaves the machine: exports.
//!
//! Two nets: the values of environment variables that hold keys, and the shapes of known keys. What
//! a model or a tool printed is searched too, which is why this works on text and not on fields.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// A value shorter than this is too likely to be an ordinary word.
const SHORTEST: usize = 8;

/// Shapes of secrets. Where a group `secret` exists, only that is replaced.
const SHAPES: &[&str] = &[
    // model providers and the like: a prefix that nothing else has
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\b(?:gsk|xai|pplx|hf|r8|fw|csk|nvapi|tgp_v1|ya29|dop_v1|glpat|npm|pypi|rk_live|sk_live|rk_test|sk_test|whsec|shpat|SG|dapi|lin_api|ghp|gho|ghu|ghs|ghr|github_pat)[_.-][A-Za-z0-9_.-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    // a JSON web token
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
    // user:password@host
    r"\b[a-z][a-z0-9+.-]*://[^\s/:@]*:(?P<secret>[^\s/@]+)@",
    r#"(?i)[a-z0-9_-]*(?:api[_-]?key|secret|access[_-]?key|auth[_-]?token|access[_-]?token|passwo?r?d|private[_-]?key)["']?\s*[=:]\s*["']?(?P<secret>[A-Za-z0-9_./+~=-]{12,})"#,
];

/// Finds secrets in text and replaces them.
#[derive(Debug)]
pub struct Redactor {
    shapes: Vec<Regex>,
    values: Vec<String>,
}

/// True for names of environment variables that hold keys.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    [
        "_API_KEY",
        "_APIKEY",
        "_TOKEN",
        "_SECRET",
        "_SECRET_KEY",
        "_ACCESS_KEY",
        "_PASSWORD",
        "_PASSWD",
        "_KEY",
        "_CREDENTIALS",
    ]
    .iter()
    .any(|end| name.ends_with(end))
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

    /// One that knows these secrets (and all shapes); values under eight characters are ignored.
    pub fn with_values(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = secrets
            .into_iter()
            .filter(|value| value.len() >= SHORTEST && !value.starts_with('/'))
            .collect();
        // a secret that is part of another one must not spoil it
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self {
            shapes: SHAPES.iter().filter_map(|s| Regex::new(s).ok()).collect(),
            values,
        }
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), REDACTED));
            }
        }
        for shape in &self.shapes {
            if !shape.is_match(&text) {
                continue;
            }
            let replaced = shape.replace_all(&text, |found: &regex::Captures<'_>| {
                let whole = found.get(0).map_or("", |m| m.as_str());
                match found.name("secret").map(|m| m.as_str()) {
                    Some(REDACTED) => whole.to_owned(),
                    Some(secret) => whole.replace(secret, REDACTED),
                    None => REDACTED.to_owned(),
                }
            });
            text = Cow::Owned(replaced.into_owned());
        }
        text
    }

    /// Takes the secrets out of all strings of a JSON value.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.json(field)),
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
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_valid_pattern() {
        for shape in SHAPES {
            Regex::new(shape).expect("valid");
        }
    }

    #[test]
    fn keys_are_found_by_their_shape() {
        let redactor = Redactor::with_values([]);
        // put together here, so that no scanner takes this file for a leak
        let key = format!("key {}-{}-{}!", "sk", "ant", "api03_abcdefghijklmnop");
        assert_eq!(redactor.text(&key), "key [redacted]!");
        for (text, clean) in [
            (
                "OPENAI_API_KEY=abcdEFGH12345678",
                "OPENAI_API_KEY=[redacted]",
            ),
            (
                "\"api_key\": \"abcdEFGH12345678\"",
                "\"api_key\": \"[redacted]\"",
            ),
            (
                "Authorization: Bearer abcdefghijklmnopqrst",
                "Authorization: Bearer [redacted]",
            ),
            (
                "https://me:hunter2@example.org/x",
                "https://me:[redacted]@example.org/x",
            ),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
            ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
                "[redacted]\nrest",
            ),
        ] {
            assert_eq!(redactor.text(text), clean);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        let redactor = Redactor::with_values([]);
        for text in [
            "the secret of good code is naming",
            "let token = lexer.next_token();",
            "https://example.org:8080/path@x",
            "task-based, risk-free, sk-1",
            "password: see below",
            "commit 0123456789abcdef0123456789abcdef01234567",
            "msg_018bcfe568007000800000000000000a",
        ] {
            assert_eq!(redactor.text(text), text);
        }
    }

    #[test]
    fn values_of_key_variables_are_found_wherever_they_stand() {
        let variables = [
            ("ACME_API_KEY", "plain-words-key"),
            ("PATH", "/usr/bin:/bin"),
            ("EDITOR_KEY", "short"),
        ];
        let redactor =
            Redactor::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(
            redactor.text("echo plain-words-key /usr/bin:/bin short"),
            "echo [redacted] /usr/bin:/bin short"
        );
        let mut value = serde_json::json!({"a": ["x plain-words-key"], "b": 1});
        redactor.json(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x [redacted]"], "b": 1}));
    }
}
