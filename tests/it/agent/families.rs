//! A session and those of its subagents as one family: they are exported, come back, and go together.

use serde_json::{Value, json};

use crate::support::world::World;

fn task(agent: &str, prompt: &str) -> Value {
    json!({"name": "task", "input":
        {"description": format!("do {prompt}"), "prompt": prompt, "agent": agent}})
}

/// A session whose subagent has a subagent; a second one finds a secret.
fn family() -> World {
    let w = World::scripted(&json!({
        "branches": [
            {"match": "inner job", "steps": [{"text": "The inner answer."}]},
            {"match": "outer job", "steps": [
                {"calls": [task("explore", "inner job")]}, {"text": "The outer answer."}]},
            {"match": "look for keys", "steps": [{"text": "It is sk-ant-api03-abcdefghijklmnopqrstuv."}]}
        ],
        "steps": [
            {"calls": [task("general", "outer job"), task("explore", "look for keys")]},
            {"text": "All done."}
        ]
    }));
    w.exec(&["--mode", "auto", "go"]).code(0);
    w
}

fn sessions(w: &World) -> Vec<Value> {
    let list = w.run(&["sessions", "list", "--json"]).code(0).stdout;
    serde_json::from_str(&list).expect("json")
}

/// The session that nobody started.
fn root(w: &World) -> String {
    let listed = sessions(w);
    let root = listed.iter().find(|s| s.get("parent").is_none());
    root.expect("a root")["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

fn export(w: &World, id: &str, format: &str) -> String {
    let args = ["sessions", "export", "--format", format, id];
    w.run(&args).code(0).stdout
}

/// The texts of a document's session and, nested, of those below it.
fn tree(document: &Value) -> Value {
    let parts = |m: &Value| m["parts"].as_array().cloned().unwrap_or_default();
    let messages = document["messages"].as_array().expect("messages");
    let texts: Vec<Value> = messages
        .iter()
        .flat_map(parts)
        .filter(|p| p["type"] == "text")
        .map(|p| p["text"].clone())
        .collect();
    let children = document["children"].as_array().into_iter().flatten();
    let mut below: Vec<Value> = children.map(tree).collect();
    below.sort_by_key(Value::to_string);
    json!({"texts": texts, "below": below})
}

/// Each call of `task` names the session that hangs below with its own answer.
fn assert_calls_lead_to_children(document: &Value) {
    let children: Vec<&Value> = document["children"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let messages = document["messages"].as_array().expect("messages").iter();
    let parts = messages.flat_map(|m| m["parts"].as_array().cloned().unwrap_or_default());
    let mut led = 0;
    for part in parts {
        let named = match part["type"].as_str() {
            Some("tool") if part["tool"] == "task" => &part["state"]["metadata"]["session"],
            Some("subtask") => &part["child"],
            _ => continue,
        };
        let child = children.iter().find(|c| c["session"]["id"] == *named);
        let child = child.unwrap_or_else(|| panic!("{named} is no child"));
        assert_eq!(child["session"]["parent"], document["session"]["id"]);
        led += 1;
    }
    assert_eq!(led, 2 * children.len(), "a call and a subtask part each");
    children.into_iter().for_each(assert_calls_lead_to_children);
}

#[test]
fn subagents_go_with_an_export_and_come_back_under_their_parent() {
    let w = family();
    let id = root(&w);
    let whole: Value = serde_json::from_str(&export(&w, &id, "json")).expect("json");
    assert_calls_lead_to_children(&whole);
    let said = tree(&whole).to_string();
    for words in ["The inner answer.", "The outer answer.", "It is [redacted]"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("sk-ant"), "{said}");
    for format in ["json", "jsonl"] {
        let file = w.root().join("export");
        std::fs::write(&file, export(&w, &id, format)).expect("write");
        let path = file.display().to_string();
        let copy = w.run(&["sessions", "import", &path]).code(0).stdout;
        let copy = copy.trim();
        let again: Value = serde_json::from_str(&export(&w, copy, "json")).expect("json");
        assert_eq!(tree(&again), tree(&whole), "{format}");
        assert_calls_lead_to_children(&again);
        assert_eq!(again["session"]["id"], copy);
        // gone on with, it is the user's session and not a subagent's
        w.run(&["sessions", "delete", copy, "--yes"]).code(0);
        assert_eq!(sessions(&w).len(), 4, "a copy goes with its subagents");
    }
}

#[test]
fn in_markdown_the_subagents_follow_and_are_referred_to() {
    let w = family();
    let text = export(&w, &root(&w), "md");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("All done.") < at("# Subagent: do outer job"), "{text}");
    assert!(
        at("The outer answer.") < at("# Subagent: do inner job"),
        "{text}"
    );
    assert_eq!(text.matches("# Subagent: ").count(), 3, "{text}");
    assert!(text.matches("What this subagent did stands below").count() >= 3);
}

#[test]
fn a_session_is_deleted_with_its_subagents_and_theirs() {
    let w = family();
    assert_eq!(sessions(&w).len(), 4);
    w.run(&["sessions", "delete", &root(&w), "--yes"]).code(0);
    assert_eq!(sessions(&w), Vec::<Value>::new());
}
