//! Requests in OpenAI's Chat Completions format and its dialects.
//!
//! Rules that shape this file: one system message, first; tool messages right after the assistant
//! message with their calls, one for each; tool messages hold text only, so their files follow in a
//! user message; which fields an endpoint takes is said by `Quirks`.

use serde_json::{Map, Value, json};

use super::history::{Asked, Call, File, IdRule, Role, Said, Segment};
use super::media::{Media, media};
use super::quirks::{EffortStyle, Quirks};
use super::{Chunk, effort, schema};
use crate::model::{Request, ToolSpec};
use crate::protocol::Effort;

pub(super) const fn ids(quirks: &Quirks) -> IdRule {
    if quirks.short_ids {
        IdRule::Nine
    } else {
        IdRule::Safe {
            most: 40,
            own: true,
        }
    }
}

pub(super) fn role(provider: &Value) -> Role {
    match provider.get("type").and_then(Value::as_str) {
        Some("reasoning") => Role::Trails,
        _ => Role::Nothing,
    }
}

/// The JSON of a segment: an assistant message, its tool messages, a user message.
pub(super) fn segment(segment: &Segment<'_>, quirks: &Quirks) -> Chunk {
    let mut chunk = Chunk::default();
    if !segment.assistant.is_empty() {
        chunk.push(&assistant(&segment.assistant, quirks));
    }
    let mut pictures: Vec<Value> = Vec::new();
    for reply in &segment.replies {
        let mut output = reply.output.to_string();
        for f in &reply.files {
            match part(*f, quirks) {
                Ok(picture) => {
                    let note = format!("\n[{} is in the next user message]", f.name);
                    output.push_str(&note);
                    pictures.push(picture);
                }
                Err(text) => {
                    output.push('\n');
                    output.push_str(&text);
                }
            }
        }
        let output = output.trim_start_matches('\n');
        let mut message = json!({"role": "tool", "tool_call_id": reply.id});
        if quirks.tool_name {
            message["name"] = json!(reply.name);
        }
        // The content comes last: a cache mark is put in before the closing brackets.
        message["content"] = if quirks.cache_control {
            json!([{"type": "text", "text": output}])
        } else {
            json!(output)
        };
        chunk.push(&message);
        chunk.mark = chunk.json.len().checked_sub(3);
    }
    if !segment.user.is_empty() || !pictures.is_empty() {
        if quirks.assistant_after_tool && !segment.replies.is_empty() {
            chunk.push(&json!({"role": "assistant", "content": "I have the results."}));
        }
        chunk.push(&user(&segment.user, pictures, quirks));
        chunk.mark = chunk.json.len().checked_sub(3);
    }
    if !quirks.cache_control {
        chunk.mark = None;
    }
    chunk
}

fn assistant(blocks: &[Said<'_>], quirks: &Quirks) -> Value {
    let mut texts: Vec<&str> = Vec::new();
    let mut calls = Vec::new();
    let mut thoughts = Thoughts::default();
    for block in blocks {
        match block {
            Said::Text(text) => texts.push(text),
            Said::Call(call) => calls.push(tool_call(call)),
            Said::Reasoning { text, provider } => thoughts.add(text, provider),
        }
    }
    let text = texts.join("\n\n");
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = if text.is_empty() && quirks.null_content {
        Value::Null
    } else {
        json!(text)
    };
    message.insert("content".to_owned(), content);
    if quirks.reasoning_back {
        thoughts.write(&mut message, &text);
    }
    if quirks.reasoning_required && !calls.is_empty() && !message.contains_key("reasoning_content")
    {
        // Demanded while thinking is on; turns of other models have none.
        message.insert("reasoning_content".to_owned(), json!(" "));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message)
}

/// What the model thought in one message, by the field it came in.
#[derive(Default)]
struct Thoughts {
    fields: Vec<(String, String)>,
    details: Vec<Value>,
    /// LiteLLM's, for the models behind it.
    blocks: Vec<Value>,
    /// Copilot's.
    opaque: Option<Value>,
}

impl Thoughts {
    fn add(&mut self, text: &str, provider: &Value) {
        for (key, kept) in [
            ("reasoning_details", &mut self.details),
            ("thinking_blocks", &mut self.blocks),
        ] {
            if let Some(given) = provider.get(key).and_then(Value::as_array) {
                kept.extend(given.iter().cloned());
            }
        }
        if let Some(opaque) = provider.get("reasoning_opaque") {
            self.opaque = Some(opaque.clone());
        }
        let field = provider.get("field").and_then(Value::as_str).unwrap_or("");
        if text.is_empty() || matches!(field, "" | "think" | "reasoning_details") {
            return;
        }
        match self.fields.iter_mut().find(|(name, _)| name == field) {
            Some((_, so_far)) => so_far.push_str(text),
            None => self.fields.push((field.to_owned(), text.to_owned())),
        }
    }

    fn write(self, message: &mut Map<String, Value>, text: &str) {
        for (field, thought) in self.fields {
            if field == "thinking" {
                let thinking = json!({"type": "thinking",
                    "thinking": [{"type": "text", "text": thought}]});
                let mut parts = vec![thinking];
                if !text.is_empty() {
                    parts.push(json!({"type": "text", "text": text}));
                }
                message.insert("content".to_owned(), Value::Array(parts));
            } else if matches!(
                field.as_str(),
                "reasoning_content" | "reasoning" | "reasoning_text"
            ) {
                message.insert(field, json!(thought));
            }
        }
        for (key, list) in [
            ("reasoning_details", self.details),
            ("thinking_blocks", self.blocks),
        ] {
            if !list.is_empty() {
                message.insert(key.to_owned(), Value::Array(list));
            }
        }
        if let Some(opaque) = self.opaque {
            message.insert("reasoning_opaque".to_owned(), opaque);
        }
    }
}

fn tool_call(call: &Call<'_>) -> Value {
    let arguments = super::anthropic::arguments(call.input).to_string();
    let mut value = json!({"id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": arguments}});
    if let Some(extra) = call.provider.and_then(|p| p.get("extra_content")) {
        value["extra_content"] = extra.clone();
    }
    value
}

