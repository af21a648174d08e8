//! The scripted provider from the outside: which step answers which conversation, faults, pace, and that
//! scripts, their schema and the documentation agree.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;

use super::*;
use crate::model::{Block, Delta, Model, Place, Request, RequestMessage, Said, ToolSpec};
use crate::protocol::{Fault, FaultKind, Finish, IdMint, ModelRef, SessionId};

fn me() -> ModelRef {
    ModelRef {
        provider: "scripted".to_owned(),
        model: "t".to_owned(),
    }
}

fn message(assistant: bool, blocks: Vec<Block>) -> Arc<RequestMessage> {
    Arc::new(RequestMessage {
        assistant,
        blocks,
        model: me(),
    })
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn request(session: SessionId, messages: Vec<Arc<RequestMessage>>, tools: bool) -> Arc<Request> {
    let tool = ToolSpec {
        name: "bash".to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    };
    Arc::new(Request {
        model: me(),
        system_stable: Arc::from(""),
        system_dynamic: Arc::from(""),
        messages: messages.into(),
        tools: if tools { vec![tool] } else { Vec::new() }.into(),
        max_output: 1_000,
        effort: None,
        session,
        place: None,
    })
}

fn session() -> SessionId {
    IdMint::new(1, 0).session(1)
}

fn script(value: &serde_json::Value) -> ScriptedModel {
    let script = Script::parse(&value.to_string()).expect("a good script");
    ScriptedModel::new(Arc::new(script), "t")
}

async fn answer(model: &ScriptedModel, request: Arc<Request>) -> Result<Vec<Delta>, Fault> {
    let mut all = Vec::new();
    let mut stream = model.ask(request);
    while let Some(batch) = stream.next().await {
        all.extend(batch?);
    }
    Ok(all)
}

fn said(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .map(|d| match d {
            Delta::Text { text, .. } => text.as_str(),
            _ => "",
        })
        .collect()
}

/// The message that these deltas make, and one that answers its calls.
fn history(deltas: &[Delta]) -> Vec<Arc<RequestMessage>> {
    let mut blocks = vec![text(&said(deltas))];
    let mut results = Vec::new();
    for delta in deltas {
        if let Delta::CallEnd {
            id,
            name,
            arguments,
            ..
        } = delta
        {
            let id = id.clone().expect("scripted calls have ids");
            blocks.push(Block::Call {
                id: id.clone(),
                name: name.clone(),
                input: arguments.clone().unwrap_or_default(),
                provider: None,
            });
            results.push(Block::Result {
                id,
                name: name.clone(),
                output: "ok".to_owned(),
                error: false,
                files: Vec::new(),
            });
        }
    }
    let mut messages = vec![message(true, blocks)];
    if !results.is_empty() {
        messages.push(message(false, results));
    }
    messages
}

fn three_steps() -> serde_json::Value {
    json!({"steps": [
        {"text": "one", "calls": [{"name": "bash", "input": {"command": "ls"}}]},
        {"text": "two", "calls": [{"name": "bash"}, {"name": "bash"}]},
        {"reasoning": "hm", "text": "three"}
    ]})
}

#[tokio::test]
async fn a_conversation_goes_through_the_steps_and_a_fresh_process_goes_on_where_it_was() {
    let mut messages = vec![message(false, vec![text("go")])];
    for expected in ["one", "two", "three", "The script is over."] {
        // a new model each time: nothing may depend on memory
        let model = script(&three_steps());
        let deltas = answer(&model, request(session(), messages.clone(), true))
            .await
            .expect("no fault");
        assert_eq!(said(&deltas), expected);
        messages.extend(history(&deltas));
    }
}

#[tokio::test]
async fn call_ids_tell_the_step_when_older_messages_are_gone() {
    let model = script(&three_steps());
    let call = Block::Call {
        id: "scr_main_1_0".to_owned(),
        name: "bash".to_owned(),
        input: json!({}),
        provider: None,
    };
    let messages = vec![
        message(false, vec![text("summary")]),
        message(true, vec![call]),
    ];
    let deltas = answer(&model, request(session(), messages, true))
        .await
        .expect("ok");
    assert_eq!(said(&deltas), "three");
}

/// What was said, oldest first: the user's words, or the assistant's with the id of its first call.
fn place(model: &ScriptedModel, said: &[(&str, Option<&str>)]) -> Place {
    let mut newest_first = said.iter().enumerate().rev().map(|(at, (who, call))| Said {
        at,
        assistant: *who == "assistant",
        texts: if *who == "assistant" {
            Vec::new()
        } else {
            vec![who]
        },
        call: *call,
    });
    model.place(&mut newest_first).expect("scripts have places")
}

#[tokio::test]
async fn the_place_goes_before_what_a_request_shows() {
    let model = script(&three_steps());
    let mut shown = Arc::unwrap_or_clone(request(
        session(),
        vec![
            message(false, vec![text("What did we do so far?")]),
            message(true, vec![text("a summary")]),
        ],
        true,
    ));
    shown.place = Some(place(
        &model,
        &[
            ("go", None),
            ("assistant", Some("scr_main_0_0")),
            ("assistant", None),
        ],
    ));
    let deltas = answer(&model, Arc::new(shown)).await.expect("ok");
    assert_eq!(said(&deltas), "three");
}

#[test]
fn a_place_is_counted_from_the_newest_id_that_tells_or_from_the_start() {
    let model = script(&three_steps());
    let played = |said: &[(&str, Option<&str>)]| place(&model, said).played;
    assert_eq!(played(&[]), 0);
    assert_eq!(played(&[("go", None), ("assistant", None)]), 1);
    let ids = [
        ("go", None),
        ("assistant", Some("scr_main_4_1")),
        ("more", None),
        ("assistant", Some("another_models_id")),
    ];
    assert_eq!(played(&ids), 6);
}

#[test]
fn a_branch_is_chosen_by_the_newest_prompt_that_matches_and_keeps_its_ids_apart() {
    let model = script(&json!({"steps": [{"text": "main"}], "branches": [
        {"match": "^child", "steps": [{"calls": [{"name": "bash"}]}, {"text": "done"}]}]}));
    let said = [
        ("child a", None),
        ("assistant", Some("scr_b0_0_0_0")),
        ("assistant", None),
        ("child b", None),
        ("assistant", Some("scr_b0_0_3_0")),
        ("a note", None),
    ];
    let found = place(&model, &said);
    assert_eq!((found.branch, found.played, found.prompt), (Some(0), 1, 3));
    let found = place(&model, &said[..3]);
    assert_eq!((found.branch, found.played, found.prompt), (Some(0), 2, 0));
}

#[tokio::test]
async fn requests_without_tools_are_answered_aside_and_do_not_move_the_script() {
    let mut value = three_steps();
    value["side"] = json!(["A title", "A summary"]);
    let model = script(&value);
    let start = vec![message(false, vec![text("go")])];
    for expected in ["A title", "A summary"] {
        let deltas = answer(&model, request(session(), start.clone(), false))
            .await
            .expect("ok");
        assert_eq!(said(&deltas), expected);
    }
    let deltas = answer(&model, request(session(), start, true))
        .await
        .expect("ok");
    assert_eq!(said(&deltas), "one");
}

#[tokio::test]
async fn branches_are_chosen_by_the_users_text_and_counted_from_there() {
    let model = script(&json!({
        "steps": [{"text": "main"}],
        "branches": [{"match": "fix (the )?bug", "steps": [
            {"text": "looking", "calls": [{"name": "bash"}]}, {"text": "fixed"}]}],
        "default": {"text": "nothing left"}
    }));
    let mut messages = vec![
        message(false, vec![text("hello")]),
        message(true, vec![text("main")]),
        message(false, vec![text("Please FIX THE BUG now")]),
    ];
    for expected in ["looking", "fixed", "nothing left"] {
        let deltas = answer(&model, request(session(), messages.clone(), true))
            .await
            .expect("ok");
        assert_eq!(said(&deltas), expected);
        messages.extend(history(&deltas));
    }
}

#[tokio::test]
async fn a_loop_begins_again() {
    let model = script(&json!({"loop": true, "steps": [{"text": "a"}, {"text": "b"}]}));
    let mut messages = vec![message(false, vec![text("go")])];
    let mut all = String::new();
    for _ in 0..5 {
        let deltas = answer(&model, request(session(), messages.clone(), true))
            .await
            .expect("ok");
        all.push_str(&said(&deltas));
        messages.extend(history(&deltas));
        messages.push(message(false, vec![text("more")]));
    }
    assert_eq!(all, "ababa");
}

#[tokio::test]
async fn faults_happen_as_often_as_asked_and_then_the_step_is_played() {
    for (fault, kind) in [
        (
            json!({"kind": "status", "status": 429, "retry_after_ms": 20}),
            FaultKind::RateLimit,
        ),
        (json!({"kind": "overloaded"}), FaultKind::Overloaded),
        (json!({"kind": "overflow"}), FaultKind::ContextOverflow),
        (
            json!({"kind": "drop", "after": 1}),
            FaultKind::StreamTruncated,
        ),
        (json!({"kind": "stall", "after": 1}), FaultKind::Timeout),
        (json!({"kind": "malformed"}), FaultKind::Protocol),
    ] {
        let mut fault = fault;
        fault["times"] = json!(2);
        let model = script(&json!({"steps": [{"text": ["x", "y"], "fault": fault}]}))
            .idle_timeout(Duration::from_millis(5));
        let start = vec![message(false, vec![text("go")])];
        for _ in 0..2 {
            let got = answer(&model, request(session(), start.clone(), true)).await;
            assert_eq!(got.expect_err("a fault").kind, kind);
        }
        let deltas = answer(&model, request(session(), start, true))
            .await
            .expect("played");
        assert_eq!(said(&deltas), "xy");
    }
}

#[tokio::test]
async fn a_short_stall_only_delays() {
    let model = script(&json!({"steps": [
        {"text": ["x", "y"], "fault": {"kind": "stall", "after": 1, "seconds": 0.05}}]}));
    let before = tokio::time::Instant::now();
    let deltas = answer(&model, request(session(), vec![], true))
        .await
        .expect("played");
    assert_eq!(said(&deltas), "xy");
    assert!(before.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn pace_and_chunks_spread_the_text_over_time() {
    let model = script(&json!({"steps": [{"text": "abcdefghij", "chunk": 1, "pace": 200}]}));
    let before = tokio::time::Instant::now();
    let mut stream = model.ask(request(session(), vec![], true));
    let mut batches = 0;
    while let Some(batch) = stream.next().await {
        assert!(batch.is_ok());
        batches += 1;
    }
    assert!(batches >= 2, "{batches} batches");
    let took = before.elapsed().as_secs_f64();
    assert!(took >= 0.045, "{took} s");
}

#[tokio::test]
async fn every_answer_ends_with_its_finish_and_broken_arguments_stay_raw() {
    let model = script(&json!({"steps": [{"parts": [
        {"text": "a"}, {"call": {"name": "bash", "raw": "{\"x\": "}}, {"reasoning": "b"}]}]}));
    let deltas = answer(&model, request(session(), vec![], true))
        .await
        .expect("ok");
    assert!(deltas.iter().any(|d| matches!(
        d,
        Delta::CallEnd { arguments: Err(raw), block: 1, .. } if raw == "{\"x\": "
    )));
    assert!(matches!(
        deltas.last(),
        Some(Delta::Finish {
            reason: Finish::ToolCalls,
            ..
        })
    ));
}

#[tokio::test]
async fn a_request_over_the_window_is_refused_when_the_script_says_so() {
    let model = script(&json!({"model": {"context": 100, "enforce_limit": true},
        "steps": [{"text": "x"}]}));
    let long = vec![message(false, vec![text(&"long ".repeat(200))])];
    let fault = answer(&model, request(session(), long, true))
        .await
        .expect_err("too large");
    assert_eq!(fault.kind, FaultKind::ContextOverflow);
}

#[test]
fn bad_scripts_are_explained() {
    for (bad, names) in [
        ("{", "line"),
        (r#"{"stepz": []}"#, "stepz"),
        (
            r#"{"branches": [{"match": "(", "steps": []}]}"#,
            "regular expression",
        ),
        (r#"{"steps": [{"calls": [{"name": ""}]}]}"#, "Step 1"),
        (
            r#"{"steps": [{}, {"fault": {"kind": "status"}}]}"#,
            "Step 2",
        ),
        (r#"{"steps": [{"pace": -1}]}"#, "pace"),
    ] {
        let fault = Script::parse(bad).expect_err("bad");
        assert!(fault.message.contains(names), "{bad}: {fault}");
    }
}

#[test]
fn the_examples_of_the_documentation_are_good_scripts() {
    let page = include_str!("../../../docs/scripted.md");
    let examples: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() >= 4);
    for example in examples {
        Script::parse(example).expect(example);
    }
}

#[test]
fn the_schema_knows_the_fields_that_the_reader_knows() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../docs/scripted.schema.json")).expect("JSON");
    let parts = [
        ("/properties", "{}"),
        ("/$defs/step/properties", r#"{"steps":[{}]}"#),
        ("/$defs/model/properties", r#"{"model":{}}"#),
        (
            "/$defs/step/properties/usage/properties",
            r#"{"steps":[{"usage":{}}]}"#,
        ),
    ];
    for (pointer, place) in parts {
        let named = schema
            .pointer(pointer)
            .and_then(|v| v.as_object())
            .expect(pointer);
        // the reader lists all it knows when it meets a field that it does not know
        let typo = place.replacen("{}", r#"{"zzz":1}"#, 1);
        let told = Script::parse(&typo).expect_err("unknown field").message;
        for name in named.keys() {
            assert!(told.contains(&format!("`{name}`")), "{name}: {told}");
        }
        assert_eq!(told.matches('`').count() / 2, named.len() + 1, "{told}");
    }
}
