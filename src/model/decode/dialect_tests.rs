//! Streams that nobody has recorded, written from each provider's documentation and from what users
//! of compatible servers report. Each is fed whole and byte by byte.

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

/// Chat chunks with these deltas, a reason and the marker.
fn chat(deltas: &[Value], reason: &str) -> String {
    let mut all: Vec<Value> = deltas
        .iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
        .collect();
    all.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events(&all) + "data: [DONE]\n\n"
}

fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &Value) -> Value {
    let mut call = json!({"type": "function", "function": {"arguments": arguments}});
    if let Some(index) = index {
        call["index"] = index.into();
    }
    if let Some(id) = id {
        call["id"] = id.into();
    }
    if let Some(name) = name {
        call["function"]["name"] = name.into();
    }
    json!({"tool_calls": [call]})
}

#[test]
fn chat_calls_in_every_shape() {
    let text = |text: &str| json!(text);
    // pieces without an index; the id comes with the first one only
    expect(
        Wire::OpenaiChat,
        &chat(
            &[
                piece(None, Some("a"), Some("read"), &text("")),
                piece(None, None, None, &text("{\"p\":")),
                piece(None, None, None, &text("1}")),
            ],
            "tool_calls",
        ),
        &json!({"calls": ["read({\"p\":1})"], "finish_reason": "tool-calls"}),
    );
    // two calls whose pieces come in turn
    expect(
        Wire::OpenaiChat,
        &chat(
            &[
                piece(Some(0), Some("a"), Some("read"), &text("{\"p\"")),
                piece(Some(1), Some("b"), Some("list"), &text("{\"q\"")),
                piece(Some(0), None, None, &text(":1}")),
                piece(Some(1), None, None, &text(":2}")),
            ],
            "tool_calls",
        ),
        &json!({"calls": ["read({\"p\":1})", "list({\"q\":2})"]}),
    );
    // the id only with the last piece, and repeated with every piece
    for ids in [[None, None, Some("z")], [Some("z"), Some("z"), Some("z")]] {
        let deltas = [
            piece(Some(0), ids[0], Some("read"), &text("{\"p\"")),
            piece(Some(0), ids[1], None, &text(":")),
            piece(Some(0), ids[2], None, &text("3}")),
        ];
        let got = decode(Wire::OpenaiChat, &chat(&deltas, "tool_calls"));
        assert_eq!(got["tool_calls"][0]["id"], "z", "{got}");
        assert_eq!(got["tool_calls"][0]["arguments"], json!({"p": 3}));
        assert_eq!(got["tool_calls"].as_array().map(Vec::len), Some(1));
    }
    // arguments as an object, as null, as nothing; the call alone instead of in a list
    expect(
        Wire::OpenaiChat,
        &chat(
            &[
                piece(
                    Some(0),
                    Some("a"),
                    Some("read"),
                    &json!({"p": {"deep": true}}),
                ),
                piece(Some(1), Some("b"), Some("list"), &Value::Null),
                json!({"tool_calls": {"id": "c", "function": {"name": "todo", "arguments": "{}"}}}),
            ],
            "stop",
        ),
        &json!({"calls": ["read({\"p\":{\"deep\":true}})", "list({})", "todo({})"],
            "finish_reason": "tool-calls"}),
    );
    // text before, between and after calls; `content` null beside them
    expect(
        Wire::OpenaiChat,
        &chat(
            &[
                json!({"role": "assistant", "content": "a"}),
                json!({"content": null, "tool_calls": [{"index": 0, "id": "x", "function":
                    {"name": "read", "arguments": "{\"p\":1}"}}]}),
                json!({"content": "b"}),
            ],
            "tool_calls",
        ),
        &json!({"text": "ab", "calls": ["read({\"p\":1})"]}),
    );
}

#[test]
fn chat_calls_that_must_not_run() {
    let cut = piece(
        Some(0),
        Some("a"),
        Some("write"),
        &json!("{\"path\": \"x\", \"con"),
    );
    expect(
        Wire::OpenaiChat,
        &chat(std::slice::from_ref(&cut), "length"),
        &json!({"calls": ["!write(null)"], "finish_reason": "length"}),
    );
    // the connection ended: no reason, no marker
    let chunk = json!({"choices": [{"index": 0, "delta": cut}]});
    expect(
        Wire::OpenaiChat,
        &events(&[chunk]),
        &json!({"calls": ["!write(null)"], "error": "stream-truncated"}),
    );
    // broken JSON although the server says that the call is complete
    let broken = piece(Some(0), Some("a"), Some("write"), &json!("{\"path\": }"));
    expect(
        Wire::OpenaiChat,
        &chat(&[broken], "tool_calls"),
        &json!({"calls": ["!write(null)"], "finish_reason": "tool-calls"}),
    );
}

