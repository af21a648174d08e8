//! Any size, with anything open: nothing panics, the cursor stays on the screen.

use dunlin::protocol::event::{ModelChoice, Phase, UndoFile};
use dunlin::protocol::{
    Destination, DiffLine, DiffReport, DiffScope, Event, FileDiff, FileStatus, Hunk, LineKind,
    Role, SessionId,
};

use super::fixtures::{World, doom_loop, permission, place, summary};

fn report() -> DiffReport {
    let line = |kind, old, new, text: &str| DiffLine {
        kind,
        old,
        new,
        text: text.to_owned(),
    };
    let hunk = Hunk {
        heading: "impl Pager :: on_resize".to_owned(),
        lines: vec![
            line(
                LineKind::Context,
                Some(38),
                Some(38),
                "fn on_resize(&mut self, width: u16) {",
            ),
            line(LineKind::Removed, Some(40), None, "    self.reflow(width);"),
            line(LineKind::Added, None, Some(40), "    if self.replaying {"),
        ],
    };
    let file = |path: &str, status| FileDiff {
        path: path.to_owned(),
        status,
        added: 9,
        removed: 3,
        binary: false,
        lines: 40,
        hunks: vec![hunk.clone(), hunk.clone()],
    };
    DiffReport {
        scope: DiffScope::Turn,
        files: vec![
            file("src/reflow.rs", FileStatus::Modified),
            file("tests/large.rs", FileStatus::Added),
        ],
        notes: Vec::new(),
    }
}

const SIZES: [(u16, u16); 15] = [
    (1, 1),
    (2, 3),
    (10, 3),
    (20, 6),
    (20, 100),
    (39, 9),
    (40, 12),
    (60, 20),
    (79, 23),
    (80, 24),
    (120, 40),
    (133, 8),
    (250, 70),
    (300, 6),
    (300, 100),
];

#[test]
fn every_screen_survives_every_size() {
    type Open = fn(&mut World);
    let screens: [(&str, Open); 13] = [
        ("start", |w| w.tui.event(Event::Place(place()))),
        ("onboarding", |w| {
            let found = vec!["ANTHROPIC_API_KEY is set".to_owned()];
            w.tui.event(Event::Onboarding {
                reason: "No model can be used yet.".to_owned(),
                found,
            });
        }),
        ("permission", |w| {
            w.ask(permission(&"cargo add insta ".repeat(30)));
        }),
        ("full screen", |w| {
            w.ask(permission("ls"));
            w.tui.wait(500);
            w.tui.press("ctrl+f");
        }),
        ("field", |w| {
            w.ask(permission("ls"));
            w.tui.wait(500);
            w.tui.press("n a b c");
        }),
        ("loop", |w| drop(w.ask(doom_loop()))),
        ("queue", |w| {
            w.queued(&["a", "b", "c"], &["d", "e", "f"], true);
        }),
        ("popup", |w| w.tui.type_text("/")),
        ("long text", |w| {
            w.tui.type_text(&"日本語 and words ".repeat(30));
        }),
        ("help", |w| w.tui.press("?")),
        ("diff", |w| w.tui.event(Event::Diff(report()))),
        ("sessions", |w| {
            w.tui.press("ctrl+s");
            let sessions = (1..40)
                .map(|n| summary(SessionId::from_raw(n), "a title", 9, 3))
                .collect();
            w.tui.event(Event::Sessions { sessions });
        }),
        ("undo", |w| {
            let file = UndoFile {
                path: "a".to_owned(),
                action: "restored".to_owned(),
                conflict: true,
                during: None,
            };
            w.tui.event(Event::UndoPreview {
                note: None,
                to: Destination::LastTurn,
                prompt: "p".to_owned(),
                files: vec![file],
            });
        }),
    ];
    for (name, open) in screens {
        for running in [false, true] {
            let mut world = World::new(120, 40);
            if running {
                let said = world.say(Role::User, "go on with it");
                world.plan(said);
                world.status(Phase::Streaming, 65_000, |status| status.turn_output = 900);
            }
            open(&mut world);
            for (width, height) in SIZES {
                world.tui.resize(width, height);
                let screen = world.tui.screen();
                assert_eq!(screen.lines().count(), usize::from(height), "{name}");
                if let Some(at) = world.tui.drawn().cursor {
                    assert!(
                        at.x < width && at.y < height,
                        "{name} at {width}x{height}: {at:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_diff_view_is_frame_5_in_its_columns() {
    let mut world = World::new(120, 40);
    world.tui.event(Event::Diff(report()));
    let screen = world.tui.screen();
    let rows: Vec<&str> = screen.lines().collect();
    assert!(
        rows[0].starts_with("  Changes  2 files  +18 −6"),
        "{}",
        rows[0]
    );
    assert!(
        rows[0].ends_with("this turn ▾   vs HEAD   split   wrap off"),
        "{}",
        rows[0]
    );
    assert_eq!(rows[1].chars().nth(26), Some('┬'));
    assert_eq!(
        rows[2],
        "  ❯ M src/reflow.rs       │  src/reflow.rs                                                                \
         1 of 2 hunks"
    );
    assert_eq!(rows[3].trim_end(), "      +9  −3              │");
    assert_eq!(
        rows[4].trim_end(),
        "    A tests/large.rs      │  @@ impl Pager :: on_resize"
    );
    assert_eq!(
        rows[5].trim_end(),
        "      +9  −3              │    38   38      fn on_resize(&mut self, width: u16) {"
    );
    assert!(
        rows[6].contains("│    40       −       self.reflow(width);"),
        "{}",
        rows[6]
    );
    assert!(
        rows[7].contains("│         40  +       if self.replaying {"),
        "{}",
        rows[7]
    );
    world.tui.press("o");
    let effects = world.tui.effects();
    assert!(
        format!("{effects:?}").contains("src/reflow.rs"),
        "{effects:?}"
    );
}

#[test]
fn models_without_a_key_say_so() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/model");
    world.tui.press("enter");
    let choice = |name: &str, usable| ModelChoice {
        model: name.parse().expect("a model"),
        context: 200_000,
        input_price: Some(3.0),
        output_price: Some(15.0),
        usable,
    };
    let models = vec![
        choice("anthropic/sonnet-x", true),
        choice("openai/gpt-x", false),
    ];
    world.tui.event(Event::Models { models });
    let screen = world.tui.screen();
    assert!(screen.contains("❯ anthropic/sonnet-x"), "{screen}");
    assert!(screen.contains("no key"), "{screen}");
}
