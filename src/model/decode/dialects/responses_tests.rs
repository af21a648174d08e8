//! OpenAI Responses: items that come in any way, and answers that stop early.

use super::*;

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

/// One reasoning item, one message, one call, in deltas and at their ends.
fn everything() -> Vec<Value> {
    let thought = json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "ENC"});
    let text =
        json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]});
    let call = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": "{\"p\":1}", "status": "completed"});
    let added = |at: u64, item: Value| json!({"type": "response.output_item.added", "output_index": at, "item": item});
    let done = |at: u64, item: &Value| json!({"type": "response.output_item.done", "output_index": at, "item": item});
    vec![
        json!({"type": "response.created", "response": {"id": "r"}}),
        added(0, json!({"type": "reasoning", "id": "rs", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs", "summary_index": 0, "delta": "hm"}),
        done(0, &thought),
        added(1, json!({"type": "message", "id": "m", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "m", "content_index": 0, "delta": "hi"}),
        done(1, &text),
        added(
            2,
            json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": ""}),
        ),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "fc", "delta": "{\"p\":1}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "item_id": "fc", "arguments": "{\"p\":1}"}),
        done(2, &call),
        response(
            "response.completed",
            "completed",
            &json!([thought, text, call]),
        ),
    ]
}

#[test]
fn items_without_an_index_or_all_under_one_come_once() {
    let expected = json!({"text": "hi", "reasoning": "hm", "calls": ["read({\"p\":1})"],
        "finish_reason": "tool-calls", "error": null});
    let change = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| -> Vec<Value> {
        let mut all = everything();
        all.iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(change);
        all
    };
    let mut early = everything();
    let call = early.remove(7);
    early.insert(5, call);
    let mut twice = everything();
    twice.insert(8, twice[7].clone());
    twice.insert(7, twice[4].clone());
    for stream in [
        everything(),
        change(&|event| drop(event.shift_remove("output_index"))),
        change(&|event| {
            if let Some(at) = event.get_mut("output_index") {
                *at = json!(0);
            }
        }),
        // not even ids
        change(&|event| {
            drop(event.shift_remove("output_index"));
            drop(event.shift_remove("item_id"));
        }),
        // announced before the one before it was done, and announced twice
        early,
        twice,
        // the whole list twice
        [everything(), everything().split_off(11)].concat(),
    ] {
        expect(Wire::OpenaiResponses, &events(&stream), &expected);
    }
}

#[test]
fn the_end_is_read_in_whatever_event_and_form() {
    let text = json!([{"type": "message", "content": "hi"}]);
    let flat = json!({"type": "response.completed", "output": text});
    let said = |kind: &str, status: &str, more: Value| {
        let mut event = response(kind, status, &text);
        for (key, value) in more.as_object().expect("members") {
            event["response"][key] = value.clone();
        }
        event
    };
    for (event, expected) in [
        (flat, json!({"text": "hi", "finish_reason": "stop"})),
        (
            said("response.done", "completed", json!({})),
            json!({"text": "hi", "finish_reason": "stop"}),
        ),
        (
            said(
                "response.completed",
                "incomplete",
                json!({"incomplete_details": {"reason": "max_output_tokens"}}),
            ),
            json!({"text": "hi", "finish_reason": "length"}),
        ),
        (
            said(
                "response.incomplete",
                "incomplete",
                json!({"incomplete_details": null}),
            ),
            json!({"text": "hi", "finish_reason": "length"}),
        ),
        (
            said(
                "response.incomplete",
                "incomplete",
                json!({"incomplete_details": "content_filter"}),
            ),
            json!({"text": "hi", "finish_reason": "content-filter"}),
        ),
        (
            said(
                "response.completed",
                "failed",
                json!({"error": {"code": "server_error", "message": "x"}}),
            ),
            json!({"error": "server", "finish_reason": "error"}),
        ),
        (
            said("response.failed", "failed", json!({"error": "rate limit"})),
            json!({"error": "rate-limit", "finish_reason": "error"}),
        ),
        (
            said("response.failed", "failed", json!({"error": null})),
            json!({"error": "server"}),
        ),
        (
            said("response.cancelled", "cancelled", json!({})),
            json!({"error": "server"}),
        ),
        (
            json!({"type": "response.error", "error": {"message": "x"}}),
            json!({"error": "server"}),
        ),
        (
            json!({"detail": "Too many requests"}),
            json!({"error": "rate-limit"}),
        ),
    ] {
        expect(Wire::OpenaiResponses, &events(&[event]), &expected);
    }
}

#[test]
fn arguments_are_complete_only_if_the_server_says_so() {
    let added = |arguments: &str| {
        json!({"type": "response.output_item.added", "output_index": 0, "item":
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": arguments}})
    };
    let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"p\""});
    let done = |status: &str| {
        json!({"type": "response.output_item.done", "output_index": 0, "item":
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"p\":1}", "status": status}})
    };
    let over = response("response.completed", "completed", &json!([]));
    let mut cut = response("response.incomplete", "incomplete", &json!([]));
    cut["response"]["incomplete_details"] = json!({"reason": "max_output_tokens"});
    for (stream, calls) in [
        // a piece was lost on the way
        (
            vec![added(""), delta.clone(), done("completed"), over.clone()],
            "read({\"p\":1})",
        ),
        // only announced
        (vec![added("{\"p\":1}"), over.clone()], "read({\"p\":1})"),
        (vec![added(""), over.clone()], "read({})"),
        (vec![added("{\"p\":1}"), cut.clone()], "!read(null)"),
        (vec![added(""), delta.clone(), over], "!read(null)"),
        (
            vec![added(""), done("incomplete"), cut.clone()],
            "!read(null)",
        ),
        (vec![added(""), delta, cut], "!read(null)"),
    ] {
        expect(
            Wire::OpenaiResponses,
            &events(&stream),
            &json!({"calls": [calls]}),
        );
    }
}

#[test]
fn custom_calls_run_when_their_input_is_said_to_be_whole() {
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item":
        {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": ""}});
    let delta =
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "ls"});
    let done =
        json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": "ls"});
    let over = response("response.completed", "completed", &json!([]));
    for (stream, calls) in [
        (
            vec![added.clone(), delta.clone(), done.clone(), over.clone()],
            "run(\"ls\")",
        ),
        (vec![added.clone(), done, over.clone()], "run(\"ls\")"),
        (vec![added, delta, over], "!run(null)"),
    ] {
        expect(
            Wire::OpenaiResponses,
            &events(&stream),
            &json!({"calls": [calls]}),
        );
    }
}