#[test]
fn chat_reasoning_wherever_it_hides_is_counted_once() {
    let details = |text: &str| json!([{"type": "reasoning.text", "text": text, "index": 0}]);
    for (deltas, thought, said) in [
        (
            vec![json!({"reasoning_content": "hm"}), json!({"content": "ok"})],
            "hm",
            "ok",
        ),
        (
            vec![json!({"reasoning": "hm"}), json!({"content": "ok"})],
            "hm",
            "ok",
        ),
        (
            vec![
                json!({"reasoning_details": details("hm")}),
                json!({"content": "ok"}),
            ],
            "hm",
            "ok",
        ),
        (
            vec![
                json!({"reasoning": "h", "reasoning_details": details("h")}),
                json!({"reasoning": "m", "reasoning_details": details("m"), "content": ""}),
                json!({"content": "ok", "reasoning": null, "reasoning_content": ""}),
            ],
            "hm",
            "ok",
        ),
        (
            vec![
                json!({"reasoning": "hm", "reasoning_content": "hm"}),
                json!({"content": "ok"}),
            ],
            "hm",
            "ok",
        ),
        (
            vec![
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                json!({"content": [{"type": "text", "text": "o"}]}),
                json!({"content": "k"}),
            ],
            "hm",
            "ok",
        ),
        (
            vec![
                json!({"content": "<thi"}),
                json!({"content": "nk>hm</think"}),
                json!({"content": ">ok"}),
            ],
            "hm",
            "ok",
        ),
        // cut inside: what cannot become a tag any more is a thought too
        (vec![json!({"content": "<think>hm</thi"})], "hm</thi", ""),
        // later tags are what the model talks about
        (
            vec![json!({"content": "Use <think>x</think>."})],
            "",
            "Use <think>x</think>.",
        ),
    ] {
        expect(
            Wire::OpenaiChat,
            &chat(&deltas, "stop"),
            &json!({"reasoning": thought, "text": said, "finish_reason": "stop"}),
        );
    }
}

#[test]
fn chat_usage_and_ends_wherever_they_are() {
    let said = json!({"choices": [{"index": 0, "delta": {"content": "hi"}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": null});
    let counted = json!({"text": "hi", "finish_reason": "stop", "usage":
        {"input": 40, "output": 7, "reasoning": null, "cache_read": 60, "cache_write": null}});
    let mut with_end = end.clone();
    with_end["usage"] = usage.clone();
    let mut in_choice = end.clone();
    in_choice["choices"][0]["usage"] = usage.clone();
    for chunks in [
        vec![
            said.clone(),
            end.clone(),
            json!({"choices": [], "usage": usage}),
        ],
        vec![said.clone(), with_end],
        vec![said.clone(), in_choice],
        vec![
            said.clone(),
            end.clone(),
            json!({"choices": [], "x_groq": {"usage": usage}}),
        ],
        // cumulative, in every chunk, and null in others
        vec![
            json!({"choices": [{"index": 0, "delta": {"content": "hi"}}], "usage":
                {"prompt_tokens": 100, "completion_tokens": 1}}),
            end.clone(),
            json!({"choices": [], "usage": usage}),
            json!({"choices": [], "usage": null}),
        ],
    ] {
        // with and without the marker at the end
        expect(Wire::OpenaiChat, &events(&chunks), &counted);
        let marked = events(&chunks) + "data: [DONE]\n\n";
        expect(Wire::OpenaiChat, &marked, &counted);
    }
    // more than was asked for
    let odd = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "prompt_cache_hit_tokens": 9}});
    expect(
        Wire::OpenaiChat,
        &events(&[said, end, odd]),
        &json!({"usage": {"input": 0, "output": 1, "reasoning": null, "cache_read": 9, "cache_write": null}}),
    );
}

#[test]
fn framing_that_servers_get_away_with() {
    let said = r#"{"choices":[{"index":0,"delta":{"content":"a\u2028b"}}]}"#;
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    for body in [
        format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        format!("data:{said}\r\n\r\ndata:{end}\r\n\r\n"),
        format!("\u{feff}: keep-alive\n\ndata: {said}\n\n: keep-alive\n\ndata: {end}\n\n"),
        format!("id: 1\nretry: 5\ndata: {said}\n\ndata: {end}"),
        format!("data: {said}\r\rdata: {end}\r\r"),
        format!(
            "data: {}\n\ndata: {end}\n\n",
            said.replace(",\"delta\"", ",\ndata: \"delta\"")
        ),
        format!("\n\n\ndata:\n\ndata: {said}\n\ndata: \n\ndata: {end}\n\n data: x\n\n"),
    ] {
        expect(
            Wire::OpenaiChat,
            &body,
            &json!({"text": "a\u{2028}b", "finish_reason": "stop", "error": null}),
        );
    }
}

#[test]
fn chat_refusals_and_errors_in_the_middle() {
    expect(
        Wire::OpenaiChat,
        &chat(
            &[
                json!({"content": ""}),
                json!({"refusal": "I can"}),
                json!({"refusal": "not."}),
            ],
            "stop",
        ),
        &json!({"text": "", "refusal": "I cannot.", "finish_reason": "stop"}),
    );
    let said = json!({"choices": [{"index": 0, "delta": {"content": "half"}}]});
    for (event, kind) in [
        (
            json!({"error": {"message": "Rate limit exceeded", "code": 429}}),
            "rate-limit",
        ),
        (json!({"error": "upstream timed out"}), "server"),
        (
            json!({"error": {"message": "prompt is too long", "type": "invalid_request_error"}}),
            "context-overflow",
        ),
        (
            json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error",
            "error": {"code": 502, "message": "Provider disconnected"}}]}),
            "server",
        ),
        (
            json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
            "quota",
        ),
    ] {
        let body = events(&[said.clone(), event]) + "data: [DONE]\n\n";
        expect(
            Wire::OpenaiChat,
            &body,
            &json!({"text": "half", "error": kind}),
        );
    }
}

