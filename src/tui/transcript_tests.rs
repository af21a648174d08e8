//! Tests of the transcript: rewinds, streams, memory; and the conversations that all its tests are made of.

#[path = "transcript/cells_tests.rs"]
mod cells;
#[path = "transcript/moving_tests.rs"]
mod moving;
#[path = "transcript/reading_tests.rs"]
mod reading;

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
