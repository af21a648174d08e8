//! Vim's keys in the running front end: the layer beside Esc, Enter, history, lists and the footer.

use dunlin::config::used::UiSettings;
use dunlin::protocol::event::Phase;
use dunlin::protocol::{Op, Role};
use dunlin::tui::Harness;

use super::fixtures::World;

fn world() -> World {
    let mut world = World::new(100, 30);
    let settings = UiSettings {
        vim: true,
        ..UiSettings::default()
    };
    world.tui = Harness::with(settings, 100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Idle, 0, |_| {});
    world.tui.effects();
    world
}

fn text(world: &World) -> &str {
    world.tui.state.composer.buffer.text()
}

#[test]
fn a_prompt_is_written_changed_and_sent_with_vims_keys() {
    let mut world = world();
    world.tui.type_text("fix the parser");
    assert!(
        world.tui.screen().contains("insert   build"),
        "{}",
        world.tui.screen()
    );
    world.tui.press("esc b c w");
    world.tui.type_text("lexer");
    world.tui.press("esc");
    assert_eq!(text(&world), "fix the lexer");
    let screen = world.tui.screen();
    assert!(screen.contains("normal   build"), "{screen}");
    world.tui.press("enter");
    let ops = world.tui.ops();
    assert!(
        matches!(&ops[..], [Op::Prompt { input, .. }] if input.text == "fix the lexer"),
        "{ops:?}"
    );
    world.tui.type_text("next");
    assert_eq!(text(&world), "next", "a new text begins in insert mode");
}

#[test]
fn escape_leaves_insert_mode_first_and_then_stops_the_turn() {
    let mut world = world();
    world.status(Phase::Streaming, 0, |_| {});
    world.tui.type_text("wait");
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), []);
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), [Op::Interrupt]);
    world.tui.press("d d");
    world.status(Phase::Streaming, 0, |_| {});
    world.tui.press("i esc");
    assert_eq!(
        world.tui.ops(),
        [Op::Interrupt],
        "nothing is written: at once"
    );
}

#[test]
fn k_on_the_first_line_goes_to_the_prompt_before() {
    let mut world = world();
    world.tui.type_text("first");
    world.tui.press("enter");
    world.tui.type_text("second");
    world.tui.press("esc k");
    assert_eq!(text(&world), "first");
    world.tui.press("j");
    assert_eq!(text(&world), "second");
}

#[test]
fn a_selection_shows_and_pending_keys_too() {
    let mut world = world();
    world.tui.type_text("one two");
    world.tui.press("esc 0 v e");
    let reversed = |world: &mut World| {
        let screen = world.tui.draw();
        let cells = screen.content.iter();
        let marked = cells.filter(|c| c.modifier.contains(ratatui::style::Modifier::REVERSED));
        marked
            .map(ratatui::buffer::Cell::symbol)
            .collect::<String>()
    };
    assert_eq!(reversed(&mut world), "one");
    world.tui.press("esc 2 d");
    assert_eq!(reversed(&mut world), "");
    assert!(
        world.tui.screen().contains("normal 2d   build"),
        "{}",
        world.tui.screen()
    );
}

#[test]
fn commands_and_help_open_from_normal_mode_and_vim_toggles() {
    let mut world = world();
    world.tui.press("esc ?");
    assert!(world.tui.screen().contains("Keys and commands"));
    world.tui.press("?");
    world.tui.type_text("/vim");
    world.tui.press("enter");
    assert!(
        !world.tui.screen().contains("normal"),
        "{}",
        world.tui.screen()
    );
    world.tui.type_text("x");
    assert_eq!(text(&world), "x");
}
