//! The line printer: appended lines only, in a terminal and in a pipe.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use super::{bash, dunlin};
use crate::support::pty::{Terminal, until};
use crate::support::world::{World, ran};

fn asks() -> World {
    World::scripted(&json!({"steps": [
        {"text": "I make it.\nIn two lines.", "calls": [
            {"name": "bash", "input": {"command": "touch made"}}]},
        {"text": "It is made. \u{1b}]52;c;ZXZpbA==\u{7}"}
    ]}))
}

fn assert_plain(terminal: &Terminal) {
    let raw = terminal.raw();
    assert!(
        !raw.contains(&0x1b),
        "an escape in {:?}",
        String::from_utf8_lossy(&raw)
    );
    assert!(terminal.is_restored());
}

#[test]
fn lines_are_appended_and_questions_are_answered_by_line() {
    let world = asks();
    let mut terminal = dunlin(&world, &["--plain"]);
    terminal.shows("> ");
    terminal.send("go\r");
    let screen = terminal.shows("y  Once");
    for said in ["I make it.", "In two lines.", "touch made"] {
        assert!(screen.contains(said), "{said} in {screen}");
    }
    terminal.send("maybe\r");
    terminal.shows("Answer with one of");
    terminal.send("yes\r");
    terminal.shows("It is made.");
    assert!(world.worktree().join("made").exists());
    terminal.send("/nonsense\r");
    terminal.shows("There is no /nonsense");
    terminal.send("/quit\r");
    assert_eq!(terminal.ends(), 0);
    assert_plain(&terminal);
    assert!(
        terminal
            .look(vt100::Screen::contents)
            .contains("dunlin --plain -r ses_")
    );
}

#[test]
fn ctrl_c_stops_the_turn_and_then_ends() {
    let (step, words) = super::sleeps();
    let world = World::scripted(&json!({"steps": [step, {"text": "never"}]}));
    let mut terminal = dunlin(&world, &["--plain", "--mode", "auto", "go"]);
    terminal.shows("Running: ");
    until("the command", || crate::support::pty::runs(&words));
    terminal.send("\x03");
    terminal.shows("Interrupted.");
    terminal.send("\x03");
    assert_eq!(terminal.ends(), 130);
    assert_plain(&terminal);
}

#[test]
fn what_is_piped_in_is_worked_off_line_by_line() {
    let world = asks();
    let said = piped(&world, "ask", &[], "go\nn use the Makefile\n");
    assert!(said.contains("Question: Run this command"), "{said}");
    assert!(!world.worktree().join("made").exists());
    assert!(!said.contains('\u{1b}'));
    let said = world
        .run(&["sessions", "export", "--format", "json", &world.newest()])
        .code(0);
    assert!(said.stdout.contains("use the Makefile"), "{}", said.stdout);
}

