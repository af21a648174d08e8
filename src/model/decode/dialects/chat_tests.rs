//! Chat Completions and its dialects: calls in every shape, reasoning in every field, counts and ends.

use super::*;

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

/// The calls of an answer with these pieces, as `expect` writes them, and its finish.
fn expect_calls(pieces: &[Value], reason: &str, calls: &Value) {
    expect(
        Wire::OpenaiChat,
        &chat(pieces, reason),
        &json!({ "calls": calls }),
    );
}

#[test]
fn calls_that_share_an_id_stay_apart_and_one_that_is_repeated_stays_one() {
    let one = json!("{\"p\":1}");
    let two = json!("{\"p\":2}");
    for index in [None, Some(0)] {
        let call = |arguments: &Value| piece(index, Some("c"), Some("read"), arguments);
        let both = json!(["read({\"p\":1})", "read({\"p\":2})"]);
        expect_calls(&[call(&one), call(&two)], "tool_calls", &both);
        expect_calls(
            &[call(&one), call(&one)],
            "tool_calls",
            &json!(["read({\"p\":1})"]),
        );
    }
    let gap = [
        piece(Some(0), Some(""), Some("read"), &one),
        piece(Some(7), Some(""), Some("read"), &json!("{\"p\"")),
        piece(Some(7), None, None, &json!(":2}")),
    ];
    expect_calls(
        &gap,
        "tool_calls",
        &json!(["read({\"p\":1})", "read({\"p\":2})"]),
    );
}

#[test]
fn arguments_that_begin_again_count_once() {
    let call = |arguments: Value| piece(Some(0), Some("a"), Some("read"), &arguments);
    let more = |arguments: Value| piece(Some(0), None, None, &arguments);
    let good = json!(["read({\"p\":1})"]);
    for pieces in [
        // a placeholder, then the real ones
        vec![call(json!("{}")), more(json!("{\"p\":1}"))],
        vec![call(json!("{}")), more(json!("{\"p\"")), more(json!(":1}"))],
        vec![call(json!({})), more(json!({"p": 1}))],
        // the text so far with every piece
        vec![
            call(json!("{\"p\"")),
            call(json!("{\"p\":")),
            call(json!("{\"p\":1}")),
        ],
        // the name with every piece
        vec![call(json!("{\"p\"")), call(json!(":1}"))],
        // JSON in a JSON text
        vec![call(json!("\"{\\\"p\\\":1}\""))],
    ] {
        expect_calls(&pieces, "tool_calls", &good);
    }
    // only what looks like it: the last piece is JSON by itself and belongs inside the first
    let nested = [call(json!("{\"a\":")), more(json!("{\"b\":1}"))];
    expect_calls(&nested, "length", &json!(["!read(null)"]));
}

#[test]
fn a_finish_before_the_end_does_not_cut_calls_short() {
    let finished = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]});
    let head = piece(Some(0), Some("a"), Some("read"), &json!(""));
    let tail = piece(Some(0), None, None, &json!("{\"p\":1}"));
    let good = json!({"calls": ["read({\"p\":1})"], "finish_reason": "tool-calls"});
    let bare = json!({"calls": ["read({})"], "finish_reason": "tool-calls"});
    for (chunks, expected) in [
        // with every chunk
        (vec![finished(head.clone()), finished(tail.clone())], &good),
        // before the arguments
        (
            vec![
                json!({"choices": [{"delta": head}]}),
                finished(json!({})),
                json!({"choices": [{"delta": tail}]}),
            ],
            &good,
        ),
        (vec![finished(head)], &bare),
    ] {
        expect(Wire::OpenaiChat, &events(&chunks), expected);
        let marked = events(&chunks) + "data: [DONE]\n\n";
        expect(Wire::OpenaiChat, &marked, expected);
    }
    // the text `null` is none, and neither is a reason in other letters another one
    let said =
        |reason: &str| json!({"choices": [{"delta": {"content": "a"}, "finish_reason": reason}]});
    expect(
        Wire::OpenaiChat,
        &events(&[said("null"), said("STOP")]),
        &json!({"text": "aa", "finish_reason": "stop"}),
    );
}

#[test]
fn calls_without_the_usual_wrapping_are_read() {
    let old = |call: Value| json!({ "function_call": call });
    for pieces in [
        vec![
            old(json!({"name": "read", "arguments": "{\"p\""})),
            old(json!({"arguments": ":1}"})),
        ],
        vec![
            json!({"tool_calls": [{"index": 0, "id": "a", "name": "read", "arguments": "{\"p\":1}"}]}),
        ],
        vec![
            json!({"tool_calls": [{"index": "0", "id": "a", "function": {"name": "read", "arguments": "{\"p\""}}]}),
            json!({"tool_calls": [{"index": "0", "function": {"arguments": ":1}"}}]}),
        ],
    ] {
        expect_calls(&pieces, "stop", &json!(["read({\"p\":1})"]));
    }
}

