//! Recorded answers go back as their providers want them.

use super::*;

/// The assistant message that these deltas make, as the loop would store it.
fn message_of(deltas: &[crate::model::Delta]) -> Vec<Block> {
    use crate::model::Delta;
    let mut blocks: Vec<(u32, Block)> = Vec::new();
    let mut open = |n: u32, new: Block| -> usize {
        let found = blocks.iter().position(|(known, _)| *known == n);
        found.unwrap_or_else(|| {
            blocks.push((n, new));
            blocks.len() - 1
        })
    };
    let mut ends: Vec<(usize, Option<Value>)> = Vec::new();
    let mut texts: Vec<(usize, String)> = Vec::new();
    for (count, delta) in deltas.iter().enumerate() {
        match delta {
            Delta::Text { block, text: more } => {
                texts.push((open(*block, text("")), more.clone()));
            }
            Delta::Reasoning { block, text: more } => {
                let new = Block::Reasoning {
                    text: String::new(),
                    provider: None,
                };
                texts.push((open(*block, new), more.clone()));
            }
            Delta::BlockEnd { block, provider } => {
                ends.push((open(*block, text("")), provider.clone()));
            }
            Delta::CallEnd {
                block,
                id,
                name,
                arguments: Ok(input),
                provider,
            } => {
                let id = id.clone().unwrap_or_else(|| format!("made_{count}"));
                open(
                    *block,
                    Block::Call {
                        id,
                        name: name.clone(),
                        input: input.clone(),
                        provider: provider.clone(),
                    },
                );
            }
            _ => {}
        }
    }
    for (index, more) in texts {
        if let Block::Text(text) | Block::Reasoning { text, .. } = &mut blocks[index].1 {
            text.push_str(&more);
        }
    }
    for (index, value) in ends {
        if let Block::Reasoning { provider, .. } = &mut blocks[index].1 {
            *provider = value;
        }
    }
    blocks.into_iter().map(|(_, block)| block).collect()
}

/// All strings that are opaque to us in a provider value.
fn secrets(value: &Value) -> Vec<String> {
    let keys = [
        "signature",
        "data",
        "encrypted_content",
        "thoughtSignature",
        "phase",
    ];
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if keys.contains(&key.as_str()) && !text.is_empty() => {
                    vec![text.to_owned()]
                }
                _ => secrets(value),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(secrets).collect(),
        _ => Vec::new(),
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn recorded_answers_go_back_with_their_signatures() {
    let shared = std::env::var_os("DUNLIN_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        std::path::PathBuf::from,
    );
    let (mut streams, mut signatures) = (0, 0);
    for (wire, name) in Wire::ALL {
        let Ok(folder) = std::fs::read_dir(shared.join("fixtures/wire").join(name)) else {
            eprintln!("skipped: no recorded streams here");
            return;
        };
        for entry in folder.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "sse") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            let mut decoder = crate::model::decode::Decoder::new(wire);
            let mut deltas = decoder.feed(&bytes).deltas;
            deltas.extend(decoder.finish().deltas);
            let blocks = message_of(&deltas);
            let quirks = Quirks::plain(wire);
            let ask = request(
                "m",
                vec![
                    said(false, "m", vec![text("go")]),
                    said(true, "m", blocks.clone()),
                ],
            );
            let got = encode(&ask, &quirks);
            if let Err(rule) = validate(&got, &quirks) {
                panic!("{}: {rule}", path.display());
            }
            streams += 1;
            // What stands before the last words or call of a whole answer must be there again.
            let speaks = blocks.iter().rposition(|b| {
                matches!(b, Block::Text(t) if !t.trim().is_empty())
                    || matches!(b, Block::Call { .. })
            });
            let sent = got.to_string();
            for block in blocks.iter().take(speaks.map_or(0, |last| last + 1)) {
                let (Block::Reasoning { provider, .. } | Block::Call { provider, .. }) = block
                else {
                    continue;
                };
                for secret in provider.iter().flat_map(secrets) {
                    signatures += 1;
                    let secret = json!(secret).to_string();
                    assert!(sent.contains(&secret), "{}: {provider:?}", path.display());
                }
            }
        }
    }
    assert!(
        streams > 200 && signatures > 30,
        "{streams} streams, {signatures} signatures"
    );
}
