//! Storms of sizes in a real pseudo-terminal, and what the terminal is asked for under each setting.

use serde_json::json;

use super::{READY, count, dunlin, quit, sized};
use crate::support::pty::Terminal;
use crate::support::world::World;

/// Sizes and keys in an order of their own, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u16) -> u16 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u16::try_from((self.0 >> 33) % u64::from(sides)).unwrap_or(0)
    }
}

/// The screen as it looks, cell by cell.
fn looks(terminal: &Terminal) -> Vec<String> {
    terminal.look(|screen| {
        let (rows, columns) = screen.size();
        let row = |y| -> String {
            let cell = |x| {
                screen.cell(y, x).map(|cell| {
                    let shown = if cell.has_contents() {
                        cell.contents()
                    } else {
                        " "
                    };
                    let ink = (shown != " ").then(|| (cell.fgcolor(), cell.bold(), cell.italic()));
                    format!("{shown}{ink:?}{:?}{}", cell.bgcolor(), cell.underline())
                })
            };
            (0..columns.get()).filter_map(cell).collect()
        };
        (0..rows.get()).map(row).collect()
    })
}

#[test]
fn a_storm_of_sizes_while_it_streams_ends_as_if_drawn_anew() {
    let block = "## A heading\n\nA paragraph that is *wrapped* at every width, 日本語 too, again and again.\n\n\
                 | a | b |\n|---|---|\n| one | two |\n\n```rust\nfn long_enough() -> Option<u16> { None }\n```\n\n- one\n- two\n\n";
    let text = format!("The first line.\n\n{}The last line.", block.repeat(30));
    let world = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "seq 1 200"}}]},
        {"text": text.as_str(), "chunk": 16, "pace": 400}
    ]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("A heading");
    let mut dice = Dice(20_261_122);
    let corners = [(1, 1), (6, 20), (100, 300), (2, 300), (100, 2), (24, 80)];
    let keys = [
        "?",
        "\x1b[5~",
        "\x13",
        "\x1b[6~",
        "/",
        "\x7f",
        "\x1bx",
        "\x1bg",
        "\x12",
        "\x05",
        "\x1b[1;5F",
    ];
    for round in 0..400_u16 {
        let (rows, columns) = match dice.roll(4) {
            0 => corners[usize::from(dice.roll(6))],
            _ => (1 + dice.roll(60), 1 + dice.roll(200)),
        };
        terminal.resize(rows, columns);
        if round % 5 == 0 {
            terminal.send(keys[usize::from(dice.roll(11))]);
        }
        if round % 7 == 0 {
            terminal.send("\x1b");
        }
        if round % 40 == 0 {
            // Let it catch up: a frame at a size that has one.
            terminal.resize(24, 80);
            terminal.until("a frame", |screen| !screen.trim().is_empty());
        }
    }
    terminal.resize(30, 100);
    // Whatever is still open is closed; then the newest is shown.
    terminal.until("the end of the turn", |screen| {
        !screen.contains("esc interrupt")
    });
    terminal.send("\x1b");
    terminal.quiet();
    terminal.send("\x1b");
    terminal.quiet();
    terminal.send("\x15\x1b[1;5F");
    terminal.shows("The last line.");
    terminal.quiet();
    let after = looks(&terminal);
    terminal.send("\x0c");
    terminal.quiet();
    assert_eq!(after, looks(&terminal), "drawn anew it looks different");
    let exported = world
        .run(&["sessions", "export", "--format", "json", &world.newest()])
        .code(0)
        .stdout;
    let said: serde_json::Value = serde_json::from_str(&exported).expect("JSON");
    assert!(
        said.to_string()
            .contains(json!(text).to_string().trim_matches('"')),
        "text is missing"
    );
    quit(&mut terminal);
}

#[test]
fn without_the_mouse_no_mouse_is_asked_for() {
    let world = World::scripted(&json!({"steps": [{"text": "Hello."}], "loop": true}));
    let modes = [
        "\x1b[?1000h",
        "\x1b[?1002h",
        "\x1b[?1003h",
        "\x1b[?1006h",
        "\x1b[?1015h",
    ];
    for (setting, wanted) in [("ui.mouse=false", 0), ("ui.mouse=true", 2)] {
        let mut terminal = dunlin(&world, &["--config", setting, "go"]);
        terminal.shows("Hello.");
        let raw = terminal.raw();
        let asked: usize = modes.iter().map(|mode| count(&raw, mode)).sum();
        assert_eq!(asked, wanted, "{setting}");
        quit(&mut terminal);
    }
}

#[test]
fn with_reduced_motion_a_running_command_writes_once_a_second_at_most() {
    let world = World::scripted(&json!({"steps": [super::waits(), {"text": "done now"}]}));
    let args = ["--config", "ui.reduced_motion=true", "--mode", "auto", "go"];
    let mut terminal = dunlin(&world, &args);
    terminal.shows("2s");
    let begun = terminal.raw().len();
    terminal.shows("6s");
    let raw = terminal.raw();
    let frames = count(&raw[begun..], "\x1b[?2026h");
    assert!((1..=6).contains(&frames), "{frames} frames in four seconds");
    world.write("go", "");
    terminal.shows("done now");
    quit(&mut terminal);
}

#[test]
fn a_screen_reader_gets_lines_and_no_screen() {
    let mut world = World::scripted(&json!({"steps": [{"text": "Hello from the script."}]}));
    world.set("ACCESSIBLE", "1");
    let model = world.model();
    let mut terminal = Terminal::start(&world, &["--model", &model, "go"], (24, 80));
    terminal.shows("Hello from the script.");
    let raw = terminal.raw();
    for escape in ["\x1b[?1049h", "\x1b[?2026h", "\x1b[2J", "\x1b[?25l"] {
        assert_eq!(count(&raw, escape), 0, "{escape:?}");
    }
    terminal.send("\x04");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn signs_are_ascii_where_the_locale_knows_no_others() {
    let mut world =
        World::scripted(&json!({"steps": [super::bash("echo hello"), {"text": "Done."}]}));
    world.set("LC_ALL", "C");
    let mut terminal = sized(&world, &["--mode", "auto", "go"], (24, 80));
    let screen = terminal.until("the end", |s| s.contains("Done.") && s.contains(READY));
    assert!(screen.is_ascii(), "{screen}");
    quit(&mut terminal);
}
