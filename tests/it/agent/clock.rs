//! A clock that went back: what is said in a session whose ids are of a later time comes after all of it.

use serde_json::{Value, json};

use crate::support::world::World;

/// The same ids, of the year 2059 (messages and parts begin with their time in milliseconds).
fn later(export: &str) -> String {
    let mut text = String::with_capacity(export.len());
    let mut rest = export;
    let next = |rest: &str| ["msg_", "prt_"].iter().filter_map(|p| rest.find(p)).min();
    while let Some(at) = next(rest) {
        let (before, id) = rest.split_at(at + 4);
        text.push_str(before);
        let is_id = id.len() >= 32 && id.as_bytes()[..32].iter().all(u8::is_ascii_hexdigit);
        rest = if is_id {
            text.push_str("0290");
            &id[4..]
        } else {
            id
        };
    }
    text + rest
}

#[test]
fn prompts_after_a_clock_went_back_come_after_what_was_said_before() {
    let w = World::scripted(&json!({"steps": [
        {"text": "let me look", "calls": [{"name": "bash", "input": {"command": "echo hi"}}]},
        {"text": "answer one"}]}));
    w.exec(&["--mode", "auto", "--no-sandbox", "one"]).code(0);
    let exported = w.run(&["sessions", "export", "--format", "jsonl", &w.newest()]);
    let file = w.root().join("export.jsonl");
    let of_later = later(&exported.code(0).stdout);
    assert!(of_later.contains("msg_0290") && of_later.contains("prt_0290"));
    std::fs::write(&file, of_later).expect("written");
    let imported = w.run(&["sessions", "import", &file.display().to_string()]);
    let id = imported.code(0).stdout.trim().to_owned();
    for said in ["two", "three"] {
        w.write_script(&json!({"steps": [], "default": {"text": format!("answer {said}")}}));
        w.exec(&["-r", &id, said]).code(0);
    }
    let whole = w.run(&["sessions", "export", "--format", "json", &id]);
    let whole: Value = serde_json::from_str(&whole.code(0).stdout).expect("json");
    let messages = whole["messages"].as_array().expect("messages");
    let ids: Vec<&str> = messages.iter().filter_map(|m| m["id"].as_str()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let parts = messages
        .iter()
        .flat_map(|m| m["parts"].as_array().expect("parts"));
    let texts: Vec<&str> = parts
        .filter(|part| part["type"] == "text")
        .filter_map(|part| part["text"].as_str())
        .collect();
    let wanted = [
        "one",
        "let me look",
        "answer one",
        "two",
        "answer two",
        "three",
        "answer three",
    ];
    assert_eq!(texts, wanted);
}