/// Messages events around these.
fn message(inner: &[Value], stop: &str) -> String {
    let mut all = vec![
        json!({"type": "message_start", "message": {"id": "m", "usage":
        {"input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}}}),
    ];
    all.extend(inner.iter().cloned());
    all.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop},
        "usage": {"output_tokens": 25, "input_tokens": null}}),
    );
    all.push(json!({"type": "message_stop"}));
    events(&all)
}

fn block(index: u64, start: &Value, deltas: &[Value]) -> Vec<Value> {
    let mut all =
        vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    for delta in deltas {
        all.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    all.push(json!({"type": "content_block_stop", "index": index}));
    all
}

#[test]
fn anthropic_blocks_of_every_kind_keep_their_order() {
    let mut inner = vec![
        json!({"type": "ping"}),
        json!({"type": "something_new", "x": [1]}),
    ];
    inner.extend(block(
        0,
        &json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            json!({"type": "thinking_delta", "thinking": "hm"}),
            json!({"type": "signature_delta", "signature": "SIG"}),
        ],
    ));
    inner.extend(block(
        1,
        &json!({"type": "redacted_thinking", "data": "XXXX"}),
        &[],
    ));
    inner.extend(block(
        2,
        &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        &[json!({"type": "input_json_delta", "partial_json": "{\"query\":\"q\"}"})],
    ));
    inner.extend(block(
        3,
        &json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
        &[],
    ));
    inner.extend(block(
        4,
        &json!({"type": "text", "text": ""}),
        &[
            json!({"type": "text_delta", "text": "so"}),
            json!({"type": "citations_delta", "citation": {"url": "u"}}),
            json!({"type": "unheard_of", "text": "no"}),
        ],
    ));
    inner.push(json!({"type": "ping"}));
    inner.extend(block(
        5,
        &json!({"type": "tool_use", "id": "t", "name": "list", "input": {}}),
        &[],
    ));
    let got = decode(Wire::Anthropic, &message(&inner, "tool_use"));
    assert_eq!(got["text"], "so");
    assert_eq!(got["reasoning"], "hm");
    assert_eq!(got["tool_calls"][0]["arguments"], json!({}));
    assert_eq!(got["finish_reason"], "tool-calls");
    assert_eq!(
        got["usage"],
        json!({"input": 10, "output": 25, "reasoning": null, "cache_read": 4, "cache_write": 2})
    );
    assert_eq!(
        got["extra"]["server_tool_calls"].as_array().map(Vec::len),
        Some(1),
        "{got:#}"
    );
}

