//! Whole screens against the reference frames, to the character, in four colour worlds.
//!
//! Every screen is made by events through the real update path; the words and numbers of a frame are
//! its data. What a cell's style means is written as a letter (`styles/NN.txt`); to write those
//! files anew after a wanted change: `DUNLIN_BLESS=1 cargo test --test it tui::frames`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Event, Fault, FaultKind, PartBody, Role, SessionId};
use dunlin::tui::theme::{ColourDepth, Theme};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};
use serde_json::json;

use super::fixtures::{World, doom_loop, permission, place, summary};
use super::reports::{context, diff};
use super::sessions::{frame_preview, frame_sessions, unmarked};

const EXPLORED_MS: i64 = 300;
const DAY_MS: i64 = 86_400_000;

/// A colour world: its name, the theme's name, the depth, the background.
type Colours = (
    &'static str,
    &'static str,
    ColourDepth,
    Option<(u8, u8, u8)>,
);

const WORLDS: [Colours; 4] = [
    (
        "dark",
        "dark",
        ColourDepth::Truecolour,
        Some((0x12, 0x14, 0x18)),
    ),
    (
        "light",
        "light",
        ColourDepth::Truecolour,
        Some((0xfb, 0xfb, 0xf8)),
    ),
    ("16 colours", "ansi16", ColourDepth::Ansi16, None),
    ("no colour", "none", ColourDepth::None, None),
];

/// What a style means, as a letter. In a world where two meanings look the same, the first one.
fn letter(cell: &Cell, theme: &Theme) -> char {
    let looks = |style: Style| {
        (
            style.fg.unwrap_or(Color::Reset),
            style.add_modifier.difference(Modifier::UNDERLINED),
        )
    };
    let this = (cell.fg, cell.modifier.difference(Modifier::UNDERLINED));
    let meanings = [
        ('.', theme.default()),
        ('b', theme.bold()),
        ('d', theme.dim()),
        ('i', theme.thought()),
        ('c', theme.accent()),
        ('g', theme.good()),
        ('r', theme.bad()),
        ('y', theme.amber()),
        ('C', theme.accent().patch(theme.bold())),
        ('w', theme.dim().patch(theme.bold())),
    ];
    let known = meanings.iter().find(|(_, style)| looks(*style) == this);
    let letter = known.map_or('?', |(letter, _)| *letter);
    if cell.modifier.contains(Modifier::REVERSED) {
        return 'v';
    }
    match (cell.bg, cell.modifier.contains(Modifier::UNDERLINED)) {
        // A changed word; then tints: behind what the user said, added and removed lines.
        (_, true) => 'u',
        (Color::Reset, false) => letter,
        (bg, _) if Some(bg) == theme.tint_user().bg => match letter {
            'c' => 'P',
            _ => 'p',
        },
        (bg, _) if Some(bg) == theme.tint_added().bg => '+',
        (bg, _) if Some(bg) == theme.tint_removed().bg => '-',
        _ => '?',
    }
}

fn text_of(buffer: &Buffer) -> String {
    rows_of(buffer, |cell| cell.symbol().chars().next().unwrap_or(' '))
}

fn rows_of(buffer: &Buffer, sign: impl Fn(&Cell) -> char) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let row: String = (0..buffer.area.width)
            .map(|x| sign(&buffer[(x, y)]))
            .collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// One letter per cell, blanks that look like nothing left out.
fn styles_of(buffer: &Buffer, theme: &Theme) -> String {
    rows_of(buffer, |cell| {
        let letter = letter(cell, theme);
        if cell.symbol() == " " && matches!(letter, '.' | 'b' | 'd' | 'c' | 'i' | 'w') {
            ' '
        } else {
            letter
        }
    })
}

