//! Requests in Google's Gemini format (`streamGenerateContent`).
//!
//! Rules that shape this file: the user begins and contents alternate; a content with calls is
//! followed by one with as many responses, in the same order; thought signatures stand where they
//! came; from Gemini 3 on the first call of a step must have one, also if another model made it.

use serde_json::{Map, Value, json};

use super::history::{Asked, Call, File, IdRule, Reply, Role, Said, Segment};
use super::media::{Media, media};
use super::quirks::Quirks;
use super::{Chunk, effort, schema};
use crate::model::{Request, ToolSpec};

pub(super) const IDS: IdRule = IdRule::Safe {
    most: 64,
    own: true,
};

/// What Google documents for calls that have no signature because another model made them.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn role(provider: &Value) -> Role {
    match provider.get("type").and_then(Value::as_str) {
        Some("thought") => Role::Leads,
        Some("text") => Role::Trails,
        Some("opaque") if provider.get("part").is_some_and(Value::is_object) => Role::Content,
        _ => Role::Nothing,
    }
}

/// The JSON of a segment: a model's and a user's content.
pub(super) fn segment(segment: &Segment<'_>, model: &str, quirks: &Quirks) -> Chunk {
    let mut chunk = Chunk::default();
    if !segment.assistant.is_empty() {
        let parts = model_parts(&segment.assistant, needs_signature(model), quirks);
        chunk.push(&json!({"role": "model", "parts": parts}));
    }
    let mut parts: Vec<Value> = Vec::new();
    let mut pictures: Vec<Value> = Vec::new();
    for reply in &segment.replies {
        parts.push(response(reply, &mut pictures, quirks));
    }
    parts.extend(pictures);
    parts.extend(segment.user.iter().map(|asked| match asked {
        Asked::Text(text) => json!({"text": text}),
        Asked::File(f) => file(*f, quirks),
    }));
    if !parts.is_empty() {
        chunk.push(&json!({"role": "user", "parts": parts}));
    }
    chunk
}

fn model_parts(said: &[Said<'_>], signed: bool, quirks: &Quirks) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let mut first_call = true;
    for said in said {
        match said {
            Said::Text(text) => parts.push(json!({"text": text})),
            Said::Reasoning { text, provider } => match provider["type"].as_str() {
                Some("thought") => {
                    let mut part = json!({"text": text, "thought": true});
                    if provider["thoughtSignature"].is_string() {
                        part["thoughtSignature"] = provider["thoughtSignature"].clone();
                    }
                    parts.push(part);
                }
                Some("text") => {
                    let text = parts
                        .last_mut()
                        .filter(|part| part.get("text").is_some() && part.get("thought").is_none());
                    if let Some(part) = text {
                        part["thoughtSignature"] = provider["thoughtSignature"].clone();
                    }
                }
                _ => parts.push(provider["part"].clone()),
            },
            Said::Call(call) => {
                let mut part = function_call(call, quirks);
                if first_call && signed && part.get("thoughtSignature").is_none() {
                    part["thoughtSignature"] = json!(NO_SIGNATURE);
                }
                first_call = false;
                parts.push(part);
            }
        }
    }
    parts
}

fn function_call(call: &Call<'_>, quirks: &Quirks) -> Value {
    let mut part = json!({"functionCall": {"name": call.name,
        "args": super::anthropic::arguments(call.input)}});
    if let Some(id) = wire_id(call.provider, &call.id, quirks) {
        part["functionCall"]["id"] = json!(id);
    }
    if let Some(signature) = call.provider.and_then(|p| p.get("thoughtSignature"))
        && signature.is_string()
    {
        part["thoughtSignature"] = signature.clone();
    }
    part
}

/// The id to be sent: only calls that came with one have one.
fn wire_id<'a>(provider: Option<&Value>, ours: &'a str, quirks: &Quirks) -> Option<&'a str> {
    let had = provider.is_some_and(|p| p.get("id").is_some_and(Value::is_string));
    (had && quirks.gemini_ids).then_some(ours)
}

fn response(reply: &Reply<'_>, pictures: &mut Vec<Value>, quirks: &Quirks) -> Value {
    let mut output = reply.output.to_string();
    for f in &reply.files {
        match media(*f, quirks) {
            Media::Text(text) => {
                output.push('\n');
                output.push_str(&text);
            }
            Media::Image { .. } | Media::Pdf { .. } => pictures.push(file(*f, quirks)),
        }
    }
    let key = if reply.error { "error" } else { "output" };
    let mut answer = Map::new();
    answer.insert(key.to_owned(), json!(output.trim_start_matches('\n')));
    let mut part = json!({"functionResponse": {"name": reply.name, "response": answer}});
    if let Some(id) = wire_id(reply.provider, &reply.id, quirks) {
        part["functionResponse"]["id"] = json!(id);
    }
    part
}

fn file(file: File<'_>, quirks: &Quirks) -> Value {
    match media(file, quirks) {
        Media::Image { mime, data } => json!({"inlineData": {"mimeType": mime, "data": data}}),
        Media::Pdf { data, .. } => {
            json!({"inlineData": {"mimeType": "application/pdf", "data": data}})
        }
        Media::Text(text) => json!({"text": text}),
    }
}

/// True for families that refuse a step whose first call has no signature.
fn needs_signature(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("gemini") && effort::version(name).is_none_or(|version| version >= (3, 0))
}

/// The list of tools.
pub(super) fn tools(tools: &[ToolSpec]) -> Value {
    let declarations: Vec<Value> = tools
        .iter()
        .map(|tool| {
            let mut item = json!({"name": tool.name, "description": tool.description});
            if let Some(schema) = schema::openapi(&tool.schema) {
                item["parameters"] = schema;
            }
            item
        })
        .collect();
    json!([{"functionDeclarations": declarations}])
}

/// Everything but the contents and tools.
pub(super) fn head(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let mut head = Map::new();
    let parts: Vec<Value> = [&*request.system_stable, &*request.system_dynamic]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .map(|text| json!({"text": text}))
        .collect();
    if !parts.is_empty() {
        head.insert("systemInstruction".to_owned(), json!({"parts": parts}));
    }
    let mut config = Map::new();
    if quirks.limit_output {
        config.insert(
            "maxOutputTokens".to_owned(),
            json!(request.max_output.min(quirks.max_output).max(1)),
        );
    }
    let thinking = effort::gemini(&request.model.model, request.effort, quirks.reasoning);
    if let Some(thinking) = thinking {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if !config.is_empty() {
        head.insert("generationConfig".to_owned(), Value::Object(config));
    }
    head
}
