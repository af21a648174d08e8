use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::validate::validate;
use super::*;
use crate::model::decode::Wire;
use crate::model::{Block, RequestMessage, ToolSpec};
use crate::protocol::{Effort, IdMint, ModelRef, SessionId};

fn model(name: &str) -> ModelRef {
    ModelRef {
        provider: "p".to_owned(),
        model: name.to_owned(),
    }
}

fn session(n: u64) -> SessionId {
    IdMint::new(n, 0).session(1)
}

fn said(assistant: bool, model_name: &str, blocks: Vec<Block>) -> Arc<RequestMessage> {
    Arc::new(RequestMessage {
        assistant,
        blocks,
        model: model(model_name),
    })
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn call(id: &str, name: &str) -> Block {
    Block::Call {
        id: id.to_owned(),
        name: name.to_owned(),
        input: json!({"path": id}),
        provider: None,
    }
}

fn result(id: &str, name: &str, output: &str) -> Block {
    Block::Result {
        id: id.to_owned(),
        name: name.to_owned(),
        output: output.to_owned(),
        error: false,
        files: Vec::new(),
    }
}

fn png() -> Block {
    Block::File {
        mime: "image/png".to_owned(),
        name: "shot.png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG"),
    }
}

fn request(model_name: &str, messages: Vec<Arc<RequestMessage>>) -> Request {
    Request {
        model: model(model_name),
        system_stable: Arc::from("You are dunlin."),
        system_dynamic: Arc::from("Today is Friday."),
        messages: messages.into(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}},
                "required": ["path"]}),
        }]
        .into(),
        max_output: 8_000,
        effort: None,
        session: session(1),
        place: None,
    }
}

fn encode(request: &Request, quirks: &Quirks) -> Value {
    serde_json::from_slice(&body(request, quirks)).expect("a body is JSON")
}

/// All shapes of endpoint that the property tests cover.
fn endpoints() -> Vec<Quirks> {
    let chat = Quirks::plain(Wire::OpenaiChat);
    vec![
        Quirks::plain(Wire::Anthropic),
        chat.clone(),
        Quirks {
            short_ids: true,
            assistant_after_tool: true,
            tool_name: true,
            ..chat.clone()
        },
        Quirks {
            cache_control: true,
            images: true,
            null_content: false,
            reasoning_required: true,
            ..chat
        },
        Quirks::plain(Wire::OpenaiResponses),
        Quirks::plain(Wire::Gemini),
    ]
}

// ---- golden bodies: one conversation, four wires