/// Compares the screen from the row where the frame's own content begins (rows above it belong to
/// what was said before), then the styles in all worlds.
#[track_caller]
fn is_frame(world: &mut World, name: &str, frame: &str) {
    let wanted: Vec<&str> = frame.lines().map(str::trim_end).collect();
    let begin = wanted
        .iter()
        .position(|row| !row.is_empty())
        .expect("a frame that is not empty");
    let mut grids: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut order = Vec::new();
    for (colours, theme, depth, background) in WORLDS {
        world.tui.state.terminal.depth = depth;
        world.tui.state.terminal.background = background;
        theme.clone_into(&mut world.tui.state.theme_name);
        world.tui.state.restyle();
        let buffer = world.tui.draw().clone();
        let screen = text_of(&buffer);
        let shown: Vec<&str> = screen.lines().collect();
        assert_eq!(
            shown[begin..].join("\n").trim_end(),
            wanted[begin..].join("\n").trim_end(),
            "{colours}, the whole screen:\n{screen}"
        );
        let grid: Vec<String> = styles_of(&buffer, &world.tui.state.theme)
            .lines()
            .skip(begin)
            .map(str::to_owned)
            .collect();
        let grid = grid.join("\n").trim_end().to_owned();
        assert!(
            !grid.contains('?'),
            "{colours} has an unknown style:\n{grid}"
        );
        if !grids.contains_key(&grid) {
            order.push(grid.clone());
        }
        grids.entry(grid).or_default().push(colours);
    }
    let mut text = String::new();
    for grid in order {
        let _ = writeln!(text, "{}:\n{grid}\n", grids[&grid].join(", "));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/tui/frames/styles")
        .join(format!("{name}.txt"));
    if std::env::var_os("DUNLIN_BLESS").is_some() {
        std::fs::write(&file, &text).expect("written");
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, known, "styles differ from {}", file.display());
}

/// The cells that frames 2, 4 and 10 have in common: a question, looking around.
fn asked_and_explored(world: &mut World) -> dunlin::protocol::MessageId {
    // The plan that the status row quotes was made in the turn before: it stands above the frame.
    let before = world.say(Role::User, "Make a plan first.");
    world.plan(before);
    world.say(Role::User, "Why does the resize test flake? Fix it.")
}

fn explore(world: &mut World, message: dunlin::protocol::MessageId, reads: usize, searches: usize) {
    for n in 0..reads {
        let input = json!({"path": format!("src/file{n}.rs")});
        world.done(
            message,
            "read",
            (input, "src/file.rs", "…"),
            json!({}),
            EXPLORED_MS,
        );
    }
    for _ in 0..searches {
        let input = json!({"pattern": "fn reflow"});
        world.done(
            message,
            "grep",
            (input, "fn reflow", "…"),
            json!({}),
            EXPLORED_MS,
        );
    }
}

const TEST: &str = "cargo test -p pager resize";
const DIFF: &str = "@@ -41,3 +41,6 @@\n         let cells = self.cells.len();\n-        self.reflow(width);\n+        if self.replaying {\n+            self.reflow_after_replay = Some(width);\n+        } else {\n+            self.reflow(width);\n         }\n";

#[test]
fn frame_1_the_empty_start() {
    let mut world = World::new(120, 40);
    let now = world.tui.now; // 14:02
    let day: i64 = 86_400_000;
    let session = |n, title, ago: i64, percent| {
        summary(SessionId::from_raw(n), title, now - ago * day, percent)
    };
    let sessions = vec![
        session(7, "fix flaky resize test", 0, 26),
        session(6, "tokenizer cache eviction", 1, 61),
        session(5, "port pager to ratatui 0.30", 3, 12),
    ];
    world.tui.event(Event::Place(place()));
    world.tui.event(Event::Sessions { sessions });
    world.status(Phase::Idle, 0, |status| {
        status.context.used = 0;
        status.context.pruned = 0;
        status.cost = None;
    });
    is_frame(
        &mut world,
        "01",
        include_str!("frames/01-empty-start-120x40.txt"),
    );
}

#[test]
fn frame_2_streaming_while_a_tool_runs() {
    let mut world = World::new(120, 40);
    asked_and_explored(&mut world);
    let turn = world.answer("The reflow runs while replay is still filling the cell list, so the height it measures is short. I'll confirm the ordering, then make reflow wait for replay.");
    explore(&mut world, turn, 4, 2);
    let mut output = "test resize::keeps_tail ... FAILED\n".to_owned();
    output.push_str(&"noise\n".repeat(38));
    output.push_str("assertion `left == right` failed   left: 41   right: 44\n");
    let run = (json!({"command": TEST}), TEST, output.as_str());
    world.done(turn, "bash", run, json!({"exit": 101}), 6_400);
    world.thought(
        turn,
        "replay must finish before a reflow is scheduled\nmore",
        4_000,
    );
    let edit = (json!({"path": "src/reflow.rs"}), "src/reflow.rs", "ok");
    let facts = json!({"diff": DIFF, "added": 4, "removed": 1});
    world.done(turn, "edit", edit, facts, 10);
    world.third_spin();
    let tail = "old\ntest resize::shrinks ... ok\ntest resize::keeps_tail ... ok\ntest replay::large ...\n";
    world.runs(turn, "cargo test -p pager", tail, 12_300);
    world.streamed(turn, "The two resize tests pass now. Waiting for the large-replay test, because it is the one that exercises the new");
    world.status(Phase::Streaming, 72_000, |status| {
        status.turn_output = 3_100;
    });
    is_frame(
        &mut world,
        "02",
        include_str!("frames/02-streaming-tool-running-120x40.txt"),
    );
}

#[test]
fn frame_3a_a_permission() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Port the parser tests to insta.");
    let turn = world
        .answer("insta is not a dev-dependency yet, so I'll add it before converting the tests.");
    let part = world.runs(turn, "cargo add insta --dev", "", 0);
    world.status(Phase::Asking, 1_000, |_| {});
    world.ask_about(Some(part), permission("cargo add insta --dev"));
    world.ask(permission("cargo fetch"));
    let frame = include_str!("frames/03a-permission-prompt-120x40.txt");
    // The footer has one more hint: several questions are open.
    let frame = frame.replace(
        "ctrl+f full screen             ",
        "ctrl+f full screen   tab next  ",
    );
    is_frame(&mut world, "03a", &frame);
}

