//! What leaves the program: pipes that close, outputs that cannot be written, logs, mistyped commands.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::pty::{runs, until};
use crate::support::world::{World, of_type, ran};

fn said() -> World {
    let w = World::scripted(&json!({"steps": [{"text": "It looks like rain."}]}));
    w.exec(&["how is the weather?"]).code(0);
    w
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let w = World::new();
    for args in [
        &["completions", "bash"][..],
        &["config"],
        &["models"],
        &["config", "--schema"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = w
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        let done = ran(output).code(0);
        assert_eq!(done.stderr, "", "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure_with_a_sentence() {
    let w = said();
    for args in [
        &["sessions", "list"][..],
        &["completions", "zsh"],
        &["models"],
    ] {
        let full = File::options().write(true).open("/dev/full");
        let output = w
            .command(args)
            .stdout(full.expect("the device"))
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        let done = ran(output).code(1);
        assert!(
            done.stderr.contains("Standard output cannot be written"),
            "{args:?}: {}",
            done.stderr
        );
    }
}

#[test]
fn search_takes_words_or_an_expression_and_answers_as_json_too() {
    let w = said();
    w.run(&["search", "l..ks"]).code(1);
    let found = w.run(&["search", "--regex", "l..ks like"]).code(0);
    assert!(
        found.stdout.contains("It looks like rain."),
        "{}",
        found.stdout
    );
    let found = w.run(&["search", "--json", "rain looks"]).code(0);
    let rows: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(rows[0]["kind"], "text");
    assert_eq!(rows[0]["session"], json!(w.newest()));
    let none = w.run(&["search", "--json", "snow"]).code(0);
    assert_eq!(none.stdout.trim(), "[]", "an empty array is an answer");
    let wrong = w.run(&["search", "--regex", "l(("]);
    assert!(!wrong.stderr.is_empty() && wrong.stdout.is_empty());
}

#[test]
fn the_configuration_tells_what_was_changed_and_by_which_flag() {
    let w = World::new();
    w.write("../config/config.toml", "[context]\nkeep_turns = 4\n");
    let changed = w.run(&["config", "--changed", "--mode", "plan"]).code(0);
    let line = |key: &str| changed.stdout.lines().find(|l| l.contains(key));
    assert!(line("context.keep_turns").is_some(), "{}", changed.stdout);
    let mode = line("mode").expect("the flag's");
    assert!(mode.contains("plan") && mode.contains("--mode"), "{mode}");
    let all = w.run(&["config"]).code(0);
    assert!(all.stdout.lines().count() > changed.stdout.lines().count() + 20);
}

#[test]
fn a_mistyped_command_is_named_and_not_sent_to_a_model() {
    let w = World::new();
    for (typed, meant) in [
        ("sesions", "sessions"),
        ("docter", "doctor"),
        ("modles", "models"),
    ] {
        let refused = w.run(&[typed]).code(2);
        assert!(
            refused.stderr.contains(&format!("`dunlin {meant}`")),
            "{}",
            refused.stderr
        );
    }
    w.run(&["-c", "-r", "ses_1", "sessions"]).code(2);
}

#[test]
fn what_is_not_configured_is_a_usage_error() {
    let w = said();
    for model in ["nope/foo", "scripted/none.json"] {
        let output = w
            .command(&["exec", "--model", model, "hello"])
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        ran(output).code(2);
    }
}

#[test]
fn a_session_that_is_open_elsewhere_refuses_a_prompt_aloud() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "sleep 613.75"}}]},
        {"text": "Theirs."}
    ]}));
    let model = w.model();
    let mut first = w
        .command(&["exec", "--mode", "auto", "--model", &model, "wait"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    until("the command", || runs("sleep 613.75"));
    let id = w.newest();
    let (done, events) = w.events(&["-r", &id, "and me?"]);
    first.kill().expect("killed");
    first.wait().expect("it ends");
    for pid in crate::support::pty::ids("sleep 613.75") {
        drop(
            std::process::Command::new("kill")
                .arg(pid.to_string())
                .status(),
        );
    }
    let done = done.code(1);
    let told = of_type(&events, "error");
    assert_eq!(told.len(), 1, "{}", done.stdout);
    let message = told[0]["error"]["message"].as_str().expect("a sentence");
    assert!(message.contains("open in another dunlin"), "{message}");
    assert_eq!(
        of_type(&events, "part.updated").len(),
        0,
        "what the other one says is not ours"
    );
}

#[test]
fn a_log_that_cannot_be_written_is_refused_and_a_written_one_tells_what_happened() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
        {"text": "Secret words."}
    ]}));
    w.write("a.txt", "hello\n");
    let nowhere = w.root().join("no").join("such").join("x.log");
    w.exec(&["--log", &nowhere.to_string_lossy(), "look"])
        .code(2);
    let log = w.root().join("run.log");
    w.exec(&["--log", &log.to_string_lossy(), "look"]).code(0);
    let text = std::fs::read_to_string(&log).expect("a log");
    for word in ["session", "turn begins", "call", "turn ends"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(
        !text.contains("Secret") && !text.contains("hello"),
        "{text}"
    );
}

#[test]
fn a_terminal_that_is_closed_ends_the_run_and_its_command() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "sleep 612.25; touch made"}}]},
        {"text": "never"}
    ]}));
    let model = w.model();
    let mut child = w
        .command(&["exec", "--mode", "auto", "--model", &model, "wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    until("the command", || runs("sleep 612.25"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("sent");
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(130));
    until("the end of its command", || !runs("sleep 612.25"));
}

#[test]
fn a_second_interrupt_kills_what_ignores_the_first() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input":
            {"command": "trap '' TERM INT; sleep 614.5; sleep 615.5"}}]},
        {"text": "never"}
    ]}));
    let model = w.model();
    let mut child = w
        .command(&["exec", "--mode", "auto", "--model", &model, "wait"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    until("the command", || runs("sleep 614.5"));
    let pid = rustix::process::Pid::from_child(&child);
    let interrupt = || rustix::process::kill_process(pid, rustix::process::Signal::INT);
    interrupt().expect("sent");
    interrupt().expect("sent");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    until("the end of its commands", || {
        !runs("sleep 614.5") && !runs("sleep 615.5")
    });
}
