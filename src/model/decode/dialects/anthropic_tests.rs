//! Anthropic Messages: blocks and ends of every kind.

use super::*;

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

fn tool(index: u64, arguments: &str) -> Vec<Value> {
    let start = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": arguments});
    block(index, &start, &[delta])
}

#[test]
fn a_call_without_its_stop_runs_only_if_the_server_stopped_for_it() {
    for (arguments, stop, calls, finish) in [
        ("{\"p\":1}", "tool_use", "read({\"p\":1})", "tool-calls"),
        ("{\"p\":1}", "max_tokens", "!read(null)", "length"),
        ("{\"p\":1}", "refusal", "!read(null)", "content-filter"),
        ("{\"p\":", "tool_use", "!read(null)", "tool-calls"),
        ("", "max_tokens", "!read(null)", "length"),
    ] {
        let mut inner = tool(0, arguments);
        inner.pop();
        expect(
            Wire::Anthropic,
            &message(&inner, stop),
            &json!({"calls": [calls], "finish_reason": finish}),
        );
    }
    // a refusal leaves open whether a call without arguments was complete
    expect(
        Wire::Anthropic,
        &message(&tool(0, ""), "refusal"),
        &json!({"calls": ["!read(null)"], "finish_reason": "content-filter"}),
    );
}

#[test]
fn arguments_in_odd_places_are_found() {
    let start =
        |input: Value| json!({"type": "tool_use", "id": "t", "name": "read", "input": input});
    let whole = json!({"type": "input_json_delta", "partial_json": {"p": 1}});
    for inner in [
        block(0, &start(json!({"p": 1})), &[]),
        block(0, &start(json!("{\"p\":1}")), &[]),
        block(0, &start(json!({})), &[whole]),
        // what streams counts more than what was announced
        block(
            0,
            &start(json!({"p": 0})),
            &[json!({"type": "input_json_delta", "partial_json": "{\"p\":1}"})],
        ),
    ] {
        expect(
            Wire::Anthropic,
            &message(&inner, "tool_use"),
            &json!({"calls": ["read({\"p\":1})"], "finish_reason": "tool-calls"}),
        );
    }
}

#[test]
fn an_end_without_a_reason_is_read_from_what_came() {
    let end = json!({"type": "message_stop"});
    let start = json!({"type": "message_start", "message": {"id": "m"}});
    for last in [
        vec![end.clone()],
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": null}}),
            end.clone(),
        ],
    ] {
        let mut all = vec![start.clone()];
        all.extend(tool(0, "{\"p\":1}"));
        all.extend(last);
        expect(
            Wire::Anthropic,
            &events(&all),
            &json!({"calls": ["read({\"p\":1})"], "finish_reason": "tool-calls", "error": null}),
        );
    }
    // the reason beside the delta instead of in it, counts in the last event
    let flat = json!({"type": "message_delta", "stop_reason": "max_tokens"});
    let counted = json!({"type": "message_stop", "usage": {"input_tokens": 3, "output_tokens": 4}});
    expect(
        Wire::Anthropic,
        &events(&[start, flat, counted]),
        &json!({"finish_reason": "length", "usage": {"input": 3, "output": 4, "reasoning": null,
            "cache_read": null, "cache_write": null}}),
    );
}

#[test]
fn thoughts_and_text_that_were_not_announced_are_not_lost() {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let thought = json!({"type": "thinking_delta", "thinking": "hm"});
    let signed = json!({"type": "signature_delta", "signature": "SIG"});
    let said = json!({"type": "text_delta", "text": "hi"});
    let start = |index: u64, kind: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": kind, "text": "", "thinking": ""}});
    for inner in [
        vec![
            delta(0, thought.clone()),
            delta(0, signed.clone()),
            delta(1, said.clone()),
        ],
        // one index for both, without a stop between them
        vec![
            start(0, "thinking"),
            delta(0, thought.clone()),
            delta(0, signed.clone()),
            start(0, "text"),
            delta(0, said.clone()),
        ],
        // announced as the one, streamed as the other
        vec![
            start(0, "text"),
            delta(0, thought.clone()),
            delta(0, signed),
            delta(0, said.clone()),
        ],
        vec![
            start(0, "thinking"),
            delta(0, thought),
            delta(0, json!({"type": "signature_delta", "signature": "SIG"})),
            delta(0, said),
        ],
    ] {
        let got = decode(Wire::Anthropic, &message(&inner, "end_turn"));
        assert_eq!(got["text"], "hi", "{got:#}");
        assert_eq!(got["reasoning"], "hm", "{got:#}");
        assert_eq!(got["extra"]["signatures"][0]["text"], "SIG", "{got:#}");
    }
}
