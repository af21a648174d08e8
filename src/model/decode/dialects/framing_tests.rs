//! Framing that servers get away with, and bodies that are no event stream.

use super::*;

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

/// One answer on each wire, as events.
fn answers() -> [(Wire, Vec<Value>); 4] {
    [
        (
            Wire::Anthropic,
            vec![
                json!({"type": "message_start", "message": {"id": "m"}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ],
        ),
        (
            Wire::OpenaiChat,
            vec![
                json!({"choices": [{"index": 0, "delta": {"content": "hi"}}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            ],
        ),
        (
            Wire::OpenaiResponses,
            vec![
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"}),
                json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
            ],
        ),
        (
            Wire::Gemini,
            vec![
                json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}),
                json!({"candidates": [{"content": {}, "finishReason": "STOP"}]}),
            ],
        ),
    ]
}

#[test]
fn every_wire_survives_odd_framing_and_signs_of_life() {
    let good = json!({"text": "hi", "finish_reason": "stop", "error": null});
    for (wire, answer) in answers() {
        let lines: Vec<String> = answer.iter().map(Value::to_string).collect();
        let named = |event: &Value| {
            let name = event["type"].as_str().unwrap_or("message");
            format!("event: {name}\r\ndata: {event}\r\n\r\n")
        };
        let pretty = |event: &Value| {
            format!("data: {event:#}\n\n")
                .replace("\n  ", "\ndata:   ")
                .replace("\n}", "\ndata: }")
        };
        let alive = "data: ping\n\n: alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\ndata: null\n\ndata: {}\n\n";
        for body in [
            events(&answer),
            format!("\u{feff}{}", events(&answer).replace("data: ", "data:")),
            answer.iter().map(named).collect::<String>(),
            answer.iter().map(pretty).collect::<String>(),
            format!("{alive}{}{alive}", events(&answer)),
            format!("{}data: [DONE]\n\n", events(&answer)),
            events(&answer).trim_end().to_owned(),
            // no `data:` at all: one JSON value after the other
            lines.join("\n"),
            format!("{}\n", lines.join("\r\n")),
        ] {
            expect(wire, &body, &good);
        }
    }
}

#[test]
fn an_error_without_a_field_name_or_as_words_is_told_on_every_wire() {
    let limited = r#"{"error":{"message":"Rate limit reached","code":429}}"#;
    for (wire, answer) in answers() {
        let half = events(&answer[..answer.len() / 2]);
        for (tail, kind) in [
            (limited.to_owned(), "rate-limit"),
            (format!("{limited}\n\n"), "rate-limit"),
            (
                format!(
                    "{:#}\n",
                    serde_json::from_str::<Value>(limited).expect("JSON")
                ),
                "rate-limit",
            ),
            (format!("data: {limited}\n\n"), "rate-limit"),
            (format!("event: error\ndata: {limited}\n\n"), "rate-limit"),
            (
                "event: error\ndata: Overloaded\n\n".to_owned(),
                "overloaded",
            ),
            ("data: Error: upstream timed out\n\n".to_owned(), "server"),
            (
                "<html><title>504 Gateway Time-out</title></html>\n".to_owned(),
                "server",
            ),
            ("dat".to_owned(), "stream-truncated"),
            ("{\"error\":{\"mess".to_owned(), "stream-truncated"),
            (String::new(), "stream-truncated"),
        ] {
            expect(wire, &format!("{half}{tail}"), &json!({"error": kind}));
        }
        // comments keep the connection open, then the server gives up
        let body = format!(": PROCESSING\n\n: PROCESSING\n\n{limited}\n");
        expect(wire, &body, &json!({"error": "rate-limit", "text": ""}));
    }
}