#[test]
fn anthropic_ends_of_every_kind() {
    let text = block(0, &json!({"type": "text", "text": "half"}), &[]);
    for (stop, finish) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
        ("pause_turn", "other"),
        ("a_new_reason", "other"),
    ] {
        expect(
            Wire::Anthropic,
            &message(&text, stop),
            &json!({"text": "half", "finish_reason": finish, "error": null}),
        );
    }
    for (kind, expected) in [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate-limit"),
        ("api_error", "server"),
        ("authentication_error", "auth"),
        ("invalid_request_error", "bad-request"),
    ] {
        let mut body = message(&text, "end_turn");
        body.truncate(body.find("data: {\"type\":\"message_delta\"").unwrap_or(0));
        body += &format!(
            "event: error\ndata: {}\n\n",
            json!({"type": "error", "error": {"type": kind, "message": "x"}})
        );
        expect(
            Wire::Anthropic,
            &body,
            &json!({"text": "half", "error": expected}),
        );
    }
    // a call that the limit cut, with and without the end of its block
    let mut cut = block(
        0,
        &json!({"type": "tool_use", "id": "t", "name": "write", "input": {}}),
        &[json!({"type": "input_json_delta", "partial_json": "{\"path\":\"x\",\"c"})],
    );
    expect(
        Wire::Anthropic,
        &message(&cut, "max_tokens"),
        &json!({"calls": ["!write(null)"], "finish_reason": "length"}),
    );
    cut.pop();
    expect(
        Wire::Anthropic,
        &message(&cut, "max_tokens"),
        &json!({"calls": ["!write(null)"], "finish_reason": "length"}),
    );
}

fn response(kind: &str, status: &str, output: &Value) -> Value {
    json!({"type": kind, "response": {"id": "r", "status": status, "output": output, "usage":
        {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 59}}})
}

#[test]
fn responses_items_come_once_however_they_come() {
    let call = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "read",
        "arguments": "{\"p\":1}", "status": "completed"});
    let text = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}]});
    let started = |item: &Value| {
        let mut item = item.clone();
        item["status"] = json!("in_progress");
        if item["type"] == "message" {
            item["content"] = json!([]);
        } else {
            item["arguments"] = json!("");
        }
        item
    };
    let added = |at: u64, item: &Value| {
        json!({"type": "response.output_item.added",
        "output_index": at, "item": started(item)})
    };
    let done = |at: u64, item: &Value| json!({"type": "response.output_item.done", "output_index": at, "item": item});
    let delta = json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"});
    let arguments = |at: u64| {
        json!({"type": "response.function_call_arguments.done",
        "output_index": at, "arguments": "{\"p\":1}"})
    };
    let both = json!([text, call]);
    let over = response("response.completed", "completed", &both);
    let expected = json!({"text": "hi", "calls": ["read({\"p\":1})"], "finish_reason": "tool-calls",
        "usage": {"input": 30, "output": 9, "reasoning": 3, "cache_read": 20, "cache_write": null}});
    for (what, stream) in [
        ("only the final list", vec![over.clone()]),
        (
            "only whole items",
            vec![done(0, &text), done(1, &call), over.clone()],
        ),
        (
            "deltas and no ends of items",
            vec![
                added(0, &text),
                delta.clone(),
                added(1, &call),
                arguments(1),
                over.clone(),
            ],
        ),
        (
            "everything",
            vec![
                added(0, &text),
                delta.clone(),
                done(0, &text),
                added(1, &call),
                arguments(1),
                done(1, &call),
                over.clone(),
            ],
        ),
        (
            "indices with a gap",
            vec![
                added(0, &text),
                delta.clone(),
                done(0, &text),
                added(3, &call),
                arguments(3),
                done(3, &call),
                over.clone(),
            ],
        ),
        (
            "indices from 1",
            vec![
                added(1, &text),
                json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "hi"}),
                done(1, &text),
                added(2, &call),
                arguments(2),
                done(2, &call),
                over,
            ],
        ),
        (
            "an empty final list",
            vec![
                added(0, &text),
                delta.clone(),
                done(0, &text),
                added(1, &call),
                arguments(1),
                done(1, &call),
                response("response.completed", "completed", &json!([])),
            ],
        ),
    ] {
        let got = decode(Wire::OpenaiResponses, &events(&stream));
        assert_eq!(got["text"], "hi", "{what}: {got:#}");
        expect(Wire::OpenaiResponses, &events(&stream), &expected);
    }
}

