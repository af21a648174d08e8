//! What outlives a turn: help and changes over the conversation, undo, rewind, resume, crashes.

use serde_json::{Value, json};

use super::{READY, bash, dunlin, quit, sized, sleeps};
use crate::support::pty::{Terminal, ids, runs, until};
use crate::support::world::World;

/// A world whose first turn edits `a.txt`.
fn edits() -> World {
    let world = World::scripted(&json!({
        "steps": [
            {"calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
            {"calls": [{"name": "edit", "input":
                {"file_path": "a.txt", "old_string": "one", "new_string": "two"}}]},
            {"text": "It says two now."}
        ],
        "branches": [{"match": "second", "steps": [{"text": "The second answer."}]}]
    }));
    world.write("a.txt", "one\n");
    world
}

fn edited(world: &World) -> Terminal {
    let mut terminal = sized(world, &["--mode", "auto-edit"], (30, 100));
    terminal.shows(READY);
    terminal.send("change it\r");
    terminal.shows("It says two now.");
    terminal.shows_no("esc interrupt");
    terminal
}

#[test]
fn help_and_changes_open_over_the_conversation_and_close() {
    let world = edits();
    let mut terminal = edited(&world);
    terminal.send("/help\r");
    terminal.shows("Writing");
    terminal.send("\x1b[27u");
    terminal.shows("It says two now.");
    terminal.send("/diff\r");
    let screen = terminal.until("the changes", |screen| {
        screen.contains("a.txt") && screen.contains("this turn")
    });
    assert!(screen.contains("+1") && screen.contains("two"), "{screen}");
    terminal.send("\x1b[27u");
    terminal.shows("It says two now.");
    quit(&mut terminal);
}

#[test]
fn undo_shows_what_it_does_then_does_it_and_redo_brings_it_back() {
    let world = edits();
    let mut terminal = edited(&world);
    assert_eq!(world.read("a.txt"), "two\n");
    terminal.send("/undo\r");
    terminal.shows("a.txt");
    terminal.until("the preview", |screen| {
        screen.contains("Take back the last turn")
    });
    terminal.send("\r");
    until("the file as it was", || world.read("a.txt") == "one\n");
    terminal.shows_no("It says two now.");
    // The prompt comes back to be changed.
    terminal.until("the prompt in the composer, and nothing said", |screen| {
        screen.contains("❯ change it") && screen.contains("@ file")
    });
    terminal.send("\x15/redo\r");
    terminal.shows("Bring back what the last undo took");
    terminal.send("\r");
    until("the change again", || world.read("a.txt") == "two\n");
    terminal.shows("It says two now.");
    quit(&mut terminal);
}

#[test]
fn esc_twice_goes_back_to_an_earlier_prompt() {
    let world = edits();
    let mut terminal = edited(&world);
    terminal.send("second\r");
    terminal.shows("The second answer.");
    terminal.shows_no("esc interrupt");
    terminal.send("\x1b[27u\x1b[27u");
    let screen = terminal.shows("2 turns");
    assert!(
        screen.contains("change it") && screen.contains("❯ second") && screen.contains("+1 −1"),
        "{screen}"
    );
    terminal.send("\x1b[A\r");
    terminal.shows("Conversation and files");
    terminal.send("\r");
    let screen = terminal.shows("a.txt   will be restored");
    assert!(screen.contains("Go back to before"), "{screen}");
    terminal.send("\r");
    terminal.shows_no("The second answer.");
    until("the file as it was", || world.read("a.txt") == "one\n");
    terminal.until("the prompt in the composer, and nothing said", |screen| {
        screen.contains("❯ change it") && screen.contains("@ file")
    });
    terminal.send("\x15");
    quit(&mut terminal);
}

#[test]
fn resuming_shows_what_was_said() {
    let world = edits();
    let mut terminal = edited(&world);
    quit(&mut terminal);
    let mut terminal = sized(&world, &["-c"], (30, 100));
    let screen = terminal.shows("It says two now.");
    assert!(
        screen.contains("❯ change it") && screen.contains("Edited a.txt"),
        "{screen}"
    );
    terminal.send("second\r");
    terminal.shows("The second answer.");
    quit(&mut terminal);
}

#[test]
fn a_session_is_opened_from_the_list() {
    let world = edits();
    let mut terminal = edited(&world);
    quit(&mut terminal);
    let mut terminal = sized(&world, &[], (30, 100));
    terminal.shows("ctrl+s");
    terminal.send("\x13");
    terminal.shows("Sessions");
    terminal.shows("1 of 1");
    terminal.send("\r");
    terminal.shows("It says two now.");
    quit(&mut terminal);
}

#[test]
fn a_turn_that_was_killed_is_offered_to_go_on() {
    let (step, words) = sleeps();
    let world = World::scripted(&json!({"steps": [
        {"text": "I begin."}, {"text": "unused"}
    ], "branches": [{"match": "work", "steps": [
        {"text": "I work.", "calls": step["calls"]},
        {"text": "Finished after all."}
    ]}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto"]);
    terminal.shows(READY);
    terminal.send("work\r");
    terminal.shows("Running");
    until("the command", || runs(&words));
    terminal.kill();
    let mut terminal = dunlin(&world, &["--mode", "auto", "-c"]);
    terminal.until("what was said, and the offer", |screen| {
        screen.contains("The last turn was cut off")
            && screen.contains("I work.")
            && screen.contains("continues it")
    });
    terminal.send("\r");
    terminal.shows("Finished after all.");
    terminal.shows_no("was cut off");
    quit(&mut terminal);
    // Nobody but us is left to end the command of the program that was killed.
    for id in ids(&words) {
        drop(
            std::process::Command::new("kill")
                .arg(id.to_string())
                .status(),
        );
    }
}

#[test]
fn a_session_that_is_open_elsewhere_is_read_only_and_says_so() {
    let world = edits();
    let mut first = edited(&world);
    let mut second = sized(&world, &["-c"], (30, 100));
    second.shows("Read only");
    let screen = second.shows("It says two now.");
    assert!(screen.contains("another window"), "{screen}");
    quit(&mut second);
    quit(&mut first);
}

#[test]
fn words_are_found_and_keys_go_from_place_to_place() {
    let world = edits();
    let mut terminal = edited(&world);
    terminal.send("\x06");
    terminal.shows("❯ /find");
    terminal.send("two\r");
    terminal.shows("2 of 2");
    terminal.send("\x1bp");
    terminal.shows("1 of 2");
    terminal.send("\x1bn");
    terminal.shows("2 of 2");
    // The whole key: an escape byte right before another key would be alt with that key.
    terminal.send("\x1b[27u");
    quit(&mut terminal);
}

#[test]
fn an_answer_is_copied_and_a_session_exported_in_each_format_without_secrets() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let world = World::scripted(&json!({"steps": [
        bash(&format!("echo {secret}")),
        {"text": "The key is there."}
    ]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "--no-sandbox", "go"]);
    terminal.shows("The key is there.");
    terminal.shows_no("esc interrupt");
    terminal.send("/copy\r");
    // OSC 52 with the last answer, base64
    let osc = "\u{1b}]52;c;VGhlIGtleSBpcyB0aGVyZS4=";
    until("the answer in the clipboard", || {
        String::from_utf8_lossy(&terminal.raw()).contains(osc)
    });
    for name in ["talk.md", "talk.json", "talk.jsonl"] {
        let path = world.worktree().join(name);
        terminal.send(&format!("/export {name}\r"));
        terminal.shows("Exported to");
        until(name, || path.metadata().is_ok_and(|facts| facts.len() > 0));
        terminal.shows(name);
        let text = world.read(name);
        assert!(text.contains("The key is there."), "{text}");
        assert!(
            text.contains("[redacted]") && !text.contains(secret),
            "{text}"
        );
        match name {
            "talk.json" => {
                let value: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(value["dunlin_export"], 1);
            }
            "talk.jsonl" => {
                let mut lines = text.lines();
                assert!(
                    lines.all(|line| serde_json::from_str::<Value>(line).is_ok()),
                    "{text}"
                );
            }
            _ => assert!(text.starts_with('#'), "{text}"),
        }
    }
    quit(&mut terminal);
    // what was exported comes back
    for name in ["talk.json", "talk.jsonl"] {
        let path = world.worktree().join(name);
        let id = world
            .run(&["sessions", "import", path.to_str().expect("UTF-8")])
            .code(0)
            .stdout;
        let shown = world.run(&["sessions", "show", id.trim()]).code(0).stdout;
        assert!(shown.contains("The key is there."), "{shown}");
    }
}
