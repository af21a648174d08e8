//! Interrupts: nothing runs on, the session is usable.

use std::time::{Duration, Instant};

use serde_json::json;

use super::orders::{Steered, is_running};
use crate::support::world::World;

const PATIENCE: Duration = Duration::from_secs(30);

/// Processes whose command line holds this word.
fn alive(word: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let lines = entries.filter_map(|e| std::fs::read(e.ok()?.path().join("cmdline")).ok());
    lines
        .map(|l| String::from_utf8_lossy(&l).replace('\0', " "))
        .filter(|l| l.contains(word) && !l.contains("exec --json"))
        .collect()
}

#[track_caller]
fn until_none_is_alive(word: &str) {
    let end = Instant::now() + PATIENCE;
    while !alive(word).is_empty() {
        assert!(Instant::now() < end, "still alive: {:?}", alive(word));
        std::thread::yield_now();
    }
}

fn sleeper(seconds: &str) -> serde_json::Value {
    json!({"name": "bash", "input": {"command":
        format!("(sleep {seconds} & sleep {seconds} & wait) & touch started; sleep {seconds}")}})
}

#[test]
fn an_interrupt_kills_the_whole_process_group_and_the_next_prompt_works() {
    // A number that no other process on the machine sleeps for.
    let seconds = format!("98765.{}", std::process::id());
    let w = World::scripted(&json!({"steps": [{"calls": [sleeper(&seconds)]}, {"text": "here"}]}));
    let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
    run.until("the command runs", is_running("bash"));
    let end = Instant::now() + PATIENCE;
    while !w.worktree().join("started").exists() {
        assert!(Instant::now() < end, "the command does not start");
        std::thread::yield_now();
    }
    run.say(&json!({"type": "interrupt"}));
    let ended = run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(ended["reason"], "interrupted");
    until_none_is_alive(&seconds);
    run.say(&json!({"type": "prompt", "text": "are you there?"}));
    let ended = run.until("the next turn", |e| e["type"] == "turn.finished");
    assert_eq!(ended["reason"], "done");
    assert_eq!(run.end(), 0);
}

#[test]
fn a_subagents_processes_end_with_its_parents_call_and_with_the_program() {
    let seconds = format!("87654.{}", std::process::id());
    let task = json!({"name": "task", "input":
        {"description": "d", "prompt": "the child", "agent": "general"}});
    let w = World::scripted(&json!({
        "branches": [{"match": "the child", "steps": [{"calls": [sleeper(&seconds)]}]}],
        "steps": [{"calls": [task]}, {"text": "here"}]}));
    let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
    let end = Instant::now() + PATIENCE;
    while !w.worktree().join("started").exists() {
        assert!(Instant::now() < end, "the command does not start");
        std::thread::yield_now();
    }
    // A plain kill of the program: its end waits for what it started.
    let told = std::process::Command::new("kill")
        .arg(run.id().to_string())
        .status();
    assert!(told.expect("kill runs").success());
    run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(run.end(), 130);
    assert_eq!(
        alive(&seconds),
        Vec::<String>::new(),
        "nothing is left when it has ended"
    );
    // The child's transcript says where it was cut.
    let child = run
        .events
        .iter()
        .find_map(|e| e["part"]["child"].as_str())
        .expect("a child")
        .to_owned();
    let stored = w
        .run(&["sessions", "export", "--format", "json", &child])
        .code(0)
        .stdout;
    assert!(
        stored.contains("[Tool execution was interrupted]"),
        "{stored}"
    );
}
