//! Steps, the queue, interrupts, the loop guard and the rest of a turn as tables; at the end any order of things.

use super::*;

#[test]
fn a_prompt_is_answered_with_tools_in_between() {
    let mut w = World::new(
        setup(),
        vec![reads(&["a", "b"]), runs(&["t"]), Answers::Say("fixed")],
    );
    w.prompt("why?");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    assert_eq!(w.texts(Role::Assistant), ["I look.", "I look.", "fixed"]);
    assert_eq!(w.tools().len(), 3);
    assert_eq!(w.requests, 3);
    assert_eq!(w.titles, 1);
}

#[test]
fn read_only_calls_start_while_the_model_still_streams_and_writers_wait_for_its_end() {
    let calls = Answers::Call(vec![(false, "a".to_owned()), (true, "t".to_owned())]);
    let mut w = World::new(setup(), vec![calls]);
    w.prompt("go");
    // Everything but the end of the stream comes back.
    for _ in 0..50 {
        let Some(at) = w.due.iter().position(|d| !matches!(d, Due::End(_))) else {
            break;
        };
        let only_stream = matches!(w.due[at], Due::Deltas(..));
        let item = w.due.remove(at);
        w.due.insert(0, item);
        let _ = only_stream;
        w.step(0);
    }
    let done: Vec<&str> = w
        .tools()
        .iter()
        .map(|p| match &p.body {
            PartBody::Tool(t) => t.state.name(),
            _ => "",
        })
        .collect();
    assert_eq!(
        done,
        ["completed", "running"],
        "the read is done, the command has not started"
    );
    assert!(!w.due.iter().any(|d| matches!(d, Due::Tool(_))));
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn guidance_is_coalesced_between_steps_and_follow_ups_start_turns_of_their_own() {
    let mut w = World::new(setup(), vec![reads(&["a"])]);
    w.prompt("go");
    w.give(prompt("use an option", Delivery::Guidance));
    w.give(prompt("and a test", Delivery::Guidance));
    w.give(prompt("then lint", Delivery::FollowUp));
    assert!(
        w.events
            .iter()
            .any(|e| matches!(e, Event::Queued { position: 2, .. }))
    );
    w.run();
    let said = w.texts(Role::User);
    assert_eq!(
        said,
        [
            "go",
            "First: use an option\n\nAlso: and a test",
            "then lint"
        ]
    );
    assert_eq!(w.ends(), [TurnEnd::Done, TurnEnd::Done]);
}

#[test]
fn an_interrupt_with_guidance_sends_it_at_once_and_any_other_pauses_the_queue() {
    let mut w = World::new(setup(), vec![reads(&["a"])]);
    w.prompt("go");
    w.give(prompt("stop, do this", Delivery::Interrupt));
    assert_eq!(w.ends(), [TurnEnd::Interrupted]);
    w.run();
    assert_eq!(w.texts(Role::User), ["go", "stop, do this"]);
    assert_eq!(w.ends(), [TurnEnd::Interrupted, TurnEnd::Done]);

    let mut w = World::new(setup(), vec![reads(&["a"])]);
    w.prompt("go");
    w.give(prompt("later", Delivery::FollowUp));
    w.give(Input::Interrupt);
    w.run();
    assert!(w.turn.queue().paused);
    assert_eq!(w.turn.queue().follow_ups.len(), 1, "nothing vanished");
    w.prompt("something else");
    w.run();
    assert_eq!(
        w.texts(Role::User),
        ["go", "something else"],
        "it never fires by itself"
    );
    w.give(Input::Queue(crate::protocol::QueueEdit::Resume));
    w.run();
    assert_eq!(w.texts(Role::User), ["go", "something else", "later"]);
}

#[test]
fn a_broken_attempt_is_kept_ignored_and_tried_again_until_the_retries_are_used_up() {
    let mut w = World::new(
        setup(),
        vec![Answers::Fail(FaultKind::Server), Answers::Say("ok")],
    );
    w.prompt("go");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    let retries = w
        .events
        .iter()
        .filter(|e| matches!(e, Event::Retry { .. }))
        .count();
    assert_eq!(retries, 1);
    let kept = w
        .turn
        .conversation()
        .entries()
        .iter()
        .flat_map(|e| &e.parts)
        .any(|p| matches!(&p.body, PartBody::Text { text, ignored: true, .. } if text == "I beg"));
    assert!(kept, "the partial answer is kept");

    let mut w = World::new(setup(), vec![Answers::Fail(FaultKind::Server); 9]);
    w.prompt("go");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Error]);
    assert_eq!(w.requests, 4, "one attempt and three retries");

    let mut w = World::new(setup(), vec![Answers::Fail(FaultKind::Auth)]);
    w.prompt("go");
    w.run();
    assert_eq!((w.ends(), w.requests), (vec![TurnEnd::Error], 1));
}