#[test]
fn frame_3b_a_loop() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Fix it.");
    let turn = world.message_of(Role::Assistant);
    for took in [6_400, 6_300, 6_400] {
        let run = (json!({"command": TEST}), TEST, "");
        world.done(turn, "bash", run, json!({"exit": 101}), took);
    }
    let part = world.runs(turn, TEST, "", 0);
    world.status(Phase::Asking, 1_000, |status| status.context.used = 61_500);
    world.ask_about(Some(part), doom_loop());
    is_frame(
        &mut world,
        "03b",
        include_str!("frames/03b-doom-loop-120x40.txt"),
    );
}

#[test]
fn frame_4_queued_messages() {
    let mut world = World::new(120, 40);
    asked_and_explored(&mut world);
    let turn = world.message_of(Role::Assistant);
    explore(&mut world, turn, 4, 2);
    let edit = (json!({"path": "src/reflow.rs"}), "src/reflow.rs", "ok");
    world.done(turn, "edit", edit, json!({"added": 4, "removed": 1}), 10);
    world.queued(
        &["use Option<u16>, not a bool flag"],
        &["add a changelog line", "!cargo clippy -p pager"],
        false,
    );
    world.tui.type_text("and rename it to pending_width");
    world.third_spin();
    world.runs(
        turn,
        "cargo test -p pager",
        "test replay::large ...\n",
        41_200,
    );
    world.status(Phase::Tools, 101_000, |status| status.turn_output = 3_100);
    is_frame(
        &mut world,
        "04",
        include_str!("frames/04-queued-messages-120x40.txt"),
    );
}

#[test]
fn frame_5_the_changes() {
    let mut world = World::new(120, 40);
    world.tui.event(Event::Diff(diff()));
    let frame = include_str!("frames/05-diff-view-120x40.txt");
    // The frame counts a third hunk that it does not show.
    let frame = frame.replace("1 of 3 hunks", "1 of 2 hunks");
    let frame = frame.replace(['⟦', '⟧'], "");
    // Its last row ends a column right of all the others.
    let frame = frame.replace("  enter to show", " enter to show");
    is_frame(&mut world, "05", &frame);
}

#[test]
fn frame_6_the_sessions() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    let mut all = frame_sessions(now);
    // As many as the frame counts; they are about other things.
    let other = |n: u128| {
        summary(
            SessionId::from_raw(1_000 + n),
            "tokenizer cache",
            now - 40 * DAY_MS,
            5,
        )
    };
    all.extend((0..209).map(other));
    world.status(Phase::Idle, 0, |_| {});
    world.tui.press("ctrl+s");
    world.tui.event(Event::Sessions { sessions: all });
    let preview = frame_preview(&world);
    world.tui.event(preview);
    world.tui.type_text("resize");
    let frame = include_str!("frames/06-session-picker-120x40.txt");
    // The frame counts twelve and shows these.
    let frame = frame.replace("12 of 214", " 4 of 214");
    let frame: Vec<String> = frame.lines().map(unmarked).collect();
    is_frame(&mut world, "06", &frame.join("\n"));
}

