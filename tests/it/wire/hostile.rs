//! No bytes can make the decoders panic, hang or hoard memory, and none can make a broken call run.

use dunlin::model::decode::{Decoded, Decoder, Wire};
use dunlin::model::delta::Delta;
use dunlin::model::error::classify;
use dunlin::protocol::FaultKind;
use proptest::prelude::*;

use super::{files, fixtures};

/// So many cases, or as many as `PROPTEST_CASES` says for a long run.
fn config(cases: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let long_run = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if long_run { given.cases } else { cases },
        failure_persistence: None,
        ..given
    }
}

fn decode(wire: Wire, body: &[u8], chunk: usize) -> Decoded {
    let mut decoder = Decoder::new(wire);
    let mut all = Decoded::default();
    for piece in body.chunks(chunk.max(1)) {
        let decoded = decoder.feed(piece);
        assert!(
            all.fault.is_none() || decoded.deltas.is_empty(),
            "deltas after a fault"
        );
        all.deltas.extend(decoded.deltas);
        all.fault = all.fault.or(decoded.fault);
    }
    let decoded = decoder.finish();
    all.deltas.extend(decoded.deltas);
    all.fault = all.fault.or(decoded.fault);
    all
}

/// What `Delta` promises, for any input.
fn promises_hold(decoded: &Decoded) -> Result<(), TestCaseError> {
    let mut finishes = 0;
    let mut started = Vec::new();
    let mut ended = Vec::new();
    for delta in &decoded.deltas {
        match delta {
            Delta::Finish { .. } => finishes += 1,
            Delta::Usage(_) => {}
            other => {
                prop_assert!(finishes == 0, "{other:?} after the finish");
                match other {
                    Delta::CallStart { block, .. } => started.push(*block),
                    Delta::CallArguments { block, .. } => prop_assert!(started.contains(block)),
                    Delta::CallEnd {
                        block,
                        name,
                        arguments,
                        ..
                    } => {
                        prop_assert!(started.contains(block) && !ended.contains(block));
                        prop_assert!(arguments.is_err() || !name.is_empty());
                        ended.push(*block);
                    }
                    Delta::BlockEnd { block, .. } => {
                        prop_assert!(!ended.contains(block), "block {block} ends twice");
                        ended.push(*block);
                    }
                    Delta::Text { block, .. } | Delta::Reasoning { block, .. } => {
                        prop_assert!(!ended.contains(block), "block {block} grows after its end");
                    }
                    Delta::Usage(_) | Delta::Finish { .. } => {}
                }
            }
        }
    }
    prop_assert_eq!(finishes, usize::from(decoded.fault.is_none()));
    prop_assert!(decoded.fault.is_some() || started.iter().all(|block| ended.contains(block)));
    Ok(())
}

/// Bytes that the deltas hold.
fn weight(decoded: &Decoded) -> usize {
    let bytes = |delta: &Delta| match delta {
        Delta::Text { text, .. } | Delta::Reasoning { text, .. } => text.len(),
        Delta::CallArguments { json, .. } => json.len(),
        Delta::CallEnd {
            arguments,
            provider,
            ..
        } => {
            let arguments = match arguments {
                Ok(value) => value.to_string().len(),
                Err(raw) => raw.len(),
            };
            arguments + provider.as_ref().map_or(0, |value| value.to_string().len())
        }
        Delta::BlockEnd { provider, .. } => {
            provider.as_ref().map_or(0, |value| value.to_string().len())
        }
        _ => 0,
    };
    decoded
        .deltas
        .iter()
        .map(|delta| bytes(delta) + size_of::<Delta>())
        .sum()
}

fn wire() -> impl Strategy<Value = Wire> {
    proptest::sample::select(Wire::ALL.map(|(wire, _)| wire).to_vec())
}

