//! Branches, copies and windows of one session: what is never lost when one goes back, edits, forks,
//! is killed in the middle, or looks on from a second window.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{READY, bash, quit, sized};
use crate::support::pty::{Terminal, until};
use crate::support::world::World;

/// A branch of a script: one command, then an answer.
fn writes(says: &str, command: &str) -> Value {
    json!({"match": says, "steps": [bash(command), {"text": format!("Done: {says}.")}]})
}

/// A world whose prompts `one`, `two`, `three` each write `f.txt`; `two` also makes `only-two`.
fn three_ways() -> World {
    let world = World::scripted(&json!({
        "steps": [{"text": "What?"}],
        "branches": [
            writes("write one", "echo one > f.txt"),
            writes("write two", "echo two > f.txt; echo x > only-two"),
            writes("write three", "echo three > f.txt"),
            {"match": "look", "steps": [{"text": "Just looking."}]},
            {"match": "talk", "steps": [{"text": (0..100).map(|n| format!("line {n}\n\n"))
                .collect::<String>()}]},
        ]
    }));
    world.write("f.txt", "zero\n");
    world
}

fn started(world: &World, args: &[&str]) -> Terminal {
    let mut all = vec!["--mode", "auto", "--no-sandbox"];
    all.extend(args);
    let terminal = sized(world, &all, (30, 100));
    terminal.shows(READY);
    terminal
}

fn say(terminal: &mut Terminal, prompt: &str, answer: &str) {
    terminal.send(&format!("{prompt}\r"));
    terminal.shows(answer);
    terminal.shows_no("esc interrupt");
}

/// Opens the tree and chooses the row so many rows above the current one.
fn tree(terminal: &mut Terminal, up: usize, shows: &str) {
    terminal.send("/rewind\r");
    terminal.shows("Rewind");
    for _ in 0..up {
        terminal.send("\x1b[A");
    }
    terminal.shows(&format!("❯ {shows}"));
}

#[test]
fn an_edited_prompt_makes_a_branch_and_one_switches_between_them_with_files() {
    let world = three_ways();
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write one", "Done: write one.");
    say(&mut terminal, "write two", "Done: write two.");
    assert_eq!(world.read("f.txt"), "two\n");
    // The second prompt again, as another one; files stay where they are.
    tree(&mut terminal, 0, "write two");
    terminal.send("e");
    terminal.shows("Editing an earlier prompt");
    terminal.send("\x15write three\r");
    terminal.shows("Done: write three.");
    let screen = terminal.shows_no("esc interrupt");
    assert!(!screen.contains("Done: write two."), "{screen}");
    until("the third content", || world.read("f.txt") == "three\n");
    // To the other branch with files: a preview, then both change.
    terminal.send("/rewind\r");
    let screen = terminal.shows("2 branches");
    assert!(screen.contains("├ write two"), "{screen}");
    terminal.send("\x1b[A");
    terminal.shows("❯ ├ write two");
    terminal.send("\r");
    terminal.shows("Switch to the end of this branch");
    terminal.send("\r");
    let screen = terminal.shows("Switch to the branch that ends with");
    assert!(screen.contains("f.txt"), "{screen}");
    assert_eq!(world.read("f.txt"), "three\n", "a preview touches nothing");
    terminal.send("\r");
    terminal.shows("Done: write two.");
    until("the second content", || world.read("f.txt") == "two\n");
    // What the user changes is never overwritten.
    world.write("f.txt", "mine\n");
    terminal.send("/undo\r");
    let screen = terminal.shows("left alone");
    assert!(screen.contains("f.txt"), "{screen}");
    terminal.send("\x1b[27u");
    // It is still this branch after the program was killed.
    terminal.kill();
    let mut terminal = started(&world, &["-c"]);
    let screen = terminal.shows("Done: write two.");
    assert!(!screen.contains("write three"), "{screen}");
    terminal.send("/rewind\r");
    let screen = terminal.shows("2 branches");
    assert!(screen.contains("├ write three"), "{screen}");
    terminal.send("\x1b[27u");
    quit(&mut terminal);
    assert_eq!(world.read("f.txt"), "mine\n");
    // Both branches play again as they were.
    let found = world.run(&["replay", &world.newest(), "--json"]).code(0);
    let found: Value = serde_json::from_str(&found.stdout).expect("json");
    assert_eq!(found["differences"], json!([]), "{found}");
    assert_eq!(found["answers"], 6, "{found}");
}

