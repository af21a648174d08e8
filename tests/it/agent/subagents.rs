//! `task`: child sessions, what their parents show of them, what they may do, what they cost.

use serde_json::{Value, json};

use super::orders::{Steered, is_running};
use crate::support::world::{World, of_type, tools};

fn task(agent: &str, prompt: &str) -> Value {
    json!({"name": "task", "input":
        {"description": format!("do {prompt}"), "prompt": prompt, "agent": agent}})
}

fn export(w: &World, id: &str) -> Value {
    let ran = w
        .run(&["sessions", "export", "--format", "json", id])
        .code(0);
    serde_json::from_str(&ran.stdout).expect("json")
}

fn tool_parts(session: &Value) -> Vec<Value> {
    let messages = session["messages"].as_array().expect("messages");
    let parts = messages
        .iter()
        .flat_map(|m| m["parts"].as_array().expect("parts"));
    parts.filter(|p| p["type"] == "tool").cloned().collect()
}

#[test]
fn a_subagent_works_in_a_session_of_its_own_and_its_last_words_are_the_answer() {
    let w = World::scripted(&json!({
        "branches": [{"match": "count the words", "steps": [
            {"text": "I read.", "calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
            {"text": "There are two words."}
        ]}],
        "steps": [{"calls": [task("explore", "count the words")]}, {"text": "All done."}]
    }));
    w.write("a.txt", "two words\n");
    let (ran, events) = w.events(&["go"]);
    ran.code(0);
    let part = &tools(&events)[0];
    assert_eq!(part["state"]["status"], "completed", "{part}");
    assert_eq!(part["state"]["output"], "There are two words.");
    assert_eq!(part["state"]["metadata"]["agent"], "explore");
    assert_eq!(part["state"]["metadata"]["steps"], 2);
    let child = part["state"]["metadata"]["session"]
        .as_str()
        .expect("a session")
        .to_owned();
    // The call leads to the child while it runs, and a subtask part names it.
    let running = of_type(&events, "part.updated").into_iter().any(|e| {
        e["part"]["state"]["status"] == "running"
            && e["part"]["state"]["metadata"]["session"] == child.as_str()
    });
    assert!(running);
    let subtask = of_type(&events, "part.updated")
        .into_iter()
        .find(|e| e["part"]["type"] == "subtask")
        .expect("a subtask part");
    assert_eq!(subtask["part"]["child"], child.as_str());
    // The child is stored with its parent and has what it did.
    let stored = export(&w, &child);
    assert_eq!(stored["session"]["parent"], events[0]["session"]["id"]);
    assert_eq!(stored["session"]["agent"], "explore");
    assert_eq!(tool_parts(&stored)[0]["tool"], "read");
    // `-c` goes on with the user's session, not with the newest one.
    let (ran, again) = w.events(&["-c", "more"]);
    ran.code(0);
    assert_eq!(again[0]["session"]["id"], events[0]["session"]["id"]);
}

#[test]
fn a_subagent_recalls_its_own_session_and_nothing_of_its_parents() {
    let recall = |query: &str| json!({"name": "recall", "input": {"query": query}});
    let w = World::scripted(&json!({
        "branches": [{"match": "look around", "steps": [
            {"calls": [{"name": "read", "input": {"file_path": "inner.txt"}}]},
            {"calls": [recall("lantern"), recall("outside word")]},
            {"text": "done"}
        ]}],
        "steps": [
            {"calls": [{"name": "read", "input": {"file_path": "outer.txt"}}]},
            {"calls": [task("explore", "look around")]},
            {"calls": [recall("outside word"), recall("lantern")]},
            {"text": "All done."}
        ]
    }));
    w.write("inner.txt", "the lantern is green\n");
    w.write("outer.txt", "the outside word\n");
    let (ran, events) = w.events(&["go"]);
    ran.code(0);
    let own = tools(&events);
    let recalled = |parts: &[Value]| -> Vec<String> {
        let mine = parts.iter().filter(|p| p["tool"] == "recall");
        mine.map(|p| p["state"]["output"].as_str().expect("an output").to_owned())
            .collect()
    };
    let outside = recalled(&own);
    assert!(outside[0].contains("the outside word"), "{}", outside[0]);
    assert!(
        outside[1].starts_with("Nothing in this session"),
        "{}",
        outside[1]
    );
    let child = own
        .iter()
        .find(|p| p["tool"] == "task")
        .and_then(|p| p["state"]["metadata"]["session"].as_str())
        .expect("a child");
    let inside = recalled(&tool_parts(&export(&w, child)));
    assert!(inside[0].contains("the lantern is green"), "{}", inside[0]);
    assert!(
        inside[1].starts_with("Nothing in this session"),
        "{}",
        inside[1]
    );
}

#[test]
fn several_subagents_run_at_once() {
    // Each waits for the other's file: one after the other they would never end.
    let meet = |own: &str, other: &str| {
        format!(
            "touch {own}; for i in $(seq 600); do [ -e {other} ] && exit 0; sleep 0.05; done; exit 9"
        )
    };
    let child = |word: &str, command: String| {
        json!({"match": word, "steps": [
            {"calls": [{"name": "bash", "input": {"command": command}}]}, {"text": format!("{word} met")}
        ]})
    };
    let w = World::scripted(&json!({
        "branches": [child("first", meet("a", "b")), child("second", meet("b", "a"))],
        "steps": [{"calls": [task("general", "first"), task("general", "second")]}, {"text": "ok"}]
    }));
    let (ran, events) = w.events(&["--mode", "auto", "go"]);
    ran.code(0);
    let done = tools(&events);
    assert_eq!(done[0]["state"]["output"], "first met");
    assert_eq!(done[1]["state"]["output"], "second met");
    for part in &done {
        let child = part["state"]["metadata"]["session"]
            .as_str()
            .expect("a session");
        assert_eq!(
            tool_parts(&export(&w, child))[0]["state"]["metadata"]["exit"],
            0
        );
    }
}

#[test]
fn a_subagent_that_explores_cannot_write_and_one_nested_too_deep_is_refused() {
    let w = World::scripted(&json!({
        "branches": [
            {"match": "sneak", "steps": [
                {"calls": [{"name": "write", "input": {"file_path": "made", "content": "x"}}]},
                {"text": "tried"}]},
            {"match": "deepest", "steps": [{"calls": [task("general", "too deep")]}, {"text": "no"}]},
            {"match": "deep", "steps": [{"calls": [task("general", "deepest")]}, {"text": "yes"}]}
        ],
        "steps": [
            {"calls": [task("explore", "sneak")]},
            {"calls": [task("general", "deep")]},
            {"calls": [task("nobody", "x")]},
            {"text": "ok"}]
    }));
    let (_, events) = w.events(&["--mode", "auto", "go"]);
    assert!(!w.worktree().join("made").exists());
    let done = tools(&events);
    assert_eq!(done[1]["state"]["output"], "yes");
    let child = done[1]["state"]["metadata"]["session"]
        .as_str()
        .expect("a session");
    let inner = &tool_parts(&export(&w, child))[0];
    assert_eq!(inner["state"]["output"], "no", "two levels are allowed");
    let grandchild = inner["state"]["metadata"]["session"]
        .as_str()
        .expect("a session");
    let refused = &tool_parts(&export(&w, grandchild))[0];
    assert!(
        refused["state"]["error"]
            .as_str()
            .expect("an error")
            .contains("nested 2 deep")
    );
    assert!(
        done[2]["state"]["error"]
            .as_str()
            .expect("an error")
            .contains("explore")
    );
}

#[test]
fn headless_a_refused_subagent_ends_the_run_with_code_3() {
    let w = World::scripted(&json!({
        "branches": [{"match": "run it", "steps": [
            {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}, {"text": "never"}]}],
        "steps": [{"calls": [task("general", "run it")]}, {"text": "never"}]
    }));
    let (ran, events) = w.events(&["go"]);
    ran.code(3);
    assert!(!w.worktree().join("made").exists());
    assert_eq!(of_type(&events, "permission.asked").len(), 1, "it surfaces");
}

#[test]
fn a_budget_is_shared_with_subagents_and_their_cost_counts() {
    let steps: Vec<Value> = (0..20)
        .map(|i| json!({"calls": [{"name": "bash", "input": {"command": format!("echo {i}")}}]}))
        .collect();
    let w = World::scripted(&json!({
        "branches": [{"match": "work hard", "steps": steps}],
        "steps": [{"calls": [task("general", "work hard")]}, {"text": "never said"}]
    }));
    let (ran, events) = w.events(&["--mode", "auto", "--config", "budget.steps=6", "go"]);
    ran.code(5);
    let part = &tools(&events)[0];
    let child = part["state"]["metadata"]["session"]
        .as_str()
        .expect("a session");
    // The parent has not finished its step while the child works: six are the child's.
    assert_eq!(tool_parts(&export(&w, child)).len(), 6);
    let id = events[0]["session"]["id"].as_str().expect("an id");
    assert_eq!(export(&w, id)["values"]["spent"]["steps"], 7);
}

/// What a watched subagent has said, from its history and what came after it.
fn seen_text(events: &[Value]) -> String {
    let mut text = String::new();
    for event in events.iter().filter(|e| e["type"] == "subagent") {
        let event = &event["event"];
        match event["type"].as_str() {
            Some("session.started") => text.clear(),
            Some("session.history") => {
                let said = event["parts"].as_array().expect("parts").iter();
                let said = said.filter(|p| p["type"] == "text" && p["message"] != Value::Null);
                text = said.filter_map(|p| p["text"].as_str()).collect();
            }
            Some("part.delta") => text.push_str(event["delta"].as_str().expect("text")),
            _ => {}
        }
    }
    text
}

#[test]
fn a_running_subagent_can_be_watched_from_its_beginning_and_stopped_alone() {
    let w = World::scripted(&json!({
        "branches": [
            {"match": "talk", "steps": [{"text": {"repeat": "word ", "times": 9_000}, "pace": 50}]},
            {"match": "short", "steps": [{"text": "short is done"}]}],
        "steps": [{"calls": [task("general", "talk"), task("general", "short")]}, {"text": "ok"}]
    }));
    let mut run = Steered::start(&w, &["--mode", "auto", "go"]);
    let started = run.until("the subagent", |e| {
        is_running("task")(e)
            && e["part"]["state"]["input"]["prompt"] == "talk"
            && e["part"]["state"]["tail"]
                .as_str()
                .is_some_and(|t| t.contains("word"))
    });
    let child = started["part"]["state"]["metadata"]["session"].clone();
    let of_child = |e: &Value, kind: &str| e["session"] == child && e["event"]["type"] == kind;
    run.say(&json!({"type": "watch", "session": child}));
    let begin = run.until("its beginning", |e| of_child(e, "session.started"));
    assert_eq!(begin["event"]["session"]["id"], child);
    run.until("what it did", |e| of_child(e, "session.history"));
    for _ in 0..3 {
        run.until("what it does", |e| of_child(e, "part.delta"));
    }
    let said = seen_text(&run.events);
    let words = said.strip_prefix("talk").expect("the prompt comes first");
    assert!(words.starts_with("word word "), "{said}");
    assert_eq!(
        words.replace("word ", ""),
        "",
        "nothing is missing or doubled"
    );
    // Not watched: nothing more comes.
    run.say(&json!({"type": "unwatch", "session": child}));
    run.say(&json!({"type": "stop-subagent", "session": child}));
    let ended = run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(ended["reason"], "done", "the parent goes on");
    let tools = tools(&run.events);
    let result = |prompt: &str| {
        let part = tools
            .iter()
            .find(|t| t["state"]["input"]["prompt"] == prompt);
        part.expect("a call")["state"].clone()
    };
    assert_eq!(result("short")["output"], "short is done");
    let stopped = result("talk")["error"].to_string();
    assert!(
        stopped.contains("stopped the subagent") && stopped.contains("word"),
        "{stopped}"
    );
    // It has ended, and can still be looked at.
    let before = run.events.len();
    run.say(&json!({"type": "watch", "session": child}));
    run.until("its history", |e| of_child(e, "session.history"));
    let again = seen_text(&run.events[before..]);
    assert!(again.starts_with("talkword word "), "{again}");
    assert_eq!(run.end(), 0);
}

#[test]
fn a_subagents_subagent_can_be_watched_too() {
    let w = World::scripted(&json!({
        "branches": [
            {"match": "inner", "steps": [{"text": {"repeat": "deep ", "times": 9_000}, "pace": 50}]},
            {"match": "outer", "steps": [{"calls": [task("general", "inner")]}, {"text": "yes"}]}],
        "steps": [{"calls": [task("general", "outer")]}, {"text": "ok"}]
    }));
    let mut run = Steered::start(&w, &["--mode", "auto", "go"]);
    let outer = run.until("the outer one", |e| {
        is_running("task")(e) && e["part"]["state"]["metadata"]["session"].is_string()
    });
    let outer = outer["part"]["state"]["metadata"]["session"].clone();
    run.say(&json!({"type": "watch", "session": outer}));
    let inner = run.until("the inner one", |e| {
        let state = &e["event"]["part"]["state"];
        e["type"] == "subagent" && state["metadata"]["session"].is_string()
    });
    let inner = inner["event"]["part"]["state"]["metadata"]["session"].clone();
    run.say(&json!({"type": "watch", "session": inner}));
    run.until("what it says", |e| {
        e["session"] == inner && e["event"]["type"] == "part.delta"
    });
    run.say(&json!({"type": "stop-subagent", "session": inner}));
    run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(run.end(), 0);
}
