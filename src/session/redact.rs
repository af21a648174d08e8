//! Takes secrets out of what leaves the machine: exports.
//!
//! Two nets: the values of environment variables that hold keys (and of stored keys), and the shapes of
//! known keys. What a model or a tool printed is searched too, which is why this works on text and not
//! on fields. Values are found in the disguises that tools give them: JSON escapes, percent signs,
//! entities, hex, base64, broken over lines or by colours.

mod shapes;

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::Regex;
use serde_json::Value;

use self::shapes::Shapes;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// A value shorter than this is too likely to be an ordinary word.
const SHORTEST: usize = 8;
/// A longer value is not one that a program takes as a key; patterns of it would be huge.
const LONGEST: usize = 1_024;

/// Finds secrets in text and replaces them.
#[derive(Debug)]
pub struct Redactor {
    shapes: Shapes,
    values: Vec<Regex>,
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

/// True for what is rather a path to a file of keys than a key.
fn is_path(value: &str) -> bool {
    let inside = value.strip_prefix('/').unwrap_or_default();
    inside.contains('/') && !value.contains(['+', '='])
}

/// What may stand between any two characters of a value: the end of a line with the quoting of both sides
/// (a diff's sign too), a colour.
const BREAK: &str = r"(?:\\?\r?\n[ \t>|+-]*|(?:\\+r)?\\+n[+-]?|\x1b\[[0-9;]*m|\\+(?:u001b|x1b|e|033)\[[0-9;]*m){0,2}";

/// Patterns of a value in all its disguises: as it is, escaped, in percent signs or entities, as hex or
/// base64, broken over lines.
fn patterns(value: &str) -> Vec<Regex> {
    let mut spelled = String::new();
    for (n, letter) in value.chars().enumerate() {
        if n > 0 {
            spelled.push_str(BREAK);
        }
        spelled.push_str(&spellings(letter));
    }
    let mut all = Vec::new();
    // too large a pattern is no reason to let the value pass as it is
    all.extend(built(&spelled).or_else(|| built(&regex::escape(value))));
    let mut hex = String::new();
    for byte in value.bytes() {
        _ = write!(hex, "{byte:02x}");
    }
    all.extend(built(&format!("(?i:{hex})")));
    let encoded: Vec<String> = in_base64(value).iter().map(|text| broken(text)).collect();
    all.extend(built(&encoded.join("|")));
    all
}

fn built(pattern: &str) -> Option<Regex> {
    regex::RegexBuilder::new(pattern)
        .size_limit(32 << 20)
        .build()
        .ok()
}

/// A text that may be broken anywhere.
fn broken(text: &str) -> String {
    let letters = text
        .chars()
        .map(|c| regex::escape(c.encode_utf8(&mut [0; 4])));
    letters.collect::<Vec<_>>().join(BREAK)
}

/// Every way in which a letter may stand in text, JSON, addresses and HTML.
fn spellings(letter: char) -> String {
    let plain = regex::escape(letter.encode_utf8(&mut [0; 4]));
    let mut percent = String::new();
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        // writing to a string cannot fail
        _ = write!(percent, "%{byte:02X}");
    }
    let code = u32::from(letter);
    let escaped = if letter.is_ascii_alphanumeric() {
        ""
    } else {
        r"\\*"
    };
    format!(
        r"(?:{escaped}{plain}|(?i:{percent}|\\+u{code:04x}|\\+u\{{0*{code:x}\}}|\\+x{code:02x}|&#0*{code};|&#x0*{code:x};))"
    )
}

/// What a value becomes in base64, wherever it begins within three bytes; the ends that depend on its
/// neighbours are left out.
fn in_base64(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value.as_bytes());
        // letters that hold a bit of what stands before or after
        let from = (before * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for text in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            let core = text.get(from..to).unwrap_or_default();
            if core.len() >= SHORTEST && !all.iter().any(|known| known == core) {
                all.push(core.to_owned());
            }
        }
    }
    all
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
            values: Vec::new(),
        }
        .and(secrets)
    }

    /// The same, knowing these secrets too.
    #[must_use]
    pub fn and(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = secrets
            .into_iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| (SHORTEST..=LONGEST).contains(&value.len()) && !is_path(value))
            .collect();
        // a secret that is part of another one must not spoil it
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        self.values.extend(values.iter().flat_map(|v| patterns(v)));
        self
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if value.is_match(&text) {
                text = Cow::Owned(value.replace_all(&text, REDACTED).into_owned());
            }
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