#[test]
fn redo_leads_back_to_the_branch_one_came_from() {
    let world = three_ways();
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write one", "Done: write one.");
    say(&mut terminal, "write two", "Done: write two.");
    terminal.send("/undo\r");
    terminal.shows("Take back the last turn");
    terminal.send("\r");
    until("one", || world.read("f.txt") == "one\n");
    until("no second file", || !exists(&world, "only-two"));
    terminal.shows_no("Done: write two.");
    terminal.send("\x15");
    say(&mut terminal, "write three", "Done: write three.");
    // Something was said since: what was undone is a branch now, and redo has nothing.
    terminal.send("/redo\r");
    terminal.shows("There is nothing to redo.");
    tree(&mut terminal, 1, "├ write two");
    terminal.send("\r");
    terminal.shows("Conversation and files");
    terminal.send("\r");
    terminal.shows("Switch to the branch that ends with");
    terminal.send("\r");
    until("two", || world.read("f.txt") == "two\n");
    until("the second file", || exists(&world, "only-two"));
    terminal.shows("Done: write two.");
    terminal.send("/redo\r");
    let screen = terminal.shows("Bring back what the last undo took");
    assert!(
        screen.contains("f.txt") && screen.contains("only-two"),
        "{screen}"
    );
    assert_eq!(world.read("f.txt"), "two\n", "a preview touches nothing");
    terminal.send("\r");
    until("three again", || world.read("f.txt") == "three\n");
    until("no second file again", || !exists(&world, "only-two"));
    terminal.shows("Done: write three.");
    quit(&mut terminal);
}

fn exists(world: &World, name: &str) -> bool {
    world.worktree().join(name).exists()
}

#[test]
fn a_fork_at_a_turn_is_a_session_of_its_own_under_the_first() {
    let world = three_ways();
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write one", "Done: write one.");
    say(&mut terminal, "write two", "Done: write two.");
    tree(&mut terminal, 1, "write one");
    terminal.send("f");
    terminal.shows("This is a copy");
    let screen = terminal.shows_no("Done: write two.");
    assert!(screen.contains("Done: write one."), "{screen}");
    say(&mut terminal, "look", "Just looking.");
    terminal.send("\x13");
    let screen = terminal.shows("1 of 1");
    assert!(screen.contains("❯ Scripted session"), "{screen}");
    terminal.send("\x1b[27u");
    quit(&mut terminal);
    let mut terminal = started(&world, &[]);
    terminal.send("\x13");
    let screen = terminal.shows("2 of 2");
    assert!(screen.contains("└ fork: Scripted session"), "{screen}");
    // A copy is made from the list too: of the chosen one, to its end, and it is opened.
    terminal.send("\x06");
    terminal.shows("This is a copy");
    let screen = terminal.shows("Done: write one.");
    assert!(screen.contains("Done: write two."), "{screen}");
    say(&mut terminal, "look", "Just looking.");
    quit(&mut terminal);
    let listed = world.run(&["sessions", "list", "--json"]).code(0).stdout;
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("json");
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert_eq!(listed[0]["fork"], true);
    assert_eq!(listed[0]["parent"], listed[2]["id"], "{listed:?}");
}

/// The journal of the only session.
fn journal(world: &World) -> PathBuf {
    let sessions = world.data().join("projects");
    let project = std::fs::read_dir(sessions)
        .expect("projects")
        .next()
        .expect("a project")
        .expect("a folder");
    let session = std::fs::read_dir(project.path().join("sessions"))
        .expect("sessions")
        .next()
        .expect("a session")
        .expect("a folder");
    session.path().join("journal")
}