#[test]
fn frame_7_the_context_inspector() {
    let mut world = World::new(120, 40);
    world.status(Phase::Idle, 0, |_| {});
    let report = context(world.tui.now);
    world.tui.event(Event::Context { report });
    is_frame(
        &mut world,
        "07",
        include_str!("frames/07-context-inspector-120x40.txt"),
    );
}

#[test]
fn frame_8_a_compaction() {
    let mut world = World::new(120, 40);
    let planned = asked_and_explored(&mut world);
    world.plan_at(planned, 2);
    world.say(Role::User, "Go on.");
    let turn = world.message_of(Role::Assistant);
    let read = |n: usize| (json!({"path": format!("src/f{n}.rs")}), "src/f", "…");
    for n in 0..5 {
        let (input, _, output) = read(n);
        let title = format!("src/f{n}.rs");
        world.done(turn, "read", (input, &title, output), json!({}), 10);
    }
    let output = "x\n".repeat(212);
    let run = "cargo test --workspace";
    let call = (json!({"command": run}), run, output.as_str());
    world.done(turn, "bash", call, json!({"exit": 0}), 48_000);
    world.queued(&[], &["add a changelog line"], false);
    let phase = || Phase::Compacting {
        messages: 61,
        tokens: 161_030,
    };
    let full = |status: &mut dunlin::protocol::Status| {
        status.context.used = 161_030;
        status.context.pruned = 0;
        status.cost = Some(1.87);
    };
    let tail = world.prompts[1];
    world.compaction(tail);
    world.status(phase(), 0, full);
    world.summary("Decided to guard reflow with Option<u16> instead of a flag, because a flag lost the width when two resizes landed during one replay. Open: large-replay test");
    world.tui.now += 14_000;
    world.status(phase(), 14_000, |status| {
        full(status);
        status.turn_output = 1_200;
    });
    let frame = include_str!("frames/08-compaction-in-progress-120x40.txt");
    // Decisions are the summary's own words: nobody counts them.
    let frame = frame.replace(", 3 decisions", "");
    is_frame(&mut world, "08", &frame);
}

#[test]
fn frame_9_a_retry() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Port the parser tests to insta.");
    let turn = world.message_of(Role::Assistant);
    explore(&mut world, turn, 6, 1);
    world.streamed(turn, "I'll convert the table tests first and keep the old names, so blame stays useful. The first file is");
    let next = world.tui.now + 7_400;
    let error = Fault {
        status: Some(529),
        ..Fault::new(FaultKind::Overloaded, "Overloaded.", "")
    };
    world.part(
        turn,
        PartBody::Retry {
            attempt: 3,
            error: error.clone(),
            next,
        },
    );
    let phase = Phase::Retrying {
        attempt: 3,
        limit: Some(6),
        next,
        error,
    };
    world.status(phase, 20_000, |status| {
        status.context.used = 36_000;
        status.context.pruned = 0;
        status.cost = Some(0.29);
    });
    let frame = include_str!("frames/09-retry-countdown-120x40.txt");
    // Its prose is 96 columns wide, that of frame 2 less: 92 are right for both but for this word.
    let frame = frame.replace("The first file\n    is\n", "The first\n    file is\n");
    is_frame(&mut world, "09", &frame);
}

#[test]
fn frame_10_a_narrow_screen() {
    let mut world = World::new(60, 20);
    asked_and_explored(&mut world);
    let turn = world.message_of(Role::Assistant);
    explore(&mut world, turn, 4, 2);
    let output = "assertion failed   left: 41  right: 44";
    let run = (json!({"command": TEST}), TEST, output);
    world.done(turn, "bash", run, json!({"exit": 101}), 6_400);
    let edit = (json!({"path": "src/reflow.rs"}), "src/reflow.rs", "ok");
    let diff = "@@ -42,1 +42,2 @@\n-self.reflow(width);\n+if self.replaying {\n+    self.reflow_after_replay = …\n";
    let facts = json!({"diff": diff, "added": 4, "removed": 1});
    world.done(turn, "edit", edit, facts, 10);
    world.third_spin();
    world.runs(
        turn,
        "cargo test -p pager",
        "test replay::large ...\n",
        12_300,
    );
    world.streamed(
        turn,
        "The two resize tests pass now. Waiting for the large-replay test",
    );
    world.status(Phase::Streaming, 72_000, |status| {
        status.turn_output = 3_100;
    });
    is_frame(&mut world, "10", include_str!("frames/10-narrow-60x20.txt"));
}
