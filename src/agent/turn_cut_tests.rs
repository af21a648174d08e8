//! The turn cut at every instant: an interrupt after the k-th input, a crash after the k-th input.
//! Also budgets and fallback models as tables.

use super::*;

/// A script with all that a turn does: reading, writing, several calls, a failure, a question.
fn busy() -> Vec<Answers> {
    vec![
        reads(&["a", "b"]),
        runs(&["t"]),
        Answers::Fail(FaultKind::Server),
        Answers::Call(vec![
            (false, "c".to_owned()),
            (true, "u".to_owned()),
            (true, "v".to_owned()),
        ]),
        Answers::Say("done"),
    ]
}

/// Runs the busy script for `inputs` inputs, answering questions; false if it ended before.
fn run_for(w: &mut World, inputs: usize) -> bool {
    for _ in 0..inputs {
        if let Some(ask) = w.turn.asks().first().map(|a| a.id) {
            w.give(Input::Answer {
                ask,
                answer: Answer::Once,
            });
        } else if w.due.is_empty() {
            return false;
        } else {
            w.step(0);
        }
    }
    true
}

fn check_closed(w: &mut World) {
    for part in w.tools() {
        let PartBody::Tool(tool) = &part.body else {
            continue;
        };
        assert!(
            tool.state.is_final(),
            "{} is {}",
            part.id,
            tool.state.name()
        );
    }
    for entry in w.turn.conversation().entries() {
        assert!(entry.message.completed.is_some(), "each message is closed");
    }
    w.check_request();
}

#[test]
fn an_interrupt_after_any_input_leaves_a_valid_history_and_a_usable_session() {
    let mut cuts = 0;
    for asks in [false, true] {
        for inputs in 0.. {
            let mut w = World::new(setup(), busy());
            w.asks_permission = asks;
            w.prompt("go");
            if !run_for(&mut w, inputs) {
                break;
            }
            cuts += 1;
            let was_running = w.turn.is_running();
            w.give(Input::Interrupt);
            assert!(
                !w.turn.is_running() && w.turn.asks().is_empty(),
                "cut {inputs}"
            );
            if was_running {
                assert_eq!(w.ends(), [TurnEnd::Interrupted], "cut {inputs}");
            }
            check_closed(&mut w);
            // What comes late (syncs, snapshots, results, judgements) starts nothing.
            let requests = w.requests;
            while !w.due.is_empty() {
                w.step(0);
                let runs = w.due.iter().any(|d| matches!(d, Due::Tool(_)));
                assert!(!runs, "a call was started after cut {inputs}");
            }
            assert_eq!(
                w.requests, requests,
                "a request was made after cut {inputs}"
            );
            check_closed(&mut w);
            w.script.clear();
            w.prompt("and now?");
            w.run();
            assert_eq!(w.ends().last(), Some(&TurnEnd::Done), "cut {inputs}");
            check_closed(&mut w);
        }
    }
    assert!(cuts > 60, "only {cuts} cuts");
}

#[test]
fn a_crash_after_any_input_is_recovered_and_the_turn_goes_on() {
    let mut cuts = 0;
    for inputs in 0.. {
        let mut w = World::new(setup(), busy());
        w.prompt("go");
        if !run_for(&mut w, inputs) || !w.turn.is_running() {
            break;
        }
        cuts += 1;
        let entries = w.turn.conversation().entries().to_vec();
        let ran = w.tools().len();
        let messages = entries.iter().map(|e| e.message.clone()).collect();
        let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
        let conversation = Conversation::from_history(messages, parts);
        let mut again = World::new(setup(), std::mem::take(&mut w.script));
        again.now = w.now + 1_000;
        again.turn = Turn::new(setup(), conversation, &BTreeMap::new());
        again.written = w.written.clone();
        again.states = w.states.clone();
        let (cut, effects) = again.turn.recover(again.now);
        assert!(cut, "crash {inputs} is noticed");
        for effect in effects {
            again.perform(effect);
        }
        check_closed(&mut again);
        // Looked at and left alone: the next opening still offers to go on.
        let (still, _) = again.turn.recover(again.now);
        assert!(still, "crash {inputs} is still known");
        again.give(Input::Continue);
        again.run();
        assert_eq!(again.ends(), [TurnEnd::Done], "crash {inputs}");
        assert!(again.tools().len() >= ran, "no call is lost");
        check_closed(&mut again);
    }
    assert!(cuts > 25, "only {cuts} crashes");
}

