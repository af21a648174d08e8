//! Arguments of a tool call: JSON that arrives in fragments from a model that may break it.
//!
//! The decoders watch with `Watch` when the text is a complete object, so that a call can run before
//! the answer ends, and turn the whole text into a value with `parse`. The driver uses `explain` for
//! what the model is told about broken JSON, the UI uses `preview` for what a growing call says so far.
//! No tool is known here.

use serde_json::{Map, Value};

/// Follows a JSON text fragment by fragment and knows when its outermost object is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// Open brackets, true for an object.
    open: Vec<bool>,
    in_string: bool,
    escaped: bool,
    /// True once something stood inside an object.
    filled: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Inside,
    Closed,
    Broken,
}

/// Deeper arguments than these are taken for broken; serde_json's own limit is the same.
const MAX_DEPTH: usize = 127;

impl Watch {
    /// Takes the next fragment.
    pub fn feed(&mut self, fragment: &str) {
        for byte in fragment.bytes() {
            self.byte(byte);
        }
    }

    /// True if the text so far is an object with content that is closed: nothing but white space can
    /// follow. `{}` alone does not count, because some servers send it before the real arguments.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed && self.filled
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        if byte.is_ascii_whitespace() {
            return;
        }
        match (self.state, byte) {
            (State::Before, b'{') => {
                self.state = State::Inside;
                self.open.push(true);
            }
            (State::Before | State::Closed, _) => self.state = State::Broken,
            (State::Broken, _) => {}
            (State::Inside, b'{' | b'[') => {
                self.filled = true;
                self.open.push(byte == b'{');
                if self.open.len() > MAX_DEPTH {
                    self.state = State::Broken;
                }
            }
            (State::Inside, b'}' | b']') => {
                if self.open.pop() != Some(byte == b'}') {
                    self.state = State::Broken;
                } else if self.open.is_empty() {
                    self.state = State::Closed;
                }
            }
            (State::Inside, _) => {
                self.filled = true;
                self.in_string = byte == b'"';
            }
        }
    }
}

/// The arguments that this text holds. Empty text and `null` mean no arguments; an object that was
/// put into a JSON string (some models do) is taken out.
///
/// # Errors
/// The text itself if it is no JSON.
pub fn parse(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(map)) => Ok(Value::Object(map)),
            _ => Ok(Value::String(inner)),
        },
        Ok(value) => Ok(value),
        Err(_) => Err(raw.to_owned()),
    }
}

/// What is wrong with a text that `parse` refused, for the model that wrote it: what, where, what to do.
pub fn explain(raw: &str) -> String {
    let Err(error) = serde_json::from_str::<Value>(raw) else {
        return "The arguments are valid JSON, but the answer broke off before the call was complete. \
                Make the call again."
            .to_owned();
    };
    if error.is_eof() {
        return format!(
            "The arguments broke off after {} characters, before the JSON was complete. Make the call \
             again; if the arguments are very long, split the work into smaller calls.",
            raw.chars().count()
        );
    }
    let near: String = raw
        .lines()
        .nth(error.line().saturating_sub(1))
        .map(|line| {
            let from = error.column().saturating_sub(20);
            line.chars().skip(from).take(40).collect()
        })
        .unwrap_or_default();
    format!(
        "The arguments are not valid JSON: {error}, near `{near}`. Make the call again with valid JSON; \
         quotes, backslashes and line breaks inside strings must be escaped."
    )
}

/// What an unfinished text says so far: open strings, lists and objects are closed, a last key
/// without a value is left out. An empty object if there is nothing to see yet. Costs time in
/// proportion to the text: for a frame, not for every fragment.
pub fn preview(raw: &str) -> Value {
    let mut open: Vec<u8> = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    // Where the text can be cut so that what stands before it is whole, with what closes it there.
    let mut safe: Option<(usize, Vec<u8>)> = None;
    for (at, byte) in raw.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => {
                open.push(b'}');
                safe = Some((at + 1, open.clone()));
            }
            b'[' => {
                open.push(b']');
                safe = Some((at + 1, open.clone()));
            }
            b'}' | b']' => {
                open.pop();
                safe = Some((at + 1, open.clone()));
            }
            b',' => safe = Some((at, open.clone())),
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            break;
        }
    }
    let close = |text: &str, open: &[u8]| -> Option<Value> {
        let mut whole = text.to_owned();
        whole.extend(open.iter().rev().map(|byte| char::from(*byte)));
        serde_json::from_str(&whole).ok()
    };
    let open_string = in_string.then(|| {
        let kept = if escaped { raw.len() - 1 } else { raw.len() };
        // an escape cut in its middle (`\u00`) is taken back
        let kept = raw
            .get(..kept)
            .and_then(|text| text.rfind('\\'))
            .filter(|at| raw.len() - at < 6 && raw.as_bytes().get(at + 1) == Some(&b'u'))
            .unwrap_or(kept);
        format!("{}\"", raw.get(..kept).unwrap_or(""))
    });
    open_string
        .and_then(|text| close(&text, &open))
        .or_else(|| close(raw, &open))
        .or_else(|| {
            let (at, open) = safe?;
            close(raw.get(..at)?, &open)
        })
        .filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(Map::new()))
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
