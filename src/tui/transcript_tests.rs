//! Tests of the transcript: cells, folding, anchors, scrolling, what a frame costs.

use super::*;
use crate::protocol::{
    Fault, FaultKind, IdMint, Message, ModelRef, Part, PartBody, Role, SessionId, ToolPart,
    ToolState,
};
use proptest::prelude::*;
use ratatui::style::Modifier;
use serde_json::{Value, json};

/// A conversation being made.
struct Talk {
    mint: IdMint,
    session: SessionId,
    message: MessageId,
    now: Millis,
    transcript: Transcript,
}

impl Talk {
    fn new() -> Self {
        let mut mint = IdMint::new(1, 0);
        let session = mint.session(0);
        let message = mint.message(0);
        Self {
            mint,
            session,
            message,
            now: 1_000_000,
            transcript: Transcript::new(),
        }
    }

    fn header(&mut self, role: Role) -> Message {
        let parent = Some(self.message);
        self.message = self.mint.message(self.now);
        Message {
            id: self.message,
            session: self.session,
            parent,
            role,
            agent: "build".to_owned(),
            model: ModelRef {
                provider: "p".to_owned(),
                model: "m".to_owned(),
            },
            summary: false,
            finish: None,
            error: None,
            tokens: crate::protocol::Tokens::default(),
            cost: None,
            created: self.now,
            completed: None,
        }
    }

    fn begin(&mut self, role: Role) {
        let message = self.header(role);
        self.transcript
            .apply(&Event::MessageCreated { message }, self.now);
    }

    fn make(&mut self, body: PartBody) -> Part {
        Part {
            id: self.mint.part(self.now),
            message: self.message,
            session: self.session,
            start: self.now,
            end: Some(self.now),
            body,
        }
    }

    fn put(&mut self, part: &Part) {
        self.transcript
            .apply(&Event::PartUpdated { part: part.clone() }, self.now);
    }

    fn add(&mut self, body: PartBody) -> Part {
        let part = self.make(body);
        self.put(&part);
        part
    }

    fn user(&mut self, text: &str) {
        self.begin(Role::User);
        self.add(said(text));
        self.begin(Role::Assistant);
    }

    fn done(&mut self, tool: &str, title: &str, output: &str, metadata: Value, ms: i64) -> Part {
        let (start, end) = (self.now, self.now + ms);
        self.now = end;
        self.add(PartBody::Tool(ToolPart {
            call: "c".to_owned(),
            tool: tool.to_owned(),
            state: ToolState::Completed {
                input: Value::Null,
                output: output.to_owned(),
                title: title.to_owned(),
                metadata,
                attachments: Vec::new(),
                truncated: None,
                compacted_at: None,
                start,
                end,
            },
            provider: None,
        }))
    }

    fn running(&mut self, tool: &str, title: &str, tail: &str, ms: i64) -> Part {
        self.add(PartBody::Tool(ToolPart {
            call: "c".to_owned(),
            tool: tool.to_owned(),
            state: ToolState::Running {
                input: Value::Null,
                title: title.to_owned(),
                metadata: Value::Null,
                tail: tail.to_owned(),
                start: self.now - ms,
            },
            provider: None,
        }))
    }

    fn screen(&mut self, width: u16, height: u16) -> Vec<String> {
        self.frame(width, height).1
    }

    fn frame(&mut self, width: u16, height: u16) -> (Rendered, Vec<String>) {
        let (rendered, buffer) = self.buffer(width, height);
        let rows = (0..height)
            .map(|y| {
                let mut row = String::new();
                let mut skip = 0;
                for x in 0..width {
                    if skip > 0 {
                        skip -= 1;
                        continue;
                    }
                    let symbol = buffer[(x, y)].symbol();
                    row.push_str(symbol);
                    skip = crate::tui::text::width::columns(symbol).saturating_sub(1);
                }
                row.trim_end().to_owned()
            })
            .collect();
        (rendered, rows)
    }

    fn buffer(&mut self, width: u16, height: u16) -> (Rendered, Buffer) {
        let theme = <Theme as Default>::default();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let rendered = self
            .transcript
            .render(area, &mut buffer, &Look::new(&theme, self.now));
        (rendered, buffer)
    }
}

