//! A conversation with every kind of cell, and every overlay: what bytes, colours and signs are tried on.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{
    Event, Fault, FaultKind, FilePart, FileSource, FileStatus, MessageId, NoticeLevel, PartBody,
    PatchFile, Role, SnapshotId, ToolPart, ToolState,
};
use serde_json::{Value, json};

use super::fixtures::{World, doom_loop, permission};

/// Markdown with all that dunlin lays out.
pub(super) const MARKDOWN: &str = "# Title\n\n## What was wrong\n\nThe reflow runs while replay is *still filling* the \
    cell list, so the height it measures is **short**; see `Pager::on_resize` in `src/reflow.rs`, ~~not~~ \
    [the docs](https://docs.rs/ratatui) and <https://example.org/issues/42>. 日本語の文章も折り返されます 👩‍👩‍👧‍👦 🇩🇪.\n\n\
    | Case | Width | Note |\n|:-----|------:|:----:|\n| keeps tail | 80 | was flaky in CI on slow machines |\n\
    | 日本語の幅 | 40 | `wide` cells **count** |\n\n1. Confirm the ordering.\n2. Wait:\n   - keep the width,\n   - run it once.\n\n\
    - [x] guard reflow\n- [ ] changelog\n\n> A quote that says\n> more than one line.\n\n```rust\n/// Lays out anew.\n\
    pub fn on_resize(&mut self, width: u16) {\n    if self.replaying { self.after = Some(width); } // \"a string\" 42\n}\n```\n\n\
    ```diff\n-old\n+new\n```\n\n    indented code\n\n---\n\n<div>html</div>\n\n![a picture](p.png)\n";

const DIFF: &str = "@@ -41,3 +41,6 @@ impl Pager\n         let cells = self.cells.len();\n-        self.reflow(width);\n+        if self.replaying {\n+            self.reflow_after_replay = Some(width);\n+        } else {\n+            self.reflow(width);\n         }\n";

fn failed(world: &mut World, message: MessageId, tool: &str, error: &str, interrupted: bool) {
    let call = ToolPart {
        call: "c".to_owned(),
        tool: tool.to_owned(),
        state: ToolState::Error {
            input: json!({"command": "cargo build", "path": "src/a.rs"}),
            raw: String::new(),
            error: error.to_owned(),
            title: "cargo build".to_owned(),
            metadata: Value::Null,
            interrupted,
            start: world.tui.now - 2_000,
            end: world.tui.now,
        },
        provider: None,
    };
    world.part(message, PartBody::Tool(call));
}

/// One turn with every kind of cell, finished and running.
pub(super) fn turn(world: &mut World, number: usize) {
    world.say(
        Role::User,
        &format!("Why does resize test {number} flake?\nFix it, please, 日本語."),
    );
    let said = world.message_of(Role::Assistant);
    world.thought(
        said,
        "replay must finish first\nbefore a reflow is scheduled",
        4_000,
    );
    for n in 0..4 {
        let read = (
            json!({"path": format!("src/file{n}.rs")}),
            "src/file.rs",
            "…",
        );
        world.done(said, "read", read, json!({}), 300);
    }
    world.done(
        said,
        "grep",
        (json!({"pattern": "fn reflow"}), "fn reflow", "…"),
        json!({"matches": 3}),
        300,
    );
    world.plan_at(said, number % 4);
    let output =
        (1..=60).map(|n| format!("\x1b[32mtest\x1b[0m resize::case_{n} ... \x1b[1;31mok\x1b[0m\n"));
    let output: String = output.collect();
    let run = (
        json!({"command": "cargo test"}),
        "cargo test -p pager resize",
        output.as_str(),
    );
    world.done(said, "bash", run, json!({"exit": number % 2 * 101}), 6_400);
    let edit = (json!({"path": "src/reflow.rs"}), "src/reflow.rs", "ok");
    world.done(
        said,
        "edit",
        edit,
        json!({"diff": DIFF, "added": 4, "removed": 1}),
        10,
    );
    world.done(
        said,
        "web_fetch",
        (json!({"url": "https://x.y"}), "https://x.y", "page\ntext"),
        json!({}),
        90,
    );
    world.done(
        said,
        "task",
        (
            json!({"description": "Look"}),
            "Look at files",
            "It saw **two**.",
        ),
        json!({}),
        9_000,
    );
    failed(
        world,
        said,
        "bash",
        "error[E0425]: cannot find value\nmore\nlines",
        false,
    );
    failed(world, said, "edit", "The text is not there.", false);
    failed(world, said, "bash", "interrupted", true);
    let file = FilePart {
        name: "shot.png".to_owned(),
        mime: "image/png".to_owned(),
        source: FileSource::Path("shot.png".to_owned()),
    };
    world.part(said, PartBody::File(file));
    let patch = PatchFile {
        path: "src/other.rs".to_owned(),
        added: 3,
        removed: 2,
        status: FileStatus::Modified,
    };
    let (from, to) = (SnapshotId("a".to_owned()), SnapshotId("b".to_owned()));
    let other = world.message_of(Role::Assistant);
    world.part(
        other,
        PartBody::Patch {
            from,
            to,
            files: vec![patch],
        },
    );
    world.answer(MARKDOWN);
    for level in [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Error] {
        world.tui.event(Event::Notice {
            level,
            text: "Something to know, in a sentence.".to_owned(),
        });
    }
    let fault = Fault {
        status: Some(529),
        ..Fault::new(FaultKind::Overloaded, "Overloaded.", "")
    };
    world.part(
        said,
        PartBody::Retry {
            attempt: 2,
            error: fault,
            next: world.tui.now + 4_000,
        },
    );
    let error = Fault::new(
        FaultKind::Auth,
        "The key was refused.",
        "Set another one: dunlin auth.",
    );
    world.tui.event(Event::Error { error });
}

/// A conversation of several such turns, and one that runs.
pub(super) fn conversation(world: &mut World) {
    for number in 0..3 {
        turn(world, number);
    }
    let tail = world.prompts[world.prompts.len() - 1];
    world.compaction(tail);
    world.summary("Decided to guard reflow with Option<u16> instead of a flag.");
    world.say(Role::User, "Go on.");
    let said = world.message_of(Role::Assistant);
    world.runs(
        said,
        "cargo test -p pager",
        "test a ... ok\ntest b ... ok\ntest c ...\n",
        12_300,
    );
    world.streamed(
        said,
        "The two tests pass now. Waiting for the large one, because it is the one that",
    );
    world.queued(
        &["use Option<u16>"],
        &["add a changelog line", "!ls"],
        false,
    );
    world.status(Phase::Tools, 72_000, |status| status.turn_output = 3_100);
}

/// Opens an overlay.
pub(super) type Open = fn(&mut World);

/// What can be opened over it, by name; `esc` closes each.
pub(super) fn overlays() -> Vec<(&'static str, Open)> {
    vec![
        ("help", |w| w.tui.press("?")),
        ("diff", |w| w.tui.event(Event::Diff(super::reports::diff()))),
        ("context", |w| {
            let report = super::reports::context(w.tui.now);
            w.tui.event(Event::Context { report });
        }),
        ("commands", |w| w.tui.type_text("/")),
        ("find", |w| w.tui.press("ctrl+f")),
        ("themes", |w| {
            w.tui.type_text("/theme");
            w.tui.press("enter");
        }),
        ("sessions", |w| w.tui.press("ctrl+s")),
        ("history", |w| w.tui.press("ctrl+r")),
        ("permission", |w| {
            drop(w.ask(permission("cargo add insta --dev")));
        }),
        ("loop", |w| drop(w.ask(doom_loop()))),
    ]
}