#[test]
fn a_failed_command_says_how_it_failed() {
    let world = World::scripted(&json!({"steps": [
        bash("echo one; echo two; exit 3"), {"text": "It failed."}
    ]}));
    let mut terminal = dunlin(&world, &["--plain", "--mode", "auto", "go"]);
    let screen = terminal.shows("It failed.");
    assert!(
        screen.contains("exit code 3") && screen.contains("  two"),
        "{screen}"
    );
    terminal.send("/quit\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn turns_are_gone_back_to_and_words_are_found_by_number() {
    let world = World::scripted(&json!({
        "steps": [{"text": "What?"}],
        "branches": [
            {"match": "write one", "steps": [bash("echo one > f.txt"), {"text": "Done with one."}]},
            {"match": "write two", "steps": [bash("echo two > f.txt"), {"text": "Done with two."}]},
        ]
    }));
    world.write("f.txt", "zero\n");
    let mut terminal = dunlin(&world, &["--plain", "--mode", "auto", "--no-sandbox"]);
    terminal.shows("> ");
    terminal.send("write one\r");
    terminal.shows("Done with one.");
    terminal.send("write two\r");
    terminal.shows("Done with two.");
    terminal.send("/rewind\r");
    let screen = terminal.shows("/rewind NUMBER");
    assert!(screen.contains("2  write two"), "{screen}");
    terminal.send("/rewind 9\r");
    terminal.shows("no such turn");
    terminal.send("/rewind 2\r");
    terminal.shows("y does it");
    assert_eq!(world.read("f.txt"), "two\n", "a preview touches nothing");
    terminal.send("y\r");
    terminal.shows("the prompt was: write two");
    until("the first content", || world.read("f.txt") == "one\n");
    terminal.send("/redo\r");
    terminal.shows("Bring back: write two");
    terminal.send("y\r");
    until("the second content", || world.read("f.txt") == "two\n");
    terminal.send("/search echo one\r");
    let screen = terminal.shows("/search NUMBER");
    assert!(screen.contains("tool: echo one > f.txt"), "{screen}");
    // what was said on another branch is shown where it is
    terminal.send("/undo\r");
    terminal.shows("Take back the turn of: write two");
    terminal.send("y\r");
    until("the first content again", || world.read("f.txt") == "one\n");
    terminal.send("/search echo two\r");
    terminal.shows("tool: echo two > f.txt");
    terminal.send("/search 1\r");
    terminal.shows("What was sought is in turn 2.");
    terminal.send("/quit\r");
    assert_eq!(terminal.ends(), 0);
    assert_plain(&terminal);
}

#[test]
fn cost_pins_status_and_sessions_are_told_in_lines() {
    let world = World::scripted(&json!({"steps": [
        {"text": "I look.", "calls": [{"name": "bash", "input": {"command": "echo found"}}],
         "usage": {"input": 900, "output": 100}},
        {"text": "It is there."}
    ]}));
    let mut terminal = dunlin(&world, &["--plain", "--mode", "auto"]);
    terminal.shows("> ");
    terminal.send("look for it\r");
    terminal.shows("It is there.");
    terminal.send("/cost\r");
    terminal.shows("By turn:");
    let screen = terminal.shows("look for it: ");
    assert!(screen.contains("2 steps"), "{screen}");
    terminal.send("/pin\r");
    let screen = terminal.shows("/pin NUMBER pins it");
    assert!(screen.contains("1  answer: It is there."), "{screen}");
    assert!(screen.contains("2  output: bash echo found"), "{screen}");
    terminal.send("/pin 2\r");
    terminal.shows("tokens, pinned)");
    terminal.send("/pin 99\r");
    terminal.shows("There is no such part.");
    terminal.send("/status\r");
    let screen = terminal.shows("snapshots: ");
    assert!(screen.contains("mode: auto"), "{screen}");
    terminal.send("/sessions 9\r");
    terminal.shows("There is no such session.");
    terminal.send("/effort nonsense\r");
    terminal.shows("Write /effort default, ");
    terminal.send("/quit\r");
    assert_eq!(terminal.ends(), 0);
    assert_plain(&terminal);
}

/// Runs `--plain` over pipes in this mode with these lines and gives what it printed.
fn piped(world: &World, mode: &str, args: &[&str], lines: &str) -> String {
    let model = world.model();
    let mut all = vec!["--plain", "--mode", mode, "--model", &model];
    all.extend(args);
    let mut child = world
        .command(&all)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("a reader");
    drop(input);
    ran(child.wait_with_output().expect("an end"))
        .code(0)
        .stdout
}

#[test]
fn a_piped_answer_waits_for_the_preview_it_answers() {
    let world = World::scripted(&json!({"steps": [
        bash("echo one > f.txt"), {"text": "Done."}, {"text": "Nobody asked."}
    ]}));
    piped(&world, "auto", &["go"], "");
    assert!(world.worktree().join("f.txt").exists());
    let said = piped(
        &world,
        "auto",
        &["-c"],
        "/undo\ny\n/redo\ny\n/undo\nn\n/quit\n",
    );
    assert!(
        !said.contains("Nobody asked."),
        "the y was sent to the model: {said}"
    );
    assert_eq!(said.matches("y does it").count(), 3, "{said}");
    assert!(said.contains("Left as it is."), "{said}");
    assert_eq!(world.read("f.txt"), "one\n", "taken back and brought back");
}

#[test]
fn a_prompt_for_a_session_that_is_open_elsewhere_is_refused_and_the_next_line_is_read() {
    let (step, words) = super::sleeps();
    let world = World::scripted(&json!({"steps": [step, {"text": "late"}]}));
    let mut first = dunlin(&world, &["--plain", "--mode", "auto", "go"]);
    until("the command", || crate::support::pty::runs(&words));
    let said = piped(
        &world,
        "auto",
        &["-r", &world.newest()],
        "hello\n/help\n/quit\n",
    );
    assert!(said.contains("can only be read here: /fork"), "{said}");
    assert!(
        said.contains("/rewind"),
        "the line after it was read: {said}"
    );
    first.kill();
}
