//! A turn as the user lives it: answers stream, questions are answered, words steer, Esc stops.

use serde_json::json;

use super::{READY, bash, dunlin, quit, sleeps, waits};
use crate::support::pty::{runs, until};
use crate::support::world::World;

#[test]
fn an_answer_streams_word_by_word() {
    let words: Vec<String> = (0..40).map(|n| format!("word{n} ")).collect();
    let world = World::scripted(&json!({"steps": [
        {"text": words, "pace": 40, "usage": {"input": 900, "output": 40}}
    ]}));
    let mut terminal = dunlin(&world, &[]);
    terminal.shows(READY);
    terminal.send("tell me\r");
    let early = terminal.shows("word3");
    assert!(
        !early.contains("word39"),
        "the beginning shows before the end is there: {early}"
    );
    assert!(early.contains("❯ tell me"), "{early}");
    let whole = terminal.until("the end of the turn", |screen| {
        screen.contains("word39") && !screen.contains("interrupt")
    });
    assert!(
        whole.contains("940/") || whole.contains("0.9k/"),
        "tokens in the footer: {whole}"
    );
    quit(&mut terminal);
}

#[test]
fn a_command_is_approved_with_y() {
    let world = World::scripted(&json!({"steps": [bash("touch made"), {"text": "It is made."}]}));
    let mut terminal = dunlin(&world, &["go"]);
    let screen = terminal.shows("Run this command");
    assert!(
        screen.contains("touch made") && screen.contains("y  Once"),
        "{screen}"
    );
    assert!(
        !world.worktree().join("made").exists(),
        "nothing runs before the answer"
    );
    terminal.answer("y");
    terminal.shows("It is made.");
    assert!(world.worktree().join("made").exists());
    quit(&mut terminal);
}

#[test]
fn a_refusal_with_words_reaches_the_model_and_the_draft_is_kept() {
    let world = World::scripted(&json!({"steps": [
        waits(),
        bash("touch made"),
        {"text": "I will not do it then."}
    ]}));
    let mut terminal = dunlin(&world, &["go"]);
    // Looking and waiting need no permission.
    terminal.shows("Running");
    terminal.send("my draft");
    terminal.shows("❯ my draft");
    world.write("go", "");
    terminal.shows("touch made");
    terminal.answer("n");
    terminal.shows("tell the model");
    terminal.send("use the Makefile\r");
    terminal.until("the draft again", |screen| {
        screen.contains("❯ my draft") && screen.contains("I will not do it then.")
    });
    assert!(!world.worktree().join("made").exists());
    terminal.send("\x15");
    quit(&mut terminal);
    let said = world
        .run(&["sessions", "export", "--format", "json", &world.newest()])
        .code(0);
    assert!(said.stdout.contains("use the Makefile"), "{}", said.stdout);
}

#[test]
fn words_typed_while_a_tool_runs_are_queued_and_then_said() {
    let world = World::scripted(&json!({
        "steps": [waits(), {"text": "Steered."}],
        "branches": [
            {"match": "afterwards", "steps": [{"text": "The follow-up is done."}]},
            {"match": "be quick", "steps": [{"text": "Quick it is."}]},
        ]
    }));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    terminal.send("be quick\r");
    let screen = terminal.shows("next step");
    assert!(screen.contains("be quick"), "{screen}");
    terminal.send("do this afterwards\t");
    let screen = terminal.shows("then");
    assert!(screen.contains("do this afterwards"), "{screen}");
    world.write("go", "");
    terminal.shows("Quick it is.");
    let screen = terminal.shows("The follow-up is done.");
    assert!(
        !screen.contains("next step"),
        "nothing is queued any more: {screen}"
    );
    assert!(screen.contains("❯ do this afterwards"), "{screen}");
    quit(&mut terminal);
}

#[test]
fn esc_stops_the_command_at_once_and_the_session_goes_on() {
    let (step, words) = sleeps();
    let world = World::scripted(&json!({
        "steps": [step, {"text": "never"}],
        "branches": [{"match": "again", "steps": [{"text": "Here I am."}]}]
    }));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    until("the command", || runs(&words));
    terminal.send("later, please\t");
    terminal.shows("later, please");
    terminal.send("\x1b");
    let screen = terminal.shows("interrupted");
    until("the end of the command", || !runs(&words));
    terminal.shows("paused");
    assert!(!screen.contains("never"), "{screen}");
    terminal.send("again\r");
    terminal.shows("Here I am.");
    terminal.shows_no("esc interrupt");
    quit(&mut terminal);
}

#[test]
fn esc_with_words_waiting_sends_them_now() {
    let (step, words) = sleeps();
    let world = World::scripted(&json!({
        "steps": [step, {"text": "never"}],
        "branches": [{"match": "stop that", "steps": [{"text": "I stopped."}]}]
    }));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    until("the command", || runs(&words));
    terminal.send("stop that\r");
    terminal.shows("next step");
    terminal.send("\x1b");
    terminal.shows("I stopped.");
    until("the end of the command", || !runs(&words));
    quit(&mut terminal);
}

#[test]
fn the_same_call_again_and_again_is_asked_about() {
    let step = bash("echo same");
    let world =
        World::scripted(&json!({"steps": [step, step, step, step, {"text": "Out of it."}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    let screen = terminal.shows("Looks like a loop");
    assert!(
        screen.contains("❯ s  Stop"),
        "the safe answer is chosen: {screen}"
    );
    terminal.answer("c");
    terminal.shows("Out of it.");
    quit(&mut terminal);
}

#[test]
fn a_retry_counts_down_and_r_tries_now() {
    let world = World::scripted(&json!({"steps": [
        {"text": "Through.", "fault": {"kind": "status", "status": 503, "retry_after_ms": 500_000}}
    ]}));
    let mut terminal = dunlin(&world, &[]);
    terminal.shows(READY);
    terminal.send("go\r");
    let screen = terminal.shows("Retrying in");
    assert!(
        screen.contains("503") && screen.contains("r now"),
        "{screen}"
    );
    terminal.send("r");
    terminal.shows("Through.");
    terminal.shows_no("Retrying in");
    quit(&mut terminal);
}

#[test]
fn esc_ends_a_countdown() {
    let world = World::scripted(&json!({"steps": [
        {"text": "Through.", "fault": {"kind": "overloaded", "times": 50}}
    ]}));
    let mut terminal = dunlin(&world, &["go"]);
    terminal.shows("Retrying");
    terminal.send("\x1b");
    terminal.shows_no("Retrying");
    quit(&mut terminal);
}