#[test]
fn half_an_answer_of_a_dead_process_is_kept_but_the_step_is_made_again() {
    let mut w = World::new(setup(), Vec::new());
    w.prompt("go");
    w.give(Input::Deltas {
        stream: 1,
        deltas: vec![text(0, "I was ab")],
    });
    let entries = w.turn.conversation().entries().to_vec();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let mut again = World::new(setup(), vec![Answers::Say("the whole answer")]);
    let conversation = Conversation::from_history(messages, parts);
    again.turn = Turn::new(setup(), conversation, &BTreeMap::new());
    again.written = w.written.clone();
    again.turn.recover(2_000);
    again.give(Input::Continue);
    again.run();
    assert_eq!(
        again.texts(Role::User),
        ["go"],
        "nothing is said in the user's place"
    );
    let sent = assemble::messages(again.turn.conversation_mut(), &|_| None);
    let said = format!("{sent:?}");
    assert!(
        said.contains("the whole answer") && !said.contains("I was ab"),
        "{said}"
    );
}

fn limited(budget: Budget) -> World {
    let mut setup = setup();
    setup.budget = budget;
    World::new(
        setup,
        (0..9)
            .map(|i| reads(&[["a", "b", "c"][i % 3], "x"]))
            .collect(),
    )
}

#[test]
fn a_budget_asks_before_the_request_and_a_yes_grants_the_same_again() {
    let mut w = limited(Budget {
        steps: Some(2),
        ..Budget::default()
    });
    w.prompt("go");
    w.run();
    assert_eq!(w.requests, 2);
    for granted in 2..=3 {
        let ask = w.turn.asks()[0].clone();
        assert!(matches!(ask.body, AskBody::Budget { .. }));
        w.give(Input::Answer {
            ask: ask.id,
            answer: Answer::Once,
        });
        w.run();
        assert_eq!(w.requests, 2 * granted);
    }
    let ask = w.turn.asks()[0].id;
    let answer = Answer::No {
        message: String::new(),
    };
    w.give(Input::Answer { ask, answer });
    assert_eq!(w.ends(), [TurnEnd::Budget]);
}

#[test]
fn a_subagent_stops_where_the_whole_tree_has_spent_the_budget_and_asks_nobody() {
    let mut w = limited(Budget {
        tokens: Some(1_000),
        ..Budget::default()
    });
    w.turn.become_subagent(0);
    w.turn.set_elsewhere(Spent {
        tokens: 890,
        ..Spent::default()
    });
    w.prompt("go");
    w.run();
    assert_eq!(
        (w.requests, w.ends()),
        (1, vec![TurnEnd::Budget]),
        "110 tokens were left"
    );
}

#[test]
fn time_counts_while_the_turn_runs_and_time_before_it_counts_too() {
    let mut w = limited(Budget {
        time: Some(std::time::Duration::from_secs(10)),
        ..Budget::default()
    });
    w.turn.set_elsewhere(Spent {
        time_ms: 4_000,
        ..Spent::default()
    });
    w.prompt("go");
    w.step(0);
    w.now += 6_000;
    w.run();
    assert_eq!(w.requests, 1);
    assert!(matches!(w.turn.asks()[0].body, AskBody::Budget { .. }));
}

fn with_fallbacks(script: Vec<Answers>, names: &[&str]) -> World {
    let mut w = World::new(setup(), script);
    let named = |name: &&str| {
        let mut info = model();
        info.model.model = (*name).to_owned();
        info
    };
    w.turn.set_fallbacks(names.iter().map(named).collect());
    w
}

fn models_asked(w: &World) -> Vec<String> {
    let entries = w.turn.conversation().entries();
    let asked = entries.iter().filter(|e| e.message.role == Role::Assistant);
    asked.map(|e| e.message.model.model.clone()).collect()
}

