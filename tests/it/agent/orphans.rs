//! `kill -9` of dunlin itself: what its commands have started ends too, and a resumed session does not
//! run them again.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::world::World;

/// Patience of a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

/// True while a process lives that is no zombie.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

#[test]
fn what_a_command_started_ends_when_dunlin_is_killed_and_is_not_run_again() {
    // The shell, its child, and one that ignores TERM in a session of its own.
    let command = "echo ran >> runs; sleep 600 & echo $! >> pids; \
                   setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' & \
                   echo $$ >> pids; wait";
    let background = json!({"name": "bash", "input": {"background": true,
        "command": "echo $$ >> pids; sleep 600; echo late"}});
    let w = World::scripted(&json!({"steps": [
        {"calls": [background, {"name": "bash", "input": {"command": command}}]},
        {"text": "done"}]}));
    let model = w.model();
    let mut child = w
        .command(&["exec", "--json", "--mode", "auto", "--model", &model, "go"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let pids = || -> Vec<String> {
        let text = std::fs::read_to_string(w.worktree().join("pids")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    wait("four processes run", || pids().len() == 4);
    assert!(pids().iter().all(|pid| lives(pid)));
    child.kill().expect("a kill");
    child.wait().expect("an end");
    wait("all of them end", || !pids().iter().any(|pid| lives(pid)));

    let mut again = w
        .command(&["exec", "--json", "-c", "--model", &model])
        .stdout(Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let output = BufReader::new(again.stdout.take().expect("a pipe"));
    let events: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(&line.expect("text")).expect("json"))
        .collect();
    assert!(again.wait().expect("an end").success());
    let told = |e: &Value| e["type"] == "part.updated" && e["part"]["state"]["interrupted"] == true;
    assert!(events.iter().any(told), "the call reads as interrupted");
    assert_eq!(w.read("runs"), "ran\n", "it ran once");
}