fn conversation(reasoning: Value, call_provider: Option<Value>) -> Vec<Arc<RequestMessage>> {
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

// ---- single behaviours

#[test]
fn reasoning_goes_back_only_to_the_model_that_made_it() {
    let thinking = json!({"wire": "anthropic", "type": "thinking", "signature": "sig"});
    let mut request = request("m", conversation(thinking, None));
    request.model = model("other");
    let sent = body(&request, &Quirks::plain(Wire::Anthropic));
    assert!(!String::from_utf8_lossy(&sent).contains("\"thinking\":"));
}

#[test]
fn a_call_of_another_model_gets_geminis_stand_in_signature() {
    let history = vec![
        said(false, "claude", vec![text("go")]),
        said(true, "claude", vec![call("a", "read"), call("b", "read")]),
    ];
    let got = encode(
        &request("gemini-3-pro-preview", history),
        &Quirks::plain(Wire::Gemini),
    );
    let parts = &got["contents"][1]["parts"];
    assert_eq!(
        parts[0]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert!(parts[1].get("thoughtSignature").is_none());
}

#[test]
fn files_that_a_model_cannot_take_become_one_line() {
    let pdf = Block::File {
        mime: "application/pdf".to_owned(),
        name: "a.pdf".to_owned(),
        bytes: Bytes::from_static(b"%PDF"),
    };
    let got = encode(
        &request("m", vec![said(false, "m", vec![text("see"), pdf, png()])]),
        &Quirks::plain(Wire::OpenaiChat),
    );
    let content = got["messages"][1]["content"].as_str().expect("plain text");
    assert!(
        content.contains("a.pdf (application/pdf) was left out"),
        "{content}"
    );
    assert!(
        content.contains("shot.png (image/png) was left out"),
        "{content}"
    );
}

#[test]
fn pictures_of_results_follow_in_a_user_message_on_chat() {
    let mut shot = result("c", "read", "the file");
    if let Block::Result { files, .. } = &mut shot {
        files.push(png());
    }
    let history = vec![
        said(false, "m", vec![text("go")]),
        said(true, "m", vec![call("c", "read")]),
        said(false, "m", vec![shot]),
    ];
    let quirks = Quirks {
        images: true,
        ..Quirks::plain(Wire::OpenaiChat)
    };
    let got = encode(&request("m", history), &quirks);
    assert_eq!(got["messages"][3]["role"], "tool");
    assert_eq!(got["messages"][4]["content"][0]["type"], "image_url");
}

#[test]
fn a_thinking_budget_is_left_out_where_the_turn_began_without_thinking() {
    let mut ask = request(
        "claude-sonnet-4-5",
        vec![
            said(false, "x", vec![text("go")]),
            said(true, "x", vec![call("c", "read")]),
            said(false, "x", vec![result("c", "read", "1")]),
        ],
    );
    ask.effort = Some(Effort::Medium);
    let quirks = Quirks::plain(Wire::Anthropic);
    assert!(encode(&ask, &quirks).get("thinking").is_none());
    ask.messages.truncate(1);
    assert_eq!(encode(&ask, &quirks)["thinking"]["type"], "enabled");
}

#[test]
fn an_unfinished_turn_is_sent_back_to_go_on() {
    // `pause_turn`: the history ends with the assistant
    for quirks in endpoints() {
        let history = vec![
            said(false, "m", vec![text("go")]),
            said(true, "m", vec![text("half")]),
        ];
        let got = encode(&request("m", history), &quirks);
        validate(&got, &quirks).expect("valid");
        assert!(got.to_string().contains("Continue."));
    }
}

#[test]
fn a_turn_paused_in_a_server_tool_is_sent_back_as_it_is() {
    let server = json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {}});
    let opaque = Block::Reasoning {
        text: String::new(),
        provider: Some(json!({"wire": "anthropic", "type": "opaque", "block": server})),
    };
    let history = vec![
        said(false, "m", vec![text("go")]),
        said(true, "m", vec![opaque]),
    ];
    let got = encode(&request("m", history), &Quirks::plain(Wire::Anthropic));
    assert_eq!(got["messages"][1]["content"], json!([server]));
    assert_eq!(got["messages"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_request_never_asks_for_more_output_than_the_model_has() {
    for quirks in endpoints() {
        let quirks = Quirks {
            max_output: 4_321,
            ..quirks
        };
        let got = encode(&request("m", Vec::new()), &quirks).to_string();
        assert!(got.contains("4321") && !got.contains("8000"), "{got}");
    }
}

#[test]
fn efforts_are_said_in_each_familys_words() {
    use super::effort::{claude, gemini, openai};
    let all = |name: &str| -> Vec<Option<&str>> {
        Effort::ALL.iter().map(|(e, _)| openai(name, *e)).collect()
    };
    let words = |list: [&'static str; 6]| -> Vec<Option<&str>> { list.map(Some).to_vec() };
    assert_eq!(all("gpt-4.1"), vec![None; 6]);
    assert_eq!(
        all("gpt-5"),
        words(["minimal", "minimal", "low", "medium", "high", "high"])
    );
    assert_eq!(
        all("gpt-5.1"),
        words(["none", "low", "low", "medium", "high", "high"])
    );
    assert_eq!(
        all("gpt-5.2-2025-12-11"),
        words(["none", "low", "low", "medium", "high", "xhigh"])
    );
    assert_eq!(
        all("gpt-5.3-codex"),
        words(["low", "low", "low", "medium", "high", "xhigh"])
    );
    assert_eq!(
        all("o3-mini"),
        words(["low", "low", "low", "medium", "high", "high"])
    );
    assert_eq!(all("gpt-5-pro"), words(["high"; 6]));

    let opus = claude("claude-opus-4-7", Some(Effort::High), 8_000);
    assert_eq!(
        opus.thinking,
        Some(json!({"type": "adaptive", "display": "summarized"}))
    );
    assert_eq!(opus.effort, Some("high"));
    assert_eq!(
        claude("claude-opus-4-7", Some(Effort::None), 8_000).thinking,
        None
    );
    assert_eq!(
        claude("claude-haiku-4-5-20251001", Some(Effort::High), 8_000).thinking,
        Some(json!({"type": "enabled", "budget_tokens": 6_976}))
    );
    assert_eq!(
        claude("claude-fable-5", Some(Effort::None), 8_000).effort,
        Some("low")
    );
    assert_eq!(claude("claude-haiku-4-5", None, 8_000).thinking, None);

    assert_eq!(
        gemini("gemini-2.5-flash", Some(Effort::None), true),
        Some(json!({"includeThoughts": false, "thinkingBudget": 0}))
    );
    assert_eq!(
        gemini("gemini-3.1-pro-preview", Some(Effort::Medium), true),
        Some(json!({"includeThoughts": true, "thinkingLevel": "medium"}))
    );
    assert_eq!(gemini("gemma-4-31b-it", Some(Effort::High), true), None);
}

// ---- properties

fn provider_value() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        Just(Some(
            json!({"wire": "anthropic", "type": "thinking", "signature": "s"})
        )),
        Just(Some(json!({"wire": "anthropic", "type": "thinking"}))),
        Just(Some(
            json!({"wire": "anthropic", "type": "redacted_thinking", "data": "d"})
        )),
        Just(Some(json!({"wire": "anthropic", "type": "opaque",
            "block": {"type": "server_tool_use", "id": "srv", "name": "web", "input": {}}}))),
        Just(Some(
            json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_content",
            "reasoning_details": [{"type": "reasoning.text"}]})
        )),
        Just(Some(
            json!({"wire": "openai-chat", "type": "reasoning", "field": "thinking"})
        )),
        Just(Some(
            json!({"wire": "openai-responses", "type": "reasoning",
            "item": {"type": "reasoning", "encrypted_content": "e"}})
        )),
        Just(Some(
            json!({"wire": "openai-responses", "type": "reasoning",
            "item": {"type": "reasoning"}})
        )),
        Just(Some(
            json!({"wire": "openai-responses", "type": "message", "phase": "commentary"})
        )),
        Just(Some(
            json!({"wire": "gemini", "type": "thought", "thoughtSignature": "t"})
        )),
        Just(Some(
            json!({"wire": "gemini", "type": "text", "thoughtSignature": "t"})
        )),
        Just(Some(
            json!({"wire": "gemini", "type": "opaque", "part": {"text": ""}})
        )),
        Just(Some(json!("nonsense"))),
    ]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("functions.read:0".to_owned()),
        Just("AbCd12345".to_owned()),
        Just("é".repeat(70)),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("read".to_owned()),
        1 => Just("functions.read file".to_owned()),
        1 => Just("9".repeat(90)),
        1 => Just(String::new()),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z]{1,6}",
        1 => Just(String::new()),
        1 => Just(" \n\t".to_owned()),
        1 => "\\PC{0,8}",
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let file = prop_oneof![
        Just("image/png"),
        Just("application/pdf"),
        Just("text/plain"),
        Just("audio/wav"),
    ]
    .prop_map(|mime| Block::File {
        mime: mime.to_owned(),
        name: "f".to_owned(),
        bytes: Bytes::from_static(b"data"),
    });
    let input = prop_oneof![
        Just(json!({"x": 1})),
        Just(json!("plain")),
        Just(Value::Null),
        Just(json!([1])),
    ];
    prop_oneof![
        3 => any_text().prop_map(Block::Text),
        3 => (id(), name(), input, provider_value()).prop_map(|(id, name, input, provider)| Block::Call {
            id, name, input, provider }),
        3 => (id(), any_text(), any::<bool>(), prop::collection::vec(file.clone(), 0..2)).prop_map(
            |(id, output, error, files)| Block::Result {
                id, name: "read".to_owned(), output, error, files }),
        2 => (any_text(), provider_value())
            .prop_map(|(text, provider)| Block::Reasoning { text, provider }),
        1 => file,
    ]
}