#[test]
fn the_fallbacks_take_turns_and_the_next_turn_has_the_chosen_model() {
    let busy = || Answers::Fail(FaultKind::Overloaded);
    let mut script: Vec<Answers> = (0..3).map(|_| busy()).collect();
    script.extend([reads(&["a"]), Answers::Say("by n"), Answers::Say("by m")]);
    let mut w = with_fallbacks(script, &["m", "n"]);
    w.prompt("go");
    w.run();
    assert_eq!(models_asked(&w), ["m", "m", "m", "n", "n"]);
    let told = w.events.iter().filter(
        |e| matches!(e, Event::Notice { text, .. } if text.contains("/n") && text.contains("/m")),
    );
    assert_eq!(told.count(), 1);
    w.prompt("more");
    w.run();
    assert_eq!(models_asked(&w).last().map(String::as_str), Some("m"));
    // All are busy: they take turns, the chosen one among them.
    let mut w = with_fallbacks((0..8).map(|_| busy()).collect(), &["n"]);
    w.prompt("go");
    w.run();
    assert_eq!(
        models_asked(&w),
        ["m", "m", "m", "n", "n", "n", "m", "m", "m"]
    );
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn two_failures_are_not_enough_and_other_failures_do_not_count() {
    let script = vec![
        Answers::Fail(FaultKind::Overloaded),
        Answers::Fail(FaultKind::Overloaded),
        Answers::Fail(FaultKind::Server),
        Answers::Fail(FaultKind::Overloaded),
        Answers::Say("ok"),
    ];
    let mut w = with_fallbacks(script, &["n"]);
    w.prompt("go");
    w.run();
    assert_eq!(models_asked(&w), ["m"; 5]);
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn the_loop_question_says_what_happened_since() {
    let mut w = World::new(setup(), (0..6).map(|_| runs(&["t"])).collect());
    w.prompt("go");
    w.run();
    let AskBody::DoomLoop { facts, .. } = &w.turn.asks()[0].body else {
        panic!("a loop");
    };
    let since = &facts
        .iter()
        .find(|(label, _)| label == "since then")
        .expect("a fact")
        .1;
    assert_eq!(since, "no file changed, 0s and 330 tokens spent");
}

#[test]
fn four_equal_calls_of_one_step_are_a_loop_too() {
    let mut w = World::new(setup(), vec![runs(&["t", "t", "t", "t"])]);
    w.prompt("go");
    w.run();
    assert!(matches!(w.turn.asks()[0].body, AskBody::DoomLoop { .. }));
}

#[test]
fn a_session_that_is_opened_again_knows_its_last_calls() {
    let mut w = World::new(setup(), (0..3).map(|_| runs(&["t"])).collect());
    w.prompt("go");
    w.run();
    let entries = w.turn.conversation().entries().to_vec();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let mut again = World::new(setup(), vec![runs(&["t"])]);
    let conversation = Conversation::from_history(messages, parts);
    again.turn = Turn::new(setup(), conversation, &BTreeMap::new());
    again.written = w.written.clone();
    again.prompt("go on");
    again.run();
    assert!(matches!(
        again.turn.asks()[0].body,
        AskBody::DoomLoop { .. }
    ));
}

#[test]
fn a_follow_up_that_begins_with_a_bang_runs_as_a_command() {
    let mut w = World::new(setup(), vec![reads(&["a"])]);
    w.prompt("go");
    w.give(prompt("!make test", Delivery::FollowUp));
    w.give(prompt("then this", Delivery::FollowUp));
    w.run();
    assert_eq!(w.texts(Role::User), ["go", "!make test", "then this"]);
    let commands = w.tools().into_iter().filter(|p| {
        matches!(&p.body, PartBody::Tool(t)
            if t.tool == "bash" && t.state.input() == Some(&json!({"command": "make test"})))
    });
    assert_eq!(commands.count(), 1);
    assert_eq!(w.ends(), [TurnEnd::Done; 3]);
}