fn user(blocks: &[Asked<'_>], pictures: Vec<Value>, quirks: &Quirks) -> Value {
    let mut parts = pictures;
    let mut texts: Vec<String> = Vec::new();
    for block in blocks {
        let text = match block {
            Asked::Text(text) => text.to_string(),
            Asked::File(f) => match part(*f, quirks) {
                Ok(part) => {
                    parts.extend(texts.drain(..).map(|text| text_part(&text)));
                    parts.push(part);
                    continue;
                }
                Err(text) => text,
            },
        };
        texts.push(text);
    }
    if parts.is_empty() && !quirks.cache_control {
        return json!({"role": "user", "content": texts.join("\n\n")});
    }
    parts.extend(texts.iter().map(|text| text_part(text)));
    json!({"role": "user", "content": parts})
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A content part, or the text that stands for it.
fn part(file: File<'_>, quirks: &Quirks) -> Result<Value, String> {
    match media(file, quirks) {
        Media::Image { mime, data } => Ok(
            json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}}),
        ),
        Media::Pdf { name, data } => Ok(json!({"type": "file", "file": {"filename": name,
            "file_data": format!("data:application/pdf;base64,{data}")}})),
        Media::Text(text) => Err(text),
    }
}

/// The list of tools.
pub(super) fn tools(tools: &[ToolSpec], quirks: &Quirks) -> Value {
    let schema_of = |tool: &ToolSpec| {
        if quirks.plain_schema {
            schema::openapi(&tool.schema)
                .unwrap_or_else(|| json!({"type": "object", "properties": {}}))
        } else {
            schema::reduce(&tool.schema)
        }
    };
    tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "function": {"name": tool.name,
                "description": tool.description, "parameters": schema_of(tool)}})
        })
        .collect()
}

/// The system message, if there is one.
pub(super) fn system(request: &Request, quirks: &Quirks) -> Option<Value> {
    let parts: Vec<&str> = [&*request.system_stable, &*request.system_dynamic]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    if parts.is_empty() {
        return None;
    }
    if quirks.cache_control {
        let mut list: Vec<Value> = parts.into_iter().map(text_part).collect();
        list[0]["cache_control"] = json!({"type": "ephemeral"});
        return Some(json!({"role": "system", "content": list}));
    }
    Some(json!({"role": "system", "content": parts.join("\n\n")}))
}

/// Everything but the messages and tools.
pub(super) fn head(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("model".to_owned(), json!(request.model.model));
    head.insert("stream".to_owned(), json!(true));
    if quirks.stream_usage {
        head.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if quirks.limit_output {
        let name = if quirks.max_completion_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        head.insert(
            name.to_owned(),
            json!(request.max_output.min(quirks.max_output).max(1)),
        );
    }
    if quirks.cache_key {
        head.insert("prompt_cache_key".to_owned(), json!(request.session));
    }
    if let Some(effort) = request.effort
        && quirks.reasoning
    {
        say_effort(&mut head, &request.model.model, effort, quirks.effort);
    }
    head
}

fn say_effort(head: &mut Map<String, Value>, model: &str, effort: Effort, style: EffortStyle) {
    let (name, value) = match style {
        EffortStyle::Silent => return,
        EffortStyle::OpenAi => match effort::openai(model, effort) {
            Some(level) => ("reasoning_effort", json!(level)),
            None => return,
        },
        EffortStyle::Levels => ("reasoning_effort", json!(effort::levels(effort))),
        EffortStyle::Object => ("reasoning", json!({"effort": effort::open_router(effort)})),
        EffortStyle::Switch => {
            let kind = if effort == Effort::None {
                "disabled"
            } else {
                "enabled"
            };
            ("thinking", json!({"type": kind}))
        }
    };
    head.insert(name.to_owned(), value);
}
