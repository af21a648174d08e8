//! Requests in OpenAI's Responses format.
//!
//! Rules that shape this file: nothing is stored at the provider (`store: false`), so reasoning goes
//! back encrypted and only with the item that it led to; every call has exactly one output item right
//! after the assistant's items; ids of items are left out where they would be looked up.

use serde_json::{Map, Value, json};

use super::history::{Asked, Call, File, IdRule, Reply, Role, Said, Segment};
use super::media::{Media, media};
use super::quirks::Quirks;
use super::{Chunk, effort, schema};
use crate::model::{Request, ToolSpec};

pub(super) const IDS: IdRule = IdRule::Safe {
    most: 64,
    own: false,
};

pub(super) fn role(provider: &Value) -> Role {
    match provider.get("type").and_then(Value::as_str) {
        Some("reasoning") => match provider.get("item") {
            Some(item) if is_encrypted(item) => Role::Leads,
            _ => Role::Nothing,
        },
        Some("message") => Role::Leads,
        Some("opaque") if provider.get("item").is_some_and(Value::is_object) => Role::Content,
        _ => Role::Nothing,
    }
}

/// Without its encrypted content an item that nobody stored cannot be found again.
fn is_encrypted(item: &Value) -> bool {
    item.get("encrypted_content")
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}

/// The JSON of a segment: items of the assistant, outputs, a user message.
pub(super) fn segment(segment: &Segment<'_>, quirks: &Quirks) -> Chunk {
    let mut chunk = Chunk::default();
    let mut phase: Option<&Value> = None;
    for said in &segment.assistant {
        match said {
            Said::Text(text) => {
                let mut item = json!({"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text}]});
                if let Some(phase) = phase {
                    item["phase"] = phase.clone();
                }
                chunk.push(&item);
            }
            Said::Reasoning { provider, .. } => {
                phase = None;
                if provider["type"] == "message" {
                    phase = provider.get("phase").filter(|p| p.is_string());
                } else if let Some(item) = provider.get("item") {
                    chunk.push(item);
                }
            }
            Said::Call(call) => {
                phase = None;
                chunk.push(&tool_call(call));
            }
        }
    }
    for reply in &segment.replies {
        chunk.push(&output(reply, quirks));
    }
    if !segment.user.is_empty() {
        let parts: Vec<Value> = segment
            .user
            .iter()
            .map(|asked| match asked {
                Asked::Text(text) => json!({"type": "input_text", "text": text}),
                Asked::File(f) => file(*f, quirks),
            })
            .collect();
        chunk.push(&json!({"type": "message", "role": "user", "content": parts}));
    }
    chunk
}

fn tool_call(call: &Call<'_>) -> Value {
    let mut item = match call.input {
        Value::String(text) => json!({"type": "custom_tool_call", "call_id": call.id,
            "name": call.name, "input": text}),
        input => json!({"type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": super::anthropic::arguments(input).to_string()}),
    };
    if let Some(space) = call.provider.and_then(|p| p.get("namespace"))
        && space.is_string()
    {
        item["namespace"] = space.clone();
    }
    item
}

fn output(reply: &Reply<'_>, quirks: &Quirks) -> Value {
    let kind = if reply.custom {
        "custom_tool_call_output"
    } else {
        "function_call_output"
    };
    let mut item = json!({"type": kind, "call_id": reply.id, "output": reply.output});
    if !reply.files.is_empty() {
        let mut parts = Vec::new();
        if !reply.output.trim().is_empty() {
            parts.push(json!({"type": "input_text", "text": reply.output}));
        }
        parts.extend(reply.files.iter().map(|f| file(*f, quirks)));
        item["output"] = Value::Array(parts);
    }
    item
}

fn file(file: File<'_>, quirks: &Quirks) -> Value {
    match media(file, quirks) {
        Media::Image { mime, data } => json!({"type": "input_image", "detail": "auto",
            "image_url": format!("data:{mime};base64,{data}")}),
        Media::Pdf { name, data } => json!({"type": "input_file", "filename": name,
            "file_data": format!("data:application/pdf;base64,{data}")}),
        Media::Text(text) => json!({"type": "input_text", "text": text}),
    }
}

/// The list of tools.
pub(super) fn tools(tools: &[ToolSpec]) -> Value {
    tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": schema::reduce(&tool.schema), "strict": false})
        })
        .collect()
}

/// Everything but the input and tools.
pub(super) fn head(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("model".to_owned(), json!(request.model.model));
    head.insert("stream".to_owned(), json!(true));
    head.insert("store".to_owned(), json!(false));
    if quirks.limit_output {
        head.insert(
            "max_output_tokens".to_owned(),
            // Less than 16 is refused.
            json!(request.max_output.min(quirks.max_output).max(16)),
        );
    }
    if quirks.cache_key {
        head.insert("prompt_cache_key".to_owned(), json!(request.session));
    }
    if quirks.reasoning {
        head.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        let mut reasoning = Map::new();
        let effort = request.effort;
        if let Some(level) = effort.and_then(|e| effort::openai(&request.model.model, e)) {
            reasoning.insert("effort".to_owned(), json!(level));
        }
        if quirks.reasoning_summary {
            reasoning.insert("summary".to_owned(), json!("auto"));
        }
        if !reasoning.is_empty() {
            head.insert("reasoning".to_owned(), Value::Object(reasoning));
        }
    }
    let parts: Vec<&str> = [&*request.system_stable, &*request.system_dynamic]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    if !parts.is_empty() {
        head.insert("instructions".to_owned(), json!(parts.join("\n\n")));
    }
    head
}