fn message() -> impl Strategy<Value = Arc<RequestMessage>> {
    (
        any::<bool>(),
        prop_oneof![3 => Just("m"), 1 => Just("n")],
        prop::collection::vec(block(), 0..5),
    )
        .prop_map(|(assistant, name, blocks)| said(assistant, name, blocks))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_history_becomes_a_body_that_the_provider_accepts(
        messages in prop::collection::vec(message(), 0..9),
    ) {
        let ask = request("m", messages);
        for quirks in endpoints() {
            let got = encode(&ask, &quirks);
            if let Err(rule) = validate(&got, &quirks) {
                return Err(TestCaseError::fail(format!("{}: {rule}\n{got:#}", quirks.wire)));
            }
        }
    }

    #[test]
    fn nothing_that_was_said_is_lost(messages in prop::collection::vec(message(), 0..9)) {
        let mut marks = Vec::new();
        let messages: Vec<Arc<RequestMessage>> = messages
            .iter()
            .map(|message| {
                let mut copy = RequestMessage::clone(message);
                for block in &mut copy.blocks {
                    if let Block::Text(text) = block {
                        *text = format!("mark{}mark", marks.len());
                        marks.push(text.clone());
                    }
                }
                Arc::new(copy)
            })
            .collect();
        let ask = request("m", messages);
        for quirks in endpoints() {
            let got = String::from_utf8(body(&ask, &quirks).to_vec()).expect("UTF-8");
            for mark in &marks {
                prop_assert_eq!(got.matches(mark.as_str()).count(), 1, "{} on {}", mark, quirks.wire);
            }
        }
    }

    #[test]
    fn remembering_changes_nothing(
        messages in prop::collection::vec(message(), 1..10),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        for quirks in endpoints() {
            let encoder = Encoder::new(quirks.clone());
            for (end, changed) in &cuts {
                let end = end.index(messages.len()) + 1;
                let mut part = messages[..end].to_vec();
                let at = changed.index(messages.len());
                if at % 3 == 0 && at < end {
                    // as pruning does: one message in the middle is another one now
                    let mut copy = RequestMessage::clone(&part[at]);
                    copy.blocks.truncate(1);
                    part[at] = Arc::new(copy);
                }
                let ask = request("m", part);
                prop_assert_eq!(encoder.body(&ask), body(&ask, &quirks));
            }
        }
    }
}