/// JSON made of the words that the wires look for, in shapes that no server sends.
fn json_soup() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(vec![
        "type",
        "index",
        "delta",
        "content_block",
        "text",
        "thinking",
        "partial_json",
        "message",
        "usage",
        "choices",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "finish_reason",
        "reasoning_details",
        "candidates",
        "content",
        "parts",
        "functionCall",
        "args",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "willContinue",
        "thoughtSignature",
        "response",
        "item",
        "output",
        "output_index",
        "error",
        "code",
        "summary",
        "input_tokens",
        "stop_reason",
        "finishReason",
        "reasoning",
        "signature",
        "status",
    ]);
    let value_word = proptest::sample::select(vec![
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "text_delta",
        "input_json_delta",
        "tool_use",
        "thinking",
        "text",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "function_call",
        "response.function_call_arguments.delta",
        "response.output_text.delta",
        "reasoning",
        "stop",
        "length",
        "tool_calls",
        "STOP",
        "$.a[0].b",
        "{}",
        "{\\\"a\\\":",
        "<think>",
        "</think>",
        "",
    ]);
    let leaf = prop_oneof![
        value_word.prop_map(|word| format!("\"{word}\"")),
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("0".to_owned()),
        Just("1e99".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let object =
            proptest::collection::vec((word.clone(), inner.clone()), 0..6).prop_map(|fields| {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"))
                    .collect();
                format!("{{{}}}", fields.join(","))
            });
        let list = proptest::collection::vec(inner, 0..4)
            .prop_map(|items| format!("[{}]", items.join(",")));
        prop_oneof![3 => object, 1 => list]
    })
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn any_bytes_are_survived(
        wire in wire(), bytes in proptest::collection::vec(any::<u8>(), 0..400), chunk in 1_usize..50,
    ) {
        promises_hold(&decode(wire, &bytes, chunk))?;
    }

    #[test]
    fn any_json_events_are_survived(
        wire in wire(), events in proptest::collection::vec(json_soup(), 0..8), chunk in 1_usize..200,
    ) {
        let body = format!("data: {}\n\n", events.join("\n\ndata: "));
        let decoded = decode(wire, body.as_bytes(), chunk);
        promises_hold(&decoded)?;
        // a delta costs more than the few bytes that announce it, but never out of proportion
        prop_assert!(weight(&decoded) <= 40 * body.len() + 2_000, "{} of {}", weight(&decoded), body.len());
    }

    #[test]
    fn any_error_answer_is_survived(
        status in 0_u16..1000, body in proptest::collection::vec(any::<u8>(), 0..300), json in json_soup(),
        header in "[ -~]{0,30}",
    ) {
        let headers = ["retry-after", "retry-after-ms", "x-should-retry", "date"]
            .map(|name| (name.to_owned(), header.clone()));
        for body in [body.as_slice(), json.as_bytes()] {
            let fault = classify("p", status, &headers, body);
            prop_assert!(fault.message.len() < 4_000 && !fault.hint.is_empty());
        }
    }
}

/// Recorded streams with bytes changed, removed and doubled.
#[test]
fn damaged_streams_are_survived() {
    let Some(folder) = fixtures() else {
        return;
    };
    let mut bodies = Vec::new();
    for (wire, name) in Wire::ALL {
        for path in files(&folder.join("wire").join(name), ".sse") {
            let body = std::fs::read(path).expect("readable");
            if body.len() < 20_000 {
                bodies.push((wire, body));
            }
        }
    }
    let damage = proptest::collection::vec(
        (any::<proptest::sample::Index>(), any::<u8>(), 0_u8..4),
        1..6,
    );
    proptest!(config(200), |(
        which in any::<proptest::sample::Index>(), damage in damage, chunk in 1_usize..2000,
    )| {
        let (wire, mut body) = which.get(&bodies).clone();
        for (at, byte, how) in damage {
            let at = at.index(body.len());
            match how {
                0 => body[at] = byte,
                1 => drop(body.drain(at..(at + usize::from(byte)).min(body.len()))),
                2 => {
                    let piece = body[at..(at + usize::from(byte) * 8).min(body.len())].to_vec();
                    body.splice(at..at, piece);
                }
                _ => body.truncate(at.max(1)),
            }
            if body.is_empty() {
                body.push(b'\n');
            }
        }
        let kept = promises_hold(&decode(wire, &body, chunk));
        prop_assert!(kept.is_ok(), "{wire}: {kept:?}\n{}", String::from_utf8_lossy(&body));
    });
}

#[test]
fn work_stays_in_proportion_for_awkward_shapes() {
    // each of these is quadratic in a careless decoder; a minute would be needed then
    let call = |n: usize| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{n},\"id\":\"c{n}\",\
             \"function\":{{\"name\":\"t\",\"arguments\":\"{{\\\"a\\\":\"}}}}]}}}}]}}\n\n"
        )
    };
    let many_open_calls: String = (0..5_000).map(call).collect();
    let spaces = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        " ".repeat(20)
    )
    .repeat(5_000);
    let think = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"<think>{}\"}}}}]}}\n\n",
        "</thin".repeat(50_000)
    );
    let blank = "\n".repeat(500_000);
    let start = std::time::Instant::now();
    for body in [many_open_calls, spaces, think, blank] {
        let decoded = decode(Wire::OpenaiChat, body.as_bytes(), 700);
        assert!(
            decoded
                .fault
                .is_some_and(|fault| fault.kind == FaultKind::StreamTruncated)
        );
    }
    assert!(start.elapsed().as_secs() < 30, "took {:?}", start.elapsed());
}