fn said(text: &str) -> PartBody {
    PartBody::Text {
        text: text.to_owned(),
        synthetic: false,
        ignored: false,
    }
}

const DIFF: &str = "--- a/src/reflow.rs\n+++ b/src/reflow.rs\n@@ -41,3 +41,6 @@\n         let cells = self.cells.len();\n-        self.reflow(width);\n+        if self.replaying {\n+            self.reflow_after_replay = Some(width);\n+        } else {\n+            self.reflow(width);\n         }\n";

fn failed_output(lines: usize) -> String {
    let mut text = "test resize::keeps_tail ... FAILED\n".to_owned();
    text.push_str(&"noise\n".repeat(lines));
    text.push_str("assertion `left == right` failed   left: 41   right: 44\n");
    text
}

/// The conversation of UX frame 2.
fn frame_two() -> Talk {
    let mut talk = Talk::new();
    talk.user("Why does the resize test flake? Fix it.");
    talk.add(said("The reflow runs while replay is still filling the cell list, so the height it measures is short. I'll confirm the ordering, then make reflow wait for replay."));
    for _ in 0..4 {
        talk.done("read", "src/x.rs", "…", json!({"lines": 3}), 300);
    }
    talk.done("grep", "fn reflow", "…", json!({"matches": 3}), 300);
    talk.done("glob", "**/*.rs", "…", json!({"count": 3}), 300);
    talk.done(
        "bash",
        "cargo test -p pager resize",
        &failed_output(38),
        json!({"exit": 101}),
        6_400,
    );
    let mut thought = talk.make(PartBody::Reasoning {
        text: "replay must finish before a reflow is scheduled\nmore".to_owned(),
        provider: None,
        ignored: false,
    });
    thought.end = Some(thought.start + 4_000);
    talk.put(&thought);
    talk.done(
        "edit",
        "src/reflow.rs",
        "ok",
        json!({"diff": DIFF, "added": 4, "removed": 1}),
        10,
    );
    let tail = "old\ntest resize::shrinks ... ok\ntest resize::keeps_tail ... ok\ntest replay::large ...\n";
    talk.running("bash", "cargo test -p pager", tail, 12_300);
    talk.add(said("The two resize tests pass now. Waiting for the large-replay test, because it is the one that exercises the new"));
    talk
}

#[test]
fn frame_two_is_met_to_the_character() {
    let wanted = "  ❯ Why does the resize test flake? Fix it.

    The reflow runs while replay is still filling the cell list, so the height it measures is
    short. I'll confirm the ordering, then make reflow wait for replay.

  ▸ Explored  4 reads, 2 searches                                                                                 1.8s

  ✗ Ran cargo test -p pager resize                                                                     exit 101   6.4s
    │ test resize::keeps_tail ... FAILED
    │ assertion `left == right` failed   left: 41   right: 44
    ┊ 38 more lines                                                                                             ctrl+e

  ⋮ Thought 4s   replay must finish before a reflow is scheduled

  ✓ Edited src/reflow.rs                                                                                         +4 −1
     41  41      let cells = self.cells.len();
     42      −   self.reflow(width);
         42  +   if self.replaying {
         43  +       self.reflow_after_replay = Some(width);
         44  +   } else {
         45  +       self.reflow(width);
     43  46      }

  ⠹ Running cargo test -p pager                                                                                    12s
    │ test resize::shrinks ... ok
    │ test resize::keeps_tail ... ok
    │ test replay::large ...

    The two resize tests pass now. Waiting for the large-replay test, because it is the one that
    exercises the new";
    let mut talk = frame_two();
    let (rendered, rows) = talk.frame(120, 31);
    assert_eq!(rows.join("\n").trim_start_matches('\n'), wanted);
    assert!(rendered.at_bottom && rendered.animating);
}

