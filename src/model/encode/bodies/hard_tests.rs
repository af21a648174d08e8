//! Whole bodies of a conversation with everything that goes wrong: call ids twice and missing, a failed
//! call, a pruned output, a result without a call, empty messages, a compaction in the middle, redacted
//! thinking, a PDF. And the same conversation for another model, and as the request for a summary.

use super::*;

const PRUNED: &str = "[Old tool result content cleared] (recall prt_1)";

fn pdf() -> Block {
    Block::File {
        mime: "application/pdf".to_owned(),
        name: "a.pdf".to_owned(),
        bytes: Bytes::from_static(b"%PDF"),
    }
}

fn thought(text: &str, provider: Value) -> Block {
    Block::Reasoning {
        text: text.to_owned(),
        provider: Some(provider),
    }
}

fn asks(id: &str, name: &str, input: Value, provider: Option<Value>) -> Block {
    Block::Call {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
        provider,
    }
}

/// The conversation, with what this model thought and gave with its first call.
fn conversation(thoughts: Vec<Block>, given: Option<Value>) -> Vec<Arc<RequestMessage>> {
    let mut answer = thoughts;
    answer.extend([
        text("Reading."),
        asks("c:1", "read", json!({"path": "a"}), given),
        asks("c:1", "read", json!({"path": "b"}), None),
        asks("", "grep", Value::Null, None),
    ]);
    let mut failed = result("c:1", "read", "no such file");
    if let Block::Result { error, .. } = &mut failed {
        *error = true;
    }
    vec![
        said(false, "m", vec![text("Read the paper."), pdf()]),
        said(true, "m", answer),
        said(
            false,
            "m",
            vec![
                result("c:1", "read", "one"),
                failed,
                result("", "grep", PRUNED),
                result("zz", "list", "lost output"),
            ],
        ),
        said(true, "m", Vec::new()),
        said(false, "m", vec![text(" \n")]),
        said(false, "m", vec![text("What did we do so far?")]),
        said(true, "m", vec![text("## Task\nRead.")]),
        said(false, "m", vec![text("Go on.")]),
    ]
}

/// The messages of the body, without the rest.
fn messages(request: &Request, quirks: &Quirks) -> Value {
    let body = encode(request, quirks);
    validate(&body, quirks).expect("the provider takes it");
    ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(key).cloned())
        .expect("a list of messages")
}

#[test]
fn anthropic_messages() {
    let thoughts = vec![
        thought(
            "",
            json!({"wire": "anthropic", "type": "thinking", "signature": "sig"}),
        ),
        thought(
            "",
            json!({"wire": "anthropic", "type": "redacted_thinking", "data": "XXX"}),
        ),
    ];
    let mark = json!({"type": "ephemeral"});
    let got = messages(
        &request("m", conversation(thoughts, None)),
        &Quirks::plain(Wire::Anthropic),
    );
    assert_eq!(
        got,
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Read the paper."},
                {"type": "document", "title": "a.pdf", "source":
                    {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "sig"},
                {"type": "redacted_thinking", "data": "XXX"},
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "c_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c_1_2", "name": "read", "input": {"path": "b"}},
                {"type": "tool_use", "id": "call_3", "name": "grep", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "c_1_2", "is_error": true, "content": "no such file"},
                {"type": "tool_result", "tool_use_id": "call_3", "content": PRUNED},
                {"type": "text", "text": "[Result of an earlier list call]\nlost output"},
                {"type": "text", "text": "What did we do so far?", "cache_control": mark}]},
            {"role": "assistant", "content": [{"type": "text", "text": "## Task\nRead."}]},
            {"role": "user", "content": [
                {"type": "text", "text": "Go on.", "cache_control": mark}]}
        ])
    );
}

#[test]
fn chat_messages() {
    let details = json!([{"type": "reasoning.encrypted", "data": "E"}]);
    let blocks = json!([{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]);
    let thoughts = vec![thought(
        "Hm.",
        json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_text",
            "reasoning_details": details, "thinking_blocks": blocks, "reasoning_opaque": "O"}),
    )];
    let quirks = Quirks {
        pdf: true,
        ..Quirks::plain(Wire::OpenaiChat)
    };
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let got = messages(&request("m", conversation(thoughts, None)), &quirks);
    assert_eq!(
        got,
        json!([
            {"role": "system", "content": "You are dunlin.\n\nToday is Friday."},
            {"role": "user", "content": [
                {"type": "text", "text": "Read the paper."},
                {"type": "file", "file": {"filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,JVBERg=="}}]},
            {"role": "assistant", "content": "Reading.", "reasoning_text": "Hm.",
                "reasoning_details": details, "thinking_blocks": blocks, "reasoning_opaque": "O",
                "tool_calls": [
                    call("c:1", "read", "{\"path\":\"a\"}"),
                    call("c_1_2", "read", "{\"path\":\"b\"}"),
                    call("call_3", "grep", "{}")]},
            {"role": "tool", "tool_call_id": "c:1", "content": "one"},
            {"role": "tool", "tool_call_id": "c_1_2", "content": "no such file"},
            {"role": "tool", "tool_call_id": "call_3", "content": PRUNED},
            {"role": "user", "content": "[Result of an earlier list call]\nlost output\n\nWhat did we do so far?"},
            {"role": "assistant", "content": "## Task\nRead."},
            {"role": "user", "content": "Go on."}
        ])
    );
}

