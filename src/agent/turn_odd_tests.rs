//! Orders with nothing to do, answers that are none, and compactions at odd moments: each is told, and the
//! session goes on.

use super::*;

fn small() -> Setup {
    let mut small = setup();
    small.model.context = 10_000;
    small.model.max_output = 1_000;
    small.overhead = 100;
    small
}

fn notices(w: &World) -> String {
    let text = |e: &Event| match e {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    };
    let all: Vec<String> = w.events.iter().filter_map(text).collect();
    all.join("\n")
}

fn compacted(w: &World) -> Vec<(u64, u64)> {
    let figures = |e: &Event| match e {
        Event::Compacted {
            before_tokens,
            after_tokens,
            ..
        } => Some((*before_tokens, *after_tokens)),
        _ => None,
    };
    w.events.iter().filter_map(figures).collect()
}

#[test]
fn orders_with_nothing_to_do_are_answered() {
    let mut w = World::new(setup(), vec![Answers::Say("fine")]);
    w.prompt("go");
    w.run();
    for (order, says) in [
        (Input::RetryNow, "nothing to try again"),
        (Input::Continue, "nothing to continue"),
    ] {
        let before = w.requests;
        w.events.clear();
        w.give(order);
        w.run();
        assert!(notices(&w).contains(says), "{}", notices(&w));
        assert_eq!(w.requests, before, "{says}: no model is asked");
    }
    // While a turn runs.
    w.prompt("again");
    w.give(Input::Continue);
    assert!(notices(&w).contains("a turn is running"));
    w.run();
    assert_eq!(w.ends().last(), Some(&TurnEnd::Done));
    // A turn that was stopped can be continued, although its last answer was whole.
    let mut limited = setup();
    limited.turn.max_steps = Some(1);
    let mut w = World::new(
        limited,
        vec![Answers::Say("what is left"), Answers::Say("done")],
    );
    w.prompt("go");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Budget]);
    w.give(Input::Continue);
    w.run();
    assert_eq!(w.requests, 2);
}

#[test]
fn an_answer_without_a_word_gets_one_from_us() {
    let mut w = World::new(setup(), vec![Answers::Say(" "), Answers::Say("fine")]);
    w.prompt("go");
    w.run();
    assert!(
        notices(&w).contains("without saying anything"),
        "{}",
        notices(&w)
    );
    assert_eq!(w.ends(), [TurnEnd::Done]);
    w.events.clear();
    w.prompt("go");
    w.run();
    assert_eq!(notices(&w), "");
    // The user's own command needs no answer.
    w.give(Input::Shell {
        command: "ls".to_owned(),
    });
    w.run();
    assert_eq!(notices(&w), "");
}

#[test]
fn a_model_at_the_end_of_its_window_gets_room_and_goes_on_once() {
    let script = vec![
        reads(&["a"]),
        Answers::Full("half of an"),
        Answers::Say("the other half"),
    ];
    let mut w = World::new(small(), script);
    w.output = "word ".repeat(3_000);
    w.prompt("the task");
    w.run();
    assert_eq!((compacted(&w).len(), w.ends()), (1, vec![TurnEnd::Done]));
    assert_eq!(
        w.texts(Role::Assistant).last().map(String::as_str),
        Some("the other half")
    );
    assert!(!notices(&w).contains("is cut"), "{}", notices(&w));
    // Again at once: it is said, and nothing is repeated.
    let script = vec![reads(&["a"]), Answers::Full("half"), Answers::Full("half")];
    let mut w = World::new(small(), script);
    w.output = "word ".repeat(3_000);
    w.prompt("the task");
    w.run();
    assert_eq!((compacted(&w).len(), w.ends()), (1, vec![TurnEnd::Done]));
    assert!(notices(&w).contains("end of the model's window and is cut"));
}

#[test]
fn guidance_left_behind_by_a_crash_is_said_together_with_the_next_prompt() {
    let mut w = World::new(
        setup(),
        vec![reads(&["a"]), Answers::Say("one"), Answers::Say("two")],
    );
    w.prompt("start");
    w.step(0);
    w.prompt("typed before");
    let values = BTreeMap::from([(
        "queue".to_owned(),
        serde_json::to_value(w.turn.queue()).expect("json"),
    )]);
    let entries = w.turn.conversation().entries();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let mut again = World::new(setup(), vec![Answers::Say("as you say")]);
    again.turn = Turn::new(
        setup(),
        Conversation::from_history(messages, parts),
        &values,
    );
    let (cut, effects) = again.turn.recover(5_000);
    assert!(cut);
    for effect in effects {
        again.perform(effect);
    }
    again.now = 5_000;
    again.prompt("typed after");
    again.run();
    let said = again.texts(Role::User);
    assert_eq!(said, ["start", "First: typed before\n\nAlso: typed after"]);
    assert_eq!(again.ends(), [TurnEnd::Done]);
}

