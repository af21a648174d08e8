//! However it ends, the terminal is given back: the user's own way, signals, a stop, an editor.

use serde_json::json;

use super::{assert_given_back, bash, dunlin, is_empty, quit, sleeps};
use crate::support::pty::{Terminal, runs, until};
use crate::support::world::World;

fn started(world: &World) -> Terminal {
    let terminal = dunlin(world, &["--mode", "auto", "go"]);
    terminal.shows("That was all.");
    terminal
}

fn said() -> World {
    World::scripted(&json!({"steps": [{"text": "That was all."}], "loop": true}))
}

#[test]
fn ctrl_c_twice_ends_and_leaves_the_answer_and_the_way_back() {
    let world = said();
    let mut terminal = started(&world);
    quit(&mut terminal);
    assert_given_back(&terminal);
    let screen = terminal.look(vt100::Screen::contents);
    assert!(
        screen.contains("That was all.") && screen.contains("dunlin -r ses_"),
        "{screen}"
    );
}

#[test]
fn signals_end_it_with_their_codes() {
    let world = said();
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let mut terminal = started(&world);
        terminal.signal(signal);
        assert_eq!(terminal.ends(), code, "{signal}");
        assert_given_back(&terminal);
    }
}

#[test]
fn a_signal_during_a_turn_takes_the_running_command_with_it() {
    let (step, words) = sleeps();
    let world = World::scripted(&json!({"steps": [step, {"text": "never"}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    until("the command", || runs(&words));
    terminal.signal("TERM");
    assert_eq!(terminal.ends(), 143);
    assert_given_back(&terminal);
    until("the end of the command", || !runs(&words));
}

#[test]
fn quitting_during_a_turn_asks_for_the_turn_first() {
    let (step, words) = sleeps();
    let world = World::scripted(&json!({"steps": [step, {"text": "never"}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    until("the command", || runs(&words));
    terminal.send("\x03");
    terminal.shows("interrupted");
    until("the end of the command", || !runs(&words));
    quit(&mut terminal);
    assert_given_back(&terminal);
}

#[test]
fn a_stop_gives_the_terminal_back_and_going_on_takes_it_again() {
    let world = said();
    let mut terminal = started(&world);
    terminal.send("a draft");
    terminal.shows("a draft");
    terminal.send("\x1a");
    until("the stop", || terminal.state() == 'T');
    terminal.until("the end of the screen", |screen| {
        !screen.contains("a draft")
    });
    assert_given_back(&terminal);
    terminal.signal("CONT");
    terminal.until("the screen again", |screen| {
        screen.contains("a draft") && screen.contains("That was all.")
    });
    assert!(!terminal.is_restored(), "raw again");
    terminal.send("\x15");
    terminal.until("an empty composer", is_empty);
    // Stopped from outside, where nobody could restore anything: it draws itself again.
    terminal.signal("STOP");
    until("the stop", || terminal.state() == 'T');
    terminal.signal("CONT");
    terminal.send("after");
    terminal.shows("❯ after");
    terminal.send("\x15");
    quit(&mut terminal);
    assert_given_back(&terminal);
}

#[test]
fn an_editor_gets_the_terminal_and_its_text_comes_back() {
    let mut world = said();
    world.write(
        "edit.sh",
        "stty -a > modes; printf 'written in the editor' > \"$1\"\n",
    );
    world.set("EDITOR", "sh edit.sh");
    let mut terminal = started(&world);
    terminal.send("before");
    terminal.shows("before");
    terminal.send("\x07");
    terminal.shows("❯ written in the editor");
    let modes = world.read("modes");
    assert!(
        modes.contains(" icanon") && modes.contains(" echo "),
        "{modes}"
    );
    terminal.send("\x15");
    quit(&mut terminal);
    assert_given_back(&terminal);
}

#[test]
fn the_conversation_can_be_printed_to_the_normal_screen() {
    let world = said();
    let mut terminal = started(&world);
    terminal.send("\x0f");
    let screen = terminal.shows("press any key to return");
    assert!(screen.contains("That was all."), "{screen}");
    assert!(!terminal.look(vt100::Screen::alternate_screen));
    terminal.send("q");
    terminal.until("an empty composer", is_empty);
    assert!(terminal.look(vt100::Screen::alternate_screen));
    terminal.send("\x0f");
    terminal.shows("press any key to return");
    terminal.signal("TERM");
    assert_eq!(terminal.ends(), 143);
    assert_given_back(&terminal);
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let evil = "safe\x1b]52;c;ZXZpbA==\x07 \x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1bP+q544e\x1b\\ \
                \u{9b}2J \u{202e}txt.exe\u{202c} \u{200b}\u{e0041} \x1b[?1049l\x1b[5n \x07 end";
    let world = World::scripted(&json!({
        "steps": [
            {"reasoning": evil, "text": evil},
        ],
        "branches": [{"match": "tool", "steps": [
            bash("printf 'out\\033]52;c;ZXZpbA==\\007 \\033[?1049l\\033[5n \\342\\200\\256rtl end\\n'"),
            {"text": format!("Done. {evil}")}
        ]}],
        "side": [evil]
    }));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("end");
    terminal.send("tool\r");
    terminal.shows("Done. ");
    terminal.send("\x05");
    terminal.quiet();
    let raw = terminal.raw();
    let text = String::from_utf8_lossy(&raw);
    for odd in ["\u{202e}", "\u{202c}", "\u{200b}", "\u{e0041}", "\u{9b}"] {
        assert!(!text.contains(odd), "{odd:?} reached the terminal");
    }
    for sequence in ["\x1b]52", "\x1b]0;owned", "\x1bP", "\x1b[5n", "\x1b[?1049l"] {
        assert!(
            !text.contains(sequence),
            "{sequence:?} reached the terminal"
        );
    }
    assert!(terminal.look(vt100::Screen::alternate_screen));
    quit(&mut terminal);
    // What stays on the normal screen is just as clean.
    let raw = terminal.raw();
    let text = String::from_utf8_lossy(&raw);
    assert!(!text.contains("\x1b]52") && !text.contains('\u{202e}'));
    assert_given_back(&terminal);
}