/// A conversation as the loop makes it, `steps` long.
fn long_conversation(steps: usize) -> Vec<Arc<RequestMessage>> {
    let mut messages = vec![said(false, "m", vec![text("go")])];
    for step in 0..steps {
        let id = format!("call{step}");
        messages.push(said(true, "m", vec![text("next"), call(&id, "read")]));
        let mut blocks = vec![result(&id, "read", &"line of output\n".repeat(40))];
        if step % 7 == 3 {
            blocks.push(text("guidance"));
        }
        messages.push(said(false, "m", blocks));
        if step % 11 == 5 {
            messages.push(said(true, "m", vec![text("done")]));
            messages.push(said(false, "m", vec![text("another task")]));
        }
    }
    messages
}

#[test]
fn consecutive_requests_are_byte_prefixes() {
    let messages = long_conversation(40);
    for quirks in endpoints() {
        let encoder = Encoder::new(quirks.clone());
        let mut before = Bytes::new();
        for end in (1..=messages.len()).filter(|end| !messages[end - 1].assistant) {
            let form = encoder.prefix_form(&request("m", messages[..end].to_vec()));
            assert!(form.starts_with(&before), "{} at {end}", quirks.wire);
            before = form;
        }
    }
}

#[test]
fn the_cache_marks_are_on_the_last_two_user_messages_only() {
    let got = encode(
        &request("m", long_conversation(5)),
        &Quirks::plain(Wire::Anthropic),
    );
    let messages = got["messages"].as_array().expect("messages");
    let marked: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, m)| m.to_string().contains("cache_control"))
        .map(|(i, _)| i)
        .collect();
    assert_eq!(marked, [messages.len() - 3, messages.len() - 1]);
}

#[test]
#[ignore = "a measurement: cargo test --lib a_long_history_costs -- --ignored --nocapture"]
#[expect(clippy::print_stderr, reason = "it prints what it measures")]
fn a_long_history_costs_a_copy() {
    let messages = long_conversation(1_000);
    for quirks in endpoints() {
        let encoder = Encoder::new(quirks.clone());
        let before = request("m", messages[..messages.len() - 2].to_vec());
        let start = std::time::Instant::now();
        let size = encoder.body(&before).len();
        let first = start.elapsed();
        let now = request("m", messages.clone());
        let start = std::time::Instant::now();
        encoder.body(&now);
        eprintln!(
            "{}: {size} bytes, first {first:?}, next {:?}",
            quirks.wire,
            start.elapsed()
        );
    }
}