#[test]
fn frame_ten_is_narrow() {
    let mut talk = Talk::new();
    talk.user("Why does the resize test flake? Fix it.");
    for (tool, n) in [("read", 4), ("grep", 2)] {
        for _ in 0..n {
            talk.done(tool, "x", "…", Value::Null, 300);
        }
    }
    talk.done(
        "bash",
        "cargo test -p pager resize",
        "assertion failed   left: 41  right: 44",
        json!({"exit": 101}),
        6_400,
    );
    talk.done("edit", "src/reflow.rs", "ok", json!({"diff": DIFF}), 10);
    talk.running(
        "bash",
        "cargo test -p pager",
        "a\ntest replay::large ...\n",
        12_000,
    );
    talk.add(said(
        "The two resize tests pass now. Waiting for the large-replay test",
    ));
    let wanted = "\
❯ Why does the resize test flake? Fix it.

▸ Explored  4 reads, 2 searches                         1.8s
✗ Ran cargo test -p pager resize                    exit 101
  │ assertion failed   left: 41  right: 44
✓ Edited src/reflow.rs                                 +4 −1
   42 − self.reflow(width);
   42 + if self.replaying {
   43 +     self.reflow_after_replay = Some(width);
  ┊ 2 more lines                                      ctrl+e
⠹ Running cargo test -p pager                            12s
  │ test replay::large ...

  The two resize tests pass now. Waiting for the
  large-replay test";
    assert_eq!(talk.screen(60, 15).join("\n"), wanted);
}

#[test]
fn frames_four_eight_and_nine() {
    let mut talk = Talk::new();
    talk.user("Port the parser tests to insta.");
    talk.done("read", "x", "…", Value::Null, 1_800);
    talk.done(
        "write",
        "src/new.rs",
        "ok",
        json!({"added": 4, "removed": 1}),
        10,
    );
    talk.add(said("I'll convert the table tests first"));
    let error = Fault {
        status: Some(529),
        ..Fault::new(FaultKind::Overloaded, "Overloaded.", "")
    };
    talk.transcript.apply(
        &Event::Retry {
            attempt: 2,
            delay_ms: 8_000,
            error: error.clone(),
        },
        talk.now,
    );
    talk.add(PartBody::Retry {
        attempt: 2,
        error,
        next: talk.now + 8_000,
    });
    talk.done(
        "bash",
        "cargo test --workspace",
        &"x\n".repeat(212),
        json!({"exit": 0}),
        48_000,
    );
    let wanted = "  ❯ Port the parser tests to insta.

  ▸ Explored  1 read                                                                                              1.8s
  ✓ Wrote src/new.rs                                                                                             +4 −1

    I'll convert the table tests first

  ⟲ Overloaded (529)   the partial answer above is kept; this step starts again

  ✓ Ran cargo test --workspace                                                                            exit 0   48s
    ┊ 212 lines";
    assert_eq!(talk.screen(120, 11).join("\n"), wanted);
}

#[test]
fn a_compaction_streams_its_summary_and_folds_to_one_line() {
    let mut talk = Talk::new();
    talk.user("Go.");
    talk.begin(Role::User);
    let mut part = talk.make(PartBody::Compaction {
        auto: true,
        strategy: "reactive-overflow".to_owned(),
        before: 0,
        after: 0,
        focus: String::new(),
        tail: None,
    });
    part.end = None;
    talk.put(&part);
    let mut status = crate::protocol::Status {
        phase: Phase::Compacting {
            messages: 61,
            tokens: 161_030,
        },
        turn_started: None,
        turn_output: 0,
        context: crate::protocol::ContextGauge::default(),
        cost: None,
        mode: crate::protocol::Mode::Ask,
        agent: String::new(),
        model: ModelRef {
            provider: "p".to_owned(),
            model: "m".to_owned(),
        },
        model_label: String::new(),
        sandbox: String::new(),
    };
    talk.transcript
        .apply(&Event::Status(status.clone()), talk.now);
    let mut summary = talk.header(Role::Assistant);
    summary.summary = true;
    talk.transcript
        .apply(&Event::MessageCreated { message: summary }, talk.now);
    let mut text = talk.make(said(""));
    text.end = None;
    talk.put(&text);
    talk.transcript.apply(
        &Event::PartDelta {
            part: text.id,
            message: text.message,
            delta: "Decided to guard reflow".to_owned(),
        },
        talk.now,
    );
    talk.now += 14_000;
    assert_eq!(
        talk.screen(120, 4).join("\n"),
        "  ⌁ Compacting\n      summarising   61 messages, 161,030 tok              ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  14s\n\n      Decided to guard reflow"
    );
    text.end = Some(talk.now);
    text.body = said("Decided to guard reflow.");
    talk.put(&text);
    status.phase = Phase::Idle;
    talk.transcript.apply(&Event::Status(status), talk.now);
    talk.transcript.apply(
        &Event::Compacted {
            strategy: "x".to_owned(),
            before_tokens: 161_030,
            after_tokens: 24_112,
        },
        talk.now,
    );
    let rows = talk.screen(120, 1);
    assert!(
        rows[0].starts_with("  ⌁ Compacted 61 messages   161,030 → 24,112 tok"),
        "{rows:?}"
    );
    assert!(talk.transcript.toggle_fold_at(0));
    assert_eq!(talk.screen(120, 1), ["    Decided to guard reflow."]);
}

#[test]
fn a_commands_own_first_and_last_line_show_not_the_notes_around_them() {
    let mut talk = Talk::new();
    talk.user("Go.");
    let output = format!(
        "one\n{}ten\n\n[the command exited with code 3]",
        "x\n".repeat(8)
    );
    let facts = json!({"exit": 3, "lines": 10, "first": ["one", "x"], "last": ["x", "ten"]});
    talk.done("bash", "make", &output, facts, 1_000);
    let rows = talk.screen(80, 4);
    assert_eq!(rows[1..3], ["    │ one", "    │ ten"]);
    assert!(rows[3].starts_with("    ┊ 8 more lines"), "{rows:?}");
    talk.done(
        "bash",
        "true",
        "(no output)",
        json!({"exit": 0, "lines": 0, "first": [], "last": []}),
        1_000,
    );
    assert!(talk.screen(80, 1)[0].starts_with("  ✓ Ran true"));
    talk.done(
        "bash",
        "serve",
        "Started in the background.",
        json!({"background": true, "exit": null}),
        500,
    );
    assert!(talk.screen(80, 2)[0].contains("in the background"));
}

#[test]
fn the_newest_plan_shows_and_older_ones_fold() {
    let mut talk = Talk::new();
    talk.user("Go.");
    let plan = |second: &str| {
        json!({"todos": [
        {"content": "look", "status": "completed"}, {"content": "mend", "status": second}]})
    };
    talk.done("todo", "", "ok", plan("in_progress"), 1);
    assert_eq!(
        talk.screen(80, 3),
        ["  ▾ Plan  1 of 2 done", "    ✓ look", "    ▸ mend"]
    );
    talk.done("todo", "", "ok", plan("completed"), 1);
    assert_eq!(
        talk.screen(80, 5),
        [
            "  ▸ Plan  1 of 2 done",
            "",
            "  ▾ Plan  2 of 2 done",
            "    ✓ look",
            "    ✓ mend"
        ]
    );
}

#[test]
fn errors_say_what_why_and_what_to_do() {
    let mut talk = Talk::new();
    talk.user("Go.");
    let fault = Fault::new(
        FaultKind::Auth,
        "Anthropic refused the key.",
        "Run dunlin auth to set another.",
    );
    talk.transcript.apply(
        &Event::Error {
            error: fault.clone(),
        },
        talk.now,
    );
    talk.transcript
        .apply(&Event::Error { error: fault }, talk.now);
    assert_eq!(
        talk.screen(100, 5),
        [
            "  ❯ Go.",
            "",
            "  ✗ Not authorised",
            "    Anthropic refused the key.",
            "    Run dunlin auth to set another."
        ]
    );
}

#[test]
fn a_waiting_call_says_so() {
    let mut talk = Talk::new();
    talk.user("Go.");
    let part = talk.running("bash", "cargo add insta --dev", "", 0);
    let id = talk.mint.ask(0);
    let ask = crate::protocol::Ask {
        id,
        session: talk.session,
        part: Some(part.id),
        created: 0,
        body: crate::protocol::AskBody::Budget {
            message: String::new(),
        },
    };
    talk.transcript.apply(&Event::Asked { ask }, talk.now);
    let row = talk.screen(120, 1).remove(0);
    assert!(
        row.starts_with("  ⠿ Waiting for you  cargo add insta --dev") && row.ends_with(" 0s"),
        "{row}"
    );
    talk.transcript
        .apply(&Event::AskClosed { ask: id }, talk.now);
    assert!(talk.screen(120, 1)[0].starts_with("  ⠹ Running cargo add insta --dev"));
}

/// A long conversation: so many turns of a prompt, an answer and a command.
fn long(turns: usize) -> Talk {
    let mut talk = Talk::new();
    go_on(&mut talk, turns);
    talk
}

fn go_on(talk: &mut Talk, turns: usize) {
    for n in 0..turns {
        talk.user(&format!("prompt {n}"));
        talk.add(said(&format!("Answer {n} has words enough to be wrapped on a narrow screen, and then some more of them.")));
        talk.done(
            "bash",
            &format!("cmd {n}"),
            "a\nb\nc\nd\ne",
            json!({"exit": 0}),
            500,
        );
    }
}

#[test]
fn scrolling_up_stays_while_new_things_come() {
    let mut talk = long(40);
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-17);
    let (rendered, before) = talk.frame(80, 12);
    assert!(!rendered.at_bottom && !rendered.new_activity);
    assert!(
        rendered
            .sticky
            .is_some_and(|prompt| prompt.as_str().starts_with("prompt 3"))
    );
    talk.user("another");
    let (rendered, after) = talk.frame(80, 12);
    assert_eq!(before, after);
    assert!(rendered.new_activity);
    talk.transcript.to_bottom();
    let (rendered, rows) = talk.frame(80, 12);
    assert!(rendered.at_bottom && !rendered.new_activity);
    assert_eq!(rows[11], "  ❯ another");
}