#[test]
fn responses_input() {
    let item = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"});
    let thoughts = vec![
        thought("Hm.", json!(null)),
        thought(
            "",
            json!({"wire": "openai-responses", "type": "reasoning", "item": item}),
        ),
        thought(
            "",
            json!({"wire": "openai-responses", "type": "message", "phase": "commentary"}),
        ),
    ];
    let given = json!({"wire": "openai-responses", "type": "function_call", "item_id": "fc", "namespace": "ns"});
    let says = |role: &str, kind: &str, texts: &[&str]| {
        let parts: Vec<Value> = texts
            .iter()
            .map(|text| json!({"type": kind, "text": text}))
            .collect();
        json!({"type": "message", "role": role, "content": parts})
    };
    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let mut first = call("c_1", "read", "{\"path\":\"a\"}");
    first["namespace"] = json!("ns");
    let mut phased = says("assistant", "output_text", &["Reading."]);
    phased["phase"] = json!("commentary");
    let got = messages(
        &request("m", conversation(thoughts, Some(given))),
        &Quirks::plain(Wire::OpenaiResponses),
    );
    assert_eq!(
        got,
        json!([
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Read the paper."},
                {"type": "input_file", "filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,JVBERg=="}]},
            item,
            phased,
            first,
            call("c_1_2", "read", "{\"path\":\"b\"}"),
            call("call_3", "grep", "{}"),
            output("c_1", "one"),
            output("c_1_2", "no such file"),
            output("call_3", PRUNED),
            says("user", "input_text", &["[Result of an earlier list call]\nlost output", "What did we do so far?"]),
            says("assistant", "output_text", &["## Task\nRead."]),
            says("user", "input_text", &["Go on."])
        ])
    );
}

#[test]
fn gemini_contents() {
    let thoughts = vec![thought(
        "Hm.",
        json!({"wire": "gemini", "type": "thought", "thoughtSignature": "T"}),
    )];
    let given = json!({"wire": "gemini", "type": "functionCall", "thoughtSignature": "F"});
    let response = |name: &str, key: &str, text: &str| json!({"functionResponse": {"name": name, "response": {key: text}}});
    let got = messages(
        &request("m", conversation(thoughts, Some(given))),
        &Quirks::plain(Wire::Gemini),
    );
    assert_eq!(
        got,
        json!([
            {"role": "user", "parts": [
                {"text": "Read the paper."},
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true, "thoughtSignature": "T"},
                {"text": "Reading."},
                {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "F"},
                {"functionCall": {"name": "read", "args": {"path": "b"}}},
                {"functionCall": {"name": "grep", "args": {}}}]},
            {"role": "user", "parts": [
                response("read", "output", "one"),
                response("read", "error", "no such file"),
                response("grep", "output", PRUNED),
                {"text": "[Result of an earlier list call]\nlost output"},
                {"text": "What did we do so far?"}]},
            {"role": "model", "parts": [{"text": "## Task\nRead."}]},
            {"role": "user", "parts": [{"text": "Go on."}]}
        ])
    );
}

#[test]
fn another_model_gets_words_and_calls_and_nothing_that_belongs_to_the_first() {
    for (wire, value) in [
        (
            Wire::Anthropic,
            json!({"wire": "anthropic", "type": "thinking", "signature": "secret"}),
        ),
        (
            Wire::Anthropic,
            json!({"wire": "anthropic", "type": "redacted_thinking", "data": "secret"}),
        ),
        (
            Wire::Anthropic,
            json!({"wire": "anthropic", "type": "opaque", "block": {"type": "server_tool_use", "id": "secret"}}),
        ),
        (
            Wire::OpenaiChat,
            json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_content",
                "reasoning_details": [{"data": "secret"}], "thinking_blocks": ["secret"], "reasoning_opaque": "secret"}),
        ),
        (
            Wire::OpenaiResponses,
            json!({"wire": "openai-responses", "type": "reasoning", "item": {"type": "reasoning", "encrypted_content": "secret"}}),
        ),
        (
            Wire::Gemini,
            json!({"wire": "gemini", "type": "thought", "thoughtSignature": "secret"}),
        ),
    ] {
        let history = conversation(vec![thought("secret", value.clone())], Some(value));
        for quirks in endpoints() {
            let other = request("another", history.clone());
            let body = encode(&other, &quirks);
            validate(&body, &quirks).expect("the provider takes it");
            let sent = body.to_string();
            assert!(
                !sent.contains("secret"),
                "{wire} on {}: {sent}",
                quirks.wire
            );
            assert!(
                sent.contains("Reading.") && sent.contains("no such file"),
                "{sent}"
            );
            // an id that only its own wire takes
            assert!(!sent.contains("c:1"), "{sent}");
        }
        let quirks = Quirks::plain(wire);
        let own = encode(&request("m", history), &quirks).to_string();
        assert!(
            own.contains("secret"),
            "{wire} gets back what is its own: {own}"
        );
    }
}

#[test]
fn a_request_for_a_summary_has_the_calls_of_the_history_and_no_tools() {
    for quirks in endpoints() {
        let mut history = conversation(Vec::new(), None);
        history.truncate(3);
        history.push(said(false, "m", vec![text("Write the notes now.")]));
        let mut ask = request("m", history);
        ask.tools = Vec::new().into();
        ask.system_dynamic = Arc::from("");
        let body = encode(&ask, &quirks);
        validate(&body, &quirks).expect("the provider takes it");
        assert!(body.get("tools").is_none(), "{body}");
        let sent = body.to_string();
        assert!(sent.contains("no such file") && sent.contains("Write the notes now."));
        assert!(!sent.contains("Today is Friday."), "{sent}");
    }
}