#[test]
fn a_compaction_that_is_asked_for_twice_or_in_the_last_step_is_made_once() {
    let mut w = World::new(small(), vec![reads(&["a"]), Answers::Say("fine")]);
    w.output = "word ".repeat(3_000);
    w.prompt("the task");
    // Asked for while the only step after the reads is under way.
    while !matches!(w.due.first(), Some(Due::Deltas(2, _))) {
        w.step(0);
    }
    let focus = || Input::Compact {
        focus: String::new(),
    };
    w.give(focus());
    w.run();
    assert_eq!(
        (compacted(&w).len(), w.ends().len()),
        (1, 2),
        "after the turn"
    );
    w.prompt("more");
    w.run();
    assert_eq!(compacted(&w).len(), 1, "and not once more");
    w.events.clear();
    w.output = "word ".repeat(3_000);
    w.script = vec![reads(&["b"]), Answers::Say("fine")];
    w.prompt("read on");
    w.run();
    w.give(focus());
    w.give(focus());
    assert!(notices(&w).contains("running already"), "{}", notices(&w));
    w.run();
    assert_eq!(compacted(&w).len(), 1);
}

#[test]
fn a_compaction_by_hand_asks_before_it_goes_over_the_budget() {
    for headless in [true, false] {
        let mut setup = small();
        setup.headless = headless;
        setup.budget.tokens = Some(100);
        let mut w = World::new(setup, vec![reads(&["a"]), Answers::Say("fine")]);
        w.turn.setup.budget.tokens = None;
        w.output = "word ".repeat(3_000);
        w.prompt("the task");
        w.run();
        w.turn.setup.budget.tokens = Some(100);
        let before = w.requests;
        w.give(Input::Compact {
            focus: String::new(),
        });
        w.run();
        assert_eq!(
            (w.requests, compacted(&w).len()),
            (before, 0),
            "headless: {headless}"
        );
        if headless {
            assert_eq!(w.ends().last(), Some(&TurnEnd::Budget));
            continue;
        }
        let ask = w.turn.asks()[0].id;
        let answer = Answer::Once;
        w.turn.setup.budget.tokens = Some(1_000_000);
        w.give(Input::Answer { ask, answer });
        w.run();
        assert_eq!(
            (compacted(&w).len(), w.ends().last()),
            (1, Some(&TurnEnd::Done))
        );
        assert_eq!(w.requests, before + 1, "the summary and no step");
    }
}

#[test]
fn a_compaction_is_told_in_the_providers_count_where_there_is_one() {
    let mut w = World::new(small(), vec![reads(&["a"]), Answers::Say("fine")]);
    w.output = "word ".repeat(3_000);
    w.prompt("the task");
    w.run();
    let counted = w.turn.usage().next();
    w.give(Input::Compact {
        focus: String::new(),
    });
    w.run();
    let [(before, after)] = compacted(&w)[..] else {
        panic!("one compaction");
    };
    assert_eq!(before, counted);
    assert!(after < before, "{after}");
}

#[test]
fn a_refusal_that_nothing_helps_against_says_what_fills_the_request() {
    let script = vec![
        reads(&["a"]),
        Answers::Fail(FaultKind::ContextOverflow),
        Answers::Fail(FaultKind::ContextOverflow),
        Answers::Fail(FaultKind::ContextOverflow),
    ];
    let mut setup = small();
    setup.headless = true;
    let mut w = World::new(setup, script);
    w.output = "word ".repeat(2_000);
    w.prompt("the task");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Error]);
    let told = |e: &Event| {
        matches!(e, Event::Error { error } if error.message.contains("100 are system prompt")
        && error.hint.contains("/new"))
    };
    assert!(w.events.iter().any(told), "{:#?}", w.events.last());
}

#[test]
fn the_files_that_were_read_are_looked_at_once_in_a_step_and_only_where_room_may_be_made() {
    let ended = |part: PartId| Input::ToolEnded {
        part,
        result: Ok(Success::default()),
    };
    let mut w = World::new(small(), vec![reads(&["a", "b"]), Answers::Say("fine")]);
    w.prompt("go");
    while w.tools().len() < 2 || !w.due.iter().all(|due| matches!(due, Due::Tool(_))) {
        let at = w.due.iter().position(|due| !matches!(due, Due::Tool(_)));
        w.step(at.expect("something else is due"));
    }
    let parts: Vec<PartId> = w.tools().iter().map(|part| part.id).collect();
    // Half of the window is empty.
    assert!(!w.turn.may_compact_at(&ended(parts[1])));
    w.turn.usage.added = 5_000;
    assert!(
        !w.turn.may_compact_at(&ended(parts[0])),
        "the other one still runs"
    );
    w.step(0);
    assert!(w.turn.may_compact_at(&ended(parts[1])));
    // Nobody knows the window: only a provider's word begins a compaction.
    w.turn.setup.model.context = 0;
    assert!(!w.turn.may_compact_at(&ended(parts[1])));
    let fault = Fault::new(FaultKind::ContextOverflow, "too large", "");
    assert!(
        w.turn
            .may_compact_at(&Input::StreamFailed { stream: 1, fault })
    );
}