#[test]
fn scrolling_down_ends_at_the_bottom_and_up_at_the_top() {
    let mut talk = long(10);
    let bottom = talk.screen(80, 12);
    talk.transcript.page(-3);
    talk.screen(80, 12);
    assert!(!talk.transcript.is_at_bottom());
    talk.transcript.page(3);
    assert_eq!(talk.screen(80, 12), bottom);
    assert!(talk.transcript.is_at_bottom());
    talk.transcript.scroll_lines(-100_000);
    let top = talk.screen(80, 12);
    assert_eq!(top[0], "  ❯ prompt 0");
    talk.transcript.to_bottom();
    talk.transcript.to_top();
    assert_eq!(talk.screen(80, 12), top);
    talk.transcript.scroll_lines(1);
    talk.transcript.scroll_lines(-1);
    assert_eq!(talk.screen(80, 12), top);
}

#[test]
fn every_row_is_reached_by_scrolling_one_row_at_a_time() {
    let mut talk = long(6);
    let all = talk.transcript.plain_text(80);
    let all: Vec<&str> = all.trim_end().lines().collect();
    talk.screen(80, 5);
    talk.transcript.to_top();
    let mut seen = Vec::new();
    for _ in 0..all.len() {
        let rows = talk.screen(80, 5);
        seen.push(rows[4].clone());
        talk.transcript.scroll_lines(1);
    }
    seen.dedup();
    let mut wanted: Vec<String> = all[4..].iter().map(|row| (*row).to_owned()).collect();
    wanted.dedup();
    assert_eq!(seen, wanted);
}