#[test]
fn a_plain_no_ends_the_turn_and_a_no_with_words_goes_on() {
    for (message, end, requests) in [
        ("", TurnEnd::Refused, 1),
        ("use cargo nextest", TurnEnd::Done, 2),
    ] {
        let mut w = World::new(setup(), vec![runs(&["rm x"])]);
        w.asks_permission = true;
        w.prompt("go");
        w.run();
        let ask = w.turn.asks()[0].id;
        w.give(Input::Answer {
            ask,
            answer: Answer::No {
                message: message.to_owned(),
            },
        });
        w.run();
        assert_eq!((w.ends(), w.requests), (vec![end], requests), "{message:?}");
        let said = w
            .states
            .values()
            .any(|s| matches!(s, ToolState::Error { error, .. } if error.contains("refused")));
        assert!(said);
    }
}

#[test]
fn the_fourth_identical_call_asks_and_each_answer_does_what_it_says() {
    let script = || (0..6).map(|_| runs(&["t"])).collect::<Vec<_>>();
    let mut w = World::new(setup(), script());
    w.prompt("go");
    w.run();
    assert_eq!(w.tools().len(), 4);
    let ask = w.turn.asks()[0].clone();
    assert!(matches!(
        ask.body,
        AskBody::DoomLoop {
            repeats: 4,
            cycle: 1,
            ..
        }
    ));
    w.give(Input::Answer {
        ask: ask.id,
        answer: Answer::Once,
    });
    w.run();
    assert_eq!(
        w.tools().len(),
        6,
        "it ran once more and counting began anew"
    );

    let mut w = World::new(setup(), script());
    w.prompt("go");
    w.run();
    let ask = w.turn.asks()[0].id;
    w.give(Input::Answer {
        ask,
        answer: Answer::No {
            message: String::new(),
        },
    });
    w.run();
    let told = w
        .states
        .values()
        .any(|s| matches!(s, ToolState::Error { error, .. } if error.contains("repeating")));
    assert!(told, "the model is told that it loops");

    let headless = Setup {
        headless: true,
        ..setup()
    };
    let mut w = World::new(headless, script());
    w.prompt("go");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::DoomLoop]);
}

#[test]
fn the_last_step_is_a_grace_step() {
    let mut limited = setup();
    limited.turn.max_steps = Some(3);
    let script = vec![
        reads(&["a"]),
        reads(&["b"]),
        Answers::Say("left: c"),
        reads(&["c"]),
    ];
    let mut w = World::new(limited, script);
    w.prompt("go");
    w.run();
    assert_eq!((w.ends(), w.requests), (vec![TurnEnd::Budget], 3));
}

#[test]
fn broken_arguments_become_an_error_that_the_model_reads() {
    let mut w = World::new(setup(), Vec::new());
    w.prompt("go");
    w.due.clear();
    let stream = 1;
    let deltas = broken("{\"command\": \"ls");
    w.give(Input::Deltas { stream, deltas });
    w.give(Input::StreamEnded { stream });
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done], "the model got another step");
    assert!(matches!(&w.tools()[0].body, PartBody::Tool(t)
        if matches!(&t.state, ToolState::Error { error, .. } if error.contains("JSON"))));
}

#[test]
fn a_full_window_is_compacted_once_and_the_turn_goes_on() {
    let mut small = setup();
    small.model.context = 3_000;
    small.model.max_output = 1_000;
    small.overhead = 100;
    let script = vec![reads(&["a"]), reads(&["b"]), Answers::Say("done")];
    let mut w = World::new(small, script);
    w.counted = 1_900;
    w.prompt("go");
    for _ in 0..200 {
        if w.due.is_empty() {
            break;
        }
        if let Some(at) = w.due.iter().position(|d| matches!(d, Due::Tool(_))) {
            let Due::Tool(part) = w.due.remove(at) else {
                unreachable!()
            };
            let output = "word ".repeat(400);
            let success = Success {
                output,
                ..Success::default()
            };
            w.give(Input::ToolEnded {
                part,
                result: Ok(success),
            });
            continue;
        }
        w.step(0);
    }
    assert_eq!(w.ends(), [TurnEnd::Done]);
    let compacted = w
        .events
        .iter()
        .filter(|e| matches!(e, Event::Compacted { .. }))
        .count();
    assert!(
        compacted >= 1,
        "{:?}",
        w.events
            .iter()
            .filter(|e| matches!(e, Event::Notice { .. }))
            .collect::<Vec<_>>()
    );
    assert!(w.texts(Role::Assistant).iter().any(|t| t == "the notes"));
}

