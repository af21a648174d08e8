//! Tests of the decoders beyond what recordings show; those are in `tests/it/wire`.

use serde_json::{Value, json};

use super::{Decoded, Decoder, Wire, decode_bytes};
use crate::model::delta::Delta;
use crate::protocol::{FaultKind, Finish};

/// The body of a stream with these events.
fn stream(events: &[Value]) -> String {
    events.iter().fold(String::new(), |body, event| {
        body + &format!("data: {event}\n\n")
    })
}

fn feed(decoder: &mut Decoder, event: &Value) -> Vec<Delta> {
    let decoded = decoder.feed(format!("data: {event}\n\n").as_bytes());
    assert_eq!(decoded.fault, None);
    decoded.deltas
}

fn chat(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ended(deltas: &[Delta]) -> Vec<(String, Result<Value, String>)> {
    deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::CallEnd {
                name, arguments, ..
            } => Some((name.clone(), arguments.clone())),
            _ => None,
        })
        .collect()
}

fn neutral(wire: Wire, body: &str) -> Value {
    let whole = decode_bytes(wire, body.as_bytes(), None);
    assert_eq!(
        decode_bytes(wire, body.as_bytes(), Some(1)),
        whole,
        "{body}"
    );
    whole
}

#[test]
fn every_wire_has_a_name_that_reads_back() {
    for (wire, name) in Wire::ALL {
        assert_eq!(name.parse(), Ok(wire));
        assert_eq!(wire.to_string(), name);
    }
    assert!(
        "openai"
            .parse::<Wire>()
            .is_err_and(|error| error.contains("openai-chat"))
    );
}

#[test]
fn text_comes_out_with_the_bytes_that_complete_its_event() {
    let mut decoder = Decoder::new(Wire::OpenaiChat);
    let event = format!("data: {}\n\n", chat(&json!({"content": "hi"})));
    let (head, last) = event.split_at(event.len() - 1);
    assert!(decoder.feed(head.as_bytes()).deltas.is_empty());
    let text = Delta::Text {
        block: 0,
        text: "hi".into(),
    };
    assert_eq!(decoder.feed(last.as_bytes()).deltas, [text]);
}

#[test]
fn a_chat_call_ends_as_soon_as_its_arguments_are_closed() {
    let mut decoder = Decoder::new(Wire::OpenaiChat);
    let start = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p\":"}}]});
    assert!(ended(&feed(&mut decoder, &chat(&start))).is_empty());
    let rest = json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]});
    let calls = ended(&feed(&mut decoder, &chat(&rest)));
    assert_eq!(calls, [("read".to_owned(), Ok(json!({"p": 1})))]);
}

#[test]
fn an_empty_object_waits_for_the_end_because_the_real_arguments_may_follow() {
    let mut decoder = Decoder::new(Wire::OpenaiChat);
    let start = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}]});
    assert!(ended(&feed(&mut decoder, &chat(&start))).is_empty());
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    assert_eq!(
        ended(&feed(&mut decoder, &finish)),
        [("ls".to_owned(), Ok(json!({})))]
    );
}

#[test]
fn two_whole_chat_calls_without_ids_under_one_index_stay_two() {
    let call = |arguments: &str| {
        chat(
            &json!({"tool_calls": [{"index": 0, "function": {"name": "t", "arguments": arguments}}]}),
        )
    };
    for arguments in [r#"{"a":1}"#, "{}"] {
        let body = format!(
            "data: {0}\n\ndata: {0}\n\ndata: {1}\n\ndata: [DONE]\n\n",
            call(arguments),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        );
        let answer = neutral(Wire::OpenaiChat, &body);
        assert_eq!(
            answer["tool_calls"].as_array().map(Vec::len),
            Some(2),
            "{answer}"
        );
        assert_eq!(answer["finish_reason"], "tool-calls");
    }
}