#[test]
fn the_anchor_survives_a_resize_and_back() {
    let mut talk = long(40);
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-33);
    let before = talk.screen(80, 12);
    let narrow = talk.screen(34, 12);
    // The row under the sticky line is the one that holds the words that were there.
    assert!(
        before[1].contains("more of them") && narrow[2].contains("more of them"),
        "{narrow:?}"
    );
    assert_eq!(talk.screen(80, 12), before);
}

#[test]
fn the_anchor_survives_a_fold_above_and_older_pages() {
    let mut talk = Talk::new();
    talk.done("bash", "seq 40", &"x\n".repeat(40), json!({"exit": 0}), 500);
    go_on(&mut talk, 12);
    let mut older = Talk::new();
    older.now = 5_000;
    older.mint = IdMint::new(9, 0);
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for n in 0..30 {
        messages.push(older.header(Role::User));
        parts.push(older.make(said(&format!("old {n}"))));
    }
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-25);
    let before = talk.screen(80, 12);
    talk.transcript.apply(
        &Event::History {
            messages,
            parts,
            first: false,
        },
        0,
    );
    assert_eq!(talk.screen(80, 12), before);
    // Unfold the first command, far above.
    let at = (0..talk.transcript.list.len()).find(|at| {
        talk.transcript
            .list
            .get(*at)
            .is_some_and(|e| matches!(e.cell, Cell::Exec(_)))
    });
    assert!(talk.transcript.toggle(at.expect("a command")));
    assert_eq!(talk.screen(80, 12), before);
    talk.transcript.to_top();
    let top = talk.screen(80, 12);
    assert_eq!(top[0], "  ❯ old 0");
    let oldest = talk.transcript.wants_older().expect("there is more before");
    assert_eq!(Some(oldest), talk.transcript.list.oldest());
    assert_eq!(talk.transcript.wants_older(), None, "asked once");
}