#[test]
fn reasoning_under_rarer_names_and_tags_is_reasoning() {
    for thought in [
        json!({"thinking": "hm"}),
        json!({"thinking_content": "hm"}),
        json!({"thought": "hm"}),
        json!({"reasoning": {"content": "hm"}}),
        json!({"reasoning": [{"text": "h"}, {"text": "m"}]}),
        json!({"thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}),
        json!({"content": "<thinking>hm</thinking>"}),
        json!({"content": "[THINK]hm[/THINK]"}),
        json!({"content": [{"type": "thinking", "thinking": "hm"}]}),
    ] {
        expect(
            Wire::OpenaiChat,
            &chat(&[thought, json!({"content": "ok"})], "stop"),
            &json!({"reasoning": "hm", "text": "ok"}),
        );
    }
}

#[test]
fn what_gateways_add_to_reasoning_is_kept_for_the_way_back() {
    let pieces = [
        json!({"reasoning_content": "h", "thinking_blocks": [{"type": "thinking", "thinking": "h", "signature": ""}]}),
        json!({"reasoning_content": "m", "thinking_blocks": [{"type": "thinking", "thinking": "m", "signature": null}]}),
        json!({"reasoning_content": "", "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "SIG"}]}),
        json!({"reasoning_opaque": "ENC", "content": ""}),
        json!({"content": "ok"}),
    ];
    let mut decoder = crate::model::decode::Decoder::new(Wire::OpenaiChat);
    let deltas = decoder.feed(chat(&pieces, "stop").as_bytes()).deltas;
    let kept = deltas.iter().find_map(|delta| match delta {
        crate::model::Delta::BlockEnd { provider, .. } => provider.clone(),
        _ => None,
    });
    assert_eq!(
        kept,
        Some(
            json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_content",
            "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "SIG"}],
            "reasoning_opaque": "ENC"})
        )
    );
}

#[test]
fn a_message_after_its_deltas_and_content_in_odd_wrappings_count_once() {
    let whole = json!({"role": "assistant", "content": "hi"});
    let choice = |choice: Value| json!({ "choices": [choice] });
    for chunks in [
        vec![
            choice(json!({"delta": {"content": "hi"}})),
            choice(json!({"delta": null, "message": whole, "finish_reason": "stop"})),
        ],
        vec![choice(json!({"message": whole, "finish_reason": "stop"}))],
        vec![choice(
            json!({"delta": {"content": {"type": "text", "text": "hi"}}, "finish_reason": "stop"}),
        )],
        vec![
            choice(json!({"text": "h"})),
            choice(json!({"text": "i", "finish_reason": "stop"})),
        ],
        // several chunks in one event
        vec![json!([
            choice(json!({"delta": {"content": "hi"}})),
            choice(json!({"delta": {}, "finish_reason": "stop"}))
        ])],
    ] {
        expect(
            Wire::OpenaiChat,
            &events(&chunks),
            &json!({"text": "hi", "finish_reason": "stop", "error": null}),
        );
    }
    expect(
        Wire::OpenaiChat,
        &chat(
            &[json!({"content": [{"type": "refusal", "refusal": "No."}]})],
            "stop",
        ),
        &json!({"text": "", "refusal": "No."}),
    );
}

#[test]
fn counts_that_come_in_parts_add_up_and_placeholders_count_nothing() {
    let end =
        json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]});
    let counted = |input: Value, output: Value| {
        json!({"usage": {"input": input, "output": output, "reasoning": null,
            "cache_read": null, "cache_write": null}})
    };
    let usage = |usage: Value| json!({"choices": [], "usage": usage});
    for (counts, expected) in [
        (
            vec![
                usage(json!({"prompt_tokens": 5, "completion_tokens": 2})),
                usage(json!({})),
            ],
            counted(json!(5), json!(2)),
        ),
        (
            vec![
                usage(json!({"prompt_tokens": 5})),
                usage(json!({"completion_tokens": 2})),
            ],
            counted(json!(5), json!(2)),
        ),
        (
            vec![
                usage(json!({"prompt_tokens": 5, "completion_tokens": 2})),
                usage(json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})),
            ],
            counted(json!(5), json!(2)),
        ),
        (
            vec![usage(json!({"input_tokens": "5", "output_tokens": 2.0}))],
            counted(json!(5), json!(2)),
        ),
        (
            vec![usage(json!({"prompt_tokens": 0, "completion_tokens": 0}))],
            counted(json!(0), json!(0)),
        ),
        (
            vec![usage(json!("many"))],
            counted(json!(null), json!(null)),
        ),
    ] {
        let mut chunks = vec![end.clone()];
        chunks.extend(counts);
        expect(Wire::OpenaiChat, &events(&chunks), &expected);
    }
}

#[test]
fn errors_of_any_shape_end_the_answer_and_empty_ones_do_not() {
    let said = json!({"choices": [{"index": 0, "delta": {"content": "half"}}]});
    for (event, kind) in [
        (
            json!({"code": "Throttling", "message": "Requests rate limit exceeded", "request_id": "1"}),
            "rate-limit",
        ),
        (
            json!({"success": false, "errors": [{"code": 1, "message": "Too many requests"}]}),
            "rate-limit",
        ),
        (json!({"detail": "Too Many Requests"}), "rate-limit"),
        (json!({"status": 429, "message": "slow down"}), "rate-limit"),
        (json!({"message": "Internal server error"}), "server"),
        (
            json!({"errorMessage": "Task timed out", "errorType": "Timeout"}),
            "server",
        ),
        (
            json!({"error_code": 429, "error_msg": "limited"}),
            "rate-limit",
        ),
        (
            json!({"fault": {"faultstring": "Quota violation"}}),
            "server",
        ),
        (json!({"error": {}}), "server"),
        (
            json!({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
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
    for nothing in [
        json!(null),
        json!({}),
        json!(""),
        json!(false),
        json!({"code": 0, "message": ""}),
    ] {
        let mut last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        last["error"] = nothing;
        expect(
            Wire::OpenaiChat,
            &events(&[said.clone(), last]),
            &json!({"text": "half", "error": null, "finish_reason": "stop"}),
        );
    }
}
