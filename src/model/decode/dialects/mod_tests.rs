//! Streams that nobody has recorded, written from each provider's documentation and from what users
//! of compatible servers report. Each is fed whole and byte by byte. One file for each wire; this one
//! has what they share.

#[path = "anthropic_tests.rs"]
mod anthropic;
#[path = "chat_tests.rs"]
mod chat;
#[path = "framing_tests.rs"]
mod framing;
#[path = "gemini_tests.rs"]
mod gemini;
#[path = "responses_tests.rs"]
mod responses;

use serde_json::{Value, json};

use super::{Wire, decode_bytes};

fn decode(wire: Wire, body: &str) -> Value {
    let whole = decode_bytes(wire, body.as_bytes(), None);
    let cut = decode_bytes(wire, body.as_bytes(), Some(1));
    assert_eq!(cut, whole, "cuts change nothing: {body}");
    whole
}

fn events(events: &[Value]) -> String {
    events.iter().fold(String::new(), |body, event| {
        body + &format!("data: {event}\n\n")
    })
}

/// Compares the members that are named; a call is `name(arguments)`, with `!` if it must not run.
fn expect(wire: Wire, body: &str, expected: &Value) {
    let got = decode(wire, body);
    for (key, value) in expected.as_object().expect("an object") {
        let found = match key.as_str() {
            "calls" => got["tool_calls"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|call| {
                    let bang = if call["incomplete"] == true { "!" } else { "" };
                    json!(format!(
                        "{bang}{}({})",
                        call["name"].as_str().unwrap_or("?"),
                        call["arguments"]
                    ))
                })
                .collect(),
            "error" => got["error"]["kind"].clone(),
            "refusal" => got["extra"]["refusal"].clone(),
            key => got[key].clone(),
        };
        assert_eq!(found, *value, "{key} of {body}\n{got:#}");
    }
}