// ---- recorded answers go back as their providers want them

/// The assistant message that these deltas make, as the loop would store it.
fn message_of(deltas: &[crate::model::Delta]) -> Vec<Block> {
    use crate::model::Delta;
    let mut blocks: Vec<(u32, Block)> = Vec::new();
    let mut open = |n: u32, new: Block| -> usize {
        let found = blocks.iter().position(|(known, _)| *known == n);
        found.unwrap_or_else(|| {
            blocks.push((n, new));
            blocks.len() - 1
        })
    };
    let mut ends: Vec<(usize, Option<Value>)> = Vec::new();
    let mut texts: Vec<(usize, String)> = Vec::new();
    for (count, delta) in deltas.iter().enumerate() {
        match delta {
            Delta::Text { block, text: more } => {
                texts.push((open(*block, text("")), more.clone()));
            }
            Delta::Reasoning { block, text: more } => {
                let new = Block::Reasoning {
                    text: String::new(),
                    provider: None,
                };
                texts.push((open(*block, new), more.clone()));
            }
            Delta::BlockEnd { block, provider } => {
                ends.push((open(*block, text("")), provider.clone()));
            }
            Delta::CallEnd {
                block,
                id,
                name,
                arguments: Ok(input),
                provider,
            } => {
                let id = id.clone().unwrap_or_else(|| format!("made_{count}"));
                open(
                    *block,
                    Block::Call {
                        id,
                        name: name.clone(),
                        input: input.clone(),
                        provider: provider.clone(),
                    },
                );
            }
            _ => {}
        }
    }
    for (index, more) in texts {
        if let Block::Text(text) | Block::Reasoning { text, .. } = &mut blocks[index].1 {
            text.push_str(&more);
        }
    }
    for (index, value) in ends {
        if let Block::Reasoning { provider, .. } = &mut blocks[index].1 {
            *provider = value;
        }
    }
    blocks.into_iter().map(|(_, block)| block).collect()
}

/// All strings that are opaque to us in a provider value.
fn secrets(value: &Value) -> Vec<String> {
    let keys = [
        "signature",
        "data",
        "encrypted_content",
        "thoughtSignature",
        "phase",
    ];
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if keys.contains(&key.as_str()) && !text.is_empty() => {
                    vec![text.to_owned()]
                }
                _ => secrets(value),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(secrets).collect(),
        _ => Vec::new(),
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn recorded_answers_go_back_with_their_signatures() {
    let shared = std::env::var_os("DUNLIN_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        std::path::PathBuf::from,
    );
    let (mut streams, mut signatures) = (0, 0);
    for (wire, name) in Wire::ALL {
        let Ok(folder) = std::fs::read_dir(shared.join("fixtures/wire").join(name)) else {
            eprintln!("skipped: no recorded streams here");
            return;
        };
        for entry in folder.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "sse") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            let mut decoder = crate::model::decode::Decoder::new(wire);
            let mut deltas = decoder.feed(&bytes).deltas;
            deltas.extend(decoder.finish().deltas);
            let blocks = message_of(&deltas);
            let quirks = Quirks::plain(wire);
            let ask = request(
                "m",
                vec![
                    said(false, "m", vec![text("go")]),
                    said(true, "m", blocks.clone()),
                ],
            );
            let got = encode(&ask, &quirks);
            if let Err(rule) = validate(&got, &quirks) {
                panic!("{}: {rule}", path.display());
            }
            streams += 1;
            // What stands before the last words or call of a whole answer must be there again.
            let speaks = blocks.iter().rposition(|b| {
                matches!(b, Block::Text(t) if !t.trim().is_empty())
                    || matches!(b, Block::Call { .. })
            });
            let sent = got.to_string();
            for block in blocks.iter().take(speaks.map_or(0, |last| last + 1)) {
                let (Block::Reasoning { provider, .. } | Block::Call { provider, .. }) = block
                else {
                    continue;
                };
                for secret in provider.iter().flat_map(secrets) {
                    signatures += 1;
                    let secret = json!(secret).to_string();
                    assert!(sent.contains(&secret), "{}: {provider:?}", path.display());
                }
            }
        }
    }
    assert!(
        streams > 200 && signatures > 30,
        "{streams} streams, {signatures} signatures"
    );
}
