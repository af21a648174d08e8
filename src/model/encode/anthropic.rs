//! Requests in Anthropic's Messages format.
//!
//! Rules that shape this file: user and assistant alternate, the user begins; results come first in
//! the user message right after their calls; thinking goes back unchanged with its signature and never
//! ends a message; at most four cache points (tools, stable system part, last two user messages).

use serde_json::{Map, Value, json};

use super::history::{Asked, File, IdRule, Role, Said, Segment};
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
        Some("thinking") if is_text(provider.get("signature")) => Role::Leads,
        Some("redacted_thinking") if is_text(provider.get("data")) => Role::Leads,
        Some("opaque") if provider.get("block").is_some_and(Value::is_object) => Role::Content,
        _ => Role::Nothing,
    }
}

fn is_text(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}

/// The JSON of a segment: an assistant and a user message.
pub(super) fn segment(segment: &Segment<'_>, quirks: &Quirks) -> Chunk {
    let mut chunk = Chunk::default();
    if !segment.assistant.is_empty() {
        let blocks: Vec<Value> = segment.assistant.iter().map(said).collect();
        chunk.thinks = matches!(segment.assistant.first(), Some(Said::Reasoning { provider, .. })
            if role(provider) == Role::Leads);
        // A turn that the provider paused in the middle of its own tools is sent back as it is.
        chunk.paused = matches!(segment.assistant.last(), Some(Said::Reasoning { provider, .. })
            if role(provider) == Role::Content);
        chunk.push(&json!({"role": "assistant", "content": blocks}));
    }
    let mut blocks = Vec::new();
    for reply in &segment.replies {
        let mut content = vec![json!({"type": "text", "text": reply.output})];
        if reply.output.trim().is_empty() {
            content.clear();
        }
        content.extend(reply.files.iter().map(|f| file(*f, quirks)));
        let mut block = json!({"type": "tool_result", "tool_use_id": reply.id, "content": content});
        if let ([text], true) = (content.as_slice(), reply.files.is_empty()) {
            block["content"] = text["text"].clone();
        }
        if reply.error {
            block["is_error"] = json!(true);
        }
        blocks.push(block);
    }
    blocks.extend(segment.user.iter().map(|asked| match asked {
        Asked::Text(text) => json!({"type": "text", "text": text}),
        Asked::File(f) => file(*f, quirks),
    }));
    if !blocks.is_empty() {
        chunk.push(&json!({"role": "user", "content": blocks}));
        // Before the `}` of the last block, which stands before `]}`.
        chunk.mark = chunk.json.len().checked_sub(3);
    }
    chunk
}

fn said(said: &Said<'_>) -> Value {
    match said {
        Said::Text(text) => json!({"type": "text", "text": text}),
        Said::Reasoning { text, provider } => match provider["type"].as_str() {
            Some("thinking") => {
                json!({"type": "thinking", "thinking": text, "signature": provider["signature"]})
            }
            Some("redacted_thinking") => {
                json!({"type": "redacted_thinking", "data": provider["data"]})
            }
            _ => provider["block"].clone(),
        },
        Said::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call.input)})
        }
    }
}

/// Arguments as the object that this wire wants.
pub(super) fn arguments(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(Map::new()),
        other => json!({"input": other}),
    }
}

fn file(file: File<'_>, quirks: &Quirks) -> Value {
    match media(file, quirks) {
        Media::Image { mime, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}})
        }
        Media::Pdf { name, data } => json!({"type": "document", "title": name,
            "source": {"type": "base64", "media_type": "application/pdf", "data": data}}),
        Media::Text(text) => json!({"type": "text", "text": text}),
    }
}

/// The list of tools.
pub(super) fn tools(tools: &[ToolSpec], quirks: &Quirks) -> Value {
    let mut list: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "input_schema": schema::reduce(&tool.schema)})
        })
        .collect();
    if quirks.cache_control
        && let Some(last) = list.last_mut()
    {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    Value::Array(list)
}

/// Everything but the messages and tools. `thinks` says whether the assistant turn that is being
/// continued begins with thinking; none if no turn is being continued.
pub(super) fn head(request: &Request, quirks: &Quirks, thinks: Option<bool>) -> Map<String, Value> {
    let mut head = Map::new();
    let max_output = request.max_output.min(quirks.max_output).max(1);
    head.insert("model".to_owned(), json!(request.model.model));
    head.insert("max_tokens".to_owned(), json!(max_output));
    head.insert("stream".to_owned(), json!(true));
    let think = effort::claude(&request.model.model, request.effort, max_output);
    // With a budget, a turn whose last step was made without thinking (another model, another
    // effort) cannot be continued with it.
    if let Some(thinking) = think.thinking
        && !(think.strict && thinks == Some(false))
    {
        head.insert("thinking".to_owned(), thinking);
    }
    if let Some(effort) = think.effort {
        head.insert("output_config".to_owned(), json!({"effort": effort}));
    }
    let mut system = Vec::new();
    if !request.system_stable.trim().is_empty() {
        let mut part = json!({"type": "text", "text": &*request.system_stable});
        if quirks.cache_control {
            part["cache_control"] = json!({"type": "ephemeral"});
        }
        system.push(part);
    }
    if !request.system_dynamic.trim().is_empty() {
        system.push(json!({"type": "text", "text": &*request.system_dynamic}));
    }
    if !system.is_empty() {
        head.insert("system".to_owned(), Value::Array(system));
    }
    head
}
