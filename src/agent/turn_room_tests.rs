//! Pruning and compaction in the turn: when, how they fail, and that nothing is lost.

use super::*;
use crate::context::compact::Chunk;

/// A window of 10,000 tokens with 9,000 usable.
fn small() -> Setup {
    let mut small = setup();
    small.model.context = 10_000;
    small.model.max_output = 1_000;
    small.overhead = 100;
    small
}

/// A turn of two reads of 4,000 tokens each, done; the model counts what is there.
fn grown(script: Vec<Answers>) -> World {
    let mut all = vec![reads(&["a"]), Answers::Say("fine")];
    all.extend(script);
    let mut w = World::new(small(), all);
    w.output = "word ".repeat(3_200);
    w.prompt("the task");
    w.run();
    w
}

fn compacted(w: &World) -> usize {
    let is = |e: &&Event| matches!(e, Event::Compacted { .. });
    w.events.iter().filter(is).count()
}

fn summaries(w: &World) -> Vec<(Chunk, String)> {
    let summary = |p: &Purpose| match p {
        Purpose::Summary { chunk, notes, .. } => Some((chunk.clone(), notes.clone())),
        Purpose::Step { .. } => None,
    };
    w.purposes.iter().filter_map(summary).collect()
}

fn sent(w: &mut World) -> String {
    let messages = assemble::messages(w.turn.conversation_mut(), &|_| None);
    let texts = messages.iter().flat_map(|m| &m.blocks).map(|b| match b {
        Block::Text(text) => text.clone(),
        Block::Result { output, .. } => output.clone(),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn notices(w: &World) -> String {
    let text = |e: &Event| match e {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    };
    w.events
        .iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn an_overflow_at_the_end_of_a_turn_waits_until_the_user_goes_on() {
    let mut w = World::new(small(), vec![reads(&["a"]), Answers::Say("fine")]);
    w.output = "word ".repeat(7_300);
    w.prompt("the task");
    // The second request would not fit: that is mid-turn.
    w.run();
    assert_eq!(compacted(&w), 1, "mid-turn it compacts at once");
    let mut w = grown(Vec::new());
    w.turn.usage.added = 9_000;
    assert_eq!((compacted(&w), w.ends().len()), (0, 1));
    w.prompt("go on");
    w.run();
    assert_eq!(compacted(&w), 1);
    assert_eq!(w.ends(), [TurnEnd::Done, TurnEnd::Done]);
    let all = sent(&mut w);
    assert!(all.contains("the notes") && all.contains("go on") && !all.contains("word word"));
    assert!(
        !all.contains("Continue with the next steps"),
        "the user's own words come last"
    );
}

#[test]
fn an_interrupted_compaction_changes_nothing_and_the_session_is_usable_at_once() {
    for in_retry in [false, true] {
        let mut w = grown(Vec::new());
        let before = sent(&mut w);
        if in_retry {
            w.summaries = vec![Answers::Fail(FaultKind::Server)];
        }
        w.give(Input::Compact {
            focus: String::new(),
        });
        w.step(0);
        w.give(Input::Interrupt);
        assert_eq!(w.ends().last(), Some(&TurnEnd::Interrupted));
        assert_eq!(sent(&mut w), before, "in a retry: {in_retry}");
        assert!(
            w.turn
                .conversation()
                .entries()
                .iter()
                .all(|e| e.message.completed.is_some())
        );
        w.prompt("still there?");
        w.run();
        assert_eq!(w.ends().last(), Some(&TurnEnd::Done));
        assert!(sent(&mut w).contains("word word"));
    }
}

#[test]
fn a_summary_that_a_crash_cut_is_none() {
    let mut w = grown(Vec::new());
    let before = sent(&mut w);
    w.give(Input::Compact {
        focus: String::new(),
    });
    w.step(0);
    assert!(
        w.texts(Role::Assistant).iter().any(|t| t == "the notes"),
        "half of it is there"
    );
    let entries = w.turn.conversation().entries().to_vec();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let mut again = World::new(small(), Vec::new());
    let conversation = Conversation::from_history(messages, parts);
    again.turn = Turn::new(small(), conversation, &BTreeMap::new());
    let (cut, _) = again.turn.recover(5_000);
    assert!(cut);
    assert_eq!(sent(&mut again), before);
}

#[test]
fn guidance_typed_during_a_compaction_is_sent_after_it() {
    let mut w = World::new(small(), vec![reads(&["a"]), Answers::Say("fine")]);
    w.output = "word ".repeat(7_300);
    w.prompt("the task");
    while summaries(&w).is_empty() {
        w.step(0);
    }
    w.give(prompt("use tabs", Delivery::Guidance));
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    let all = sent(&mut w);
    assert!(
        all.contains("use tabs") && all.contains("My newest message was:\nthe task"),
        "{all}"
    );
    assert!(!all.contains("Continue with the next steps"));
}

#[test]
fn a_summary_that_is_longer_or_missing_or_fails_falls_back_to_removal() {
    let long: &'static str = Box::leak("blah ".repeat(9_000).into_boxed_str());
    for (answer, warning) in [
        (Answers::Say(long), "not shorter"),
        (Answers::Say(" "), "gave no summary"),
        (Answers::Fail(FaultKind::Auth), "No summary could be had"),
    ] {
        let mut w = grown(Vec::new());
        w.summaries = vec![answer];
        w.give(Input::Compact {
            focus: "tabs".to_owned(),
        });
        w.run();
        assert!(notices(&w).contains(warning), "{}", notices(&w));
        assert_eq!(compacted(&w), 1);
        let all = sent(&mut w);
        assert!(
            all.contains("messages were left out") && all.contains("- the task"),
            "{all}"
        );
        assert!(all.contains("Pay special attention to: tabs"));
        assert!(
            !all.contains("blah") && !all.contains("word"),
            "what failed is not sent"
        );
    }
}

#[test]
fn a_provider_overflow_compacts_once_then_removes_then_gives_up() {
    let overflow = || Answers::Fail(FaultKind::ContextOverflow);
    for (times, asked, end) in [
        (1, 1, TurnEnd::Done),
        (2, 1, TurnEnd::Done),
        (3, 1, TurnEnd::Error),
        (9, 1, TurnEnd::Error),
    ] {
        let mut script = vec![overflow(); times];
        script.push(Answers::Say("there"));
        let mut w = grown(script);
        w.prompt("next");
        w.run();
        assert_eq!(w.ends().last(), Some(&end), "{times} overflows");
        assert_eq!((summaries(&w).len(), compacted(&w)), (asked, times.min(2)));
        assert!(w.texts(Role::User).iter().any(|t| t == "next"));
    }
}

#[test]
fn a_head_larger_than_the_window_is_pruned_harder_and_summarised_in_chunks() {
    let mut large = small();
    large.model.context = 500_000;
    large.context.prune_keep_tools = vec!["read".to_owned()];
    let script: Vec<Answers> = (0..12).map(|n| reads(&[["a", "b", "c"][n % 3]])).collect();
    let mut w = World::new(large, script);
    w.output = "word ".repeat(3_200);
    w.prompt("the task");
    for _ in 0..500 {
        if let Some(ask) = w.turn.asks().first().map(|a| a.id) {
            w.give(Input::Answer {
                ask,
                answer: Answer::Once,
            });
        } else if w.due.is_empty() {
            break;
        } else {
            w.step(0);
        }
    }
    w.give(Input::SetModel(Box::new(small().model)));
    w.turn.usage.actual = None;
    w.turn.usage.estimate = 50_000;
    w.summaries = vec![
        Answers::Say("one"),
        Answers::Fail(FaultKind::ContextOverflow),
        Answers::Fail(FaultKind::Server),
        Answers::Say("two"),
    ];
    w.prompt("go on");
    w.run();
    let asked = summaries(&w);
    assert!(asked.len() > 8, "{asked:?}");
    assert_eq!(asked[0].1, "");
    assert!(
        asked[1..4].iter().all(|(_, notes)| notes == "one"),
        "{asked:?}"
    );
    assert_eq!(asked[4].1, "two");
    assert!(asked[2].0.clip.is_some() || asked[2].0.places.len() < asked[1].0.places.len());
    let covered: Vec<usize> = asked[3..]
        .iter()
        .flat_map(|(c, _)| c.places.clone())
        .collect();
    assert!(
        covered.windows(2).all(|p| p[1] == p[0] + 1),
        "no message is left out: {covered:?}"
    );
    assert_eq!(w.ends().last(), Some(&TurnEnd::Done));
    let all = sent(&mut w);
    assert!(all.contains("the notes") && all.contains("go on") && !all.contains("word"));
}

#[test]
fn what_does_not_help_is_not_repeated_and_the_user_is_asked() {
    let floor = |headless| Setup {
        overhead: 8_950,
        headless,
        ..small()
    };
    let script = || vec![reads(&["a"]), Answers::Say("fine")];
    let mut w = World::new(floor(false), script());
    w.turn.usage.estimate = 9_600;
    w.prompt("the task");
    w.run();
    assert_eq!(compacted(&w), 1);
    let ask = w.turn.asks()[0].clone();
    let AskBody::Question { question, .. } = &ask.body else {
        panic!("{ask:?}");
    };
    assert!(question.contains("are system prompt"), "{question}");
    let text = "Send it anyway".to_owned();
    w.give(Input::Answer {
        ask: ask.id,
        answer: Answer::Text { text },
    });
    w.run();
    assert_eq!((w.ends(), compacted(&w)), (vec![TurnEnd::Done], 1));

    let mut w = World::new(floor(true), script());
    w.turn.usage.estimate = 9_600;
    w.prompt("the task");
    w.run();
    assert_eq!((w.ends(), compacted(&w)), (vec![TurnEnd::Error], 1));
    assert!(w.events.iter().any(|e| matches!(e, Event::Error { error }
        if error.kind == FaultKind::ContextOverflow)));
}

#[test]
fn a_window_smaller_than_our_own_prompt_is_an_error_at_once() {
    let tiny = |headless| Setup {
        overhead: 9_500,
        headless,
        ..small()
    };
    let mut w = World::new(tiny(true), vec![Answers::Say("fine")]);
    w.turn.usage.estimate = 9_600;
    w.prompt("the task");
    w.run();
    assert_eq!((w.ends(), compacted(&w)), (vec![TurnEnd::Error], 0));
    let told = |e: &&Event| {
        matches!(e, Event::Error { error } if error.kind == FaultKind::ContextOverflow
            && error.message.contains("too small for dunlin") && error.hint.contains("/model"))
    };
    assert_eq!(w.events.iter().filter(told).count(), 1);
    assert!(summaries(&w).is_empty(), "no model is asked for a summary");

    let mut w = World::new(tiny(false), vec![Answers::Say("fine")]);
    w.turn.usage.estimate = 9_600;
    w.prompt("the task");
    w.run();
    assert!(matches!(
        w.turn.asks(),
        [Ask {
            body: AskBody::Question { .. },
            ..
        }]
    ));
    assert_eq!(compacted(&w), 0);

    // The provider's window is smaller than ours.
    let refused = vec![Answers::Fail(FaultKind::ContextOverflow)];
    let mut w = World::new(
        Setup {
            overhead: 8_000,
            ..small()
        },
        refused,
    );
    w.prompt("the task");
    w.run();
    assert_eq!((w.ends(), compacted(&w)), (vec![TurnEnd::Error], 0));
    assert!(w.events.iter().any(|e| matches!(e, Event::Error { error }
        if error.message.contains("nearly all of it is system prompt"))));
}

#[test]
fn pins_the_plan_files_read_and_the_running_prompt_are_said_again() {
    let mut w = grown(Vec::new());
    let pinned = w.tools()[0].id;
    w.output = "- [ ] mend it".to_owned();
    w.turn.todo = "- [ ] mend it".to_owned();
    w.give(Input::Pin {
        part: pinned,
        on: true,
    });
    w.turn
        .set_files_read(vec![("a.rs".to_owned(), true), ("b.rs".to_owned(), false)]);
    w.turn.usage.added = 9_000;
    w.prompt(Box::leak("please ".repeat(1_500).into_boxed_str()));
    w.run();
    let all = sent(&mut w);
    for kept in [
        "Pinned by the user:\nread",
        "The plan as it stands:\n- [ ] mend it",
        "- a.rs (changed since it was read)\n- b.rs\n",
        "My newest message was:\nplease please",
        "`recall` searches it",
        "What did we do so far?",
    ] {
        assert!(all.contains(kept), "{kept} in {all}");
    }
}

#[test]
fn with_the_tier_off_nothing_is_compacted() {
    let mut off = small();
    off.context.compact = false;
    let mut w = World::new(off, vec![Answers::Fail(FaultKind::ContextOverflow)]);
    w.turn.usage.estimate = 20_000;
    w.prompt("go");
    w.run();
    assert_eq!((compacted(&w), w.ends()), (0, vec![TurnEnd::Error]));
}
