//! A subagent's transcript: opened, live, left, stopped.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Event, Op, Part, PartBody, Role, SessionId, ToolPart, ToolState, TurnEnd};
use dunlin::tui::input::{Input, Mouse, MouseKind};
use dunlin::tui::update::Msg;
use serde_json::json;

use super::fixtures::{World, info};

/// A call of `task` that has a subagent at work.
pub(super) fn at_work(world: &mut World, title: &str) -> (Part, SessionId) {
    let message = world.mint.message(world.tui.now);
    let child = world.mint.session(world.tui.now);
    let state = ToolState::Running {
        input: json!({"description": title, "prompt": "p", "agent": "explore"}),
        title: title.to_owned(),
        metadata: json!({"session": child, "agent": "explore"}),
        tail: String::new(),
        start: world.tui.now,
    };
    let call = ToolPart {
        call: "c".to_owned(),
        tool: "task".to_owned(),
        state,
        provider: None,
    };
    (world.part(message, PartBody::Tool(call)), child)
}

fn begun() -> World {
    let mut world = World::new(100, 30);
    world.say(Role::User, "Find it.");
    world.status(Phase::Tools, 1_000, |_| {});
    world
}

/// What the subagent announces.
fn tells(world: &mut World, session: SessionId, event: Event) {
    let event = Box::new(event);
    world.tui.event(Event::Subagent { session, event });
}

/// Its beginning, and that it said so much.
pub(super) fn shows(world: &mut World, child: SessionId, text: &str) -> Part {
    let (mut shown, now) = (info(child, "x"), world.tui.now);
    shown.agent = "explore".to_owned();
    let started = Event::SessionStarted {
        session: shown,
        writable: false,
        read_only: None,
        cut: false,
    };
    tells(world, child, started);
    let id = world.mint.message(now);
    let mut message = world.message(id, Role::Assistant);
    message.session = child;
    let part = Part {
        id: world.mint.part(now),
        message: message.id,
        session: child,
        start: now,
        end: None,
        body: PartBody::Text {
            text: text.to_owned(),
            synthetic: false,
            ignored: false,
        },
    };
    let history = Event::History {
        messages: vec![message],
        parts: vec![part.clone()],
        first: true,
    };
    tells(world, child, history);
    part
}

#[test]
fn the_only_subagent_opens_at_once_and_its_words_come_live() {
    let mut world = begun();
    let (_, child) = at_work(&mut world, "find the parser");
    world.tui.press("alt+t");
    assert_eq!(world.tui.ops(), [Op::Watch(child)]);
    let part = shows(&mut world, child, "I look into ");
    let delta = Event::PartDelta {
        part: part.id,
        message: part.message,
        delta: "src/parse.rs.".to_owned(),
    };
    tells(&mut world, child, delta);
    let screen = world.tui.screen();
    assert!(
        screen.contains("Subagent  explore  find the parser"),
        "{screen}"
    );
    assert!(screen.contains("I look into src/parse.rs."), "{screen}");
    assert!(
        !screen.contains("Find it."),
        "it lies over the conversation"
    );
    // What another subagent announces is not its.
    let other = world.mint.session(world.tui.now);
    shows(&mut world, other, "Something else.");
    assert!(!world.tui.screen().contains("Something else."));
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), [Op::Unwatch(child)]);
    let screen = world.tui.screen();
    assert!(
        screen.contains("Find it.") && !screen.contains("I look into"),
        "{screen}"
    );
}

#[test]
fn several_are_listed_and_one_at_work_can_be_stopped() {
    let mut world = begun();
    let (done, first) = at_work(&mut world, "first task");
    let (_, child) = at_work(&mut world, "second task");
    let PartBody::Tool(call) = &done.body else {
        unreachable!("a call");
    };
    let state = ToolState::Completed {
        input: call.state.input().cloned().unwrap_or_default(),
        output: "found".to_owned(),
        title: "first task".to_owned(),
        metadata: json!({"session": first, "agent": "explore"}),
        attachments: Vec::new(),
        truncated: None,
        compacted_at: None,
        start: 0,
        end: 1,
    };
    let body = PartBody::Tool(ToolPart {
        state,
        ..call.clone()
    });
    world.tui.event(Event::PartUpdated {
        part: Part { body, ..done },
    });
    world.tui.type_text("/subagents");
    world.tui.press("enter");
    let screen = world.tui.screen();
    assert!(
        screen.contains("second task") && screen.contains("at work"),
        "{screen}"
    );
    world.tui.press("enter");
    assert_eq!(
        world.tui.ops(),
        [Op::Watch(child)],
        "those at work come first"
    );
    shows(&mut world, child, "Hm.");
    world.status(Phase::Tools, 0, |_| {});
    let status = world.tui.state.status.clone().expect("a status");
    tells(&mut world, child, Event::Status(status));
    let screen = world.tui.screen();
    assert!(
        screen.contains("stop it") && screen.contains("at work"),
        "{screen}"
    );
    assert!(screen.contains("$0.42"), "what it cost: {screen}");
    world.tui.press("ctrl+x");
    assert_eq!(world.tui.ops(), [Op::StopSubagent(child)]);
    let reason = TurnEnd::Interrupted;
    tells(&mut world, child, Event::TurnFinished { reason });
    let screen = world.tui.screen();
    assert!(
        screen.contains("stopped") && !screen.contains("stop it"),
        "{screen}"
    );
}

#[test]
fn without_subagents_it_says_so() {
    let mut world = begun();
    world.tui.press("alt+t");
    assert!(world.tui.screen().contains("No subagent has worked"));
    assert_eq!(world.tui.ops(), []);
}

#[test]
fn enter_on_an_empty_line_opens_the_subagent_in_view() {
    let mut world = begun();
    let (_, first) = at_work(&mut world, "Look at files");
    let (_, second) = at_work(&mut world, "Look at tests");
    world.tui.draw();
    world.tui.type_text("  ");
    world.tui.press("enter");
    assert_eq!(
        world.tui.ops(),
        [Op::Watch(second)],
        "the lowest one on screen"
    );
    world.tui.press("esc");
    world.tui.ops();
    world.tui.wait(1_000);
    let screen = world.tui.screen();
    let row = screen
        .lines()
        .position(|line| line.contains("Look at files"));
    let row = row.expect("its row") as u16;
    for (kind, col) in [
        (MouseKind::Down, 6),
        (MouseKind::Drag, 20),
        (MouseKind::Up, 20),
    ] {
        let mouse = Mouse { kind, col, row };
        world.tui.tell(Msg::Input(Input::Mouse(mouse)));
    }
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::Watch(first)], "the selected one");
}

#[test]
fn enter_on_an_empty_line_without_a_subagent_does_nothing() {
    let mut world = begun();
    world.tui.draw();
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), []);
    assert!(world.tui.state.overlays.is_empty());
}
