//! Every recorded stream gives what its `.expected.json` says.

use std::path::Path;

use dunlin::model::decode::{Wire, decode_bytes, neutral};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{files, fixtures};

struct Stream {
    name: String,
    wire: Wire,
    body: Vec<u8>,
    expected: Value,
}

fn streams() -> Vec<Stream> {
    let Some(folder) = fixtures() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (wire, name) in Wire::ALL {
        for path in files(&folder.join("wire").join(name), ".sse") {
            all.push(stream(wire, name, &path));
        }
    }
    assert!(all.len() > 200, "only {} streams", all.len());
    all
}

fn stream(wire: Wire, folder: &str, path: &Path) -> Stream {
    let expected = std::fs::read(path.with_extension("expected.json")).expect("expected");
    Stream {
        name: format!("{folder}/{}", stem(path)),
        wire,
        body: std::fs::read(path).expect("stream"),
        expected: serde_json::from_slice(&expected).expect("valid"),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// True if `got` is `expected` or one of the values that `accept` names for `key`.
fn fits(got: &Value, expected: &Value, accept: &Value, key: &str) -> bool {
    let listed = accept.get(key).is_some_and(|accept| {
        accept == "any" || accept.as_array().is_some_and(|list| list.contains(got))
    });
    got == expected || listed
}

fn check(stream: &Stream, got: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let expected = &stream.expected;
    let accept = &expected["extra"]["accept"];
    let mut say = |what: &str, got: &Value, wanted: &Value| {
        wrong.push(format!(
            "{}: {what} is {got}, expected {wanted}",
            stream.name
        ));
    };
    // splitting `<think>` off is optional, but nothing may get lost
    let split_think = expected["text"]
        .as_str()
        .is_some_and(|text| text.contains("<think>"));
    if split_think {
        let bare = |value: &Value| {
            let all = format!(
                "{}{}",
                value["reasoning"].as_str().unwrap_or(""),
                value["text"].as_str().unwrap_or("")
            );
            json!(all.replace("<think>", "").replace("</think>", ""))
        };
        if bare(got) != bare(expected) {
            say("text and reasoning", &bare(got), &bare(expected));
        }
    } else {
        for key in ["text", "reasoning"] {
            if !fits(&got[key], &expected[key], accept, key) {
                say(key, &got[key], &expected[key]);
            }
        }
    }
    if !fits(
        &got["finish_reason"],
        &expected["finish_reason"],
        accept,
        "finish_reason",
    ) {
        say(
            "finish_reason",
            &got["finish_reason"],
            &expected["finish_reason"],
        );
    }
    if got["tool_calls"] != expected["tool_calls"] {
        say("tool_calls", &got["tool_calls"], &expected["tool_calls"]);
    }
    if accept["usage"] != "any" {
        for key in ["input", "output", "reasoning", "cache_read", "cache_write"] {
            let (got, expected) = (&got["usage"][key], &expected["usage"][key]);
            if !fits(got, expected, accept, &format!("usage.{key}")) {
                say(&format!("usage.{key}"), got, expected);
            }
        }
    }
    if got["error"]["kind"] != expected["error"]["kind"] {
        say("error.kind", &got["error"], &expected["error"]);
    }
    let message = &expected["error"]["message"];
    if message.is_string() && &got["error"]["message"] != message {
        say("error.message", &got["error"]["message"], message);
    }
    for key in [
        "refusal",
        "server_tool_calls",
        "other_blocks",
        "text_blocks",
    ] {
        let (got, expected) = (&got["extra"][key], &expected["extra"][key]);
        if !expected.is_null() && got != expected {
            say(key, got, expected);
        }
    }
    wrong.extend(check_signatures(stream, got));
    wrong
}

/// What must go back is kept to the byte: it is as long as expected and stands so in the stream.
fn check_signatures(stream: &Stream, got: &Value) -> Option<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let got = list(&got["extra"]["signatures"]);
    let expected = list(&stream.expected["extra"]["signatures"]);
    if expected.is_empty() {
        return None;
    }
    let short = |list: &[Value]| -> Vec<(Value, Value)> {
        list.iter()
            .map(|s| (s["kind"].clone(), s["len"].clone()))
            .collect()
    };
    let body = String::from_utf8_lossy(&stream.body);
    let verbatim = got
        .iter()
        .all(|s| body.contains(s["text"].as_str().unwrap_or("\0")));
    (short(&got) != short(&expected) || !verbatim).then(|| {
        format!(
            "{}: signatures {:?}, expected {:?}",
            stream.name,
            short(&got),
            short(&expected)
        )
    })
}

#[test]
fn every_stream_gives_its_expected_answer() {
    let wrong: Vec<String> = streams()
        .iter()
        .flat_map(|stream| check(stream, &decode_bytes(stream.wire, &stream.body, None)))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn feeding_single_bytes_changes_nothing() {
    for stream in streams() {
        let whole = decode_bytes(stream.wire, &stream.body, None);
        let single = decode_bytes(stream.wire, &stream.body, Some(1));
        assert_eq!(single, whole, "{}", stream.name);
    }
}

/// Cuts every stream once at each of these places, given its length.
fn cut_once(places: impl Fn(usize) -> Vec<usize>) {
    for stream in streams() {
        let whole = decode_bytes(stream.wire, &stream.body, None);
        for at in places(stream.body.len()) {
            let (head, tail) = stream.body.split_at(at);
            let cut = neutral(stream.wire, [head, tail]);
            assert_eq!(cut, whole, "{} cut at {at}", stream.name);
        }
    }
}

#[test]
fn one_cut_changes_nothing() {
    // prime steps, so that the places wander through the events
    cut_once(|length| (1..length).step_by((length / 10).max(1) | 1).collect());
}

#[test]
#[ignore = "takes minutes without optimisation; run with --release -- --ignored"]
fn one_cut_at_any_byte_changes_nothing() {
    cut_once(|length| (1..length).collect());
}

#[test]
fn random_cuts_change_nothing() {
    let streams = streams();
    if streams.is_empty() {
        return;
    }
    let config = ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let which = 0..streams.len();
    proptest!(config, |(which in which, sizes in proptest::collection::vec(1_usize..400, 1..20))| {
        let stream = &streams[which];
        let whole = decode_bytes(stream.wire, &stream.body, None);
        let mut rest = stream.body.as_slice();
        let mut sizes = sizes.into_iter().cycle();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
            chunks.push(head);
            rest = tail;
        }
        prop_assert_eq!(neutral(stream.wire, chunks), whole, "{}", stream.name);
    });
}

/// Everything before the cut is there, what the cut hit cannot run, and the answer is an error: for
/// every place at which a connection can break off.
#[test]
fn a_stream_that_breaks_off_anywhere_is_truncated_and_runs_no_cut_call() {
    for stream in streams() {
        let whole = decode_bytes(stream.wire, &stream.body, None);
        let length = stream.body.len();
        let step = (length / 25).max(1);
        for at in (0..length).step_by(step) {
            let cut = decode_bytes(stream.wire, &stream.body[..at], None);
            let text = cut["text"].as_str().expect("text");
            assert!(
                whole["text"].as_str().expect("text").starts_with(text) || !cut["error"].is_null(),
                "{} cut at {at}: {text}",
                stream.name
            );
            if !cut["error"].is_null() && whole["error"].is_null() {
                assert_eq!(
                    cut["error"]["kind"], "stream-truncated",
                    "{} cut at {at}",
                    stream.name
                );
            }
            if cut["error"].is_null() {
                let same = |key: &str| cut[key] == whole[key];
                assert!(
                    same("tool_calls") || !whole["error"].is_null(),
                    "{} cut at {at}: complete without all its calls",
                    stream.name
                );
            }
            let runs = |answer: &Value| -> Vec<Value> {
                let calls = answer["tool_calls"].as_array().expect("calls").clone();
                calls
                    .into_iter()
                    .filter(|call| call["incomplete"] != true)
                    .collect()
            };
            for call in runs(&cut) {
                assert!(
                    runs(&whole).contains(&call),
                    "{} cut at {at}: {call} would run",
                    stream.name
                );
            }
        }
    }
}