#[test]
fn text_and_thoughts_of_parts_and_older_events_are_read() {
    let over = response("response.completed", "completed", &json!([]));
    let event = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "output_index": 0, "content_index": 0});
        for (key, value) in more.as_object().expect("members") {
            event[key] = value.clone();
        }
        event
    };
    let thinks = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}});
    let says = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}});
    for (stream, reasoning, said) in [
        (
            vec![
                says,
                event(
                    "response.content_part.done",
                    json!({"part": {"type": "output_text", "text": "hi"}}),
                ),
            ],
            "",
            "hi",
        ),
        (
            vec![
                thinks.clone(),
                event("response.reasoning.delta", json!({"delta": "hm"})),
            ],
            "hm",
            "",
        ),
        (
            vec![event(
                "response.reasoning_summary.delta",
                json!({"delta": {"text": "hm"}}),
            )],
            "hm",
            "",
        ),
        (
            vec![
                thinks,
                event(
                    "response.reasoning_summary_part.done",
                    json!({"part": {"type": "summary_text", "text": "hm"}}),
                ),
            ],
            "hm",
            "",
        ),
        (
            vec![event(
                "response.output_item.done",
                json!({"item": {"type": "reasoning", "summary": "hm"}}),
            )],
            "hm",
            "",
        ),
        (
            vec![event(
                "response.output_item.done",
                json!({"item": {"type": "message", "content": "hi"}}),
            )],
            "",
            "hi",
        ),
    ] {
        let mut stream = stream;
        stream.push(over.clone());
        expect(
            Wire::OpenaiResponses,
            &events(&stream),
            &json!({"reasoning": reasoning, "text": said, "finish_reason": "stop"}),
        );
    }
}

#[test]
fn a_second_answer_inside_the_first_runs_nothing() {
    let mut stream = everything();
    stream.truncate(9);
    stream.push(json!({"type": "response.created", "response": {"id": "another"}}));
    stream.extend(everything());
    let got = decode(Wire::OpenaiResponses, &events(&stream));
    assert_eq!(got["error"]["kind"], "server", "{got:#}");
    assert_eq!(got["finish_reason"], "error");
}
