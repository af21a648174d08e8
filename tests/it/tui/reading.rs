//! What the conversation shows of calls, questions, retries and folds.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{
    AskBody, Event, Fault, FaultKind, MessageId, Part, PartBody, Role, ToolPart, ToolState,
};
use dunlin::tui::update::Effect;
use serde_json::{Value, json};

use super::fixtures::{World, permission};

fn world() -> (World, MessageId) {
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    let message = world.message_of(Role::Assistant);
    world.status(Phase::Idle, 0, |_| {});
    (world, message)
}

/// A call that ended without a result.
fn ended_badly(
    world: &mut World,
    message: MessageId,
    tool: &str,
    (error, metadata, interrupted): (&str, Value, bool),
) -> Part {
    let start = world.tui.now;
    world.tui.now += 50_000;
    let call = ToolPart {
        call: "c".to_owned(),
        tool: tool.to_owned(),
        state: ToolState::Error {
            input: Value::Null,
            raw: String::new(),
            error: error.to_owned(),
            title: "cargo add insta --dev".to_owned(),
            metadata,
            interrupted,
            start,
            end: world.tui.now,
        },
        provider: None,
    };
    world.part(message, PartBody::Tool(call))
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

fn command(world: &mut World, message: MessageId, title: &str, output: &str, exit: i64) -> Part {
    let call = (json!({"command": title}), title, output);
    world.done(message, "bash", call, json!({"exit": exit}), 900)
}

#[test]
fn the_fold_key_unfolds_what_names_it_and_folds_it_again() {
    let (mut world, message) = world();
    command(&mut world, message, "cargo test", &lines(50), 101);
    command(&mut world, message, "true", "one", 0);
    let before = world.tui.screen();
    assert!(before.contains("┊ 48 more lines"), "{before}");
    world.tui.press("ctrl+e");
    let screen = world.tui.screen();
    assert!(!screen.contains("48 more lines"), "{screen}");
    assert!(screen.contains("│ line 45"), "{screen}");
    world.tui.press("ctrl+e");
    assert_eq!(world.tui.screen(), before);
}

#[test]
fn the_fold_key_means_what_is_on_screen_not_what_is_below_it() {
    let (mut world, message) = world();
    command(&mut world, message, "first", &lines(50), 1);
    for n in 0..30 {
        world.answer(&format!("answer {n}"));
    }
    let later = world.message_of(Role::Assistant);
    command(&mut world, later, "last", &lines(50), 1);
    world.tui.screen();
    world.tui.press("ctrl+home");
    let before = world.tui.screen();
    assert!(before.contains("Ran first") && !before.contains("Ran last"));
    world.tui.press("ctrl+e");
    let screen = world.tui.screen();
    assert!(screen.contains("│ line 15"), "{screen}");
}

#[test]
fn what_hides_nothing_has_no_fold() {
    let (mut world, message) = world();
    command(&mut world, message, "true", "one", 0);
    let conversation = |world: &mut World| -> Vec<String> {
        let screen = world.tui.screen();
        screen.lines().take(36).map(str::to_owned).collect()
    };
    let before = conversation(&mut world);
    assert!(before.iter().any(|row| row.contains("│ one")));
    world.tui.press("ctrl+e");
    assert_eq!(conversation(&mut world), before);
    command(&mut world, message, "false", &lines(50), 1);
    world.tui.screen();
    world.tui.press("ctrl+e");
    assert!(
        conversation(&mut world)
            .iter()
            .any(|row| row.contains("line 44"))
    );
}

#[test]
fn a_refused_call_says_so_and_nothing_else() {
    for tool in ["bash", "edit", "web_fetch", "task"] {
        let (mut world, message) = world();
        let error = "The user refused this call. Do not try it again in another way.";
        let facts = json!({"refused": {"by": "user", "words": "use npm"}});
        ended_badly(&mut world, message, tool, (error, facts, false));
        let screen = world.tui.screen();
        assert!(
            screen.contains("✗ Refused cargo add insta --dev"),
            "{tool}: {screen}"
        );
        assert!(screen.contains("by you\n    │ use npm"), "{tool}: {screen}");
        for word in ["failed", "50s", "Do not try"] {
            assert!(!screen.contains(word), "{word}, {tool}: {screen}");
        }
    }
}

#[test]
fn an_interrupted_command_keeps_the_lines_that_stood_on_the_screen() {
    let (mut world, message) = world();
    let cut = "[Tool execution was interrupted]";
    let error = format!("{}\n{cut}", lines(20));
    ended_badly(&mut world, message, "bash", (&error, Value::Null, true));
    let screen = world.tui.screen();
    assert!(screen.contains("interrupted"), "{screen}");
    assert!(!screen.contains(cut), "said for the model: {screen}");
    assert!(
        screen.contains("│ line 18\n    │ line 19\n    │ line 20"),
        "{screen}"
    );
    assert!(screen.contains("┊ 17 more lines"), "{screen}");
    let (mut world, message) = self::world();
    ended_badly(&mut world, message, "task", (cut, Value::Null, true));
    let screen = world.tui.screen();
    assert!(!screen.contains(cut), "{screen}");
}

#[test]
fn attempts_that_fail_alike_are_one_row_without_a_red_failure() {
    let (mut world, first) = world();
    let error = Fault {
        status: Some(529),
        ..Fault::new(
            FaultKind::Overloaded,
            "There is no room.",
            "It is tried again.",
        )
    };
    let mut message = first;
    for attempt in 1..=3 {
        if attempt > 1 {
            message = world.message_of(Role::Assistant);
        }
        let mut failed = world.message(message, Role::Assistant);
        failed.error = Some(error.clone());
        world.tui.event(Event::MessageUpdated { message: failed });
        let next = world.tui.now + 1_000;
        let body = PartBody::Retry {
            attempt,
            error: error.clone(),
            next,
        };
        world.part(message, body);
        world.tui.event(Event::Retry {
            attempt,
            delay_ms: 1_000,
            error: error.clone(),
        });
    }
    world.answer("There it is.");
    let screen = world.tui.screen();
    assert_eq!(screen.matches("Overloaded (529)").count(), 1, "{screen}");
    assert!(
        screen.contains("⟲ Overloaded (529)  3 times   this step starts again"),
        "{screen}"
    );
    assert!(!screen.contains('✗'), "{screen}");
}

#[test]
fn a_retry_after_a_partial_answer_says_that_it_is_kept() {
    let (mut world, message) = world();
    let text = PartBody::Text {
        text: "Partial one two".to_owned(),
        synthetic: false,
        ignored: true,
    };
    world.part(message, text);
    let error = Fault::new(FaultKind::StreamTruncated, "It broke off.", "");
    let mut failed = world.message(message, Role::Assistant);
    failed.error = Some(error.clone());
    world.tui.event(Event::MessageUpdated { message: failed });
    let next = world.tui.now;
    let attempt = 1;
    world.part(
        message,
        PartBody::Retry {
            attempt,
            error,
            next,
        },
    );
    let screen = world.tui.screen();
    assert!(
        screen.contains("the partial answer above is kept"),
        "{screen}"
    );
}

#[test]
fn the_users_answer_to_a_question_stands_under_it() {
    let (mut world, message) = world();
    let call = (
        json!({"question": "Which colour?"}),
        "Which colour?",
        "The user answered: blue",
    );
    world.done(message, "question", call, json!({"answer": "blue"}), 26_000);
    let screen = world.tui.screen();
    assert!(screen.contains("✓ Asked Which colour?"), "{screen}");
    assert!(screen.contains("│ blue"), "{screen}");
}

#[test]
fn while_a_question_is_open_no_other_row_offers_esc() {
    let (mut world, message) = world();
    world.running(message, "question", json!({"question": "Which?"}));
    world.status(Phase::Tools, 0, |_| {});
    assert!(world.tui.screen().contains("Running tools"));
    let long = "a very long option that takes more columns than there are on a narrow screen";
    world.tui.resize(60, 30);
    world.ask(AskBody::Question {
        question: "Which?".to_owned(),
        options: vec![long.to_owned(), "short".to_owned()],
    });
    let screen = world.tui.screen();
    assert!(!screen.contains("Running tools"), "{screen}");
    assert!(screen.contains("narrow screen"), "whole: {screen}");
    world.ask(permission("ls"));
}

#[test]
fn what_the_model_was_told_never_looks_like_the_users_own() {
    let (mut world, _) = world();
    let told = world.message_of(Role::User);
    let text = "All that is not shown is stored.\nIt can be recalled.".to_owned();
    let body = PartBody::Text {
        text,
        synthetic: true,
        ignored: false,
    };
    world.part(told, body);
    assert!(world.tui.screen().contains("⋯ Told the model"));
    world.tui.press("ctrl+e");
    let screen = world.tui.screen();
    assert!(screen.contains("⋯ Told the model   All that"), "{screen}");
    assert!(screen.contains("It can be recalled."), "{screen}");
    assert!(!screen.contains("❯ All that"), "{screen}");
}

#[test]
fn no_prompt_sticks_over_blank_rows() {
    let mut world = World::new(100, 24);
    for n in 0..6 {
        world.say(Role::User, &format!("question {n}"));
        world.answer(&"words and more words ".repeat(40));
    }
    world.status(Phase::Idle, 0, |_| {});
    world.tui.screen();
    for _ in 0..60 {
        world.tui.press("shift+↑");
        let screen = world.tui.screen();
        let rows: Vec<&str> = screen.lines().collect();
        let next = rows.iter().skip(1).find(|row| !row.is_empty());
        let sticks = rows[0].contains("❯ question");
        let above_prompt = next.is_some_and(|row| row.contains("❯ question"));
        assert!(!(sticks && above_prompt), "{screen}");
    }
}

#[test]
fn the_whole_output_of_the_command_in_view_is_asked_for() {
    let (mut world, message) = world();
    let part = command(&mut world, message, "seq 1 40000", &lines(100), 0);
    world.tui.screen();
    world.tui.press("alt+o");
    let asked = Effect::Op(dunlin::protocol::Op::ReadOutput(part.id));
    assert_eq!(world.tui.effects().last(), Some(&asked));
}

#[test]
fn a_search_goes_to_the_words_and_marks_them() {
    use ratatui::style::Modifier;
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    let mut part = None;
    for n in 0..40 {
        let message = world.message_of(Role::Assistant);
        let text = format!("{}said step {n}", "a line before it\n\n".repeat(3));
        let body = PartBody::Text {
            text,
            synthetic: false,
            ignored: false,
        };
        let made = world.part(message, body);
        part = part.or((n == 13).then_some(made.id));
    }
    let part = part.expect("the thirteenth");
    world.status(Phase::Idle, 0, |_| {});
    world.tui.screen();
    world.tui.type_text("/search step 13");
    world.tui.press("enter");
    let ops = world.tui.ops();
    let Some(dunlin::protocol::Op::Search { generation, .. }) = ops.last() else {
        panic!("{ops:?}")
    };
    let hit = dunlin::protocol::SearchHit {
        session: world.session,
        part,
        title: "t".to_owned(),
        worktree: String::new(),
        role: Role::Assistant,
        kind: "text".to_owned(),
        at: 0,
        excerpt: "said step 13".to_owned(),
        found: 0..4,
    };
    let (generation, hits) = (*generation, vec![hit]);
    world.tui.event(Event::Found {
        generation,
        hits,
        more: false,
    });
    world.tui.press("enter");
    world.tui.event(Event::Show { part });
    let screen = world.tui.screen();
    let row = screen.lines().position(|row| row.contains("said step 13"));
    let row = row.unwrap_or_else(|| panic!("{screen}"));
    assert!(row < 16, "in the upper part: {screen}");
    let buffer = world.tui.draw();
    let marked: String = (0..100)
        .map(|x| &buffer[(x, row as u16)])
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(|cell| cell.symbol().to_owned())
        .collect();
    assert_eq!(marked, "step13");
}

#[test]
fn the_current_place_of_a_search_differs_from_the_others() {
    use ratatui::style::Modifier;
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.answer("needle one\n\nneedle two\n\nneedle three");
    world.status(Phase::Idle, 0, |_| {});
    world.tui.type_text("/find needle");
    world.tui.press("enter");
    world.tui.screen();
    let bold = |world: &mut World| -> Vec<u16> {
        let buffer = world.tui.draw();
        let both = Modifier::REVERSED | Modifier::BOLD;
        let is = |y: &u16| (0..100).any(|x| buffer[(x, *y)].modifier.contains(both));
        (0..30).filter(is).collect()
    };
    let last = bold(&mut world);
    world.tui.press("alt+p");
    let middle = bold(&mut world);
    assert_eq!((last.len(), middle.len()), (1, 1));
    assert_eq!(last[0], middle[0] + 2);
}

#[test]
fn a_patch_over_several_files_names_each() {
    let (mut world, message) = world();
    let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+a\n--- a/README.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-# Readme\n";
    let call = (json!({}), "new.txt and README.md", "done");
    world.done(message, "apply_patch", call, json!({"diff": diff}), 10);
    let screen = world.tui.screen();
    let rows: Vec<&str> = screen.lines().map(str::trim).collect();
    let at = |text: &str| rows.iter().position(|row| row.starts_with(text));
    let (new, old) = (at("A new.txt  +1"), at("D README.md  +0"));
    assert!(new.is_some() && new < old, "{screen}");
}

#[test]
fn a_loop_of_reads_names_the_call_and_waits_in_its_row() {
    let (mut world, message) = world();
    let part = world.running(message, "read", json!({"path": "src/main.rs"}));
    world.ask_about(
        Some(part),
        AskBody::DoomLoop {
            tool: "read".to_owned(),
            subject: "src/main.rs".to_owned(),
            input: json!({"path": "src/main.rs"}),
            repeats: 4,
            cycle: 1,
            again: 2,
            limit: 7,
            facts: Vec::new(),
        },
    );
    let screen = world.tui.screen();
    assert!(
        screen.contains("only `read src/main.rs`, hard limit 7"),
        "{screen}"
    );
    assert!(screen.contains("asked once per 2 repeats"), "{screen}");
    assert!(screen.contains("ask again after 2 repeats"), "{screen}");
    let row = screen
        .lines()
        .find(|row| row.contains("⠿ Waiting for you  read src/main.rs"));
    assert!(
        row.is_some_and(|row| row.ends_with("4th identical call")),
        "{screen}"
    );
}
