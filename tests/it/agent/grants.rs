//! What is allowed for the session is allowed to all who work in it: questions that are open already
//! are settled by it, in the same step, in subagents and in their parents.

use serde_json::{Value, json};

use super::orders::Steered;
use crate::support::world::World;

fn touch(file: &str) -> Value {
    json!({"name": "bash", "input": {"command": format!("touch {file}")}})
}

fn task(prompt: &str) -> Value {
    json!({"name": "task", "input":
        {"description": prompt, "prompt": prompt, "agent": "general"}})
}

fn child(word: &str, file: &str) -> Value {
    json!({"match": word, "steps": [{"calls": [touch(file)]}, {"text": format!("{word} is done")}]})
}

/// Reads until so many questions are open; the newest last.
fn asked(run: &mut Steered, count: usize) -> Vec<Value> {
    (0..count)
        .map(|_| run.until("a question", |e| e["type"] == "permission.asked")["ask"].clone())
        .collect()
}

fn of<'a>(asks: &'a [Value], file: &str) -> &'a Value {
    let subject = format!("touch {file}");
    let found = asks
        .iter()
        .find(|a| a["body"]["subject"] == subject.as_str());
    &found.expect("it was asked")["id"]
}

fn always(run: &mut Steered, ask: &Value, pattern: &str) {
    run.say(&json!({"type": "answer", "ask": ask, "answer":
        {"answer": "always", "scope": "session", "pattern": pattern}}));
}

#[test]
fn an_answer_for_the_session_settles_what_parent_and_subagents_ask() {
    for answered in ["a", "b", "own"] {
        let w = World::scripted(&json!({
            "branches": [child("first", "a"), child("second", "b")],
            "steps": [
                {"calls": [task("first"), task("second"), touch("own")]},
                // What is asked for later is allowed as well, also to new subagents.
                {"calls": [touch("later"), task("first again")]},
                {"text": "done"}]
        }));
        let mut run = Steered::start(&w, &["go"]);
        let asks = asked(&mut run, 3);
        always(&mut run, of(&asks, answered), "touch *");
        let ended = run.until("the end", |e| e["type"] == "turn.finished");
        assert_eq!(ended["reason"], "done", "{answered}: {:#?}", run.events);
        assert_eq!(run.end(), 0);
        let count = |kind: &str| run.events.iter().filter(|e| e["type"] == kind).count();
        assert_eq!(
            count("permission.asked"),
            3,
            "{answered}: nothing was asked again"
        );
        assert_eq!(count("permission.answered"), 3, "{answered}");
        for file in ["a", "b", "own", "later"] {
            assert!(w.worktree().join(file).exists(), "{answered}: {file}");
        }
    }
}

#[test]
fn a_question_that_the_answer_does_not_cover_stays_open() {
    let w = World::scripted(&json!({
        "branches": [child("first", "a"), child("second", "b")],
        "steps": [{"calls": [task("first"), task("second")]}, {"text": "done"}]
    }));
    let mut run = Steered::start(&w, &["go"]);
    let asks = asked(&mut run, 2);
    always(&mut run, of(&asks, "a"), "touch a");
    run.until("the first subagent's end", |e| {
        e["part"]["state"]["output"] == "first is done"
    });
    assert!(!w.worktree().join("b").exists());
    run.say(&json!({"type": "answer", "ask": of(&asks, "b"), "answer": {"answer": "once"}}));
    run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(run.end(), 0);
    assert!(w.worktree().join("b").exists());
}