#[test]
fn a_late_piece_of_white_space_is_no_call() {
    let call = |index: u32, name: Value, arguments: &str| {
        let call =
            json!({"index": index, "id": name, "function": {"name": name, "arguments": arguments}});
        format!("data: {}\n\n", chat(&json!({ "tool_calls": [call] })))
    };
    let body = [
        call(0, json!("a"), "{\"x\":1}"),
        call(1, json!("b"), "{\"x\":"),
        call(0, Value::Null, "\n"),
        call(1, Value::Null, "2}"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let calls = neutral(Wire::OpenaiChat, &body)["tool_calls"].clone();
    assert_eq!(calls[1]["arguments"], json!({"x": 2}), "{calls}");
    assert_eq!(calls.as_array().map(Vec::len), Some(2), "{calls}");
}

#[test]
fn think_tags_become_reasoning_only_at_the_start() {
    let answer = |pieces: &[&str]| {
        let events: Vec<Value> = pieces
            .iter()
            .map(|piece| chat(&json!({ "content": piece })))
            .collect();
        let mut body = stream(&events);
        body.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
        let answer = neutral(Wire::OpenaiChat, &body);
        (answer["reasoning"].clone(), answer["text"].clone())
    };
    assert_eq!(
        answer(&["\n<thi", "nk>a</th", "ink", ">b"]),
        (json!("a"), json!("b"))
    );
    assert_eq!(answer(&["<think>a</thi"]), (json!("a</thi"), json!("")));
    assert_eq!(answer(&["<", "b>"]), (json!(""), json!("<b>")));
    assert_eq!(
        answer(&["a <think>b</think>"]),
        (json!(""), json!("a <think>b</think>"))
    );
}

#[test]
fn an_anthropic_call_without_arguments_is_cut_when_the_limit_follows() {
    let body = |reason: &str| {
        [
            json!({"type": "message_start", "message": {"id": "m"}}),
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "t", "name": "ls", "input": {}}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ]
        .map(|event| format!("data: {event}\n\n"))
        .concat()
    };
    let cut = neutral(Wire::Anthropic, &body("max_tokens"));
    assert_eq!(cut["tool_calls"][0]["incomplete"], true, "{cut}");
    let whole = neutral(Wire::Anthropic, &body("tool_use"));
    assert_eq!(whole["tool_calls"][0]["arguments"], json!({}), "{whole}");
}

#[test]
fn answers_of_servers_that_do_not_stream_are_read_too() {
    let cases = [
        (
            Wire::OpenaiChat,
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "tool_calls":
                [{"id": "c", "function": {"name": "t", "arguments": "{\"a\":1}"}}]}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
        ),
        (
            Wire::Anthropic,
            json!({"id": "m", "content": [{"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}}],
                "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}),
        ),
        (
            Wire::OpenaiResponses,
            json!({"status": "completed", "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
                {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{\"a\":1}",
                 "status": "completed"}],
                "usage": {"input_tokens": 3, "output_tokens": 2}}),
        ),
        (
            Wire::Gemini,
            json!([{"candidates": [{"content": {"parts": [{"text": "hi"}]}}]},
                {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c", "name": "t", "args": {"a": 1}}}]},
                "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}]),
        ),
    ];
    for (wire, body) in cases {
        for text in [body.to_string(), format!("\u{feff}\n{body:#}\n")] {
            let answer = neutral(wire, &text);
            assert_eq!(answer["error"], Value::Null, "{wire}: {answer}");
            assert_eq!(answer["text"], "hi", "{wire}");
            let call = json!({"id": "c", "name": "t", "arguments": {"a": 1}});
            assert_eq!(answer["tool_calls"], json!([call]), "{wire}");
            assert_eq!(answer["finish_reason"], "tool-calls", "{wire}");
            assert_eq!(
                (&answer["usage"]["input"], &answer["usage"]["output"]),
                (&json!(3), &json!(2))
            );
        }
    }
}

#[test]
fn a_success_that_is_an_error_says_what_it_is() {
    for (body, kind, words) in [
        (
            r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#,
            "overloaded",
            "Overloaded",
        ),
        (
            r#"{"type":"error","error":{"type":"authentication_error","message":"bad key"}}"#,
            "auth",
            "bad key",
        ),
        (
            "<html><title>Sign in to HotelNet</title></html>",
            "server",
            "Sign in to HotelNet",
        ),
        (
            "upstream connect error: reset",
            "server",
            "upstream connect error",
        ),
        (
            r#"{"choices":[{"message":{"content":"hel"#,
            "stream-truncated",
            "broke off",
        ),
        ("", "stream-truncated", "broke off"),
        (
            "data: {\"choices\":[]}\n\n",
            "stream-truncated",
            "broke off",
        ),
    ] {
        for (wire, _) in Wire::ALL {
            let answer = neutral(wire, body);
            assert_eq!(answer["error"]["kind"], kind, "{wire}: {body}: {answer}");
            let sentence = answer["error"]["sentence"].as_str().unwrap_or("");
            assert!(sentence.contains(words), "{sentence}");
            assert_eq!(answer["finish_reason"], "error");
        }
    }
}

#[test]
fn what_was_decoded_before_a_fault_is_kept_and_nothing_comes_after() {
    let mut decoder = Decoder::new(Wire::OpenaiChat);
    let body = format!(
        "data: {}\n\nevent: error\ndata: the model fell over\n\ndata: {}\n\n",
        chat(&json!({"content": "kept"})),
        chat(&json!({"content": "lost"}))
    );
    let Decoded { deltas, fault } = decoder.feed(body.as_bytes());
    assert_eq!(
        deltas.first(),
        Some(&Delta::Text {
            block: 0,
            text: "kept".into()
        })
    );
    assert!(
        !deltas
            .iter()
            .any(|delta| matches!(delta, Delta::Finish { .. }))
    );
    let fault = fault.expect("the error event");
    assert_eq!(fault.kind, FaultKind::Server);
    assert!(
        fault.retryable && fault.message.contains("the model fell over"),
        "{fault}"
    );
    let after = decoder.finish();
    assert!(after.deltas.is_empty() && after.fault.is_none());
}

#[test]
fn json_that_is_broken_in_the_middle_is_a_protocol_fault_that_quotes_it_without_keys() {
    let body = "data: {\"oops\": sk-abcdefghijklmnop\n\ndata: [DONE]\n\n";
    let answer = neutral(Wire::OpenaiChat, body);
    assert_eq!(answer["error"]["kind"], "protocol");
    let sentence = answer["error"]["sentence"].as_str().unwrap_or("");
    assert!(
        sentence.contains("oops") && !sentence.contains("abcdefgh"),
        "{sentence}"
    );
}

#[test]
fn reasoning_details_are_joined_for_the_way_back() {
    let detail = |detail: Value| {
        format!(
            "data: {}\n\n",
            chat(&json!({"reasoning_details": [detail]}))
        )
    };
    let body = [
        detail(json!({"type": "reasoning.text", "text": "a", "index": 0})),
        detail(json!({"type": "reasoning.text", "text": "b", "index": 0})),
        detail(json!({"type": "reasoning.text", "signature": "s", "index": 0})),
        detail(json!({"type": "reasoning.encrypted", "data": "x", "index": 1})),
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n"
            .to_owned(),
    ]
    .concat();
    let mut decoder = Decoder::new(Wire::OpenaiChat);
    let mut deltas = decoder.feed(body.as_bytes()).deltas;
    deltas.extend(decoder.finish().deltas);
    let provider = deltas.iter().find_map(|delta| match delta {
        Delta::BlockEnd { provider, .. } => provider.clone(),
        _ => None,
    });
    let expected = json!({"wire": "openai-chat", "type": "reasoning", "field": "reasoning_details",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
            {"type": "reasoning.encrypted", "data": "x", "index": 1}]});
    assert_eq!(provider, Some(expected));
    let reason = Delta::Finish {
        reason: Finish::Stop,
        raw: "stop".into(),
    };
    assert_eq!(deltas.last(), Some(&reason));
}
