//! What the terminal is told besides frames, and what comes from the desktop: title, notifications, no
//! colours, the clipboard's picture.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{bash, count, dunlin, quit};
use crate::support::world::World;

#[test]
fn the_title_names_the_project_and_what_it_does() {
    let world = World::scripted(&json!({"steps": [super::waits(), {"text": "All done."}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    terminal.shows("Running");
    world.write("go", "");
    terminal.shows("All done.");
    quit(&mut terminal);
    let raw = terminal.raw();
    let title = |state: &str| {
        let folder = world.worktree();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        count(&raw, &format!("\x1b]2;{name} · {state}\x1b\\"))
    };
    assert!(title("working") > 0 && title("ready") > 0);
}

#[test]
fn a_question_notifies_only_while_nobody_looks() {
    let script = json!({"steps": [super::waits(), bash("touch made"), {"text": "It is made."}]});
    for looks_away in [true, false] {
        let world = World::scripted(&script);
        let mut terminal = dunlin(&world, &["go"]);
        terminal.shows("Running");
        if looks_away {
            terminal.send("\x1b[O");
        }
        world.write("go", "");
        terminal.shows("touch made");
        terminal.shows("y  Once");
        let told = count(
            &terminal.raw(),
            "\x1b]9;dunlin: Run this command: touch made\x1b\\\x07",
        );
        assert_eq!(told, usize::from(looks_away), "looks away: {looks_away}");
        terminal.send("\x1b[I");
        terminal.answer("y");
        terminal.shows("It is made.");
        quit(&mut terminal);
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_every_state_keeps_its_sign() {
    let mut world = World::scripted(&json!({"steps": [bash("echo hello"), {"text": "**Done.**"}]}));
    world.set("NO_COLOR", "1");
    let mut terminal = dunlin(&world, &["--mode", "auto", "go"]);
    let screen = terminal.shows("Done.");
    assert!(screen.contains("✓ Ran echo hello"), "{screen}");
    terminal.look(|screen| {
        let (rows, columns) = screen.size();
        for row in 0..rows.get() {
            for column in 0..columns.get() {
                let Some(cell) = screen.cell(row, column) else {
                    continue;
                };
                let plain = vt100::Color::Default;
                assert_eq!(
                    (cell.fgcolor(), cell.bgcolor()),
                    (plain, plain),
                    "{row}:{column}"
                );
            }
        }
    });
    quit(&mut terminal);
}

#[test]
fn the_clipboards_picture_is_attached_sent_and_kept() {
    /// One red pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    let mut world = World::scripted(&json!({"steps": [{"text": "It is red."}]}));
    let bin = world.root().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join("wl-paste");
    std::fs::write(&program, format!("#!/bin/sh\necho {PNG} | base64 -d\n")).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    world.set("PATH", &path);
    world.set("WAYLAND_DISPLAY", "wayland-0");
    let mut terminal = dunlin(&world, &[]);
    terminal.shows(super::READY);
    terminal.send("\x16");
    terminal.shows("[image.png 1x1 70 B]");
    terminal.send(" what is it?\r");
    terminal.shows("It is red.");
    quit(&mut terminal);
    let session = world.run(&["sessions", "export", "--format", "json", &world.newest()]);
    assert!(
        session.stdout.contains("blob:"),
        "the bytes are in the store: {}",
        session.stdout
    );
}