#[test]
fn prompts_are_jumped_to_both_ways() {
    let mut talk = long(20);
    talk.screen(80, 10);
    talk.transcript.jump_prompt(-1);
    let first = talk.screen(80, 10);
    assert!(first[0].starts_with("  ❯ prompt"), "{first:?}");
    talk.transcript.jump_prompt(-3);
    let up = talk.screen(80, 10);
    talk.transcript.jump_prompt(3);
    assert_eq!(talk.screen(80, 10), first);
    assert_ne!(up, first);
}

#[test]
fn a_selection_copies_without_gutters_and_unwrapped() {
    let mut talk = frame_two();
    let rows = talk.screen(120, 31);
    let at = |needle: &str| {
        rows.iter()
            .position(|row| row.contains(needle))
            .expect(needle) as u16
    };
    talk.transcript.select_start(0, at("The reflow runs"));
    talk.transcript.select_end(119, at("short. I'll"));
    assert!(talk.transcript.has_selection());
    assert_eq!(
        talk.transcript.selected_text().as_deref(),
        Some(
            "The reflow runs while replay is still filling the cell list, so the height it measures is short. I'll confirm the ordering, then make reflow wait for replay."
        )
    );
    talk.transcript.select_start(0, at("let cells"));
    talk.transcript.select_end(119, at("if self.replaying"));
    assert_eq!(
        talk.transcript.selected_text().as_deref(),
        Some("let cells = self.cells.len();\nself.reflow(width);\nif self.replaying {")
    );
    talk.transcript.select_start(8, at("Explored"));
    talk.transcript.select_end(8, at("Explored"));
    assert!(!talk.transcript.has_selection());
    assert_eq!(talk.transcript.selected_text(), None);
}

#[test]
fn a_selection_is_shown_reversed_and_may_be_dragged_upwards() {
    let mut talk = frame_two();
    let rows = talk.screen(120, 31);
    let row = rows
        .iter()
        .position(|row| row.contains("Edited"))
        .expect("a row") as u16;
    talk.transcript.select_start(10, row);
    talk.transcript.select_drag(4, row);
    let (_, buffer) = talk.buffer(120, 31);
    let reversed: String = (0..120)
        .filter(|x| buffer[(*x, row)].modifier.contains(Modifier::REVERSED))
        .map(|x| buffer[(x, row)].symbol().to_owned())
        .collect();
    assert_eq!(reversed, "Edited ");
    assert_eq!(talk.transcript.selected_text().as_deref(), Some("Edited"));
}

#[test]
fn search_counts_shows_and_unfolds() {
    let mut talk = long(30);
    talk.done(
        "bash",
        "last",
        &format!(
            "a\n{}needle in a fold\n{}z",
            "x\n".repeat(9),
            "y\n".repeat(9)
        ),
        json!({"exit": 0}),
        9,
    );
    talk.screen(80, 12);
    assert_eq!(talk.transcript.find("answer 7 HAS"), 0, "upper case counts");
    assert_eq!(talk.transcript.find("answer 7 has"), 1);
    assert_eq!(talk.transcript.find_next(), Some(1));
    let (_, buffer) = talk.buffer(80, 12);
    let reversed: String = buffer
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(|cell| cell.symbol().to_owned())
        .collect();
    assert_eq!(reversed, "Answer 7 has");
    assert_eq!(talk.transcript.find("needle"), 1);
    assert_eq!(talk.transcript.find_prev(), Some(1));
    assert!(
        talk.screen(80, 12)
            .iter()
            .any(|row| row.contains("needle in a fold"))
    );
    assert_eq!(talk.transcript.find("prompt"), 30);
    assert_eq!(talk.transcript.find(""), 0);
    assert_eq!(talk.transcript.find_next(), None);
}

