//! Every overlay and question at every size: nothing panics, nothing is cut without a mark, and no footer
//! names a key that does nothing.

use std::collections::BTreeSet;

use dunlin::protocol::event::{ModelChoice, PermissionRule, Phase, PinChoice, UndoFile};
use dunlin::protocol::{
    AskBody, Destination, DiffScope, Event, FileStatus, MessageId, PartId, PatchFile, Role,
    SearchHit, SessionId, Spending, SpentOn, TreeTurn,
};
use dunlin::tui::composer::history::Past;
use dunlin::tui::update::{Known, Msg};
use serde_json::json;

use super::fixtures::{World, doom_loop, permission, place, summary};
use super::{reports, subagents};

/// A text that is found again wherever a part of it is shown.
const MARK: &str = "Zyxwvutsrqponmlkjihgfedcba0123456789zyxwvut";

/// What opens something, and what it is called.
type Open = (&'static str, fn(&mut World));

/// Everything that lies over the conversation or asks.
const ALL: &[Open] = &[
    ("help", |w| w.tui.press("f1")),
    ("palette", |w| w.tui.press("alt+x")),
    ("sessions", sessions),
    ("no sessions", |w| {
        w.tui.press("ctrl+s");
        let sessions = Vec::new();
        w.tui.event(Event::Sessions { sessions });
    }),
    ("deleting a session", |w| {
        sessions(w);
        w.tui.press("ctrl+x");
    }),
    ("naming a session", |w| {
        sessions(w);
        w.tui.press("ctrl+r");
    }),
    ("rewind", |w| {
        let turns = vec![
            turn(1, None, true),
            turn(3, Some(1), false),
            turn(5, Some(1), true),
        ];
        w.tui.event(Event::Tree { turns });
    }),
    ("how to rewind", |w| {
        let turns = vec![turn(1, None, true)];
        w.tui.event(Event::Tree { turns });
        w.tui.press("enter");
    }),
    ("search", |w| search(w, vec![hit(1), hit(2)])),
    ("search without a place", |w| search(w, Vec::new())),
    ("changes", |w| w.tui.event(Event::Diff(reports::diff()))),
    ("no changes", |w| {
        let mut report = reports::diff();
        report.scope = DiffScope::Session;
        report.files.clear();
        w.tui.event(Event::Diff(report));
    }),
    ("undo", |w| {
        let file = |path: &str, conflict| UndoFile {
            path: path.to_owned(),
            action: "restored".to_owned(),
            conflict,
            during: Some("make every thing anew".to_owned()).filter(|_| !conflict),
        };
        let event = Event::UndoPreview {
            note: None,
            to: Destination::LastTurn,
            prompt: MARK.to_owned(),
            files: vec![file(MARK, false), file("src/a.rs", true)],
        };
        w.tui.event(event);
    }),
    ("context", |w| {
        let report = reports::context(w.tui.now);
        w.tui.event(Event::Context { report });
    }),
    ("context of nothing", |w| {
        let report = json!({});
        w.tui.event(Event::Context { report });
    }),
    ("models", |w| {
        w.tui.press("alt+m");
        let model = |name: &str, usable| ModelChoice {
            model: name.parse().expect("a model"),
            context: 200_000,
            input_price: Some(3.0),
            output_price: Some(15.0),
            usable,
        };
        let models = vec![
            model("anthropic/sonnet-x", true),
            model(&format!("p/{MARK}"), false),
        ];
        w.tui.event(Event::Models { models });
    }),
    ("effort", |w| command(w, "/effort")),
    ("mode", |w| command(w, "/mode")),
    ("agents", |w| command(w, "/agent")),
    ("themes", |w| command(w, "/theme")),
    ("status", |w| command(w, "/status")),
    ("servers", |w| command(w, "/mcp")),
    ("skills", |w| command(w, "/skills")),
    ("permissions", |w| {
        let rule = |owner: &str| PermissionRule {
            owner: owner.to_owned(),
            tool: "bash".to_owned(),
            pattern: MARK.to_owned(),
            action: "allow".to_owned(),
            revocable: owner == "grants",
        };
        let rules = vec![rule("grants"), rule("user")];
        w.tui.event(Event::Permissions { rules });
    }),
    ("no permissions", |w| {
        w.tui.event(Event::Permissions { rules: Vec::new() });
    }),
    ("cost", |w| {
        let spent = SpentOn::new(MARK.to_owned());
        let spending = Spending {
            total: Some(1.0),
            models: vec![spent.clone()],
            turns: vec![spent; 30],
            ..Spending::default()
        };
        w.tui.event(Event::Spending(spending));
    }),
    ("pins", |w| {
        let pin = |n, pinned| PinChoice {
            part: PartId::from_raw(n),
            kind: "output".to_owned(),
            name: MARK.to_owned(),
            tokens: 1_200,
            pinned,
        };
        let pins = vec![pin(1, true), pin(2, false)];
        w.tui.event(Event::Pins { pins });
    }),
    ("queue", |w| {
        w.queued(&[MARK, "b"], &["c", "d"], true);
        command(w, "/queue");
    }),
    ("empty queue", |w| command(w, "/queue")),
    ("plan", |w| {
        let said = w.say(Role::User, "plan");
        w.plan(said);
        command(w, "/todo");
    }),
    ("output", |w| {
        let text = format!("{MARK}\n").repeat(200);
        w.tui.event(Event::Output {
            part: PartId::from_raw(1),
            text,
        });
    }),
    ("subagents", |w| {
        subagents::at_work(w, "Look at files");
        subagents::at_work(w, "Look at tests");
        w.tui.press("alt+t");
    }),
    ("a subagent", |w| {
        let (_, child) = subagents::at_work(w, "Look at files");
        w.tui.press("alt+t");
        subagents::shows(w, child, &"Some words.\n\n".repeat(80));
    }),
    ("earlier prompts", |w| {
        let past = [MARK, "two\nlines", "third"].map(Past::here).to_vec();
        let known = Known {
            history: past,
            ..Known::default()
        };
        w.tui.tell(Msg::Connected(Box::new(known)));
        w.tui.press("ctrl+r");
    }),
    ("leaving", |w| {
        w.status(Phase::Streaming, 9, |_| {});
        command(w, "/new");
    }),
    ("a command", |w| {
        drop(w.ask(permission("cargo add insta --dev")));
    }),
    ("a long command", |w| {
        drop(w.ask(permission(&"cargo add insta ".repeat(90))));
    }),
    ("a long command in full", |w| {
        w.ask(permission(&"cargo add insta ".repeat(200)));
        w.tui.wait(500);
        w.tui.press("ctrl+f");
    }),
    ("two commands", |w| {
        w.ask(permission("ls"));
        drop(w.ask(permission("cargo add insta --dev")));
    }),
    ("a loop", |w| drop(w.ask(doom_loop()))),
    ("a limit", |w| {
        let message = "The session has cost $5.00, which is its budget.".to_owned();
        drop(w.ask(AskBody::Budget { message }));
    }),
    ("a question", |w| {
        let options = vec!["red".to_owned(), "green and very long ".repeat(9)];
        let question = "Which colour shall it have?".to_owned();
        drop(w.ask(AskBody::Question { question, options }));
    }),
    ("its answer", |w| {
        w.ask(permission("ls"));
        w.tui.wait(500);
        w.tui.press("n a b");
    }),
];

fn command(world: &mut World, text: &str) {
    world.tui.type_text(text);
    // The list above the composer goes first, then the command runs.
    world.tui.press("esc enter");
}

fn sessions(world: &mut World) {
    world.tui.press("ctrl+s");
    let session = |n: u128| summary(SessionId::from_raw(n), MARK, 9, 3);
    let sessions = (1..30).map(session).collect();
    world.tui.event(Event::Sessions { sessions });
}

fn turn(n: u128, parent: Option<u128>, current: bool) -> TreeTurn {
    TreeTurn {
        prompt: MessageId::from_raw(n),
        parent: parent.map(MessageId::from_raw),
        text: MARK.to_owned(),
        at: 1_763_733_720_000,
        last: MessageId::from_raw(n + 1),
        tip: MessageId::from_raw(n + 1),
        files: vec![PatchFile {
            path: MARK.to_owned(),
            added: 4,
            removed: 1,
            status: FileStatus::Modified,
        }],
        current,
    }
}

fn hit(n: u128) -> SearchHit {
    SearchHit {
        session: SessionId::from_raw(n),
        title: MARK.to_owned(),
        worktree: "/home/u/code/pager".to_owned(),
        part: PartId::from_raw(n),
        role: Role::User,
        kind: "text".to_owned(),
        at: 0,
        excerpt: MARK.to_owned(),
        found: 0..3,
    }
}

fn search(world: &mut World, hits: Vec<SearchHit>) {
    command(world, "/search words");
    world.tui.event(Event::Found {
        generation: 1,
        hits,
        more: false,
    });
}

/// A conversation with one of them open.
fn opened(open: &Open, (width, height): (u16, u16)) -> World {
    let mut world = World::new(width, height);
    world.tui.event(Event::Place(place()));
    world.say(Role::User, "go on with it");
    world.answer("An answer.");
    world.status(Phase::Idle, 0, |_| {});
    open.1(&mut world);
    world.tui.wait(9_000);
    world.tui.draw();
    world.tui.effects();
    world
}

/// The keys that the lowest row with any names, as they are drawn: in the accent colour.
fn named_keys(world: &mut World) -> Vec<String> {
    let accent = world.tui.state.theme.accent();
    let buffer = world.tui.draw().clone();
    let area = buffer.area;
    for y in (area.height.saturating_sub(2)..area.height).rev() {
        let mut keys = Vec::new();
        let mut key = String::new();
        for x in 0..area.width {
            let cell = &buffer[(x, y)];
            let inked = cell.fg == accent.fg.unwrap_or_default();
            if inked && (cell.symbol() != " " || !key.is_empty()) {
                key.push_str(cell.symbol());
            } else if !key.is_empty() {
                keys.push(std::mem::take(&mut key));
            }
        }
        keys.retain(|key| !matches!(key.as_str(), "?" | "❯" | "any other key"));
        if !keys.is_empty() {
            return keys;
        }
    }
    Vec::new()
}

/// The single keys of what a hint names: `↑↓` and `pgup pgdn` are two.
fn single(named: &str) -> Vec<String> {
    let arrows = |word: &str| word.chars().count() > 1 && word.chars().all(|c| "↑↓←→".contains(c));
    let words = named.split_whitespace().flat_map(|word| {
        if arrows(word) {
            word.chars().map(String::from).collect()
        } else {
            vec![word.to_owned()]
        }
    });
    words.collect()
}

#[test]
fn no_footer_names_a_dead_key() {
    for open in ALL {
        for size in [(120, 40), (80, 24), (60, 20), (40, 12), (20, 6)] {
            let mut world = opened(open, size);
            for named in named_keys(&mut world) {
                let does = single(&named).iter().any(|key| {
                    let mut world = opened(open, size);
                    let before = world.tui.screen();
                    world.tui.press(key);
                    !world.tui.effects().is_empty() || world.tui.screen() != before
                });
                let screen = world.tui.screen();
                assert!(
                    does,
                    "{}: `{named}` does nothing at {size:?}:\n{screen}",
                    open.0
                );
            }
        }
    }
}

#[test]
fn every_overlay_says_how_to_leave_it() {
    for open in ALL {
        for size in [(300, 100), (120, 40), (80, 24), (60, 20), (40, 12)] {
            let mut world = opened(open, size);
            let keys: BTreeSet<String> = named_keys(&mut world)
                .iter()
                .flat_map(|named| single(named))
                .collect();
            let screen = world.tui.screen();
            let leaves = keys.contains("esc") || screen.contains("any other key");
            assert!(leaves, "{} at {size:?}: {keys:?}\n{screen}", open.0);
        }
    }
}

#[test]
fn nothing_is_cut_without_a_mark() {
    for open in ALL {
        for width in [20, 27, 36, 40, 52, 60, 79, 80, 99, 100, 120, 180, 300] {
            for height in [6, 9, 14, 24, 60] {
                let mut world = opened(open, (width, height));
                let screen = world.tui.screen();
                let rows: Vec<&str> = screen.lines().collect();
                assert_eq!(rows.len(), usize::from(height), "{}", open.0);
                for (at, row) in rows.iter().enumerate() {
                    let Some(start) = row.find("Zyx") else {
                        continue;
                    };
                    let shown = &row[start..];
                    let same = MARK.chars().zip(shown.chars()).take_while(|(a, b)| a == b);
                    let same = same.count();
                    let rest = &MARK[same..];
                    let next = rows.get(at + 1).copied().unwrap_or_default();
                    // Whole, marked, or going on in the next row, which may be below the window.
                    let wrapped = rest.len() < MARK.len()
                        && shown.len() == same
                        && (next.contains(rest.get(..3).unwrap_or(rest)) || at + 3 >= rows.len());
                    assert!(
                        rest.is_empty() || shown[same..].starts_with('…') || wrapped,
                        "{} at {width}x{height}: `{row}` is cut\n{screen}",
                        open.0
                    );
                }
            }
        }
    }
}

#[test]
fn every_overlay_survives_being_used_at_any_size() {
    let keys = "↓ ↓ pgdn ↑ pgup end home tab a backspace → ← alt+↓ alt+↑ ctrl+e j k g G";
    for open in ALL {
        for size in [
            (1, 1),
            (3, 2),
            (20, 6),
            (39, 7),
            (60, 20),
            (133, 8),
            (300, 100),
        ] {
            let mut world = opened(open, size);
            for key in keys.split_whitespace() {
                world.tui.press(key);
                world.tui.draw();
            }
            for (width, height) in [(300, 100), (1, 1), (20, 6), (80, 24)] {
                world.tui.resize(width, height);
                let screen = world.tui.screen();
                assert_eq!(screen.lines().count(), usize::from(height), "{}", open.0);
                if let Some(at) = world.tui.drawn().cursor {
                    assert!(at.x < width && at.y < height, "{}: {at:?}", open.0);
                }
            }
        }
    }
}