#[test]
fn an_undo_that_was_killed_in_the_middle_is_told_and_goes_on() {
    const FILES: usize = 500;
    let world = World::scripted(&json!({
        "steps": [{"text": "What?"}],
        "branches": [writes(
            "write many",
            "sed -i s/old/new/ d/*",
        )]
    }));
    for n in 0..FILES {
        world.write(&format!("d/{n}"), "old\n");
    }
    let old = || {
        let is_old = |n: &usize| world.read(&format!("d/{n}")) == "old\n";
        (0..FILES).filter(is_old).count()
    };
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write many", "Done: write many.");
    until("the step's writes are kept", || {
        let journal = std::fs::read_to_string(journal(&world)).unwrap_or_default();
        journal.contains("\"writes/")
    });
    terminal.send("/undo\r");
    terminal.shows("Take back the last turn");
    terminal.send("\r");
    let first = world.worktree().join("d/0");
    until("the first file is back", || {
        std::fs::read_to_string(&first).is_ok_and(|text| text == "old\n")
    });
    terminal.kill();
    let restored = old();
    let ended = std::fs::read_to_string(journal(&world)).is_ok_and(|j| j.contains("\"tip\""));
    let mut terminal = started(&world, &["-c"]);
    // Where the machine was too quick for us, nothing was cut.
    if !ended {
        terminal.until("what was said, and that it was cut", |screen| {
            screen.contains("killed while it restored files")
                && screen.contains("Done: write many.")
        });
        assert!(restored > 0);
        terminal.send("/undo\r");
        terminal.shows("Take back the last turn");
        terminal.send("\r");
        terminal.shows_no("Done: write many.");
    }
    until("all old", || old() == FILES);
    terminal.send("\x15/redo\r");
    terminal.shows("Bring back what the last undo took");
    terminal.send("\r");
    terminal.shows("Done: write many.");
    until("all new", || old() == 0);
    let left = std::fs::read_dir(world.worktree().join("d")).expect("a folder");
    assert_eq!(left.count(), FILES, "nothing half-written is left");
    quit(&mut terminal);
}

#[test]
fn a_second_window_follows_live_and_takes_over() {
    let world = three_ways();
    let mut first = started(&world, &[]);
    say(&mut first, "write one", "Done: write one.");
    let mut second = sized(&world, &["-c", "--mode", "auto", "--no-sandbox"], (30, 100));
    second.shows("Read only");
    second.shows("Done: write one.");
    // What the first does is seen in the second as it happens.
    say(&mut first, "write two", "Done: write two.");
    second.shows("Done: write two.");
    // Branches are followed, too.
    first.send("/undo\r");
    first.shows("Take back the last turn");
    first.send("\r");
    first.shows_no("Done: write two.");
    second.shows_no("Done: write two.");
    // Nothing can be sent here, but a draft stays.
    second.send("look");
    second.shows("❯ look");
    second.send("\r");
    second.shows("can only be read here");
    first.send("\x15");
    quit(&mut first);
    second.shows("The other window has ended: you can go on here.");
    second.shows_no("Read only");
    second.shows("❯ look");
    second.send("\r");
    second.shows("Just looking.");
    quit(&mut second);
}

#[test]
fn a_window_whose_session_was_killed_in_a_turn_offers_to_go_on() {
    let (step, words) = super::sleeps();
    let world = World::scripted(&json!({"steps": [{"text": "What?"}], "branches": [
        {"match": "work", "steps": [step, {"text": "Finished after all."}]},
    ]}));
    let mut first = started(&world, &[]);
    first.send("work\r");
    first.shows("Running");
    until("the command", || crate::support::pty::runs(&words));
    let mut second = sized(&world, &["-c", "--mode", "auto", "--no-sandbox"], (30, 100));
    second.shows("Read only");
    first.kill();
    second.shows("The last turn was cut off");
    second.send("\r");
    second.shows("Finished after all.");
    quit(&mut second);
    for id in crate::support::pty::ids(&words) {
        drop(
            std::process::Command::new("kill")
                .arg(id.to_string())
                .status(),
        );
    }
}

