//! The mouse: what a click means on a fold, a list's row, the composer, the way back to the bottom.

use dunlin::protocol::event::{PermissionRule, Phase};
use dunlin::protocol::{Event, Op, Role, SessionId};
use dunlin::tui::input::{Input, Mouse, MouseKind};
use dunlin::tui::update::{Effect, Msg};
use serde_json::json;

use super::fixtures::{World, summary};

/// Where a text stands on the screen: column and row.
#[track_caller]
fn place(world: &mut World, text: &str) -> (u16, u16) {
    let screen = world.tui.screen();
    let found = screen.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(text)?;
        Some((line[..at].chars().count() as u16, row as u16))
    });
    found.unwrap_or_else(|| panic!("`{text}` is not on:\n{screen}"))
}

fn click_at(world: &mut World, (col, row): (u16, u16)) {
    for kind in [MouseKind::Down, MouseKind::Up] {
        let mouse = Mouse { kind, col, row };
        world.tui.tell(Msg::Input(Input::Mouse(mouse)));
    }
    world.tui.draw();
}

#[track_caller]
fn click(world: &mut World, text: &str) {
    let at = place(world, text);
    click_at(world, at);
}

/// A command whose output is folded.
fn folded(width: u16, height: u16) -> World {
    let mut world = World::new(width, height);
    world.say(Role::User, "go");
    let id = world.message_of(Role::Assistant);
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let input = (json!({"command": "make"}), "make", lines.as_str());
    world.done(id, "bash", input, json!({"exit": 1}), 900);
    world.status(Phase::Idle, 0, |_| {});
    world
}

#[test]
fn a_click_on_the_sign_folds_at_once_and_beside_it_when_no_second_one_follows() {
    let mut world = folded(100, 60);
    assert!(!world.tui.screen().contains("line 20"));
    let (_, row) = place(&mut world, "Ran make");
    click_at(&mut world, (2, row));
    assert!(
        world.tui.screen().contains("line 20"),
        "{}",
        world.tui.screen()
    );
    world.tui.wait(1_000);
    click_at(&mut world, (2, row));
    assert!(!world.tui.screen().contains("line 20"));

    world.tui.wait(1_000);
    click(&mut world, "make");
    assert!(
        !world.tui.screen().contains("line 20"),
        "it may be the first of two"
    );
    assert_eq!(
        world.tui.state.deadline(),
        Some(world.tui.now + 400),
        "the loop wakes for it"
    );
    world.tui.wait(400);
    assert!(world.tui.screen().contains("line 20"));

    world.tui.wait(1_000);
    click(&mut world, "make");
    world.tui.wait(100);
    click(&mut world, "make");
    assert_eq!(
        world.tui.state.transcript.selected_text().as_deref(),
        Some("make")
    );
    world.tui.wait(1_000);
    assert!(
        world.tui.screen().contains("line 20"),
        "two clicks select, nothing folds"
    );
}

#[test]
fn a_waiting_click_folds_its_own_cell_whatever_came_meanwhile() {
    let mut world = folded(100, 60);
    click(&mut world, "make");
    let id = world.message_of(Role::Assistant);
    let more = (json!({"command": "ls"}), "ls", "a\n");
    world.done(id, "bash", more, json!({"exit": 0}), 10);
    world.answer("and a word");
    world.tui.wait(400);
    assert!(
        world.tui.screen().contains("line 20"),
        "{}",
        world.tui.screen()
    );
}

#[test]
fn the_way_back_to_the_bottom_is_a_button() {
    let mut world = World::new(80, 20);
    world.say(Role::User, "go");
    world.answer(&"word\n\n".repeat(60));
    world.status(Phase::Idle, 0, |_| {});
    world.tui.draw();
    world.tui.press("pgup pgup");
    click(&mut world, "Back to bottom");
    assert!(world.tui.state.transcript.is_at_bottom());
    assert!(!world.tui.screen().contains("Back to bottom"));
}

