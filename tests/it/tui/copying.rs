//! What a selection gives to the clipboard: the text as it was written, whatever it looks like here.

use dunlin::protocol::Role;
use dunlin::protocol::event::Phase;
use dunlin::tui::input::{Input, Mouse, MouseKind};
use dunlin::tui::update::{Effect, Msg};
use serde_json::json;

use super::fixtures::World;

fn mouse(world: &mut World, kind: MouseKind, (col, row): (usize, usize)) {
    let (col, row) = (col as u16, row as u16);
    world
        .tui
        .tell(Msg::Input(Input::Mouse(Mouse { kind, col, row })));
}

/// What is copied when one drags from the row of one text to the end of the row of another.
#[track_caller]
fn copied(world: &mut World, from: &str, to: &str) -> String {
    let screen = world.tui.screen();
    let row = |text: &str| {
        let found = screen.lines().position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("`{text}` is not on:\n{screen}"))
    };
    let width = usize::from(world.tui.state.terminal.size.0);
    let (first, last) = (row(from), row(to));
    mouse(world, MouseKind::Down, (0, first));
    mouse(world, MouseKind::Drag, (width - 1, last));
    mouse(world, MouseKind::Up, (width - 1, last));
    world.tui.effects();
    world.tui.press("alt+w");
    let effects = world.tui.effects();
    match &effects[..] {
        [Effect::Copy(text)] => text.clone(),
        other => panic!("{other:?}\n{screen}"),
    }
}

fn answered(width: u16, text: &str) -> World {
    let mut world = World::new(width, 60);
    world.say(Role::User, "go");
    world.answer(text);
    world.status(Phase::Idle, 0, |_| {});
    world
}

#[test]
fn prose_is_copied_unwrapped_and_without_margins() {
    let text = "One sentence that is longer than the window is wide, and goes on for a while.";
    for width in [30, 44, 90] {
        let mut world = answered(width, text);
        assert_eq!(copied(&mut world, "One", "while."), text, "at {width}");
    }
}

#[test]
fn code_is_copied_as_it_was_however_it_was_broken() {
    let code =
        "fn main() {\n    let very_long_name = some_function(argument_one, argument_two);\n}";
    for width in [30, 60, 100] {
        let mut world = answered(width, &format!("Look:\n\n```rust\n{code}\n```\n"));
        assert_eq!(copied(&mut world, "fn main", "}"), code, "at {width}");
    }
}

#[test]
fn a_table_is_copied_as_it_is_written_also_where_its_cells_wrap() {
    let long = "a cell that needs several rows in a narrow window";
    let table = format!("| name | count |\n| --- | ---: |\n| 日本 | 22 |\n| {long} | 3 |");
    for (width, last) in [(100, "a cell"), (40, "window")] {
        let mut world = answered(width, &table);
        assert_eq!(copied(&mut world, "name", last), table, "at {width}");
    }
    // Part of a row is what one sees.
    let mut world = answered(100, &table);
    let screen = world.tui.screen();
    let row = screen.lines().position(|row| row.contains("日本"));
    let row = row.expect("its row");
    mouse(&mut world, MouseKind::Down, (4, row));
    mouse(&mut world, MouseKind::Drag, (7, row));
    mouse(&mut world, MouseKind::Up, (7, row));
    let text = world.tui.state.transcript.selected_text();
    assert_eq!(text.as_deref(), Some("日本"));
}

#[test]
fn output_and_changes_are_copied_without_their_gutters() {
    let mut world = World::new(60, 60);
    world.say(Role::User, "go");
    let id = world.message_of(Role::Assistant);
    let long = "error: a line of output that is longer than sixty columns of this window";
    let out = format!("{long}\nsecond");
    let call = (json!({"command": "make"}), "make", out.as_str());
    world.done(id, "bash", call, json!({"exit": 1}), 900);
    world.status(Phase::Idle, 0, |_| {});
    world.tui.draw();
    world.tui.press("ctrl+e");
    assert_eq!(copied(&mut world, "│ error", "│ second"), out);

    let diff = "@@ -1,2 +1,2 @@\n fn main() {\n-    old();\n+    new();\n";
    let mut world = World::new(100, 60);
    world.say(Role::User, "go");
    let id = world.message_of(Role::Assistant);
    let input = json!({"path": "src/a.rs", "old_string": "old", "new_string": "new"});
    let metadata = json!({"path": "src/a.rs", "diff": diff, "added": 1, "removed": 1});
    world.done(id, "edit", (input, "src/a.rs", "Edited."), metadata, 9);
    world.status(Phase::Idle, 0, |_| {});
    assert_eq!(
        copied(&mut world, "fn main", "new()"),
        "fn main() {\n    old();\n    new();"
    );
}

#[test]
fn a_selection_over_several_cells_keeps_the_blank_rows_between_them() {
    let mut world = answered(60, "First paragraph.\n\n- one\n- two\n\nLast paragraph.");
    let text = copied(&mut world, "First", "Last");
    assert_eq!(text, "First paragraph.\n\n• one\n• two\n\nLast paragraph.");
}
