//! What holds for any history: the provider accepts it, nothing that was said is lost, and remembering
//! changes nothing.

use proptest::prelude::*;

use super::*;

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
        // a budget for thinking, and signatures that are demanded, have rules of their own
        let names = ["m", "claude-sonnet-4-5", "gemini-3-pro-preview"];
        for (quirks, name) in endpoints().iter().flat_map(|q| names.map(|name| (q, name))) {
            let renamed = messages.iter().map(|message| {
                let mut copy = RequestMessage::clone(message);
                if copy.model == model("m") {
                    copy.model = model(name);
                }
                Arc::new(copy)
            });
            let mut ask = request(name, renamed.collect());
            ask.effort = Some(Effort::High);
            let mut got = encode(&ask, quirks);
            if quirks.wire == Wire::Gemini {
                // it stands in the address
                got["model"] = json!(name);
            }
            if let Err(rule) = validate(&got, quirks) {
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