#[test]
fn a_click_puts_the_cursor_into_the_text() {
    for (width, text) in [
        (100, "fix the parser"),
        (60, "fix the parser"),
        (100, "!make the parser"),
    ] {
        let mut world = World::new(width, 20);
        world.tui.type_text(text);
        click(&mut world, "parser");
        world.tui.type_text("big ");
        let wanted = text.replace("parser", "big parser");
        assert_eq!(world.tui.state.composer.expanded(), wanted, "at {width}");
    }
    // Wrapped, wide characters, behind the end of a row.
    let mut world = World::new(40, 20);
    world
        .tui
        .type_text("日本語 日本語 日本語 日本語 日本語 日本語 日本語\nend");
    let (col, row) = place(&mut world, "end");
    click_at(&mut world, (col + 30, row));
    world.tui.type_text("!");
    assert!(world.tui.state.composer.expanded().ends_with("end!"));
    click_at(&mut world, (col + 3, row - 2));
    world.tui.type_text("x");
    let text = world.tui.state.composer.expanded();
    assert!(
        text.contains("日x本語"),
        "the cursor stands between characters: {text}"
    );
}

#[test]
fn a_click_takes_an_entry_of_the_list_above_the_composer() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/");
    click(&mut world, "/rename");
    assert_eq!(world.tui.state.composer.expanded(), "/rename ");
    let mut world = World::new(100, 30);
    world.tui.type_text("see @re");
    let popup = world.tui.state.composer.popup.as_ref().expect("a list");
    let generation = popup.generation;
    let paths = (0..20).map(|n| format!("src/re{n}.rs")).collect();
    world.tui.event(Event::Files { generation, paths });
    world.tui.press("↑");
    click(&mut world, "src/re15.rs");
    assert_eq!(world.tui.state.composer.expanded(), "see @src/re15.rs ");
}

#[test]
fn a_click_chooses_a_row_of_a_list_and_two_open_it() {
    let mut world = World::new(120, 40);
    world.tui.press("ctrl+s");
    let sessions = (1..9).map(|n| summary(SessionId::from_raw(n), &format!("title {n}"), 9, 3));
    let sessions = sessions.collect();
    world.tui.event(Event::Sessions { sessions });
    world.tui.ops();
    click(&mut world, "title 5");
    let screen = world.tui.screen();
    assert!(screen.contains("❯ title 5"), "{screen}");
    world.tui.wait(1_000);
    click(&mut world, "title 3");
    world.tui.ops();
    click(&mut world, "title 3");
    let ops = world.tui.ops();
    assert_eq!(ops, [Op::OpenSession(SessionId::from_raw(3))]);
    assert!(world.tui.state.overlays.is_empty());
}

#[test]
fn a_click_on_a_heading_or_beside_a_list_changes_nothing() {
    let mut world = World::new(100, 30);
    let rule = |owner: &str, pattern: &str| PermissionRule {
        owner: owner.to_owned(),
        tool: "bash".to_owned(),
        pattern: pattern.to_owned(),
        action: "allow".to_owned(),
        revocable: owner == "grants",
    };
    let rules = vec![rule("grants", "ls *"), rule("user", "git *")];
    world.tui.event(Event::Permissions { rules });
    let screen = world.tui.screen();
    assert!(screen.contains("x take back"), "{screen}");
    for beside in ["Your configuration", "Permissions", "x take back"] {
        click(&mut world, beside);
        assert_eq!(world.tui.screen(), screen, "{beside}");
    }
    click(&mut world, "git *");
    let now = world.tui.screen();
    assert!(now.contains("❯ allow   bash        git *"), "{now}");
    assert!(
        !now.contains("take back"),
        "a rule of the file cannot be taken back: {now}"
    );
}

#[test]
fn a_click_tries_a_theme_on() {
    let mut world = World::new(100, 40);
    world.tui.type_text("/theme");
    world.tui.press("enter");
    click(&mut world, "light");
    assert_eq!(world.tui.state.theme_name, "light");
    world.tui.press("esc");
    assert_eq!(world.tui.state.theme_name, "auto", "it was only tried on");
    assert!(
        !world
            .tui
            .effects()
            .iter()
            .any(|e| matches!(e, Effect::Op(_)))
    );
}
