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
    // too large to be kept, as snapshots are set here
    let small = ["--mode", "auto", "--config", "snapshot.max_file=2", "go"];
    let mut terminal = dunlin(&world, &small);
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

/// One turn in which three tools write files that git does not track: two ignored ones and one of a
/// repository inside.
fn out_of_sight() -> World {
    let call = |name: &str, input: serde_json::Value| json!({"name": name, "input": input});
    let patch = "*** Begin Patch\n*** Update File: local.env\n@@\n-A=1\n+A=2\n\
                 *** Add File: made.env\n+B=1\n*** End Patch";
    let world = World::scripted(&json!({"steps": [
        {"calls": [call("read", json!({"file_path": "inner/f"}))]},
        {"calls": [
            call("apply_patch", json!({"patch": patch})),
            call("edit", json!({"file_path": "inner/f", "old_string": "one", "new_string": "two"})),
            call("write", json!({"file_path": "new.env", "content": "C=1\n"})),
        ]},
        {"text": "All four are written."}
    ]}));
    world.write(".gitignore", "*.env\n");
    world.write("local.env", "A=1\n");
    world.write("inner/f", "one\n");
    world
}

#[test]
fn an_undo_takes_back_what_tools_wrote_to_files_that_git_does_not_track() {
    let world = out_of_sight();
    if !world.commit() {
        return;
    }
    let inner = world.worktree().join("inner");
    let made = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(&inner)
        .status();
    assert!(made.expect("git").success());
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("All four are written.");
    terminal.shows_no("interrupt");
    assert_eq!(world.read("local.env"), "A=2\n");
    assert_eq!(world.read("inner/f"), "two\n");
    terminal.send("/undo\r");
    let screen = terminal.shows("Take back the last turn");
    for name in ["local.env", "made.env", "new.env", "inner/f"] {
        assert!(screen.contains(name), "{name}: {screen}");
    }
    assert!(!screen.contains("Not in snapshots"), "{screen}");
    terminal.send("\r");
    until("all as it was", || {
        let gone = |name: &str| !world.worktree().join(name).exists();
        world.read("local.env") == "A=1\n"
            && world.read("inner/f") == "one\n"
            && gone("made.env")
            && gone("new.env")
    });
    // the prompt is back where it was written
    terminal.shows_no("All four are written.");
    terminal.send("\x15");
    terminal.shows("Ask, or describe");
    quit(&mut terminal);
}
