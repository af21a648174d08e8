//! Undo takes back all of the agent's last turn and nothing of the user's, however late the snapshot after a
//! command comes, and also when the process was killed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::world::World;

/// A world with a committed file; none where there is no git.
fn world(script: &Value) -> World {
    let w = World::scripted(script);
    w.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    // without git it is a plain folder, of which snapshots are taken as well
    w.commit();
    w
}

/// Starts a turn.
fn start(w: &World) -> Child {
    let model = w.model();
    let args = ["exec", "--json", "--mode", "auto", "--model", &model, "go"];
    let mut command = w.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("dunlin runs")
}

/// Reads events until one fits; false at the end.
fn read_until(output: &mut impl BufRead, fits: impl Fn(&Value) -> bool) -> bool {
    for line in output.lines() {
        let event: Value = serde_json::from_str(&line.expect("text")).expect("json");
        if fits(&event) {
            return true;
        }
    }
    false
}

fn call_is(event: &Value, state: &str) -> bool {
    event["part"]["type"] == "tool" && event["part"]["state"]["status"] == state
}

/// `/undo` and `y` in a new process, each when its turn has come; gives what was said.
fn undo(w: &World) -> String {
    let model = w.model();
    let mut child = w
        .command(&["--plain", "--mode", "auto", "--model", &model, "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("dunlin runs");
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = String::new();
    input.write_all(b"/undo\n").expect("a line");
    for line in output.lines() {
        let line = line.expect("text");
        said.push_str(&line);
        said.push('\n');
        if line.contains("y does it") {
            input.write_all(b"y\n").expect("a line");
        }
        if line.contains("Taken back") || line.contains("no turn") {
            input.write_all(b"/quit\n").expect("a line");
        }
    }
    child.wait().expect("an end");
    said
}

/// Nanoseconds since the epoch.
fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.expect("a clock").as_nanos()).expect("a time")
}

/// Writes a file until its time is after this moment: the system's clock for files has steps of milliseconds.
fn write_after(w: &World, moment: i64, name: &str, text: &str) {
    loop {
        w.write(name, text);
        let facts = std::fs::metadata(w.worktree().join(name)).expect("a file");
        if facts.ctime() * 1_000_000_000 + facts.ctime_nsec() > moment {
            return;
        }
    }
}

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "input": {"command": command}}]})
}

#[test]
fn what_the_user_changes_while_a_long_snapshot_is_taken_is_not_undone() {
    let many = "mkdir big; for i in $(seq 3000); do echo $i > big/$i; done; echo agent >> a.txt";
    let w = world(&json!({"steps": [bash(many), {"text": "done"}]}));
    let mut child = start(&w);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(read_until(&mut output, |e| call_is(e, "completed")));
    let seen = clock();
    let text = w.read("a.txt");
    write_after(&w, seen, "a.txt", &format!("user\n{text}"));
    write_after(&w, seen, "mine.txt", "user\n");
    read_until(&mut output, |_| false);
    assert!(child.wait().expect("an end").success());
    let said = undo(&w);
    assert!(w.read("a.txt").starts_with("user\n"), "{said}");
    assert_eq!(w.read("mine.txt"), "user\n", "{said}");
    // the end has waited for the snapshot, however many files there are
    assert!(!w.worktree().join("big").exists(), "{said}");
}

#[test]
fn a_turn_that_was_killed_is_undone_at_the_next_opening() {
    let commands = "echo agent >> a.txt; echo agent > new.txt; echo done > mark; sleep 1000";
    let w = world(&json!({"steps": [bash(commands), {"text": "done"}]}));
    let before = w.read("a.txt");
    let mut child = start(&w);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(read_until(&mut output, |e| call_is(e, "running")));
    while !w.worktree().join("mark").exists() {
        std::thread::yield_now();
    }
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let said = undo(&w);
    assert_eq!(w.read("a.txt"), before, "{said}");
    assert!(!w.worktree().join("new.txt").exists(), "{said}");
    assert!(said.contains("new.txt"), "the preview names it: {said}");
}

#[test]
fn a_write_that_was_killed_right_after_its_result_is_undone_and_not_misreported() {
    let call = json!({"name": "write", "input": {"file_path": "new.txt", "content": "agent\n"}});
    let w = world(&json!({"steps": [{"calls": [call]}, {"delay_ms": 600_000, "text": "done"}]}));
    let mut child = start(&w);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(read_until(&mut output, |e| call_is(e, "completed")));
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let said = undo(&w);
    assert!(!w.worktree().join("new.txt").exists(), "{said}");
    assert!(!said.contains("Not in snapshots"), "{said}");
}

#[test]
fn what_a_background_job_wrote_later_is_named_in_the_preview() {
    let job = json!({"name": "bash", "input": {
        "command": "until [ -e go ]; do sleep 0.1; done; echo n > late.txt", "background": true}});
    let wait = json!({"name": "bash_output", "input": {"job": "job-1", "wait": 60_000}});
    let w = world(&json!({"steps": [
        {"calls": [job]}, {"calls": [wait]}, {"text": "done"}]}));
    let mut child = start(&w);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(read_until(&mut output, |e| {
        e["part"]["tool"] == "bash_output" && call_is(e, "running")
    }));
    w.write("go", "");
    read_until(&mut output, |_| false);
    assert!(child.wait().expect("an end").success());
    let said = undo(&w);
    assert!(w.worktree().join("late.txt").exists(), "{said}");
    assert!(said.contains("late.txt"), "{said}");
}