#[test]
fn a_cut_session_read_back_is_valid_and_goes_on() {
    let mut w = World::new(
        setup(),
        vec![reads(&["a"]), runs(&["t"]), Answers::Say("done")],
    );
    w.prompt("go");
    for _ in 0..9 {
        w.step(0);
    }
    // The process dies here: what is left is what was written.
    let entries = w.turn.conversation().entries().to_vec();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let conversation = Conversation::from_history(messages, parts);
    let mut again = World::new(setup(), vec![Answers::Say("done")]);
    again.turn = Turn::new(setup(), conversation, &BTreeMap::new());
    again.written = w.written.clone();
    again.give(Input::Continue);
    again.run();
    assert_eq!(again.ends(), [TurnEnd::Done]);
    assert_eq!(again.texts(Role::User)[0], "go");
}

/// What a user or the world does at some moment.
#[derive(Debug, Clone)]
enum Act {
    Come(usize),
    Guide,
    FollowUp,
    Interrupt,
    AnswerYes,
    AnswerNo,
    Compact,
    RetryNow,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => (0_usize..16).prop_map(Act::Come),
        1 => Just(Act::Guide),
        1 => Just(Act::FollowUp),
        1 => Just(Act::Interrupt),
        2 => Just(Act::AnswerYes),
        1 => Just(Act::AnswerNo),
        1 => Just(Act::Compact),
        1 => Just(Act::RetryNow),
    ]
}

fn answers() -> impl Strategy<Value = Answers> {
    prop_oneof![
        2 => Just(Answers::Say("fine")),
        5 => prop::collection::vec((any::<bool>(), "[a-c]"), 1..5).prop_map(Answers::Call),
        1 => Just(Answers::Broken("{")),
        1 => Just(Answers::Fail(FaultKind::Server)),
        1 => Just(Answers::Fail(FaultKind::Auth)),
        1 => Just(Answers::Fail(FaultKind::ContextOverflow)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_keeps_the_invariants(
        script in prop::collection::vec(answers(), 0..12),
        acts in prop::collection::vec(act(), 0..120),
        asks in any::<bool>(),
    ) {
        let mut w = World::new(setup(), script);
        w.asks_permission = asks;
        w.prompt("go");
        for act in acts {
            match act {
                Act::Come(at) if !w.due.is_empty() => w.step(at),
                Act::Come(_) => {}
                Act::Guide => w.give(prompt("g", Delivery::Guidance)),
                Act::FollowUp => w.give(prompt("f", Delivery::FollowUp)),
                Act::Interrupt => {
                    let was = w.turn.is_running();
                    let ends = w.ends().len();
                    w.give(Input::Interrupt);
                    prop_assert_eq!(w.ends().len(), ends + usize::from(was), "it ends at once");
                }
                Act::AnswerYes | Act::AnswerNo => {
                    if let Some(ask) = w.turn.asks().first().map(|a| a.id) {
                        let answer = match act {
                            Act::AnswerYes => Answer::Once,
                            _ => Answer::No { message: String::new() },
                        };
                        w.give(Input::Answer { ask, answer });
                    }
                }
                Act::Compact => w.give(Input::Compact { focus: String::new() }),
                Act::RetryNow => w.give(Input::RetryNow),
            }
        }
        // The user answers what is asked; then everything comes to an end.
        for _ in 0..2_000 {
            if let Some(ask) = w.turn.asks().first().map(|a| a.id) {
                w.give(Input::Answer { ask, answer: Answer::Once });
            } else if w.due.is_empty() {
                break;
            } else {
                w.step(0);
            }
        }
        prop_assert!(!w.turn.is_running(), "the turn ends");
        let starts = w.events.iter().filter(|e| matches!(e, Event::TurnStarted)).count();
        prop_assert_eq!(starts, w.ends().len(), "each turn that begins ends once");
        for part in w.tools() {
            let PartBody::Tool(tool) = &part.body else { continue };
            prop_assert!(tool.state.is_final(), "{} is {}", part.id, tool.state.name());
        }
        for entry in w.turn.conversation().entries() {
            prop_assert!(entry.message.completed.is_some(), "each message is closed");
            let ids: Vec<PartId> = entry.parts.iter().map(|p| p.id).collect();
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            prop_assert_eq!(ids, sorted);
        }
        w.check_request();
        prop_assert!(serde_json::to_value(w.turn.status()).is_ok());
    }
}

#[path = "turn_asks_tests.rs"]
mod asks;
#[path = "turn_calls_tests.rs"]
mod calls;
#[path = "turn_cut_tests.rs"]
mod cut;
#[path = "turn_retry_tests.rs"]
mod retries;
