//! Starting, typing, sizes, pasting; how frames are written, and that idle is silence.

use serde_json::json;

use super::{READY, count, dunlin, is_empty, quit, sized};
use crate::support::pty::Terminal;
use crate::support::world::World;

fn said() -> World {
    World::scripted(&json!({"steps": [{"text": "Hello from the script."}], "loop": true}))
}

#[test]
fn the_start_screen_names_the_place_and_typed_text_is_echoed() {
    let world = said();
    let mut terminal = dunlin(&world, &[]);
    let screen = terminal.shows("Ask, or describe a change");
    assert!(screen.contains("dunlin 0"), "{screen}");
    terminal.shows(READY);
    terminal.send("hello wörld 日本");
    terminal.until("the echo and its cursor", |screen| {
        screen.contains("❯ hello wörld 日本") && !screen.contains("describe a change")
    });
    let (_, column) = terminal.look(vt100::Screen::cursor_position);
    assert_eq!(
        column,
        4 + 12 + 4,
        "the cursor stands behind two wide characters"
    );
    terminal.send("\x7f");
    terminal.shows_no("本");
    terminal.send("\x03");
    terminal.shows("Put aside");
    terminal.send("\x1b[A");
    terminal.shows("hello wörld 日");
    terminal.send("\x15");
    terminal.until("an empty composer", is_empty);
    quit(&mut terminal);
}

#[test]
fn without_a_key_there_is_a_way_on() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, &[], (24, 80));
    let screen = terminal.shows("/demo");
    assert!(
        screen.contains("ANTHROPIC_API_KEY") && screen.contains("dunlin auth"),
        "{screen}"
    );
    // A prompt without a model is not lost, and says so again.
    terminal.send("fix it\r");
    terminal.until("the prompt is answered", |s| {
        s.contains("fix it") || s.contains("/demo")
    });
    terminal.send("\x15/demo\r");
    // The demonstration is the same program, in a folder of its own.
    terminal.shows("Scripted");
    terminal.shows("A test fails");
    terminal.shows("?  ");
}

#[test]
fn two_hundred_resizes_end_with_the_right_screen() {
    let long = "A paragraph that is wrapped at every width, again and again. ".repeat(30);
    let world = World::scripted(&json!({"steps": [{"text": format!("{long}\n\nThe last line.")}]}));
    let mut terminal = dunlin(&world, &["go"]);
    terminal.shows("The last line.");
    for at in 0..200_u16 {
        // From very small to very large, in jumps.
        terminal.resize(1 + (at * 37) % 60, 1 + (at * 53) % 200);
    }
    terminal.resize(30, 100);
    // Screens of sizes on the way are drawn too: the last one has its footer in row 30.
    let screen = terminal.until("the screen after the storm", |screen| {
        let footer = screen.lines().nth(29).unwrap_or_default();
        screen.contains("The last line.") && footer.ends_with("%   $0.00   ? keys")
    });
    assert_eq!(screen.matches("? keys").count(), 1, "{screen}");
    assert_eq!(screen.matches("The last line.").count(), 1, "{screen}");
    quit(&mut terminal);
}

#[test]
fn small_terminals_show_what_is_needed_most() {
    let world = said();
    for size in [(3, 10), (1, 1), (6, 20), (2, 200), (60, 5)] {
        let mut terminal = sized(&world, &[], size);
        if size.1 >= 10 && size.0 >= 3 {
            terminal.shows("❯");
            terminal.send("hey");
            terminal.shows("hey");
            terminal.send("\r");
            terminal.until("the answer", |screen| screen.contains("script."));
        }
        // Growing shows the rest.
        terminal.resize(24, 80);
        terminal.shows(READY);
        terminal.signal("TERM");
        assert_eq!(terminal.ends(), 143, "{size:?}");
        assert!(terminal.is_restored());
    }
}

#[test]
fn pastes_are_verbatim_and_long_ones_become_a_chip_that_is_sent_whole() {
    let world = said();
    let mut terminal = dunlin(&world, &[]);
    terminal.shows(READY);
    terminal.send("\x1b[200~two\nlines\x1b[201~");
    terminal.until("both lines", |screen| {
        screen.contains("two") && screen.contains("lines")
    });
    terminal.send("\x15\x7f\x15");
    terminal.shows("describe a change");
    let long: Vec<String> = (0..40).map(|n| format!("pasted line {n}")).collect();
    let long = long.join("\n") + "\n";
    terminal.send(&format!("\x1b[200~{long}\x1b[201~"));
    let screen = terminal.shows("40 lines");
    assert!(
        !screen.contains("pasted line 7"),
        "the chip stands for the text: {screen}"
    );
    terminal.send(" what is this?\r");
    terminal.shows("Hello from the script.");
    terminal.send("\x1b[5~\x1b[5~\x1b[5~");
    terminal.shows("pasted line 7");
    quit(&mut terminal);
    let said = world
        .run(&["sessions", "export", "--format", "json", &world.newest()])
        .code(0)
        .stdout;
    assert!(said.contains("pasted line 39\\n what is this?"), "{said}");
}

#[test]
fn each_frame_is_one_synchronized_update_and_idle_is_silence() {
    let world = said();
    let mut terminal = dunlin(&world, &["go"]);
    terminal.shows("Hello from the script.");
    let before = terminal.quiet();
    assert_eq!(terminal.raw().len(), before, "an idle program writes");
    terminal.send("x");
    terminal.shows("❯ x");
    let raw = terminal.raw();
    assert_eq!(
        count(&raw[before..], "\x1b[?2026h"),
        1,
        "one key, one frame"
    );
    assert!(
        raw.len() - before < 200,
        "one letter costs {} bytes",
        raw.len() - before
    );
    let text = String::from_utf8(raw).expect("the output is UTF-8, whole characters per write");
    let mut frames = text.split("\x1b[?2026h");
    frames.next();
    for frame in frames {
        let (_, after) = frame.split_once("\x1b[?2026l").expect("each frame ends");
        assert_eq!(after, "", "something is written outside of a frame");
    }
    terminal.send("\x15");
    quit(&mut terminal);
}

#[test]
fn a_program_that_is_not_looked_at_does_not_spin() {
    let world = World::scripted(&json!({"steps": [super::waits(), {"text": "done now"}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    terminal.send("\x1b[O");
    terminal.quiet();
    world.write("go", "");
    terminal.shows("done now");
    terminal.send("\x1b[I");
    quit(&mut terminal);
}
