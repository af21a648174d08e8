//! Gemini: parts and ends of every kind.

use super::*;

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

#[test]
fn arguments_and_signatures_in_other_spellings_are_read() {
    let call = |args: Value| json!([{"functionCall": {"name": "read", "args": args}}]);
    for (args, calls) in [
        (json!({"p": 1}), "read({\"p\":1})"),
        (json!("{\"p\":1}"), "read({\"p\":1})"),
        (json!(null), "read({})"),
        (json!("{\"p\":"), "!read(null)"),
        (json!([1]), "!read(null)"),
    ] {
        // Google says STOP; a server of others says what it means
        expect(
            Wire::Gemini,
            &events(&[candidate(&call(json!({"p": 1})), Some("FUNCTION_CALL"))]),
            &json!({"calls": ["read({\"p\":1})"], "finish_reason": "tool-calls"}),
        );
        expect(
            Wire::Gemini,
            &events(&[candidate(&call(args), Some("STOP"))]),
            &json!({ "calls": [calls] }),
        );
    }
    let parts = json!([{"thought": true, "thoughtSignature": "A"},
        {"functionCall": {"name": "read", "args": {}}, "thought_signature": "B"}, {"thoughtSignature": "C"}]);
    let got = decode(Wire::Gemini, &events(&[candidate(&parts, Some("STOP"))]));
    let kinds: Vec<(&str, &str)> = got["extra"]["signatures"]
        .as_array()
        .expect("signatures")
        .iter()
        .map(|s| {
            (
                s["kind"].as_str().unwrap_or(""),
                s["text"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [("thought", "A"), ("functionCall", "B"), ("emptytext", "C")]
    );
}

#[test]
fn chunks_in_a_wrapper_and_reasons_that_are_none_change_nothing() {
    let first = candidate(&json!([{"text": "h"}]), Some("FINISH_REASON_UNSPECIFIED"));
    let last = candidate(&json!([{"text": "i"}]), Some("stop"));
    let good = json!({"text": "hi", "finish_reason": "stop", "error": null});
    expect(Wire::Gemini, &events(&[first.clone(), last.clone()]), &good);
    let wrapped = [json!({"response": first}), json!([{"response": last}])];
    expect(Wire::Gemini, &events(&wrapped), &good);
    expect(
        Wire::Gemini,
        &events(&[first]),
        &json!({"text": "h", "error": "stream-truncated"}),
    );
}