#[test]
fn a_search_reads_over_markup_and_row_breaks() {
    let mut talk = Talk::new();
    talk.user("go");
    talk.add(said(
        "The **resize** `test` flakes. And further down the same resize test flakes again, every time it runs.",
    ));
    assert_eq!(talk.transcript.find("resize test"), 2);
    let (_, buffer) = talk.buffer(40, 12);
    let marked = |y: u16| -> String {
        (0..40)
            .filter(|x| buffer[(*x, y)].modifier.contains(Modifier::REVERSED))
            .map(|x| buffer[(x, y)].symbol())
            .collect()
    };
    let marks: Vec<String> = (0..12).map(marked).filter(|row| !row.is_empty()).collect();
    assert_eq!(marks.concat().replace(' ', ""), "resizetestresizetest");
    assert!(marks.len() >= 2, "{marks:?}");
}

#[test]
fn the_cell_in_view_is_the_newest_or_the_first_that_begins_on_screen() {
    let mut talk = Talk::new();
    assert_eq!(talk.transcript.cell_text_in_view(), None);
    for n in 0..8 {
        talk.user(&format!("question {n}"));
        talk.add(said(&format!("answer {n}")));
    }
    talk.screen(80, 6);
    let copied = talk.transcript.cell_text_in_view();
    assert_eq!(copied.as_deref(), Some("answer 7"));
    talk.transcript.to_top();
    talk.screen(80, 6);
    let copied = talk.transcript.cell_text_in_view();
    assert_eq!(copied.as_deref(), Some("question 0"));
}

#[test]
fn a_rewind_takes_its_cells_away() {
    let mut talk = long(3);
    let tip = talk.message;
    talk.user("wrong way");
    talk.add(said("Wrong answer."));
    assert!(
        talk.screen(80, 30)
            .iter()
            .any(|row| row.contains("wrong way"))
    );
    talk.transcript.apply(
        &Event::BranchChanged {
            tip: Some(tip),
            prompt: "wrong way".to_owned(),
        },
        0,
    );
    let rows = talk.screen(80, 30);
    assert!(!rows.iter().any(|row| row.contains("rong")));
    assert!(rows.iter().any(|row| row.contains("prompt 2")));
    talk.transcript.apply(
        &Event::BranchChanged {
            tip: None,
            prompt: String::new(),
        },
        0,
    );
    assert!(talk.transcript.is_empty());
}

#[test]
fn streamed_answers_equal_stored_ones() {
    let text = "# Head\n\nSome *words*.\n\n```rs\nlet a = 1;\n```\n\n- x\n- y\n";
    let mut live = Talk::new();
    live.user("Go.");
    let mut part = live.make(said(""));
    part.end = None;
    live.put(&part);
    for c in text.chars() {
        live.transcript.apply(
            &Event::PartDelta {
                part: part.id,
                message: part.message,
                delta: c.to_string(),
            },
            live.now,
        );
        live.screen(60, 14);
    }
    let streamed = live.screen(60, 14);
    part.body = said(text);
    part.end = Some(live.now);
    live.put(&part);
    assert_eq!(live.screen(60, 14), streamed);
    assert_eq!(live.transcript.last_answer().as_deref(), Some(text));
    let mut stored = Talk::new();
    stored.user("Go.");
    stored.add(said(text));
    assert_eq!(stored.screen(60, 14), streamed);
}

#[test]
fn a_thousand_steps_stay_small() {
    let mut talk = Talk::new();
    let output = "0123456789 the quick brown fox jumps over the lazy dog\n".repeat(900);
    for n in 0..1_000 {
        if n % 20 == 0 {
            talk.user("Go on.");
        } else {
            talk.begin(Role::Assistant);
        }
        talk.add(said(
            &"A sentence of the model that says what comes next. ".repeat(8),
        ));
        talk.done("read", "src/x.rs", &output, Value::Null, 3);
        talk.done("bash", "cargo test", &output, json!({"exit": 1}), 3);
        talk.done(
            "edit",
            "src/x.rs",
            "ok",
            json!({"diff": DIFF.repeat(30)}),
            3,
        );
        if n % 50 == 0 {
            talk.screen(120, 40);
        }
    }
    let weight = talk.transcript.weight();
    assert!(weight < 33 * 1024 * 1024, "{weight}");
}