#[test]
fn what_was_said_in_another_session_is_found_and_shown() {
    let world = three_ways();
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write one", "Done: write one.");
    say(&mut terminal, "talk", "line 99");
    quit(&mut terminal);
    let mut terminal = started(&world, &[]);
    terminal.send("/search echo one\r");
    terminal.shows("Search all sessions");
    let screen = terminal.shows("1 place");
    assert!(screen.contains("echo one > f.txt"), "{screen}");
    terminal.send("\r");
    // The call stands at the top, far above the newest.
    terminal.until("the call in its session", |screen| {
        screen.contains("Ran echo one > f.txt") && screen.contains("Back to bottom")
    });
    quit(&mut terminal);
    // From the command line.
    let found = world.run(&["search", "echo one"]).code(0).stdout;
    assert!(found.contains("tool: echo one > f.txt"), "{found}");
    let (session, part) = {
        let word = |begins: &str| {
            let mut words = found.split_whitespace();
            words
                .find(|w| w.starts_with(begins))
                .expect("an id")
                .to_owned()
        };
        (word("ses_"), word("prt_"))
    };
    let mut terminal = started(&world, &["-r", &session, "--part", &part]);
    terminal.until("the part", |screen| {
        screen.contains("Ran echo one > f.txt") && screen.contains("Back to bottom")
    });
    quit(&mut terminal);
}

#[test]
fn resume_without_a_session_lets_one_choose_and_beginnings_of_ids_are_enough() {
    let world = three_ways();
    let mut terminal = started(&world, &[]);
    say(&mut terminal, "write one", "Done: write one.");
    quit(&mut terminal);
    let id = world.newest();
    let mut terminal = sized(&world, &["-r"], (30, 100));
    terminal.shows("1 of 1");
    terminal.send("\r");
    terminal.shows("Done: write one.");
    quit(&mut terminal);
    let end: String = id.chars().skip(id.len() - 8).collect();
    let end = end.as_str();
    let mut terminal = started(&world, &["-r", end]);
    terminal.shows("Done: write one.");
    quit(&mut terminal);
    let wrong = world.run(&["-r", "writing"]).code(2).stderr;
    assert!(wrong.contains("no session `writing`"), "{wrong}");
    let near = world.run(&["-r", "write two things"]).code(2).stderr;
    assert!(
        near.contains("The closest are") && near.contains(&id),
        "{near}"
    );
    let shown = world.run(&["sessions", "show", end]).code(0).stdout;
    assert!(shown.contains("Done: write one."), "{shown}");
}

#[test]
fn sessions_are_named_packed_and_deleted_in_the_picker_but_not_while_open_elsewhere() {
    let world = three_ways();
    let mut first = started(&world, &[]);
    say(&mut first, "write one", "Done: write one.");
    let mut second = started(&world, &[]);
    second.send("\x13");
    second.shows("running in another window");
    second.send("\x12\x15better name\r");
    second.shows("is open in another dunlin");
    quit(&mut first);
    second.send("\x12\x15better name\r");
    second.until("the new name", |screen| {
        screen.contains("It is called “better name” now.") && screen.contains("❯ better name")
    });
    second.send("\x04");
    second.shows("Packed away");
    second.send("\x18");
    second.shows("Delete “better name” for ever?");
    second.send("y");
    second.shows("Deleted.");
    second.shows("0 of 0");
    second.send("\x1b[27u");
    quit(&mut second);
    let left = world.run(&["sessions", "list", "--json"]).code(0).stdout;
    assert_eq!(left.trim(), "[]");
}
