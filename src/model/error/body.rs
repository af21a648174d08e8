//! Finds what a provider said in whatever envelope it came: nested, flat, `detail`, a string, a list,
//! HTML, plain text, nothing.

use serde_json::Value;

use super::sentence::clip;

/// What an error answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// The provider's sentence.
    pub(super) message: Option<String>,
    /// Further words (the upstream's message, a parameter): judged, not always shown.
    pub(super) more: Vec<String>,
    /// Machine-readable words: `type`, `code`, `status`, `reason`; lower case.
    pub(super) codes: Vec<String>,
    /// An HTTP status told inside the body.
    pub(super) status: Option<u16>,
    /// Google's `details` and everything else with a structure.
    pub(super) details: Vec<Value>,
    /// Set if the body is a web page instead of an API's answer.
    pub(super) page: Option<()>,
}

/// Where sentences stand, or objects that hold them.
const SENTENCES: [&str; 15] = [
    "error",
    "errors",
    "fault",
    "detail",
    "message",
    "Message",
    "msg",
    "error_message",
    "errorMessage",
    "error_msg",
    "base_resp",
    "status_msg",
    "faultstring",
    "title",
    "error_description",
];

/// Where machine-readable words stand.
const CODES: [&str; 12] = [
    "__type",
    "type",
    "code",
    "status",
    "error_type",
    "errorType",
    "error_code",
    "errorcode",
    "reason",
    "status_code",
    "statusCode",
    "http_code",
];

/// Longest plain text or page that is looked at.
const MAX_TEXT: usize = 64 * 1024;

impl Said {
    /// What this body says.
    pub(super) fn of_body(body: &[u8]) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return Self::of_value(&value);
        }
        let text = String::from_utf8_lossy(&body[..body.len().min(MAX_TEXT)]);
        let text = text.trim();
        if text.starts_with('<') {
            return Self {
                message: Some(page_text(text)).filter(|title| !title.is_empty()),
                page: Some(()),
                ..Self::default()
            };
        }
        // an error status with an event stream as its body: gateways that had begun to stream
        if text.starts_with("data:") || text.starts_with("event:") {
            let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let said = events
                .filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok())
                .map(|value| Self::of_value(&value))
                .find(|said| said.message.is_some());
            if let Some(said) = said {
                return said;
            }
        }
        // a JSON text behind something else, as proxies write it: `upstream error: {…}`
        let inner = text
            .find('{')
            .and_then(|at| serde_json::from_str::<Value>(text.get(at..)?).ok())
            .map(|value| Self::of_value(&value))
            .filter(|said| said.message.is_some());
        inner.unwrap_or_else(|| Self {
            message: (!text.is_empty()).then(|| text.to_owned()),
            ..Self::default()
        })
    }

    /// What this JSON says.
    pub(super) fn of_value(value: &Value) -> Self {
        let mut said = Self::default();
        said.take(value, 0);
        said
    }

    fn take(&mut self, value: &Value, depth: usize) {
        if depth > 8 {
            return;
        }
        match value {
            Value::String(text) => self.take_text(text, depth),
            Value::Array(items) => items
                .iter()
                .take(8)
                .for_each(|item| self.take(item, depth + 1)),
            Value::Object(map) => {
                // the innermost sentence is the best one: look there first
                for key in SENTENCES {
                    if let Some(inner) = map.get(key) {
                        self.take(inner, depth + 1);
                    }
                }
                for key in CODES {
                    if let Some(code) = map.get(key) {
                        self.take_code(code);
                    }
                }
                if let Some(metadata) = map.get("metadata") {
                    for key in ["raw", "provider_name"] {
                        if let Some(Value::String(text)) = metadata.get(key) {
                            self.more.push(text.clone());
                        }
                    }
                    self.details.push(metadata.clone());
                }
                if let Some(inner) = map.get("innererror").or_else(|| map.get("inner_error")) {
                    self.take_code(&inner["code"]);
                }
                for detail in map
                    .get("details")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    self.take_code(&detail["reason"]);
                    self.details.push(detail.clone());
                }
                self.details.extend(
                    ["retry_after", "retry_after_ms", "estimated_time"]
                        .iter()
                        .filter(|key| map.contains_key(**key))
                        .map(|_| Value::Object(map.clone())),
                );
            }
            _ => {}
        }
    }

    fn take_text(&mut self, text: &str, depth: usize) {
        let text = text.trim();
        // some gateways put the upstream's whole body into the message
        if text.starts_with('{')
            && let Ok(inner @ Value::Object(_)) = serde_json::from_str::<Value>(text)
        {
            self.take(&inner, depth + 1);
        } else if self.message.is_none() && !text.is_empty() {
            self.message = Some(text.to_owned());
        } else if !text.is_empty() {
            self.more.push(text.to_owned());
        }
    }

    /// Takes a machine-readable word.
    pub(super) fn take_code(&mut self, code: &Value) {
        let number = match code {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        if let Some(status) = number.filter(|status| (400..600).contains(status)) {
            self.status.get_or_insert(status as u16);
        }
        match code {
            Value::String(text) if !text.is_empty() => {
                // AWS: `com.amazonaws.bedrock#ThrottlingException:http://…`
                let name = text.rsplit('#').next().unwrap_or(text);
                let name = name.split(":http").next().unwrap_or(name);
                self.codes.push(name.to_ascii_lowercase());
            }
            Value::Number(number) => self.codes.push(number.to_string()),
            _ => {}
        }
    }

    /// Everything that was said, lower case, for wordings.
    pub(super) fn words(&self) -> String {
        let mut words = self.message.clone().unwrap_or_default();
        for more in &self.more {
            words.push('\n');
            words.push_str(more);
        }
        words.to_lowercase()
    }

    /// True if one of these codes was given.
    pub(super) fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }
}

/// The title of a page, or the start of its text.
fn page_text(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower.get(at..)?.find('>')? + 1;
        let end = start + lower.get(start..)?.find('<')?;
        html.get(start..end)
    });
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        return clip(title.trim(), 120);
    }
    let mut text = String::new();
    let mut in_tag = false;
    for character in html.chars() {
        match character {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            other if !in_tag => text.push(other),
            _ => {}
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    clip(&words.join(" "), 120)
}
