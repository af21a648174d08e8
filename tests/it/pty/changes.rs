//! The changes as the user lives them: hunks are taken back one by one and brought back.

use serde_json::json;

use super::{READY, bash, dunlin, quit};
use crate::support::pty::until;
use crate::support::world::World;

/// A file of twenty lines, changed by a command in two places.
fn changed() -> (World, String) {
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
    let before = lines.concat();
    let script = json!({"steps": [
        bash("sed -i -e 's/^line 2$/second/' -e 's/^line 18$/eighteenth/' poem"),
        {"text": "Both lines are changed."}
    ]});
    let world = World::scripted(&script);
    world.write("poem", &before);
    (world, before)
}

#[test]
fn one_hunk_is_taken_back_and_a_redo_brings_it_back() {
    let (world, before) = changed();
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Both lines are changed.");
    terminal.until("the end of the turn", |screen| {
        !screen.contains("interrupt")
    });
    terminal.send("/diff\r");
    let screen = terminal.shows("1 of 2 hunks");
    assert!(screen.contains("eighteenth"), "{screen}");
    assert!(screen.contains("unchanged lines"), "{screen}");
    terminal.send("\r");
    terminal.shows("line 10");
    terminal.send("\r");
    terminal.send("j");
    terminal.shows("2 of 2 hunks");
    terminal.send("u");
    terminal.shows("1 hunk");
    until("the hunk taken back", || {
        world.read("poem").contains("line 18\n") && world.read("poem").contains("second")
    });
    terminal.send("u");
    until("both taken back", || world.read("poem") == before);
    terminal.shows("Nothing was changed");
    terminal.send("q");
    terminal.shows(READY);
    terminal.send("/redo\r");
    terminal.shows("Bring back what the last undo took");
    terminal.send("\r");
    until("one brought back", || world.read("poem").contains("second"));
    assert!(!world.read("poem").contains("eighteenth"));
    terminal.send("/redo\r");
    terminal.shows("Bring back what the last undo took");
    terminal.send("\r");
    until("all brought back", || {
        world.read("poem").contains("eighteenth")
    });
    quit(&mut terminal);
}

#[test]
fn the_last_commit_is_compared_with_too() {
    let (world, before) = changed();
    if !world.commit() {
        return;
    }
    world.write(
        "poem",
        &before.replace("line 3\n", "the user's own words\n"),
    );
    let mut terminal = dunlin(&world, &["--mode", "auto"]);
    terminal.shows(READY);
    terminal.send("/diff head\r");
    let screen = terminal.shows("the user's own words");
    assert!(screen.contains("M poem"), "{screen}");
    terminal.send("q");
    terminal.shows(READY);
    quit(&mut terminal);
}

#[test]
fn a_preview_names_the_files_that_no_snapshot_knows() {
    let world = World::scripted(&json!({"steps": [
        {"calls": [{"name": "read", "input": {"file_path": "local.env"}}]},
        {"calls": [{"name": "edit", "input":
            {"file_path": "local.env", "old_string": "one", "new_string": "two"}}]},
        {"text": "It says two now."}]}));
    world.write("local.env", "one\n");
    world.write(".gitignore", "*.env\n");
    if !world.commit() {
        return;
    }
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("It says two now.");
    terminal.shows_no("esc interrupt");
    terminal.send("/undo\r");
    let screen = terminal.shows("Not in snapshots");
    assert!(screen.contains("left as they are: local.env"), "{screen}");
    assert!(!screen.contains("No file changes"), "{screen}");
    terminal.send("\x1b[27u");
    quit(&mut terminal);
    assert_eq!(world.read("local.env"), "two\n");
}
