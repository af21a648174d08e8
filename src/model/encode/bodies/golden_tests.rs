//! Whole bodies: one ordinary conversation on four wires, with a picture, parallel calls of which one was
//! interrupted, reasoning and guidance.

use super::*;

pub(super) fn conversation(
    reasoning: Value,
    call_provider: Option<Value>,
) -> Vec<Arc<RequestMessage>> {
    vec![
        said(false, "m", vec![text("Look at the picture."), png()]),
        said(
            true,
            "m",
            vec![
                Block::Reasoning {
                    text: "Hm.".to_owned(),
                    provider: Some(reasoning),
                },
                text("I read two files."),
                Block::Call {
                    id: "c1".to_owned(),
                    name: "read".to_owned(),
                    input: json!({"path": "a"}),
                    provider: call_provider,
                },
                call("c2", "read"),
            ],
        ),
        // out of order, and one is missing
        said(
            false,
            "m",
            vec![text("And hurry."), result("c2", "read", "two")],
        ),
    ]
}

#[test]
fn anthropic_body() {
    let thinking = json!({"wire": "anthropic", "type": "thinking", "signature": "sig"});
    let got = encode(
        &request("m", conversation(thinking, None)),
        &Quirks::plain(Wire::Anthropic),
    );
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        got,
        json!({
            "model": "m", "max_tokens": 8000, "stream": true,
            "system": [
                {"type": "text", "text": "You are dunlin.", "cache_control": mark},
                {"type": "text", "text": "Today is Friday."}],
            "tools": [{"name": "read", "description": "Reads.", "cache_control": mark,
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}},
                    "required": ["path"]}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "Look at the picture."},
                    {"type": "image", "cache_control": mark, "source":
                        {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                    {"type": "text", "text": "I read two files."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "c2"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "is_error": true,
                        "content": "[Tool execution was interrupted]"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
                    {"type": "text", "text": "And hurry.", "cache_control": mark}]}]
        })
    );
}

#[test]
fn chat_body() {
    let reasoning =
        json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_content"});
    let extra = json!({"wire": "openai-chat", "type": "call", "extra_content": {"x": 1}});
    let quirks = Quirks {
        images: true,
        cache_key: true,
        ..Quirks::plain(Wire::OpenaiChat)
    };
    let got = encode(&request("m", conversation(reasoning, Some(extra))), &quirks);
    assert_eq!(
        got,
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "max_tokens": 8000, "prompt_cache_key": session(1).to_string(),
            "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                    "required": ["path"]}}}],
            "messages": [
                {"role": "system", "content": "You are dunlin.\n\nToday is Friday."},
                {"role": "user", "content": [
                    {"type": "text", "text": "Look at the picture."},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}]},
                {"role": "assistant", "content": "I read two files.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "extra_content": {"x": 1},
                            "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                        {"id": "c2", "type": "function",
                            "function": {"name": "read", "arguments": "{\"path\":\"c2\"}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "[Tool execution was interrupted]"},
                {"role": "tool", "tool_call_id": "c2", "content": "two"},
                {"role": "user", "content": "And hurry."}]
        })
    );
}

#[test]
fn responses_body() {
    let item = json!({"type": "reasoning", "summary": [], "encrypted_content": "enc"});
    let reasoning = json!({"wire": "openai-responses", "type": "reasoning", "item": item});
    let space = json!({"wire": "openai-responses", "type": "function_call", "namespace": "ns"});
    let quirks = Quirks {
        reasoning: true,
        ..Quirks::plain(Wire::OpenaiResponses)
    };
    let mut request = request("gpt-5.2", Vec::new());
    request.effort = Some(Effort::High);
    request.messages = conversation(reasoning, Some(space))
        .iter()
        .map(|m| said(m.assistant, "gpt-5.2", m.blocks.clone()))
        .collect();
    assert_eq!(
        encode(&request, &quirks),
        json!({
            "model": "gpt-5.2", "stream": true, "store": false, "max_output_tokens": 8000,
            "prompt_cache_key": session(1).to_string(), "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "high", "summary": "auto"},
            "instructions": "You are dunlin.\n\nToday is Friday.",
            "tools": [{"type": "function", "name": "read", "description": "Reads.", "strict": false,
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                    "required": ["path"]}}],
            "input": [
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "Look at the picture."},
                    {"type": "input_image", "detail": "auto",
                        "image_url": "data:image/png;base64,iVBORw=="}]},
                item,
                {"type": "message", "role": "assistant", "content": [
                    {"type": "output_text", "text": "I read two files."}]},
                {"type": "function_call", "call_id": "c1", "name": "read", "namespace": "ns",
                    "arguments": "{\"path\":\"a\"}"},
                {"type": "function_call", "call_id": "c2", "name": "read",
                    "arguments": "{\"path\":\"c2\"}"},
                {"type": "function_call_output", "call_id": "c1",
                    "output": "[Tool execution was interrupted]"},
                {"type": "function_call_output", "call_id": "c2", "output": "two"},
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "And hurry."}]}]
        })
    );
}

#[test]
fn gemini_body() {
    let thought = json!({"wire": "gemini", "type": "thought", "thoughtSignature": "s1"});
    let signed = json!({"wire": "gemini", "type": "functionCall", "id": "c1",
        "thoughtSignature": "s2"});
    let got = encode(
        &request("m", conversation(thought, Some(signed))),
        &Quirks::plain(Wire::Gemini),
    );
    assert_eq!(
        got,
        json!({
            "systemInstruction": {"parts": [{"text": "You are dunlin."}, {"text": "Today is Friday."}]},
            "generationConfig": {"maxOutputTokens": 8000},
            "tools": [{"functionDeclarations": [{"name": "read", "description": "Reads.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                    "required": ["path"]}}]}],
            "contents": [
                {"role": "user", "parts": [
                    {"text": "Look at the picture."},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]},
                {"role": "model", "parts": [
                    {"text": "Hm.", "thought": true, "thoughtSignature": "s1"},
                    {"text": "I read two files."},
                    {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}},
                        "thoughtSignature": "s2"},
                    {"functionCall": {"name": "read", "args": {"path": "c2"}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read",
                        "response": {"error": "[Tool execution was interrupted]"}}},
                    {"functionResponse": {"name": "read", "response": {"output": "two"}}},
                    {"text": "And hurry."}]}]
        })
    );
}