#[test]
fn old_messages_are_dropped_and_asked_for_again() {
    let mut talk = Talk::new();
    let large = "word ".repeat(20_000);
    for n in 0..600 {
        talk.user(&format!("prompt {n}"));
        talk.add(said(&large));
    }
    for _ in 0..LOOK_EVERY {
        talk.transcript.apply(&Event::TurnStarted, 0);
    }
    assert!(
        talk.transcript.weight() < 45 * 1024 * 1024,
        "{}",
        talk.transcript.weight()
    );
    talk.screen(80, 12);
    assert_eq!(
        talk.transcript.wants_older(),
        None,
        "the screen is far from the top"
    );
    talk.transcript.to_top();
    talk.screen(80, 12);
    assert!(talk.transcript.wants_older().is_some());
}

/// Text that leans towards what hurts a terminal.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{0,12}",
        "\u{1b}\\[[0-9;?]{0,6}[a-zA-Z]",
        "\u{1b}\\][ -~]{0,8}\u{7}",
        "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{80}-\u{9f}\u{e0041}\u{300}]{1,4}",
        "[\r\n\t`*_#>|\\-]{1,4}",
        "&#x?[0-9a-f]{1,5};",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_dangerous_reaches_the_screen(text in nasty(), width in 1_u16..130) {
        let mut talk = Talk::new();
        talk.user(&text);
        talk.add(said(&text));
        talk.done("bash", &text, &text, json!({"exit": 1, "signal": text}), 5);
        let diff = format!("@@ -1 +1 @@\n-{}\n+{}\n", text.replace('\n', " "), text.replace('\n', ""));
        talk.done("edit", &text, &text, json!({"diff": diff}), 5);
        talk.done("todo", &text, &text, json!({"todos": [{"content": text, "status": "done"}]}), 5);
        talk.done("mcp__x__y", &text, &text, Value::Null, 5);
        talk.running("task", &text, &text, 5);
        talk.transcript.apply(&Event::Notice { level: NoticeLevel::Error, text: text.clone() }, 0);
        talk.transcript.apply(&Event::Error { error: Fault::new(FaultKind::Server, text.as_str(), text.as_str()) }, 0);
        let (_, buffer) = talk.buffer(width, 60);
        for cell in &buffer.content {
            for c in cell.symbol().chars() {
                prop_assert!(!c.is_control() && !crate::tui::term::sanitise::charset::is_hidden(c), "{:?}", c);
            }
        }
    }

    #[test]
    fn any_moves_at_any_size_keep_the_screen_sane(
        steps in proptest::collection::vec((0_u8..9, -30_i32..30, 5_u16..130, 1_u16..20), 1..20),
    ) {
        let mut talk = long(8);
        for (kind, by, width, height) in steps {
            match kind {
                0 => talk.transcript.scroll_lines(by),
                1 => talk.transcript.page(by / 10),
                2 => talk.transcript.to_top(),
                3 => talk.transcript.to_bottom(),
                4 => talk.transcript.jump_prompt(by / 8),
                5 => drop(talk.transcript.toggle_fold_at(by.unsigned_abs() as u16)),
                6 => { talk.done("bash", "x", "a\nb", json!({"exit": 0}), 3); }
                7 => { talk.transcript.find("answer"); talk.transcript.find_prev(); }
                _ => { talk.transcript.select_start(1, 0); talk.transcript.select_end(9, by.unsigned_abs() as u16); }
            }
            let (rendered, rows) = talk.frame(width, height);
            prop_assert_eq!(rendered.at_bottom, talk.transcript.is_at_bottom());
            prop_assert!(rows.last().is_some_and(|row| rendered.at_bottom || height > 0 || !row.is_empty()));
            talk.transcript.selected_text();
        }
    }
}
