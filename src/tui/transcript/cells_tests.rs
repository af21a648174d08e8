//! Tests of how cells look in a transcript: the reference frames, compaction, plans, errors.

use super::*;

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