#[test]
fn responses_that_stop_early_run_nothing_that_is_cut() {
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item":
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "write", "arguments": ""}});
    let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"path\":\"x"});
    let incomplete = |reason: &str| {
        let mut event = response("response.incomplete", "incomplete", &json!([]));
        event["response"]["incomplete_details"] = json!({"reason": reason});
        event
    };
    for (reason, finish) in [
        ("max_output_tokens", "length"),
        ("content_filter", "content-filter"),
    ] {
        expect(
            Wire::OpenaiResponses,
            &events(&[added.clone(), delta.clone(), incomplete(reason)]),
            &json!({"calls": ["!write(null)"], "finish_reason": finish}),
        );
    }
    let mut failed = response("response.failed", "failed", &json!([]));
    failed["response"]["error"] = json!({"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 6s."});
    let flat = json!({"type": "error", "code": "server_error", "message": "The server had an error", "param": null});
    let nested = json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "Your input exceeds the context window"}});
    for (last, kind) in [
        (failed, "rate-limit"),
        (flat, "server"),
        (nested, "context-overflow"),
    ] {
        expect(
            Wire::OpenaiResponses,
            &events(&[added.clone(), delta.clone(), last]),
            &json!({"calls": ["!write(null)"], "error": kind}),
        );
    }
    expect(
        Wire::OpenaiResponses,
        &events(&[added, delta]),
        &json!({"calls": ["!write(null)"], "error": "stream-truncated"}),
    );
}

#[test]
fn responses_reasoning_and_refusals() {
    let encrypted = json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "thought"}],
        "encrypted_content": "ENC", "status": "completed"});
    let refused = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let got = decode(
        Wire::OpenaiResponses,
        &events(&[
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs", "summary": []}}),
            json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "thought"}),
            json!({"type": "response.reasoning_summary_part.done", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": "thought"}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": encrypted}),
            json!({"type": "response.refusal.delta", "output_index": 1, "content_index": 0, "delta": "No."}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": refused}),
            response(
                "response.completed",
                "completed",
                &json!([encrypted, refused]),
            ),
        ]),
    );
    assert_eq!(got["reasoning"], "thought");
    assert_eq!(got["extra"]["refusal"], "No.");
    assert_eq!(
        got["extra"]["signatures"][0]["kind"], "encrypted_content",
        "{got:#}"
    );
}

fn candidate(parts: &Value, reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 30,
        "cachedContentTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 6, "toolUsePromptTokenCount": 5}})
}

#[test]
fn gemini_parts_of_every_kind() {
    let stream = [
        candidate(&json!([{"text": "hm", "thought": true}]), None),
        candidate(&json!([{"text": ""}]), None),
        candidate(
            &json!([{"functionCall": {"name": "read", "args": {"p": 1}}, "thoughtSignature": "SIG"},
            {"functionCall": {"name": "list"}}]),
            None,
        ),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "the other one"}]}},
            {"index": 0, "content": {"parts": [{"text": "hi"}]}}]}),
        candidate(
            &json!([{"text": "", "thoughtSignature": "END"}]),
            Some("STOP"),
        ),
    ];
    let expected = json!({"text": "hi", "reasoning": "hm", "calls": ["read({\"p\":1})", "list({})"],
        "finish_reason": "tool-calls",
        "usage": {"input": 25, "output": 10, "reasoning": 6, "cache_read": 10, "cache_write": null}});
    expect(Wire::Gemini, &events(&stream), &expected);
    // the same as one JSON list: an endpoint without `alt=sse`
    expect(Wire::Gemini, &json!(stream).to_string(), &expected);
}

#[test]
fn gemini_ends_of_every_kind() {
    for (reason, finish) in [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("RECITATION", "content-filter"),
        ("PROHIBITED_CONTENT", "content-filter"),
        ("SPII", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("UNEXPECTED_TOOL_CALL", "other"),
        ("OTHER", "other"),
    ] {
        expect(
            Wire::Gemini,
            &events(&[candidate(&json!([{"text": "half"}]), Some(reason))]),
            &json!({"text": "half", "finish_reason": finish, "error": null}),
        );
        // no content at all beside the reason
        let bare = json!({"candidates": [{"finishReason": reason, "index": 0}]});
        expect(
            Wire::Gemini,
            &events(&[bare]),
            &json!({"finish_reason": finish}),
        );
    }
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}});
    expect(
        Wire::Gemini,
        &events(&[blocked]),
        &json!({"finish_reason": "content-filter", "error": null}),
    );
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    expect(
        Wire::Gemini,
        &events(&[candidate(&json!([{"text": "half"}]), None), error]),
        &json!({"text": "half", "error": "overloaded"}),
    );
    expect(
        Wire::Gemini,
        &events(&[candidate(&json!([{"text": "half"}]), None)]),
        &json!({"text": "half", "error": "stream-truncated"}),
    );
}
