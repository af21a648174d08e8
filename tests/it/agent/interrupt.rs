//! Interrupts: nothing runs on, the session is usable.

use std::time::{Duration, Instant};

use serde_json::json;

use super::orders::{Steered, is_running};
use crate::support::world::World;

const PATIENCE: Duration = Duration::from_secs(30);
/// The turn has ended so long after an interrupt. 100 ms is the promise (docs/performance.md has what
/// was measured); a loaded machine that runs many tests at once gets more, but far less than the
/// 2 s that a command has between TERM and KILL.
const AT_ONCE: Duration = Duration::from_millis(1_500);

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

/// Interrupts once `ready`, and checks that the turn ends at once and the next prompt is answered.
fn interrupted_at(
    what: &str,
    w: &World,
    args: &[&str],
    ready: impl Fn(&serde_json::Value) -> bool,
) {
    let mut run = Steered::start(w, args);
    run.until(what, ready);
    let begin = Instant::now();
    run.say(&json!({"type": "interrupt"}));
    let ended = run.until("the end", |e| e["type"] == "turn.finished");
    let took = begin.elapsed();
    assert_eq!(ended["reason"], "interrupted", "{what}");
    assert!(took < AT_ONCE, "{what}: {took:?}");
    run.say(&json!({"type": "prompt", "text": "still there?"}));
    let ended = run.until("the next turn", |e| e["type"] == "turn.finished");
    assert_eq!(ended["reason"], "done", "{what}");
    assert_eq!(run.end(), 0, "{what}");
}

/// A world whose model does this, and answers what is asked later.
fn answering(step: &serde_json::Value) -> World {
    let later = json!({"match": "still there", "steps": [{"text": "yes"}], "loop": true});
    let child = json!({"match": "the child", "steps": [step]});
    World::scripted(
        &json!({"branches": [later, child], "steps": [step], "default": {"text": "yes"}}),
    )
}

#[test]
fn an_interrupt_ends_any_kind_of_waiting_at_once() {
    let says = |e: &serde_json::Value| e["type"] == "part.delta";
    let w = answering(&json!({"text": {"repeat": "word ", "times": 5_000}, "pace": 20}));
    interrupted_at("streaming", &w, &["go"], says);
    let stall = json!({"kind": "stall", "after": 3});
    let w =
        answering(&json!({"text": {"repeat": "word ", "times": 9}, "chunk": 5, "fault": stall}));
    interrupted_at("a silent stream", &w, &["go"], says);
    let busy = json!({"kind": "status", "status": 529, "retry_after_ms": 600_000, "times": 9});
    let w = answering(&json!({"text": "never", "fault": busy}));
    interrupted_at("a retry", &w, &["go"], |e| e["type"] == "retry");
    let asks = json!({"calls": [{"name": "bash", "input": {"command": "touch made"}}]});
    let asked = |e: &serde_json::Value| e["type"] == "permission.asked";
    interrupted_at("a permission", &answering(&asks), &["go"], asked);
    let question = json!({"calls": [{"name": "question", "input": {"question": "Which?"}}]});
    interrupted_at("a question", &answering(&question), &["go"], asked);
}

#[test]
fn an_interrupt_ends_a_subagent_in_any_state_at_once() {
    let parent = |step: &serde_json::Value| {
        let task = json!({"name": "task", "input":
            {"description": "d", "prompt": "the child", "agent": "general"}});
        let later = json!({"match": "still there", "steps": [{"text": "yes"}], "loop": true});
        let child = json!({"match": "the child", "steps": [step]});
        World::scripted(&json!({"branches": [later, child], "steps": [{"calls": [task]}]}))
    };
    let asks = json!({"calls": [{"name": "bash", "input": {"command": "touch made"}}]});
    let asked = |e: &serde_json::Value| e["type"] == "permission.asked";
    interrupted_at("a subagent's question", &parent(&asks), &["go"], asked);
    let w = parent(&json!({"text": {"repeat": "word ", "times": 5_000}, "pace": 20}));
    interrupted_at("a subagent that says something", &w, &["go"], |e| {
        e["part"]["tool"] == "task"
            && e["part"]["state"]["tail"]
                .as_str()
                .is_some_and(|t| !t.is_empty())
    });
}

#[test]
fn a_command_that_does_not_want_to_end_does_not_keep_the_user_waiting_and_is_killed() {
    let seconds = format!("76543.{}", std::process::id());
    // It ignores TERM, and so does what it starts; one of them leaves the group as well.
    let stubborn = format!(
        "trap '' TERM; setsid sleep {seconds} & sleep {seconds} & touch started; \
         while :; do sleep 0.05; echo x; done"
    );
    let w = answering(&json!({"calls": [{"name": "bash", "input": {"command": stubborn}}]}));
    let started = w.worktree().join("started");
    interrupted_at("a stubborn command", &w, &["--mode", "auto", "go"], |e| {
        is_running("bash")(e) && started.exists()
    });
    until_none_is_alive(&seconds);
}
