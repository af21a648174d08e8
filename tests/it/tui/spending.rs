//! `/cost` and `/pin`; leaving a session whose turn runs; what the status row says is running.

use dunlin::protocol::event::{Phase, PinChoice};
use dunlin::protocol::{
    CacheTokens, Event, Op, PartId, Role, SessionId, Spending, SpentOn, Tokens,
};
use serde_json::json;

use super::fixtures::{World, summary};

fn spent(name: &str, steps: u32, cost: Option<f64>) -> SpentOn {
    let tokens = Tokens {
        input: 12_000,
        output: 800,
        reasoning: 200,
        cache: CacheTokens {
            read: 90_000,
            write: 0,
        },
    };
    SpentOn {
        name: name.to_owned(),
        steps,
        tokens,
        cost,
    }
}

fn spending() -> Spending {
    Spending {
        total: Some(4.2),
        limit: Some(5.0),
        saved: Some(0.31),
        models: vec![
            spent("anthropic/sonnet-x", 12, Some(3.0)),
            spent("openai/gpt-x", 2, Some(1.0)),
        ],
        turns: vec![
            spent("Why does the resize test flake? Fix it.", 9, Some(2.5)),
            spent("add a changelog line", 5, Some(0.5)),
        ],
        subagents: vec![spent("Look at files", 3, Some(0.2))],
    }
}

fn asked_for_cost(width: u16, height: u16, spending: Spending) -> World {
    let mut world = World::new(width, height);
    world.tui.type_text("/cost");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::Spending]);
    world.tui.event(Event::Spending(spending));
    world
}

#[test]
fn the_cost_is_told_by_model_turn_and_subagent_in_columns() {
    let mut world = asked_for_cost(120, 40, spending());
    let screen = world.tui.screen();
    let rows: Vec<&str> = screen.lines().collect();
    assert!(rows[0].starts_with("  Cost"), "{screen}");
    assert!(
        rows[0].ends_with("$4.20 of $5.00   84% of the budget"),
        "{screen}"
    );
    let figures = "        12    102.0k     90.0k      1.0k     $3.00";
    let model = rows.iter().find(|row| row.contains("anthropic/sonnet-x"));
    assert!(model.is_some_and(|row| row.ends_with(figures)), "{screen}");
    for part in [
        "By model",
        "By turn",
        "By subagent",
        "add a changelog line",
        "Look at files",
    ] {
        assert!(screen.contains(part), "{part} is not in:\n{screen}");
    }
    assert!(
        screen.contains("The provider's cache saved $0.31."),
        "{screen}"
    );
    assert!(
        screen.contains("$1.00 of it on other branches."),
        "{screen}"
    );
    let ends: Vec<usize> = rows
        .iter()
        .filter(|row| row.contains("steps"))
        .map(|row| row.chars().count())
        .collect();
    assert_eq!(ends.len(), 3, "{screen}");
    assert!(
        ends.iter().all(|end| *end == ends[0]),
        "columns stand under one another: {screen}"
    );
    world.tui.press("esc");
    assert!(world.tui.state.overlays.is_empty());
}

#[test]
fn a_small_window_shows_the_cost_with_one_figure_and_scrolls() {
    let mut world = asked_for_cost(44, 10, spending());
    let screen = world.tui.screen();
    assert!(screen.contains("tokens      cost"), "{screen}");
    assert!(screen.contains("anthropic/sonnet-x"), "{screen}");
    assert!(screen.contains("↓ down"), "{screen}");
    assert!(!screen.contains("Look at files"), "{screen}");
    world.tui.press("end");
    let screen = world.tui.screen();
    assert!(screen.contains("Look at files"), "{screen}");
    world.tui.press("home");
    assert!(world.tui.screen().contains("anthropic/sonnet-x"));
}

#[test]
fn a_cost_that_is_not_known_says_so() {
    let unknown = Spending {
        total: None,
        limit: None,
        saved: None,
        models: vec![spent("local/some", 1, None)],
        turns: vec![spent("go", 1, None)],
        subagents: Vec::new(),
    };
    let screen = asked_for_cost(100, 30, unknown).tui.screen();
    assert!(
        screen.contains("not known: a model has no prices here"),
        "{screen}"
    );
    assert!(
        screen
            .lines()
            .any(|l| l.contains("local/some") && l.ends_with('?')),
        "{screen}"
    );
    let nothing = Spending {
        total: Some(0.0),
        ..Spending::default()
    };
    let screen = asked_for_cost(100, 30, nothing).tui.screen();
    assert!(
        screen.contains("Nothing was asked in this session yet."),
        "{screen}"
    );
    assert!(screen.contains("$0.00 this session"), "{screen}");
}

