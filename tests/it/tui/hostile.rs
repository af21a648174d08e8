//! Content that was made to hurt, or only happens to: in prompts, answers, outputs, changes and streams.
//! Nothing panics, nothing a terminal would obey or hide reaches the screen, a frame stays cheap, and what
//! layouts hold stays small.

use std::time::Duration;

use dunlin::protocol::{Event, NoticeLevel, Role};
use dunlin::tui::term::paint::Painter;
use dunlin::tui::view;
use serde_json::json;

use super::fixtures::World;

/// CPU of one frame in a debug build; a release build is some twenty times as fast.
const MOST: Duration = Duration::from_secs(4);

/// What a transcript may hold beyond the text itself.
const LAYOUTS: usize = 24 << 20;

fn contents() -> Vec<(&'static str, String)> {
    let table: String = (0..4_000)
        .map(|n| format!("| cell {n} | 日本 {n} | `code` and more words |\n"))
        .collect();
    let nested: String = (0..200)
        .map(|n| format!("{}- item {n}\n", "  ".repeat(n)))
        .collect();
    vec![
        ("one wide line", "0123456789".repeat(1_000)),
        ("200 kB without a blank", "x".repeat(200_000)),
        ("wide signs without a blank", "日本語".repeat(30_000)),
        (
            "a table of 200 kB",
            format!("| a | b | c |\n|---|--:|---|\n{table}"),
        ),
        (
            "a table of 300 columns",
            format!(
                "|{}\n|{}\n|{}\n",
                "a|".repeat(300),
                "-|".repeat(300),
                "b|".repeat(300)
            ),
        ),
        ("tabs", "\ta\t\tb\tc\t\n".repeat(2_000)),
        (
            "a progress bar",
            (0..20_000)
                .map(|n| format!("\rdownloading {n} of 20000"))
                .collect(),
        ),
        (
            "colour at every sign",
            "\x1b[31mr\x1b[32mg\x1b[0m".repeat(8_000),
        ),
        (
            "escapes that were cut",
            "\x1b[\x1b]8;;\x1b\\\x1bP\x1b_x\u{9b}31m\x07\x08".repeat(3_000),
        ),
        (
            "signs without a width",
            "a\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}".repeat(5_000),
        ),
        (
            "other directions",
            "\u{202e}abc\u{2066}def\u{202c}עברית".repeat(3_000),
        ),
        ("marks on marks", format!("e{}", "\u{301}".repeat(50_000))),
        ("joined families", "👩‍👩‍👧‍👦🇩🇪👍🏽".repeat(4_000)),
        ("quotes in quotes", format!("{} deep\n", ">".repeat(1_500))),
        ("items in items", nested),
        ("open brackets", "[".repeat(40_000)),
        ("open emphasis", "*a **b _c `".repeat(6_000)),
        ("links", "[l](http://x.y/z) ".repeat(4_000)),
        ("entities", "&#x202e;&#27;[31m&zwj;".repeat(3_000)),
        ("blank lines", "\n".repeat(50_000)),
        (
            "a fence of 5,000 lines",
            format!(
                "```rust\n{}",
                "let some = line(of, code); // words\n".repeat(5_000)
            ),
        ),
        ("html", "<div><script>\n<!-- x\n".repeat(3_000)),
    ]
}

fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

/// Draws frames at several sizes and places; looks at what they hold and cost.
#[track_caller]
fn looked_at(world: &mut World, what: &str, bytes: usize) {
    for (width, height) in [(120, 40), (20, 6), (3, 2), (300, 100), (80, 24)] {
        world.tui.resize(width, height);
        let mut painter = Painter::new(width, height);
        for key in [
            "",
            "pgup",
            "ctrl+home",
            "pgdn",
            "ctrl+e",
            "alt+↑",
            "ctrl+end",
        ] {
            world.tui.press(key);
            let begun = cpu();
            let now = world.tui.now;
            let drawn = view::draw(&mut world.tui.state, painter.canvas(), now);
            painter.frame("", drawn.cursor).expect("a frame");
            let took = cpu().saturating_sub(begun);
            assert!(
                took < MOST,
                "{what} at {width}×{height} after {key:?}: {took:?}"
            );
            let hidden = |c: &char| {
                c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            };
            let mut shown = painter
                .shown()
                .content
                .iter()
                .flat_map(|cell| cell.symbol().chars());
            assert_eq!(shown.find(hidden), None, "{what} at {width}×{height}");
        }
    }
    let weight = world.tui.state.transcript.weight();
    assert!(
        weight < 6 * bytes + LAYOUTS,
        "{what}: {weight} bytes for {bytes}"
    );
}

#[test]
fn hostile_text_is_harmless_wherever_it_stands() {
    for (what, text) in contents() {
        let mut world = World::new(120, 40);
        world.say(Role::User, &text);
        let said = world.answer(&text);
        world.done(
            said,
            "bash",
            (json!({"command": text}), &text, &text),
            json!({"exit": 1}),
            5,
        );
        world.done(
            said,
            "read",
            (json!({"path": text}), &text, &text),
            json!({}),
            5,
        );
        world.done(
            said,
            "task",
            (json!({"description": text}), &text, &text),
            json!({}),
            5,
        );
        world.thought(said, &text, 2_000);
        world.runs(said, &text, &text, 3_000);
        world.tui.event(Event::Notice {
            level: NoticeLevel::Warning,
            text: text.chars().take(5_000).collect(),
        });
        looked_at(&mut world, what, 8 * text.len());
    }
}

#[test]
fn hostile_text_may_stream() {
    for (what, text) in contents() {
        let mut world = World::new(120, 40);
        let said = world.message_of(Role::Assistant);
        let half = text
            .char_indices()
            .nth(text.chars().count() / 2)
            .map_or(0, |(at, _)| at);
        let (first, rest) = text.split_at(half);
        let part = world.open_part(said, first);
        looked_at(&mut world, what, text.len());
        let deltas: Vec<char> = rest.chars().collect();
        for delta in deltas.chunks(deltas.len() / 6 + 1) {
            let delta = delta.iter().collect();
            world.tui.event(Event::PartDelta {
                message: said,
                part: part.id,
                delta,
            });
            let begun = cpu();
            world.tui.draw();
            let took = cpu().saturating_sub(begun);
            assert!(took < MOST, "{what}: {took:?} for a delta");
        }
        looked_at(&mut world, what, text.len());
    }
}

#[test]
fn a_change_of_five_thousand_lines_costs_what_a_screen_costs() {
    let mut diff = "@@ -1,5000 +1,5000 @@\n".to_owned();
    for n in 0..5_000 {
        diff.push_str(&format!(
            "-    let old_{n} = \"日本\";\t// {n}\n+    let new_{n} = \"{}\";\n",
            "x".repeat(n % 300)
        ));
    }
    let mut world = World::new(120, 40);
    let said = world.message_of(Role::Assistant);
    let edit = (json!({"path": "src/a.rs"}), "src/a.rs", "ok");
    world.done(
        said,
        "edit",
        edit,
        json!({"diff": diff, "added": 5_000, "removed": 5_000}),
        10,
    );
    looked_at(&mut world, "a large change", diff.len());
}