fn pin(n: u128, name: &str, pinned: bool) -> PinChoice {
    PinChoice {
        part: PartId::from_raw(n),
        kind: "output".to_owned(),
        name: name.to_owned(),
        tokens: 1_200,
        pinned,
    }
}

#[test]
fn pins_are_listed_added_and_taken_back_without_losing_the_place() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/pin");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::Pins]);
    let pins = vec![
        pin(3, "bash third", false),
        pin(2, "bash second", false),
        pin(1, "bash first", true),
    ];
    world.tui.event(Event::Pins { pins });
    let screen = world.tui.screen();
    assert!(
        screen.contains("❯ bash first"),
        "what is pinned comes first: {screen}"
    );
    assert!(screen.contains("1.2k tok   pinned"), "{screen}");
    assert!(screen.contains("enter unpin"), "{screen}");
    world.tui.press("↓ ↓");
    assert!(
        world.tui.screen().contains("enter pin"),
        "{}",
        world.tui.screen()
    );
    world.tui.press("enter");
    let part = PartId::from_raw(2);
    assert_eq!(world.tui.ops(), [Op::Pin { part, on: true }, Op::Pins]);
    let pins = vec![
        pin(3, "bash third", false),
        pin(2, "bash second", true),
        pin(1, "bash first", true),
    ];
    world.tui.event(Event::Pins { pins });
    let screen = world.tui.screen();
    assert!(
        screen.contains("❯ bash second"),
        "the choice stays: {screen}"
    );
    assert!(
        screen.contains("Pinned: every compaction keeps it."),
        "{screen}"
    );
    assert_eq!(world.tui.state.overlays.len(), 1, "no second list");
    world.tui.press("enter");
    let part = PartId::from_raw(2);
    assert_eq!(world.tui.ops(), [Op::Pin { part, on: false }, Op::Pins]);
}

#[test]
fn nothing_to_pin_is_said() {
    let mut world = World::new(100, 30);
    world.tui.event(Event::Pins { pins: Vec::new() });
    assert!(world.tui.state.overlays.is_empty());
    assert!(world.tui.screen().contains("There is nothing to pin yet."));
}

fn running() -> World {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Streaming, 2_000, |_| {});
    world.queued(&[], &["later"], false);
    world
}

#[test]
fn a_new_session_while_a_turn_runs_is_asked_about_first() {
    let mut world = running();
    world.tui.type_text("/new");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [], "the turn still runs");
    let screen = world.tui.screen();
    assert!(screen.contains("A turn is running"), "{screen}");
    assert!(
        screen.contains("❯ Stop it and start a new session"),
        "{screen}"
    );
    assert!(screen.contains("1 message waits there"), "{screen}");
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), []);
    world.tui.wait(1_000);
    world.tui.type_text("/new");
    world.tui.press("enter ↓ enter");
    assert_eq!(world.tui.ops(), [], "it stays");
    assert!(world.tui.state.overlays.is_empty());
    world.tui.type_text("/new");
    world.tui.press("enter enter");
    assert_eq!(world.tui.ops(), [Op::NewSession]);
}

#[test]
fn another_session_while_a_turn_runs_is_asked_about_and_at_rest_it_is_not() {
    let other = SessionId::from_raw(7);
    let listed = |world: &mut World| {
        world.tui.press("ctrl+s");
        let sessions = vec![summary(other, "other", 9, 3)];
        world.tui.event(Event::Sessions { sessions });
        world.tui.ops();
        world.tui.press("enter");
        world.tui.ops()
    };
    let mut world = running();
    assert_eq!(listed(&mut world), []);
    assert!(
        world
            .tui
            .screen()
            .contains("Stop it and open the other session")
    );
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::OpenSession(other)]);
    world.status(Phase::Idle, 0, |_| {});
    world.tui.wait(1_000);
    assert_eq!(listed(&mut world), [Op::OpenSession(other)]);
}

#[test]
fn the_status_row_names_the_call_that_runs_or_counts_them() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 2_000, |_| {});
    let id = world.message_of(Role::Assistant);
    let runs = |world: &mut World| {
        let screen = world.tui.screen();
        let row = screen.lines().find(|l| l.contains("esc interrupt"));
        row.expect("a status row").to_owned()
    };
    assert!(runs(&mut world).contains("Running tools"));
    world.running(id, "read", json!({"path": "src/a.rs"}));
    assert!(
        runs(&mut world).contains("Looking at src/a.rs"),
        "{}",
        runs(&mut world)
    );
    world.runs(id, "cargo test", "", 900);
    assert!(
        runs(&mut world).contains("Running 2 tools"),
        "{}",
        runs(&mut world)
    );
}
